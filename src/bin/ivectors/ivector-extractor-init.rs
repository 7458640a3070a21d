//! `ivector-extractor-init`: makes a first extractor of i-vectors from a mixture of Gaussians.

use anyhow::Result;
use kaldi_gmm::FullGmm;
use kaldi_io::{read_object, write_object};
use kaldi_ivector::initial::initialize;
use nnet3::messages;
use nnet3_core::c_rand::CRand;

/// Initialize ivector-extractor.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-extractor-init 4.fgmm 0.ie\n\
    See also: gmm-global-to-fgmm, ivector-extractor-acc-stats")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Dimension of iVector
    #[arg(long, default_value_t = 400)]
    ivector_dim: usize,
    /// Accepted as in Kaldi; has no effect
    #[arg(long, default_value_t = 2)]
    num_iters: i32,
    /// If true, regress the log-weights on the iVector
    #[arg(long, default_value_t = true)]
    use_weights: bool,
    fgmm_in: String,
    ivector_extractor_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mixture: FullGmm = read_object(&options.fgmm_in)?;
    let mut rand = CRand::default();
    let extractor = initialize(&mixture, options.ivector_dim, options.use_weights, &mut || rand.next())?;
    write_object(&options.ivector_extractor_out, options.mode.binary, &extractor)?;
    messages::log(&format!(
        "Initialized iVector extractor with iVector dimension {} and wrote it to {}",
        extractor.ivector_dim(),
        options.ivector_extractor_out
    ));
    Ok(0)
}
