//! `prons-to-wordali`: frames of words, from pronunciations and lengths of phones.

use anyhow::Result;
use kaldi_io::holder::{I32PairVectorHolder, I32VectorHolder, I32VectorVectorHolder};
use nnet3::tables::Output;
use nnet3::{lattices, messages};
use nnet3_decode::pronunciation::{WordLengths, word_lengths};

/// Given archives of pronunciations (from phones-to-prons) and of phones with their lengths (from ali-to-phones
/// --write-lengths=true), write alignments of words.
///
/// Format of the output is pairs of word and number of frames: utt-id word1 num-frames1 ; word2 num-frames2 ... Word 0
/// stands for phones outside words.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ali-to-phones --write-lengths=true 1.mdl ark:1.ali ark:- | \\\n\
    prons-to-wordali ark:1.prons ark:- ark,t:1.wali")]
pub struct Options {
    /// If true, write out the frame-level word alignment (else word sequence)
    #[arg(long, default_value_t = false)]
    per_frame: bool,
    prons_rspecifier: String,
    phone_lengths_rspecifier: String,
    wordali_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (done, failed, status) = if options.per_frame {
        let mut output = Output::<I32VectorHolder>::open(&options.wordali_wspecifier)?;
        let failed = convert(&options, |key, words| {
            let frames = |&(word, count): &(i32, i32)| vec![word; count.max(0) as usize];
            output.write(key, &words.iter().flat_map(frames).collect())
        })?;
        (output.done, failed, output.finish_any()?)
    } else {
        let mut output = Output::<I32PairVectorHolder>::open(&options.wordali_wspecifier)?;
        let failed = convert(&options, |key, words| output.write(key, &words))?;
        (output.done, failed, output.finish_any()?)
    };
    messages::log(&format!("Done {done} utterances; {failed} had errors."));
    Ok(status)
}

/// Calls `write` with the words of each utterance and their frames. Returns the number of utterances with errors.
fn convert(options: &Options, mut write: impl FnMut(&str, Vec<(i32, i32)>) -> Result<()>) -> Result<u64> {
    let mut failed = 0;
    let (first, second) = (&options.prons_rspecifier, &options.phone_lengths_rspecifier);
    lattices::for_each_pair::<I32VectorVectorHolder, I32PairVectorHolder>(
        first,
        second,
        |key, prons, phones| {
            let Some(phones) = phones else {
                messages::warn(&format!("For utterance {key}, no phone lengths found."));
                failed += 1;
                return Ok(());
            };
            let Some(WordLengths { words, has_mismatch }) = word_lengths(&prons, &phones) else {
                messages::warn(&format!(
                    "For key {key}, number of phones in prons and phones differs; skipping it."
                ));
                failed += 1;
                return Ok(());
            };
            if has_mismatch {
                messages::warn(&format!("For key {key}, mismatch between prons and phones."));
                failed += 1;
            }
            write(key, words)
        },
    )?;
    Ok(failed)
}
