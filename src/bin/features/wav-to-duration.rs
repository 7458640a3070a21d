//! `wav-to-duration`: durations of sounds.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_feat::wave::{WaveDataHolder, WaveHeaderHolder, WaveInfo};
use kaldi_io::holder::{FloatHolder, Holder};
use kaldi_io::table::{Rspecifier, RspecifierKind};
use nnet3::json::{self, FormatOption};
use nnet3::tables::Output;
use nnet3::{messages, tables};
use serde_json::json;

/// Read wav files and output an archive consisting of a single float: the duration of each one in seconds.
#[derive(clap::Parser, Debug)]
#[command(after_help = "E.g.: wav-to-duration scp:wav.scp ark,t:-\nSee also: feat-to-len")]
pub struct Options {
    /// If true, read files to their end to ensure the returned duration is correct. Archives always are, and so are waves
    /// whose header does not say how long they are. Of files otherwise all headers are read, of pipes the first one.
    #[arg(long)]
    read_entire_file: bool,
    #[command(flatten)]
    format: FormatOption,
    wav_rspecifier: String,
    duration_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    // Without its data a file in an archive cannot be told from the next one.
    let archive = Rspecifier::parse(&options.wav_rspecifier)?.kind == RspecifierKind::Archive;
    if options.read_entire_file || archive {
        durations::<WaveDataHolder>(&options)
    } else {
        durations::<WaveHeaderHolder>(&options)
    }
}

fn durations<H: Holder<T = WaveInfo>>(options: &Options) -> Result<u8> {
    let (mut all, mut streamed) = (Vec::new(), 0u64);
    let (from, to) = (&options.wav_rspecifier, &options.duration_wspecifier);
    let mut duration = |key: &str, wave: &WaveInfo| {
        if let Some(complaint) = &wave.complaint {
            messages::warn(&format!("{key}: {complaint}"));
        }
        let duration = wave.duration();
        if wave.is_streamed {
            if streamed == 0 {
                messages::log(&format!(
                    "{key}: the header does not say how long it is; such files are read to their end"
                ));
            }
            streamed += 1;
        }
        all.push(f64::from(duration));
        duration
    };
    if options.format.is_json() {
        let open = || Output::<H>::open_as(options.format, to, fields);
        let output = tables::map_into::<H, H>(from, open, |key, wave| {
            duration(key, &wave);
            Ok(Ok(wave))
        })?;
        report(output.done, &all);
        return output.finish();
    }
    let output = tables::map::<H, FloatHolder>(from, to, |key, wave| Ok(Ok(duration(key, &wave))))?;
    report(output.done, &all);
    output.finish()
}

fn fields(wave: &WaveInfo) -> json::Fields {
    json::fields(json!({
        "duration": json::single(wave.duration()),
        "sample-rate": wave.sample_rate,
        "channels": wave.channels,
        "complaint": wave.complaint,
    }))
}

fn report(done: u64, all: &[f64]) {
    messages::log(&format!("Printed duration for {} audio files.", done));
    if !all.is_empty() {
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let shortest = all.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = all.iter().copied().fold(0.0, f64::max);
        messages::log(&format!(
            "Mean duration was {}, min and max durations were {}, {}",
            num(mean),
            num(shortest),
            num(longest)
        ));
    }
}
