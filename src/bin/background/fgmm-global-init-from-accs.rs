//! `fgmm-global-init-from-accs`: makes a mixture with full covariances from statistics alone.

use crate::background::draws::Draws;
use crate::background::estimation::FullLimits;
use anyhow::{Context, Result, bail};
use kaldi_gmm::{FullGmm, FullGmmStats};
use kaldi_io::{read_object, write_object};
use nnet3::messages;

/// Initialize a full-covariance GMM from the accumulated stats. This binary is similar to fgmm-global-est, but does not use a
/// preexisting model.
///
/// Limits have no effect, but for --variance-floor and --max-condition.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: fgmm-global-init-from-accs 1.acc 2048 1.mdl\nSee also: fgmm-global-est")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    #[command(flatten)]
    limits: FullLimits,
    stats_in: String,
    number_of_components: usize,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let limits = options.limits.options()?;
    let stats: FullGmmStats = read_object(&options.stats_in)?;
    let (found, wanted) = (stats.num_gauss(), options.number_of_components);
    if found != wanted {
        bail!("{}: expected statistics of {wanted} Gaussians, found {found}", options.stats_in);
    }
    let mut warnings = Vec::new();
    let gmm = FullGmm::from_stats(&stats, &limits, &mut Draws::default(), &mut |text| warnings.push(text))
        .with_context(|| options.stats_in.clone())?;
    let bad = gmm.gconsts().iter().filter(|gconst| gconst.is_infinite()).count();
    messages::log(&format!("FullGmm has {bad} bad GConsts"));
    warnings.iter().for_each(|text| messages::warn(text));
    write_object(&options.model_out, options.mode.binary, &gmm)?;
    messages::log(&format!("Written model to {}", options.model_out));
    Ok(0)
}
