//! Log lines about lexicons and trainings.

use kaldi_g2p::{Lexicon, Report};
use nnet3::messages;

/// So many words are named in a line.
const SHOWN: usize = 5;

/// Names the first words.
pub fn named<'w>(words: impl ExactSizeIterator<Item = &'w str>) -> String {
    let count = words.len();
    let shown: Vec<&str> = words.take(SHOWN).collect();
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Says which lines of a lexicon are no words.
pub fn lexicon(lexicon: &Lexicon) {
    let (entries, left_out) = (lexicon.entries.len(), &lexicon.left_out);
    messages::log(&format!("Lexicon: {entries} pronunciations"));
    if !left_out.is_empty() {
        let words = named(left_out.iter().map(|(word, _)| word.as_str()));
        messages::log(&format!("Left out {} pronunciations of symbols and noises: {words}", left_out.len()));
    }
    if !lexicon.bad_lines.is_empty() {
        let lines = named(lexicon.bad_lines.iter().map(String::as_str));
        messages::warn(&format!("Left out {} lines of the lexicon: {lines}", lexicon.bad_lines.len()));
    }
}

/// Says how the model was made.
pub fn training(report: &Report, sizes: &[usize]) {
    if !report.unaligned.is_empty() {
        messages::warn(&format!(
            "Left out {} pronunciations with too many phones for their letters: {}",
            report.unaligned.len(),
            named(report.unaligned.iter().map(String::as_str))
        ));
    }
    for (order, perplexity) in &report.perplexities {
        messages::log(&format!(
            "Order {order}: perplexity {perplexity:.4} of {} held-out pronunciations",
            report.held_out
        ));
    }
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    messages::log(&format!(
        "{} graphones of up to {} phones, order {}, {} n-grams of 1, 2, … graphones",
        report.graphones,
        report.max_phones,
        report.order,
        sizes.join(" ")
    ));
}
