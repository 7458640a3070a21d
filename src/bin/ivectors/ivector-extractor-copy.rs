//! `ivector-extractor-copy`: copies an extractor of i-vectors.

use anyhow::Result;
use kaldi_io::{read_object, write_object};
use kaldi_ivector::IvectorExtractor;

/// Copy the i-vector extractor to a text file.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-extractor-copy --binary=false 0.ie 0_txt.ie")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 400)]
    ivector_dim: i32,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 2)]
    num_iters: i32,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = true)]
    use_weights: bool,
    ivector_extractor_in: String,
    ivector_extractor_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let extractor: IvectorExtractor = read_object(&options.ivector_extractor_in)?;
    write_object(&options.ivector_extractor_out, options.mode.binary, &extractor)?;
    Ok(0)
}
