//! `gmm-basis-fmllr-training`: finds the directions in which transforms of speakers differ most.

use anyhow::{Context, Result};
use kaldi_cli::log::num;
use kaldi_gmm::basis::{Basis, BasisStats};
use kaldi_io::{read_object, write_object};
use nnet3::{gaussians, messages};

/// Estimate fMLLR basis representation. Reads a set of gradient scatter accumulations. Outputs basis matrices.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: gmm-basis-fmllr-training 1.mdl fmllr.basis 1.accs 2.accs\nSee also: gmm-basis-fmllr-accs, gmm-est-basis-fmllr"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    model_in: String,
    basis_out: String,
    #[arg(value_name = "<accs-in1> <accs-in2> ...", num_args = 1.., required = true)]
    accs_in: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (_, model) = gaussians::read_model(&options.model_in)?;
    let files = &options.accs_in;
    let mut stats: BasisStats = read_object(&files[0])?;
    for file in &files[1..] {
        let other: BasisStats = read_object(file)?;
        stats.merge(&other).with_context(|| file.clone())?;
    }
    let (basis, variances) = Basis::train(&model, &stats).with_context(|| files.join(", "))?;
    let list: Vec<String> = variances.iter().map(|&value| num(value)).collect();
    messages::log(&format!(
        "The [per-frame] eigenvalues sorted from largest to smallest:  [ {} ]\n",
        list.join(" ")
    ));
    messages::log(&format!(
        "Sum of the [per-frame] eigenvalues, that is the log-likelihood improvement, is {}",
        num(variances.iter().sum())
    ));
    write_object(&options.basis_out, options.mode.binary, &basis)?;
    messages::log(&format!("Summed {} gradient scatter stats", files.len()));
    messages::log(&format!("Generate {} bases, written to {}", basis.elements.len(), options.basis_out));
    Ok(0)
}
