//! Log lines about lexicons and trainings.

use kaldi_g2p::{Lexicon, Report};
use kaldi_io::text::count;
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
    messages::log(&format!("Lexicon: {}", count(entries, "pronunciation")));
    if !left_out.is_empty() {
        let words = named(left_out.iter().map(|(word, _)| word.as_str()));
        let pronunciations = count(left_out.len(), "pronunciation");
        messages::log(&format!("Left out {pronunciations} of symbols and noises: {words}"));
    }
    if !lexicon.bad_lines.is_empty() {
        let lines = named(lexicon.bad_lines.iter().map(String::as_str));
        let bad = count(lexicon.bad_lines.len(), "line");
        messages::warn(&format!("Left out {bad} of the lexicon: {lines}"));
    }
}

/// Says how the model was made.
pub fn training(report: &Report, sizes: &[usize]) {
    if !report.unaligned.is_empty() {
        messages::warn(&format!(
            "Left out {} with too many phones for the letters: {}",
            count(report.unaligned.len(), "pronunciation"),
            named(report.unaligned.iter().map(String::as_str))
        ));
    }
    for (order, perplexity) in &report.perplexities {
        messages::log(&format!(
            "Order {order}: perplexity {perplexity:.4} of {}",
            count(report.held_out, "held-out pronunciation")
        ));
    }
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    messages::log(&format!(
        "{} of up to {}, order {}, {} n-grams of 1, 2, … graphones",
        count(report.graphones, "graphone"),
        count(report.max_phones, "phone"),
        report.order,
        sizes.join(" ")
    ));
}
