//! `show-alignments`: prints alignments in a readable form.

use anyhow::Context;
use kaldi_hmm::TransitionModel;
use kaldi_io::holder::I32VectorHolder;
use kaldi_io::read_object;
use kaldi_io::symbols::SymbolTable;
use nnet3::tables;
use std::io::Write;
/// Display alignments in human-readable form.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n show-alignments phones.txt 1.mdl ark:1.ali\nSee also: ali-to-phones, copy-int-vector"
)]
pub struct Options {
    phone_syms: String,
    model: String,
    alignments_rspecifier: String,
}

/// A line of transition-ids in brackets, phone by phone, and one of the phones' names, as wide.
fn lines(model: &TransitionModel, symbols: &SymbolTable, alignment: &[i32]) -> anyhow::Result<[String; 2]> {
    let [mut ids, mut names] = [String::new(), String::new()];
    for segment in model.split_to_phones(&model.transition_ids(alignment)?)? {
        let numbers: String = alignment[segment.frames].iter().map(|id| format!("{id} ")).collect();
        let numbers = format!("[ {numbers}] ");
        let phone = symbols.name(segment.phone.into());
        let name = format!(
            "{} ",
            phone.with_context(|| format!("Phone-id {} not in symbol table.", segment.phone))?
        );
        let width = numbers.chars().count().max(name.chars().count());
        ids += &format!("{numbers:width$}");
        names += &format!("{name:width$}");
    }
    Ok([ids, names])
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model: TransitionModel = read_object(&options.model)?;
    let symbols = SymbolTable::load(&options.phone_syms)?;
    let mut out = kaldi_cli::StandardOutput::open()?;
    tables::Input::<I32VectorHolder>::open(&options.alignments_rspecifier)?.for_each(|key, alignment| {
        for line in lines(&model, &symbols, &alignment)? {
            writeln!(out, "{key}  {line}")?;
        }
        Ok(writeln!(out)?)
    })?;
    Ok(0)
}
