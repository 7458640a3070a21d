//! `text-to-ali`: a text as windows of symbols, and the symbols that follow.

use crate::learning::text_windows::{Vocabulary, read_text, windows};
use anyhow::{Context, Result, bail};
use kaldi_io::holder::{I32VectorHolder, PosteriorHolder};
use nnet3::{messages, tables};

/// Convert a text to windows of symbols (alignments), and posteriors of the symbol that follows each symbol. Posteriors
/// are empty in the context at the beginning of a window.
///
/// Symbols are characters, numbered from 0.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: text-to-ali --chunk=50 --context=20 --vocab-out=vocab train.txt ark:in.ali ark:out.post"
)]
pub struct Options {
    /// Symbols of a window; the training predicts the next symbol of each
    #[arg(long, default_value_t = 50)]
    chunk: usize,
    /// Symbols before them
    #[arg(long, default_value_t = 20)]
    context: usize,
    /// File with the numbers of characters, as --vocab-out writes it. Without it, the characters of the text are
    /// numbered
    #[arg(long, default_value = "")]
    vocab: String,
    /// File for the numbers of characters
    #[arg(long, default_value = "")]
    vocab_out: String,
    /// Prefix of keys
    #[arg(long, default_value = "window-")]
    prefix: String,
    text_rxfilename: String,
    alignments_wspecifier: String,
    posteriors_wspecifier: String,
}

/// Digits of the window's number in keys.
const KEY_DIGITS: usize = 7;

pub fn run(options: Options) -> Result<u8> {
    if options.chunk == 0 {
        bail!("--chunk=0: expected a number above 0");
    }
    let text = read_text(&options.text_rxfilename)?;
    let vocabulary = match &*options.vocab {
        "" => Vocabulary::of(&text),
        file => Vocabulary::read(file)?,
    };
    let ids = vocabulary.ids(&text).with_context(|| options.text_rxfilename.clone())?;
    let width = options.chunk + options.context;
    if ids.len() <= width {
        bail!("{}: expected more than {width} characters, found {}", options.text_rxfilename, ids.len());
    }
    if !options.vocab_out.is_empty() {
        vocabulary.write(&options.vocab_out)?;
    }
    let mut alignments = tables::Output::<I32VectorHolder>::open(&options.alignments_wspecifier)?;
    let mut posteriors = tables::Output::<PosteriorHolder>::open(&options.posteriors_wspecifier)?;
    for (k, (symbols, followers)) in windows(&ids, options.chunk, options.context).enumerate() {
        let key = format!("{}{k:0KEY_DIGITS$}", options.prefix);
        alignments.write(&key, &symbols.to_vec())?;
        let wanted = |(t, &id): (usize, &i32)| if t < options.context { Vec::new() } else { vec![(id, 1.0)] };
        posteriors.write(&key, &followers.iter().enumerate().map(wanted).collect())?;
    }
    messages::log(&format!(
        "Wrote {} windows of {} different characters.",
        alignments.done,
        vocabulary.len()
    ));
    posteriors.finish_any()?;
    alignments.finish()
}
