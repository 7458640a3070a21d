//! `extend-wav-with-silence`: recordings with more silence at their end.

use anyhow::{Context, Result};
use kaldi_feat::silence::{self, SilenceOptions};
use kaldi_feat::wave::{Wave, WaveHolder};
use nnet3::{messages, tables};

use super::files::{clipped_wave, read_wave, write_wave};

/// Extend wave data with a fairly long silence at the end (e.g. 5 seconds).
///
/// The input waveforms are assumed to have silence at their beginning or end. The quietest segment there is repeated behind
/// the end. This is for tests of endpoints in decoding.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: extend-wav-with-silence --extra-silence-length=2 scp:wav.scp ark:long.ark")]
pub struct Options {
    /// Length of the silence that will be appended to the end of each waveform, in seconds.
    #[arg(long, default_value_t = 5.0)]
    extra_silence_length: f32,
    /// Length at the beginning and end of each waveform in which to search for the quietest segment of silence, in seconds.
    #[arg(long, default_value_t = 0.5)]
    silence_search_length: f32,
    /// Length of silence segments to be extracted from the waveform, which must be smaller than silence-search-length, in
    /// seconds.
    #[arg(long, default_value_t = 0.05)]
    silence_extract_length: f32,
    /// Shift length when searching for segments of silence, typically smaller than silence-extract-length, in seconds.
    #[arg(long, default_value_t = 0.025)]
    silence_extract_shift: f32,
    #[arg(value_name = "(<wav-rspecifier>|<wav-rxfilename>)")]
    wav_in: String,
    #[arg(value_name = "(<wav-wspecifier>|<wav-wxfilename>)")]
    wav_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let silence = SilenceOptions {
        extra: options.extra_silence_length,
        search: options.silence_search_length,
        segment: options.silence_extract_length,
        step: options.silence_extract_shift,
    };
    let extend = |wave: &Wave| -> kaldi_feat::Result<Wave> {
        let extended = |channel| {
            let extended = silence::extend(&wave.channel(channel), wave.sample_rate as f32, &silence)?;
            if extended.is_zero {
                messages::warn("Zero energy silence being used.");
            }
            Ok(extended.samples)
        };
        let channels: Vec<Vec<f32>> = (0..wave.channels).map(extended).collect::<kaldi_feat::Result<_>>()?;
        Ok(clipped_wave(wave.sample_rate, &channels))
    };
    let (from, to) = (&options.wav_in, &options.wav_out);
    if !tables::are_tables(from, to)? {
        write_wave(to, &extend(&read_wave(from)?).with_context(|| from.clone())?)?;
        messages::log("Successfully extended 1 files.");
        return Ok(0);
    }
    let output = tables::map::<WaveHolder, WaveHolder>(from, to, |key, wave| {
        if let Some(complaint) = &wave.complaint {
            messages::warn(&format!("{key}: {complaint}"));
        }
        match extend(&wave) {
            Ok(wave) => Ok(Ok(wave)),
            Err(error @ kaldi_feat::Error::Data(_)) => tables::skip(error),
            Err(error) => Err(error.into()),
        }
    })?;
    messages::log(&format!("Successfully extended {} files.", output.done));
    output.finish()
}
