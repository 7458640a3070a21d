//! `sound-to-wav`: a recording of any format → a wave with one channel.

use anyhow::{Result, bail};
use kaldi_cli::StandardOutput;
use kaldi_feat::wave::{Wave, WaveHolder};
use kaldi_io::KaldiWriter;
use kaldi_io::filename::WxFilename;
use kaldi_io::holder::Holder;
use kaldi_sound::{Channels, RATES, Signal, SoundStream, WARNING};
use nnet3::messages;

/// Convert a recording to a wave file with one channel and 16 bits a sample.
///
/// The recording may have any format that nnet3-transcribe reads. A wave on standard output has no length in its header, as
/// it is written while the recording is read.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: sound-to-wav --channels=mix interview.mp3 interview.wav\n      \
    sound-to-wav --sample-frequency=16000 a.flac - | play -\nSee also: wav-copy, corpus-to-data")]
pub struct Options {
    /// The channel: first, mix (the mean of all), or its number from 1
    #[arg(long, value_name = "first|mix|N", default_value = "first", value_parser = Channels::one)]
    channels: Channels,
    /// Samples per second; 0: as the recording has it
    #[arg(long, default_value_t = 0)]
    sample_frequency: u32,
    #[arg(value_name = "sound-rxfilename")]
    from: String,
    #[arg(value_name = "wav-wxfilename")]
    to: String,
}

pub fn run(options: Options) -> Result<u8> {
    let wanted = options.sample_frequency;
    if wanted > 0 && !RATES.contains(&wanted) {
        bail!("--sample-frequency={wanted}: expected 0, or a rate from {} to {}", RATES.start(), RATES.end());
    }
    let rate = (wanted > 0).then_some(wanted);
    let mut signal = Signal::new(SoundStream::open(&options.from)?, options.channels, rate)?;
    if matches!(WxFilename::parse(&options.to)?, WxFilename::Stdout) {
        let out = StandardOutput::open()?;
        signal.write_wave(out, |line| messages::warn(line.strip_prefix(WARNING).unwrap_or(line)))?;
        return Ok(0);
    }
    KaldiWriter::check(&options.to)?;
    let samples = signal.read_to_end()?;
    for warning in signal.warnings() {
        messages::warn(&format!("{}: {warning}", options.from));
    }
    let rate = signal.rate();
    signal.close()?;
    if samples.is_empty() {
        bail!("{}: the recording has no samples", options.from);
    }
    let samples: Vec<f32> = samples.into_iter().map(f32::round).collect();
    let (wave, clipped) = Wave::from_channels(rate, &[samples]);
    if clipped > 0 {
        messages::warn(&format!("{}: {clipped} samples are clipped", options.from));
    }
    let mut out = KaldiWriter::create(&options.to, false)?;
    WaveHolder::write(&mut out, &wave)?;
    out.finish()?;
    Ok(0)
}
