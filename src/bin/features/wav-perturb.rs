//! `wav-perturb`: recordings at another speed and volume.

use anyhow::{Context, Result};
use kaldi_feat::perturbation::Perturbation;

use super::files::{clipped_wave, read_wave, write_wave};

/// Change the speed of a wave file, as a tape would that runs faster or slower, and its volume.
///
/// Kaldi's recipes call sox for that. Pitch and formants change with the speed; the sample rate stays.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: wav-perturb --speed=0.9 --volume=1.5 input.wav output.wav\nSee also: wav-reverberate, extend-wav-with-silence"
)]
pub struct Options {
    /// Factor of the speed, from 0.1 to 10: sound takes 1 / speed of its time
    #[arg(long, default_value_t = 1.0)]
    speed: f64,
    /// Factor of all samples; samples that become too large are clipped, with a warning
    #[arg(long, default_value_t = 1.0)]
    volume: f32,
    #[arg(value_name = "WAV_RXFILENAME")]
    wav_in: String,
    #[arg(value_name = "WAV_WXFILENAME")]
    wav_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let perturbation = Perturbation::new(options.speed, options.volume)?;
    let recording = read_wave(&options.wav_in)?;
    let channels = perturbation.apply(&recording).with_context(|| options.wav_in.clone())?;
    write_wave(&options.wav_out, &clipped_wave(recording.sample_rate, &channels))?;
    Ok(0)
}
