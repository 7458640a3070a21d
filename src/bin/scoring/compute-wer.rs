//! `compute-wer`: word and sentence error rates.

use crate::scoring::counts::{Alike, Mode};
use anyhow::{Result, bail};
use kaldi_io::holder::TokenVectorHolder;
use kaldi_io::{KaldiWriter, RandomReader};
use nnet3::json::{self, FormatOption};
use nnet3::messages;
use nnet3::tables::Input;
use nnet3_decode::edit_distance::{Errors, errors};
use serde_json::{Value, json};

/// Compute WER by comparing different transcriptions.
///
/// Takes two transcription files, in integer or text format, and outputs overall WER statistics to standard output.
///
/// Several alignments may have the fewest errors. Then the program chooses by the last operation: an insertion first,
/// then a deletion, then a substitution. align-text chooses in the opposite order: a substitution or match, a deletion,
/// an insertion. So the numbers of insertions, deletions and substitutions may differ between the two programs, but
/// their sum does not. Both behave as in Kaldi.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: compute-wer --text --mode=present ark:data/train/text ark:hyp_text\n\
    See also: align-text")]
pub struct Options {
    /// Scoring mode: "present"|"all"|"strict": "present" means score those we have transcriptions for; "all" means
    /// treat absent transcriptions as empty; "strict" means die if all in ref not also in hyp
    #[arg(long, default_value = "strict")]
    mode: String,
    /// Deprecated option! Keeping for compatibility reasons.
    #[arg(long, default_value_t = false)]
    text: bool,
    #[command(flatten)]
    format: FormatOption,
    ref_rspecifier: String,
    hyp_rspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let mode: Mode = options.mode.parse()?;
    let mut hypotheses = RandomReader::<TokenVectorHolder>::open(&options.hyp_rspecifier)?;
    let (mut total, mut num_words, mut sentences, mut wrong, mut absent) = (Errors::default(), 0, 0, 0, 0);
    let mut alike = Alike::default();
    Input::<TokenVectorHolder>::open(&options.ref_rspecifier)?.for_each(|key, reference| {
        let hypothesis = match hypotheses.get(key)? {
            Some(hypothesis) => hypothesis.clone(),
            None => {
                absent += 1;
                match mode {
                    Mode::Strict => bail!("No hypothesis for key {key} and strict mode specifier."),
                    Mode::Present => return Ok(()),
                    Mode::All => Vec::new(),
                }
            }
        };
        let found = errors(&reference, &hypothesis);
        if found.substitutions > 0 {
            alike.add(key, &reference, &hypothesis);
        }
        total.insertions += found.insertions;
        total.deletions += found.deletions;
        total.substitutions += found.substitutions;
        num_words += reference.len();
        sentences += 1;
        wrong += usize::from(reference != hypothesis);
        Ok(())
    })?;
    if sentences == 0 {
        messages::warn(&format!(
            "No sentence was scored: {} and {} have no key in common",
            options.ref_rspecifier, options.hyp_rspecifier
        ));
    }
    alike.warn();
    if options.format.is_json() {
        json::print(&json!({
            "wer": rate(total.total(), num_words),
            "errors": total.total(),
            "words": num_words,
            "insertions": total.insertions,
            "deletions": total.deletions,
            "substitutions": total.substitutions,
            "partial": absent > 0,
            "ser": rate(wrong, sentences),
            "wrong-sentences": wrong,
            "sentences": sentences,
            "absent": absent,
        }))?;
        return Ok(0);
    }
    let mut out = KaldiWriter::create("-", false)?;
    out.write_str(&format!(
        "%WER {} [ {} / {num_words}, {} ins, {} del, {} sub ]{}\n%SER {} [ {wrong} / {sentences} ]\n\
         Scored {sentences} sentences, {absent} not present in hyp.\n",
        percent(total.total(), num_words),
        total.total(),
        total.insertions,
        total.deletions,
        total.substitutions,
        if absent > 0 { " [PARTIAL]" } else { "" },
        percent(wrong, sentences)
    ))?;
    out.finish()?;
    Ok(0)
}

/// A share in percent; null if the whole is 0.
fn rate(part: usize, whole: usize) -> Value {
    Value::from(100.0 * part as f64 / whole as f64)
}

/// Two decimals; for 0/0 the text that C prints.
fn percent(part: usize, whole: usize) -> String {
    match (part, whole) {
        (0, 0) => "-nan".to_owned(),
        _ => format!("{:.2}", (100.0 * f64::from(part as f32) / f64::from(whole as f32)) as f32),
    }
}
