//! `gmm-info`: prints the sizes of a Gaussian model.

use nnet3::gaussians;
use std::io::Write;
/// Write to standard output various properties of GMM-based model.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-info 1.mdl\nSee also: am-info")]
pub struct Options {
    model_in: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (transitions, mixtures) = gaussians::read_model(&options.model_in)?;
    let mut out = kaldi_cli::StandardOutput::open()?;
    writeln!(out, "number of phones {}", transitions.topology().phones().len())?;
    writeln!(out, "number of pdfs {}", transitions.num_pdfs())?;
    writeln!(out, "number of transition-ids {}", transitions.num_transition_ids())?;
    writeln!(out, "number of transition-states {}", transitions.states().len())?;
    writeln!(out, "feature dimension {}", mixtures.dim())?;
    writeln!(out, "number of gaussians {}", mixtures.num_gauss())?;
    Ok(0)
}
