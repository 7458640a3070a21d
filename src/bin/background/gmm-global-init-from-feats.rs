//! `gmm-global-init-from-feats`: trains a mixture with diagonal covariances from nothing but features.

use crate::background::draws::Draws;
use anyhow::{Result, bail};
use kaldi_cli::log::ratio;
use kaldi_gmm::init::{Line, Sample, TrainOptions, train};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::write_object;
use nnet3::messages;
use nnet3::options::gmm_update::UpdateLimits;
use nnet3::options::threads;
use nnet3::tables::Input;

/// This program initializes a single diagonal GMM and does multiple iterations of training from features stored in memory.
///
/// The result does not depend on the number of threads.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-global-init-from-feats scp:train.scp 1.mdl\nSee also: gmm-global-est")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Number of Gaussians in the model
    #[arg(long, default_value_t = 100)]
    num_gauss: i32,
    /// Number of Gaussians in the model initially (if nonzero and less than num_gauss, we'll do mixture splitting)
    #[arg(long, default_value_t = 0)]
    num_gauss_init: i32,
    /// Number of iterations of training, at least 2
    #[arg(long, default_value_t = 50)]
    num_iters: i32,
    /// Number of feature vectors to store in memory and train on (randomly chosen from the input features)
    #[arg(long, default_value_t = 200_000)]
    num_frames: i64,
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Number of threads used for statistics accumulation
    #[arg(long, default_value_t = 4)]
    num_threads: i64,
    #[command(flatten)]
    limits: UpdateLimits,
    feature_rspecifier: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Some(num_gauss) = usize::try_from(options.num_gauss).ok().filter(|&count| count > 0) else {
        bail!("--num-gauss={}: expected a number of Gaussians above 0", options.num_gauss);
    };
    let settings = TrainOptions {
        num_gauss,
        num_gauss_init: options.num_gauss_init.try_into().unwrap_or_default(),
        num_iters: options.num_iters.try_into().unwrap_or_default(),
        threads: threads::number("num-threads", options.num_threads)?,
        update: options.limits.options(),
    };
    settings.check()?;
    let mut draws = Draws::new(options.srand);
    let mut sample = Sample::new(options.num_frames)?;
    messages::log(&format!("Reading features (will keep {} frames.)", options.num_frames));
    Input::<MatrixHolder>::open(&options.feature_rspecifier)?.for_each(|key, features| {
        match features.not_finite() {
            Some(found) => messages::warn(&format!("{key}: {found}; the utterance is left out")),
            None if features.rows == 0 => messages::warn(&nnet3::tables::no_frames(key)),
            None => sample.add(&features, &mut draws)?,
        }
        Ok(())
    })?;
    let (kept, read) = (options.num_frames, sample.seen());
    if read < kept.unsigned_abs() {
        messages::warn(&format!(
            "Number of frames read {read} was less than target number {kept}, using all we read."
        ));
    } else {
        let percent = ratio(kept as f64 * 100.0, read as f64);
        messages::log(&format!("Kept {kept} out of {read} input frames = {percent}%."));
    }
    let gmm = train(sample.frames(), &settings, &mut draws, &mut |line| match line {
        Line::Log(text) => messages::log(&text),
        Line::Warning(text) => messages::warn(&text),
    })?;
    write_object(&options.model_out, options.mode.binary, &gmm)?;
    messages::log(&format!("Wrote model to {}", options.model_out));
    Ok(0)
}
