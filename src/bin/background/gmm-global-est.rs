//! `gmm-global-est`: estimates a mixture with diagonal covariances from statistics.

use crate::background::draws::Draws;
use crate::background::estimation::{EstimationOptions, log_improvement};
use anyhow::{Context, Result, bail};
use kaldi_gmm::random::Chance;
use kaldi_gmm::update::{UpdateReport, update};
use kaldi_gmm::{DiagGmm, GmmStats, Parts};
use kaldi_io::{read_object, write_object};
use nnet3::messages;
use nnet3::options::gmm_update::UpdateLimits;

/// Estimate a diagonal-covariance GMM from the accumulated stats.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.: gmm-global-est 1.mdl 1.acc 2.mdl\nSee also: gmm-global-acc-stats, gmm-global-sum-accs"
)]
pub struct Options {
    #[command(flatten)]
    estimation: EstimationOptions,
    #[command(flatten)]
    limits: UpdateLimits,
    model_in: String,
    stats_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let parts = Parts::parse(&options.estimation.update_flags)?;
    let mut gmm: DiagGmm = read_object(&options.model_in)?;
    let stats: GmmStats = read_object(&options.stats_in)?;
    let mut report = UpdateReport::default();
    let warn = &mut |text: String| messages::warn(&text);
    update(&mut gmm, &stats, parts, &options.limits.options(), &mut report, warn)
        .with_context(|| options.stats_in.clone())?;
    log_improvement(&report);
    let (target, count) = (options.estimation.mix_up, gmm.num_gauss());
    if target != 0 {
        match usize::try_from(target).ok().filter(|&target| target >= count) {
            None => bail!("--mix-up={target}: Cannot split from {count} to {target} components"),
            Some(target) if target == count => {
                messages::warn("Already have the target # of Gaussians. Doing nothing.");
            }
            Some(target) => {
                let mut draws = Draws::default();
                gmm.split(target, options.estimation.perturb_factor, &mut || draws.rand())?;
            }
        }
    }
    write_object(&options.model_out, options.estimation.mode.binary, &gmm)?;
    messages::log(&format!("Written model to {}", options.model_out));
    Ok(0)
}
