//! `fgmm-global-est`: estimates a mixture with full covariances from statistics.

use crate::background::draws::Draws;
use crate::background::estimation::{EstimationOptions, FullLimits, log_improvement};
use anyhow::{Context, Result};
use kaldi_gmm::{FullGmm, FullGmmStats, Parts};
use kaldi_io::{read_object, write_object};
use nnet3::messages;

/// Estimate a full-covariance GMM from the accumulated stats.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: fgmm-global-est 1.mdl 1.acc 2.mdl\nSee also: fgmm-global-acc-stats, fgmm-global-sum-accs"
)]
pub struct Options {
    #[command(flatten)]
    estimation: EstimationOptions,
    #[command(flatten)]
    limits: FullLimits,
    model_in: String,
    stats_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (parts, limits) = (Parts::parse(&options.estimation.update_flags)?, options.limits.options()?);
    let mut gmm: FullGmm = read_object(&options.model_in)?;
    let stats: FullGmmStats = read_object(&options.stats_in)?;
    let warn = &mut |text: String| messages::warn(&text);
    let report = gmm.update(&stats, parts, &limits, warn).with_context(|| options.stats_in.clone())?;
    log_improvement(&report);
    let target = options.estimation.mix_up;
    if target != 0 {
        match usize::try_from(target).ok().filter(|&target| target > gmm.num_gauss()) {
            Some(target) => gmm.split(target, options.estimation.perturb_factor, &mut Draws::default())?,
            None => {
                messages::warn(&format!("Cannot split from {} to {target} components", gmm.num_gauss()));
            }
        }
    }
    write_object(&options.model_out, options.estimation.mode.binary, &gmm)?;
    messages::log(&format!("Written model to {}", options.model_out));
    Ok(0)
}
