//! `compute-vad`: finds frames with voice by their energy.

use anyhow::{Result, bail};
use kaldi_cli::NOTHING_DONE;
use kaldi_cli::log::{num, ratio};
use kaldi_io::holder::{MatrixHolder, VectorHolder};
use kaldi_speaker::vad::EnergyOptions;
use nnet3::{messages, tables};

/// This program reads input features and writes out, for each utterance, a vector of floats that are 1.0 if we judge the
/// frame voiced and 0.0 otherwise. The log energy must be the first column of the features (C0 of MFCCs).
///
/// The status is 0 if any utterance has a voiced frame, else 1.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: compute-vad scp:feats.scp ark:vad.ark\nSee also: select-voiced-frames, merge-vads"
)]
pub struct Options {
    /// Constant term in energy threshold for VAD (also see --vad-energy-mean-scale)
    #[arg(long, default_value_t = 5.0)]
    vad_energy_threshold: f32,
    /// If this is set to s, to get the actual threshold we let m be the mean log-energy of the file, and use s*m +
    /// vad-energy-threshold
    #[arg(long, default_value_t = 0.5)]
    vad_energy_mean_scale: f32,
    /// Number of frames of context on each side of central frame, in window for which energy is monitored
    #[arg(long, default_value_t = 0)]
    vad_frames_context: i32,
    /// Parameter controlling the proportion of frames within the window that need to have more energy than the threshold
    #[arg(long, default_value_t = 0.6)]
    vad_proportion_threshold: f32,
    /// If true, do not write VAD decisions of utterances in which no frame is voiced
    #[arg(long)]
    omit_unvoiced_utts: bool,
    feats_rspecifier: String,
    vad_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Ok(context) = usize::try_from(options.vad_frames_context) else {
        bail!("--vad-frames-context={}: expected a number that is not negative", options.vad_frames_context);
    };
    let energy = EnergyOptions {
        threshold: options.vad_energy_threshold,
        mean_scale: options.vad_energy_mean_scale,
        context,
        proportion: options.vad_proportion_threshold,
    };
    energy.check()?;
    let (mut empty, mut unvoiced, mut decided, mut voiced, mut frames) = (0u64, 0u64, 0u64, 0.0, 0.0);
    let (from, to) = (&options.feats_rspecifier, &options.vad_wspecifier);
    let output = tables::map::<MatrixHolder, VectorHolder>(from, to, |key, features| {
        if features.rows == 0 {
            empty += 1;
            return tables::skip_as(tables::no_frames(key));
        }
        if let Some(found) = features.not_finite() {
            empty += 1;
            return tables::skip(found);
        }
        let decisions = energy.decide(&features);
        let count = decisions.iter().filter(|&&x| x == 1.0).count();
        voiced += count as f64;
        frames += decisions.len() as f64;
        if count == 0 {
            messages::warn(&format!("No frames were judged voiced for utterance {key}"));
            unvoiced += 1;
            if options.omit_unvoiced_utts {
                return tables::skip("not written, as --omit-unvoiced-utts asks");
            }
        } else {
            decided += 1;
        }
        Ok(Ok(decisions))
    })?;
    messages::log(&format!(
        "Applied energy based voice activity detection; processed {decided} utterances successfully; \
         {empty} had empty features, and {unvoiced} were completely unvoiced."
    ));
    messages::log(&format!(
        "Proportion of voiced frames was {} over {} frames.",
        ratio(voiced, frames),
        num(frames)
    ));
    let status = output.finish()?;
    Ok(if voiced > 0.0 { status } else { NOTHING_DONE })
}
