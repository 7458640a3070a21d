//! `make-arpa`: estimates an n-gram language model from sentences.

use anyhow::Result;
use kaldi_io::KaldiWriter;
use kaldi_lang::ngrams::{NgramModel, Vocabulary};

/// Estimate an n-gram language model from sentences, and write it in the ARPA format.
///
/// The smoothing is interpolated Kneser-Ney, with one discount for each order. All words of the vocabulary have a probability;
/// without --vocabulary, these are the words of the text.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: make-arpa --vocabulary=data/lang/words.txt data/train/text lm.arpa\nSee also: arpa2fst, arpa-mix"
)]
pub struct Options {
    /// Number of words that a probability is about, with the history; from 1 to 9
    #[arg(long, default_value_t = 3)]
    order: usize,
    /// File with words, the first field of each line. Without it, the words of the text
    #[arg(long, default_value = "")]
    vocabulary: String,
    /// True if lines begin with a key
    #[arg(long, default_value_t = true)]
    keys: bool,
    text: String,
    arpa: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (vocabulary, sentences) = match options.vocabulary.as_str() {
        "" => Vocabulary::of_text(&options.text, options.keys)?,
        file => {
            let vocabulary = Vocabulary::read(file)?;
            let sentences = vocabulary.sentences(&options.text, options.keys)?;
            (vocabulary, sentences)
        }
    };
    let model = NgramModel::estimate(&sentences, &vocabulary, options.order)?;
    let mut w = KaldiWriter::create(&options.arpa, false)?;
    model.write(&mut w)?;
    w.finish()?;
    Ok(0)
}
