//! Texts as words of a lexicon.

use std::path::Path;

use anyhow::Result;
use kaldi_aligner::{Pronunciations, Source};
use kaldi_corpus::Corpus;
use kaldi_corpus::vocabulary::{self, Missing, Policy};
use kaldi_io::text::count;
use nnet3::messages;

/// Words that are named in a warning.
const SHOWN: usize = 5;

/// Reads a lexicon, a file or `letters`, and warns of its oddities.
pub fn pronunciations(name: &str) -> Result<Pronunciations> {
    let source = match name {
        "letters" if !Path::new(name).is_file() => Source::Letters,
        file => Source::File(file.to_owned()),
    };
    let pronunciations = Pronunciations::new(source)?;
    for warning in &pronunciations.warnings {
        messages::warn(warning);
    }
    Ok(pronunciations)
}

/// Makes words of the lexicon of all texts, says by which rule, and names words that the lexicon lacks. They are written to
/// `file` unless that is empty.
pub fn normalise(
    corpus: &mut Corpus,
    pronunciations: &Pronunciations,
    policy: Policy,
    file: &str,
) -> Result<Vec<Missing>> {
    let words = &pronunciations.words;
    let rule = words.rule();
    for line in rule.to_string().lines() {
        messages::log(&format!("texts: {line}"));
    }
    let unusable = |word: &str| pronunciations.unusable(word);
    let missing = vocabulary::apply(corpus, &rule, words, &unusable, policy);
    if !file.is_empty() {
        vocabulary::write_missing(file.as_ref(), &missing)?;
    }
    if !missing.is_empty() {
        let times: usize = missing.iter().map(|word| word.count).sum();
        let first = missing.iter().take(SHOWN).enumerate().map(|(number, missing)| {
            // (One long path is enough; the table has the others.)
            let place = if number == 0 { format!(", first in {}", missing.place) } else { String::new() };
            let remark =
                if missing.remark.is_empty() { String::new() } else { format!(" ({})", missing.remark) };
            format!("'{}' {}{place}{remark}", missing.word, count(missing.count, "time"))
        });
        let first: Vec<String> = first.collect();
        let words_of = |utterance: &kaldi_corpus::Utterance| utterance.text.split_whitespace().count();
        let all: usize = corpus.utterances.iter().map(words_of).sum();
        let share = if times < all { format!(" of {all}") } else { String::new() };
        let is_of_model = |missing: &Missing| words.has(&missing.word) && unusable(&missing.word).is_some();
        let who = if missing.iter().any(is_of_model) {
            "the lexicon or the model lacks"
        } else {
            "the lexicon lacks"
        };
        messages::warn(&format!(
            "{who} {} ({}{share}): {}",
            count(missing.len(), "word"),
            count(times, "time"),
            first.join("; ")
        ));
    }
    Ok(missing)
}
