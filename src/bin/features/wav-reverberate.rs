//! `wav-reverberate`: recordings as in a room, with noise.

use anyhow::{Context, Result, bail};
use kaldi_feat::reverberation::{Noise, Reverberation};
use nnet3::messages;

use super::files::{clipped_wave, read_wave, write_wave};

/// Corrupts a wave file with a room impulse response and additive noise.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: wav-reverberate --duration=20.25 --impulse-response=rir.wav \
    --additive-signals='noise1.wav,noise2.wav' --snrs='15.0,5.0' --start-times='0,17.8' input.wav output.wav")]
pub struct Options {
    /// If true, the output has a channel for each channel of the impulse response
    #[arg(long)]
    multi_channel_output: bool,
    /// Channel to be used from the input, as only a single channel will be used to generate reverberated output
    #[arg(long, default_value_t = 0)]
    input_wave_channel: usize,
    /// Channel of the room impulse response, it will only be used when multi-channel-output is false
    #[arg(long, default_value_t = 0)]
    rir_channel: usize,
    /// Channel of the noise files, it will only be used when multi-channel-output is false
    #[arg(long, default_value_t = 0)]
    noise_channel: usize,
    /// File with the impulse response for reverberating the input wave
    #[arg(long, default_value = "")]
    impulse_response: String,
    /// A comma separated list of additive signals
    #[arg(long, default_value = "")]
    additive_signals: String,
    /// A comma separated list of SNRs in dB. The additive signals will be scaled according to these SNRs.
    #[arg(long, default_value = "")]
    snrs: String,
    /// A comma separated list of start times in seconds, at which the additive signals begin. Parts behind the end of
    /// the signal are left out.
    #[arg(long, default_value = "")]
    start_times: String,
    /// If true, the output starts at the peak of the impulse response, and is as long as the input
    #[arg(long, default_value_t = true)]
    shift_output: bool,
    /// If true, then after reverberating and possibly adding noise, scale so that the signal energy is the same as the
    /// original input signal.
    #[arg(long, default_value_t = true)]
    normalize_output: bool,
    /// If nonzero, the duration (secs) of the output signal: the input is cut, or repeated.
    #[arg(long, default_value_t = 0.0)]
    duration: f32,
    /// If nonzero, a scaling factor on the signal that is applied after reverberating and possibly adding noise, in the
    /// place of --normalize-output.
    #[arg(long, default_value_t = 0.0)]
    volume: f32,
    #[arg(value_name = "WAV_RXFILENAME")]
    wav_in: String,
    #[arg(value_name = "WAV_WXFILENAME")]
    wav_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let noises = noises(&options)?;
    let one = (options.rir_channel, options.noise_channel);
    if options.multi_channel_output && one != (0, 0) {
        messages::warn(
            "options for --rir-channel and --noise-channel are ignored as --multi-channel-output is true.",
        );
    }
    let response = Some(&options.impulse_response).filter(|name| !name.is_empty());
    let reverberation = Reverberation {
        input_channel: options.input_wave_channel,
        impulse_response: response.map(|name| read_wave(name)).transpose()?,
        noises,
        channels: (!options.multi_channel_output).then_some(one),
        volume: Some(options.volume).filter(|&volume| volume > 0.0),
        normalize: options.normalize_output,
        shift: options.shift_output,
        duration: Some(options.duration).filter(|&seconds| seconds > 0.0),
    };
    let recording = read_wave(&options.wav_in)?;
    let channels = reverberation.apply(&recording).with_context(|| options.wav_in.clone())?;
    write_wave(&options.wav_out, &clipped_wave(recording.sample_rate, &channels))?;
    Ok(0)
}

fn noises(options: &Options) -> Result<Vec<Noise>> {
    fn list(joined: &str) -> impl Iterator<Item = &str> {
        joined.split(',').filter(|part| !part.is_empty())
    }
    let numbers = |name: &str, joined: &str| -> Result<Vec<f32>> {
        let number = |text: &str| match text.trim().parse() {
            Ok(number) if f32::is_finite(number) => Ok(number),
            _ => bail!("--{name}={joined}: expected numbers separated by commas, found {text}"),
        };
        list(joined).map(number).collect()
    };
    let snrs = numbers("snrs", &options.snrs)?;
    let starts = numbers("start-times", &options.start_times)?;
    let signals = list(&options.additive_signals).count();
    if signals > 0 && (snrs.is_empty() || starts.is_empty()) {
        bail!("--additive-signals option requires --snrs and --start-times to be set.");
    }
    if (snrs.len(), starts.len()) != (signals, signals) {
        bail!(
            "{signals} additive signals, {} SNRs and {} start times: expected equal numbers",
            snrs.len(),
            starts.len()
        );
    }
    if let Some(start) = starts.iter().find(|&&start| start < 0.0) {
        bail!("--start-times: {start} is before the start of the signal");
    }
    let settings = snrs.into_iter().zip(starts);
    list(&options.additive_signals)
        .zip(settings)
        .map(|(name, (snr, start))| Ok(Noise { wave: read_wave(name)?, snr, start }))
        .collect()
}
