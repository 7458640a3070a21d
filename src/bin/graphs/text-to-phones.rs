//! `text-to-phones`: transcripts → phones with silences, drawn at random.

use anyhow::{Result, bail};
use kaldi_io::KaldiWriter;
use kaldi_lang::plain_text::{self, fields, lines};
use kaldi_lang::spoken::{Rng, Silences, Spoken};

/// Write transcripts as phones (numbers), for the phone language model of a training without alignments.
///
/// Before there are alignments, silences and the pronunciations in use are not known: both are drawn, pronunciations by their
/// probabilities. The folder is that of prepare-lang for a chain model.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: text-to-phones data/lang data/train/text phones.txt\nSee also: chain-est-phone-lm, prepare-lang"
)]
pub struct Options {
    /// Probability of silence at the begin and at the end of a transcript
    #[arg(long, default_value_t = 0.8)]
    edge_silence: f64,
    /// Probability of silence between two words
    #[arg(long, default_value_t = 0.2)]
    silence_between: f64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 0)]
    srand: i32,
    lang_dir: String,
    text: String,
    #[arg(value_name = "phones-out")]
    to: String,
}

pub fn run(options: Options) -> Result<u8> {
    for (name, value) in
        [("edge-silence", options.edge_silence), ("silence-between", options.silence_between)]
    {
        if !(0.0..=1.0).contains(&value) {
            bail!("--{name}={value}: expected a number from 0 to 1");
        }
    }
    let silences = Silences { at_edges: options.edge_silence, between_words: options.silence_between };
    let spoken = Spoken::read(&options.lang_dir)?;
    let text = plain_text::read(&options.text)?;
    let mut random = Rng::with_seed(options.srand as u64);
    let mut out = String::new();
    for (line, content) in lines(&text) {
        let columns = fields(content);
        match spoken.phones(&columns[1..], silences, &mut random) {
            Ok(phones) => out += &format!("{} {phones}\n", columns[0]),
            Err(clause) => bail!("{}, line {line}: {clause}", options.text),
        }
    }
    let mut w = KaldiWriter::create(&options.to, false)?;
    w.write_str(&out)?;
    w.finish()?;
    Ok(0)
}
