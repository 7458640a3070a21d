//! `fgmm-global-merge`: joins mixtures with full covariances to one.

use anyhow::{Context, Result};
use kaldi_gmm::FullGmm;
use kaldi_io::{KaldiWriter, read_object, write_object};
use nnet3::messages;

/// Combine a number of GMMs into a larger GMM, with #Gauss = sum(individual #Gauss)). Output full GMM, and a text file with sizes
/// of each individual GMM.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fgmm-global-merge all.ubm sizes 1.ubm 2.ubm")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    fgmm_out: String,
    sizes_file_out: String,
    #[arg(value_name = "<fgmm-in1> <fgmm-in2> ...", num_args = 2.., required = true)]
    fgmm_in: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut merged: FullGmm = read_object(&options.fgmm_in[0])?;
    let mut sizes = format!("{} ", merged.num_gauss());
    for file in &options.fgmm_in[1..] {
        let gmm: FullGmm = read_object(file)?;
        sizes += &format!("{} ", gmm.num_gauss());
        merged.append(&gmm).with_context(|| file.clone())?;
    }
    write_object(&options.fgmm_out, options.mode.binary, &merged)?;
    let mut out = KaldiWriter::create(&options.sizes_file_out, false)?;
    out.write_bytes((sizes + "\n").as_bytes())?;
    out.finish()?;
    messages::log(&format!("Written merged GMM to {}", options.fgmm_out));
    Ok(0)
}
