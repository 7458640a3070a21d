//! `gmm-est`: estimates a Gaussian model from statistics.

use anyhow::{Context, Result};
use kaldi_cli::log::{num, ratio};
use kaldi_gmm::{ModelStats, Parts};
use kaldi_hmm::TransitionModel;
use kaldi_hmm::update::{MleOptions, TransitionCounts};
use kaldi_io::{read_object, write_object};
use nnet3::options::gmm_update::UpdateLimits;
use nnet3::{gaussians, messages};

use crate::gaussians::mixing::MixingOptions;

/// Do Maximum Likelihood re-estimation of GMM-based acoustic model.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-est 1.mdl 1.acc 2.mdl\nSee also: gmm-acc-stats-ali, gmm-mixup")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// GMM parameters to update: subset of mvwt.
    #[arg(long, default_value = "mvwt")]
    update_flags: String,
    #[command(flatten)]
    mixing: MixingOptions,
    /// File to write pdf occupation counts to.
    #[arg(long, default_value = "")]
    write_occs: String,
    #[command(flatten)]
    limits: UpdateLimits,
    /// Floor for transition probabilities
    #[arg(long, default_value_t = 0.01)]
    transition_floor: f32,
    /// Minimum count required to update transitions from a state
    #[arg(long, default_value_t = 5.0)]
    transition_min_count: f32,
    /// If true, states with the same pdf share all transition parameters.
    #[arg(long, default_value_t = false)]
    share_for_pdfs: bool,
    model_in: String,
    stats_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let parts = Parts::parse(&options.update_flags)?;
    let (mut transitions, mut model) = gaussians::read_model(&options.model_in)?;
    let stats: ModelStats = read_object(&options.stats_in)?;
    let in_stats = || options.stats_in.clone();
    if parts.transitions {
        update_transitions(&options, &mut transitions, &stats).with_context(in_stats)?;
    }
    let warn = &mut |text: String| messages::warn(&text);
    let report = model.update(&stats, parts, &options.limits.options(), warn).with_context(in_stats)?;
    messages::log(&format!(
        "{} variance elements floored in {} Gaussians, out of {}",
        report.floored_variances,
        report.floored_gaussians,
        model.num_gauss()
    ));
    if options.limits.remove_low_count_gaussians {
        messages::log(&format!(
            "Removed {} Gaussians due to counts < --min-gaussian-occupancy={} and --remove-low-count-gaussians=true",
            report.removed_gaussians,
            num(options.limits.min_occupancy().into())
        ));
    }
    messages::log(&format!(
        "GMM update: Overall {} objective function improvement per frame over {} frames",
        ratio(report.improvement, report.count),
        num(report.count)
    ));
    messages::log(&format!(
        "GMM update: Overall avg like per frame = {} over {} frames.",
        ratio(stats.log_likelihood, stats.frames),
        num(stats.frames)
    ));
    let occupancies = stats.occupancies();
    options.mixing.apply(&mut model, &occupancies)?;
    if !options.write_occs.is_empty() {
        write_object(&options.write_occs, false, &occupancies)?;
    }
    gaussians::write_model(&options.model_out, options.mode.binary, &transitions, &model)?;
    messages::log(&format!("Written model to {}", options.model_out));
    Ok(0)
}

fn update_transitions(
    options: &Options,
    transitions: &mut TransitionModel,
    stats: &ModelStats,
) -> Result<()> {
    let counts = TransitionCounts::from_values(transitions, stats.transitions.clone())?;
    let mle = MleOptions {
        floor: options.transition_floor,
        min_count: options.transition_min_count,
        share_for_pdfs: options.share_for_pdfs,
    };
    let report = transitions.update(&counts, &mle)?;
    let (per_frame, frames) = (ratio(report.improvement, report.count), num(report.count.into()));
    let (floored, skipped) = (report.num_floored, report.num_skipped);
    if options.share_for_pdfs {
        messages::log(&format!(
            "Objf change is {per_frame} per frame over {frames} frames; {floored} probabilities floored, {skipped} pdf-ids \
             skipped due to insuffient data."
        ));
    } else {
        messages::log(&format!(
            "TransitionModel::Update, objf change is {per_frame} per frame over {frames} frames. "
        ));
        messages::log(&format!(
            "{floored} probabilities floored, {skipped} out of {} transition-states skipped due to insuffient data (it is \
             normal to have some skipped.)",
            transitions.states().len()
        ));
    }
    messages::log(&format!(
        "Transition model update: Overall {per_frame} log-like improvement per frame over {frames} frames."
    ));
    Ok(())
}
