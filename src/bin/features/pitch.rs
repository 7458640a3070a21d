//! The loop of the programs that find pitch in sound.

use anyhow::{Result, bail};
use kaldi_cli::log::{self, Site, num};
use kaldi_feat::pitch::{PitchOptions, PitchTracker};
use kaldi_feat::wave::WaveHolder;
use kaldi_io::DenseMatrix;
use kaldi_io::holder::MatrixHolder;
use nnet3::messages;
use nnet3::tables::{Input, Output};
use nnet3_core::random::Random;

use super::extraction::{check_channel, samples};

// Input and output tables.
#[derive(clap::Args, Clone, Debug)]
pub struct PitchTables {
    /// Channel to extract (-1 -> expect mono, 0 -> left, 1 -> right)
    #[arg(long, default_value_t = -1)]
    pub channel: i32,
    pub wav_rspecifier: String,
    pub feats_wspecifier: String,
}

/// Writes the result of `find` for each wave. `nothing` is the warning for waves that are too short, after the name of
/// the function that prints it in Kaldi.
pub fn for_each_wave(
    tables: &PitchTables,
    options: &PitchOptions,
    nothing: (&'static str, &'static str),
    mut find: impl FnMut(&mut PitchTracker, &[f32]) -> kaldi_feat::Result<DenseMatrix<f32>>,
) -> Result<u8> {
    check_channel(tables.channel)?;
    let mut tracker = PitchTracker::new(options)?;
    // Invalid options are an error before output is written.
    find(&mut tracker, &[])?;
    let input = Input::<WaveHolder>::open(&tables.wav_rspecifier)?;
    let mut output = Output::<MatrixHolder>::open(&tables.feats_wspecifier)?;
    input.for_each(|key, wave| {
        if let Some(complaint) = &wave.complaint {
            messages::warn(&format!("{key}: {complaint}"));
        }
        let Some(samples) = samples(tables.channel, key, &wave) else {
            output.failed += 1;
            return Ok(());
        };
        if wave.sample_rate as f32 != options.sample_rate {
            bail!(
                "Sample frequency mismatch: you specified {} but data has {} (use --sample-frequency option).  Utterance is {key}",
                num(options.sample_rate.into()),
                wave.sample_rate
            );
        }
        let features = find(&mut tracker, &samples)?;
        let site = |function| Site::new(function, "pitch-functions.cc", 1);
        match tracker.cost_per_frame() {
            Some(cost) => log::vlog(
                3,
                &site("InputFinished"),
                &format!("Pitch-tracking Viterbi cost is {} per frame, over {} frames.", num(cost), features.rows),
            ),
            None => {
                log::warning(&site(nothing.0), nothing.1);
                log::vlog(1, &Site::PROGRAM, &format!("{key}: {} samples are too few", wave.len()));
            }
        }
        output.write(key, &features)?;
        if output.done % 50 == 0 {
            log::vlog(2, &Site::PROGRAM, &format!("Processed {} utterances", output.done));
        }
        Ok(())
    })?;
    messages::log(&format!("Done {} utterances, {} with errors.", output.done, output.failed));
    output.finish()
}

/// The noise of slopes of pitch: normal numbers of the C library's generator.
pub fn noise(seed: i32) -> impl FnMut() -> f32 {
    let random = Random::new(seed);
    move || random.normal()
}
