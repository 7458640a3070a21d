//! `show-transitions`: prints a transition model in a readable form.

use anyhow::Context;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use kaldi_io::symbols::SymbolTable;
use std::io::Write;
/// Print debugging info from transition model, in human-readable form.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n show-transitions phones.txt 1.mdl 1.occs")]
pub struct Options {
    #[arg(value_name = "<phones-symbol-table> <transition/model-file> [<occs-file>]", num_args = 2..=3, required = true)]
    files: Vec<String>,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let [symbols, model_file, occupancies @ ..] = &options.files[..] else {
        unreachable!("two or three files")
    };
    let symbols = SymbolTable::load(symbols)?;
    let model: TransitionModel = read_object(model_file)?;
    let occupancies: Option<Vec<f64>> = occupancies.first().map(|file| read_object(file)).transpose()?;
    let text = model.describe(|phone| symbols.name(i64::from(phone)), occupancies.as_deref());
    kaldi_cli::StandardOutput::open()?
        .write_all(text.with_context(|| options.files.join(", "))?.as_bytes())?;
    Ok(0)
}
