//! `garbage-sounds`: noise, music and scrambled speech, for a word that stands for what is no word.

use std::path::Path;

use anyhow::{Result, bail};
use kaldi_corpus::garbage::{Options as Settings, Speech, make};
use kaldi_feat::wave::WaveHolder;
use kaldi_io::KaldiWriter;
use kaldi_io::holder::Holder;
use nnet3::messages;
use nnet3::options::threads;

/// Make sounds that are no words: half of them noise and music, half of them speech of a data folder in pieces of 0.06 to 0.3 s in
/// another order, without pauses, six of ten of them reversed.
///
/// Kinds of noise are white, pink and brown noise, hum, chords, plucked strings and clicks. The output folder gets waves of 16 bits,
/// garbage-00000.wav and so on, of 0.5 to 4 s, and utt2dur with their seconds. The same seed makes the same sounds.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: garbage-sounds --sample-frequency=16000 data/train data/garbage\nSee also: corpus-to-data"
)]
pub struct Options {
    /// Number of sounds for each utterance of the data
    #[arg(long, default_value_t = 0.08)]
    share: f64,
    /// Number of sounds at least
    #[arg(long, default_value_t = 8)]
    min_count: usize,
    /// Samples per second
    #[arg(long, default_value_t = 16000)]
    sample_frequency: u32,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Number of threads
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    #[arg(value_name = "data-dir")]
    from: String,
    #[arg(value_name = "out-dir")]
    to: String,
}

/// The lowest and the highest rate that make sense, in Hz.
const RATES: std::ops::RangeInclusive<u32> = 1000..=384_000;

pub fn run(options: Options) -> Result<u8> {
    if !(0.0..=100.0).contains(&options.share) {
        bail!("--share={}: expected a number from 0 to 100", options.share);
    }
    if !RATES.contains(&options.sample_frequency) {
        let rate = options.sample_frequency;
        bail!("--sample-frequency={rate}: expected a rate from {} to {}", RATES.start(), RATES.end());
    }
    let speech = Speech::read(options.from.as_ref())?;
    let count = options.min_count.max((options.share * speech.num_utterances() as f64).round() as usize);
    let settings = Settings {
        count,
        rate: options.sample_frequency,
        seed: options.srand as u64,
        threads: threads::number("num-threads", options.num_threads.into())?.get(),
    };
    let folder = Path::new(&options.to);
    kaldi_corpus::write::new_folder(folder)?;
    let mut lengths = String::new();
    let mut seconds = 0.0;
    make(&speech, &settings, |number, wave| {
        let key = format!("garbage-{number:05}");
        let mut out = KaldiWriter::create(&folder.join(format!("{key}.wav")).to_string_lossy(), false)?;
        WaveHolder::write(&mut out, &wave)?;
        out.finish()?;
        lengths += &format!("{key} {:.3}\n", wave.duration());
        seconds += f64::from(wave.duration());
        Ok(())
    })?;
    let mut out = KaldiWriter::create(&folder.join("utt2dur").to_string_lossy(), false)?;
    out.write_str(&lengths)?;
    out.finish()?;
    messages::log(&format!("{count} sounds, {seconds:.0} s"));
    Ok(0)
}
