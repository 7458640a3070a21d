//! `phones-to-prons`: splits phones into pronunciations of words.

use anyhow::Result;
use kaldi_io::holder::{I32VectorHolder, I32VectorVectorHolder};
use nnet3::tables::Output;
use nnet3::{lattices, messages};
use nnet3_decode::pronunciation::{NoAlignment, PhoneLexicon};

/// Convert pairs of (phone-level, word-level) transcriptions to output that indicates the phones assigned to each word.
///
/// Format is standard format for archives of vector<vector<int32> >, i.e.: utt-id 600 4 7 19 ; 512 4 18 ; 0 1. Here 600,
/// 512 and 0 are the word-ids (0 for non-word phones, e.g. optional-silence introduced by the lexicon). The phone-ids
/// follow the word-ids. Note: L_align.fst must have word-start and word-end symbols in it.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ali-to-phones 1.mdl ark:1.ali ark:- | \\\n\
    phones-to-prons L_align.fst 46 47 ark:- 'ark:sym2int.pl -f 2- words.txt text|' ark:1.prons")]
pub struct Options {
    #[arg(value_name = "L_align.fst")]
    lexicon_fst: String,
    #[arg(value_name = "word-start-sym")]
    word_start_sym: i32,
    #[arg(value_name = "word-end-sym")]
    word_end_sym: i32,
    phones_rspecifier: String,
    words_rspecifier: String,
    prons_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let fst = kaldi_fst::read_fst(&options.lexicon_fst)?;
    let lexicon = PhoneLexicon::new(fst, options.word_start_sym, options.word_end_sym);
    let mut output = Output::<I32VectorVectorHolder>::open(&options.prons_wspecifier)?;
    let mut failed = 0u64;
    let (first, second) = (&options.phones_rspecifier, &options.words_rspecifier);
    lattices::for_each_pair::<I32VectorHolder, I32VectorHolder>(first, second, |key, phones, words| {
        let Some(words) = words else {
            messages::warn(&format!("Not processing utterance {key} because no word transcription found."));
            failed += 1;
            return Ok(());
        };
        match lexicon.align(&phones, &words) {
            Ok(prons) => output.write(key, &prons)?,
            Err(NoAlignment::Words) => {
                messages::warn(&format!(
                    "Empty phone-to-word FST for utterance {key}: a word is not in the lexicon"
                ));
                failed += 1;
            }
            Err(NoAlignment::Phones) => {
                messages::warn(&format!(
                    "Could not split the phones of utterance {key} into pronunciations of its words (mismatched lexicon?)"
                ));
                failed += 1;
            }
        }
        Ok(())
    })?;
    messages::log(&format!("Done {} utterances; {failed} had errors.", output.done));
    output.finish_any()
}
