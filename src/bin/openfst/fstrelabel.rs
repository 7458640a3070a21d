//! `fstrelabel`: replaces labels by others.

use anyhow::{Result, bail};
use kaldi_fst::ops::{self, Side};
use kaldi_fst::store::Symbols;
use nnet3::fsts::{self, WithSymbols};

/// Relabels the input and/or the output labels of the FST.
///
/// New labels come from lists of pairs (old and new number), or from symbol tables. In the second case a label
/// gets the number of its symbol in the other table. Labels without a pair stay unchanged. Symbols must be in both
/// tables.
#[derive(clap::Parser)]
pub struct Options {
    /// Input relabel set from pairs file
    #[arg(long = "relabel_ipairs", default_value = "")]
    relabel_ipairs: String,
    /// Output relabel set from pairs file
    #[arg(long = "relabel_opairs", default_value = "")]
    relabel_opairs: String,
    /// Input label symbol table (without it, the FST's own table)
    #[arg(long = "isymbols", default_value = "")]
    isymbols: String,
    /// Output label symbol table (without it, the FST's own table)
    #[arg(long = "osymbols", default_value = "")]
    osymbols: String,
    /// Input symbol set to relabel to
    #[arg(long = "relabel_isymbols", default_value = "")]
    relabel_isymbols: String,
    /// Output symbol set to relabel to
    #[arg(long = "relabel_osymbols", default_value = "")]
    relabel_osymbols: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut file = WithSymbols::read(options.fst_in.as_deref())?;
    let sides = [
        (Side::Input, &options.relabel_ipairs, &options.isymbols, &options.relabel_isymbols),
        (Side::Output, &options.relabel_opairs, &options.osymbols, &options.relabel_osymbols),
    ];
    for ((side, pairs, old, new), own) in sides.into_iter().zip(&mut file.symbols) {
        match (pairs.is_empty(), new.is_empty()) {
            (true, true) => {}
            (false, true) => {
                ops::relabel(&mut file.fst, side, &fsts::read_pairs(pairs)?);
                *own = None;
            }
            (true, false) => {
                let Some(old) = fsts::symbols(old)?.or(own.take()) else {
                    bail!("expected a symbol table of the present labels, to map them to those of {new}");
                };
                let table = Symbols::load(new)?;
                let pairs = between(&old, &table)?;
                ops::relabel(&mut file.fst, side, &pairs);
                *own = Some(table);
            }
            (false, false) => bail!("relabelling by pairs and by a symbol table exclude each other"),
        }
    }
    file.write(options.fst_out.as_deref())?;
    Ok(0)
}

type Pairs = rustc_hash::FxHashMap<i32, i32>;

fn between(old: &Symbols, new: &Symbols) -> Result<Pairs> {
    let mut pairs = Pairs::default();
    for (name, number) in old.iter() {
        match (i32::try_from(number), new.number(name).map(i32::try_from)) {
            (Ok(from), Some(Ok(to))) => pairs.insert(from, to),
            _ => bail!(
                "{}: the symbol '{name}' of {} is missing or has too large a number",
                new.title,
                old.title
            ),
        };
    }
    Ok(pairs)
}
