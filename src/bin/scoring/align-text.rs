//! `align-text`: words of two texts side by side.

use anyhow::{Result, bail};
use kaldi_io::RandomReader;
use kaldi_io::holder::TokenVectorHolder;
use nnet3::{messages, tables};
use nnet3_decode::edit_distance::align;

/// Computes alignment between two sentences with the same key in the two given input text-rspecifiers.
///
/// The current implementation uses Levenshtein distance as the distance metric. Of key1 a b c and key1 a d the output
/// is key1 a a ; b <eps> ; c d
///
/// Several alignments may have the fewest errors. Then the program chooses by the last operation: a substitution or
/// match first, then a deletion, then an insertion. compute-wer chooses in the opposite order: an insertion, a
/// deletion, a substitution. So the numbers of insertions, deletions and substitutions may differ between the two
/// programs, but their sum does not. Both behave as in Kaldi.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: align-text ark:text1.txt ark:text2.txt ark,t:alignment.txt\n\
    See also: compute-wer")]
pub struct Options {
    /// Special symbol to be aligned with the inserted or deleted words. Your sentences should not contain this symbol.
    #[arg(long, default_value = "<eps>")]
    special_symbol: String,
    /// Separator for each aligned pair in the output alignment file. Note: it should not be necessary to change this
    /// even if your sentences contain ';'. To parse the output, split on space; every third token is ';'.
    #[arg(long, default_value = ";")]
    separator: String,
    text1_rspecifier: String,
    text2_rspecifier: String,
    alignment_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let special = &options.special_symbol;
    for (name, symbol) in [("special-symbol", special), ("separator", &options.separator)] {
        if !kaldi_io::text::is_token(symbol) {
            bail!("--{name}='{symbol}': expected a word without blanks");
        }
    }
    let mut second = RandomReader::<TokenVectorHolder>::open(&options.text2_rspecifier)?;
    let output = tables::map::<TokenVectorHolder, TokenVectorHolder>(
        &options.text1_rspecifier,
        &options.alignment_wspecifier,
        |key, words| {
            let Some(others) = second.get(key)? else {
                let (here, there) = (&options.text1_rspecifier, &options.text2_rspecifier);
                return tables::skip_as(format!("Key {key} is in {here}, but not in {there}"));
            };
            for (text, words) in [("text1", &words), ("text2", others)] {
                if words.contains(special) {
                    bail!(
                        "In {text}, the utterance contains the special symbol '{special}'. This is not allowed."
                    );
                }
            }
            let mut aligned = Vec::new();
            for (a, b) in align(&words, others) {
                if !aligned.is_empty() {
                    aligned.push(options.separator.clone());
                }
                aligned.extend([a, b].map(|word| word.unwrap_or(special).clone()));
            }
            Ok(Ok(aligned))
        },
    )?;
    messages::log(&format!("Done {} sentences, failed for {}", output.done, output.failed));
    output.finish()
}
