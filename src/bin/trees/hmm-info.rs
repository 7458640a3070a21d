//! `hmm-info`: prints the sizes of a transition model.

use std::io::Write;

use anyhow::Result;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;

/// Write to standard output various properties of HMM-based transition model.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n hmm-info trans.mdl")]
pub struct Options {
    model_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let model: TransitionModel = read_object(&options.model_in)?;
    let mut out = kaldi_cli::StandardOutput::open()?;
    writeln!(out, "number of phones {}", model.topology().phones().len())?;
    writeln!(out, "number of pdfs {}", model.num_pdfs())?;
    writeln!(out, "number of transition-ids {}", model.num_transition_ids())?;
    writeln!(out, "number of transition-states {}", model.states().len())?;
    Ok(0)
}
