//! The words of a lexicon, the texts in these words, and the words that the lexicon lacks.

use std::path::Path;

use kaldi_io::{KaldiWriter, alike};
use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::char::is_combining_mark;

use crate::corpus::Corpus;
use crate::fault::{Fault, Kind};
use crate::normalise::{self, Rule};
use crate::{Error, Result};

/// The words that have a pronunciation.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, Clone)]
pub enum Words {
    /// Those of a list; with the forms under which similar ones are found.
    Listed { words: FxHashSet<String>, alike: FxHashMap<String, String> },
    /// All words of letters: a letter is a sound.
    Letters,
}

impl Words {
    /// Takes the words of a lexicon.
    pub fn listed<'w>(words: impl Iterator<Item = &'w str>) -> Words {
        let words: FxHashSet<String> = words.map(str::to_owned).collect();
        let mut sorted: Vec<&String> = words.iter().collect();
        sorted.sort();
        // (The first in the order counts.)
        let alike = sorted.into_iter().rev().map(|word| (alike::folded(word), word.clone())).collect();
        Words::Listed { words, alike }
    }

    /// True if the lexicon has the word.
    pub fn has(&self, word: &str) -> bool {
        match self {
            Words::Listed { words, .. } => words.contains(word),
            Words::Letters => {
                let is_letter =
                    |c: char| c.is_alphabetic() || is_combining_mark(c) || matches!(c, '\'' | '\u{2019}');
                word.chars().all(is_letter)
                    && word.chars().any(char::is_alphabetic)
                    && !word.chars().any(char::is_uppercase)
            }
        }
    }

    /// The rule that makes these words of a text.
    pub fn rule(&self) -> Rule {
        match self {
            Words::Listed { words, .. } => Rule::of_words(words.iter().map(String::as_str)),
            Words::Letters => Rule::of_words(["a", "b'c"].into_iter()),
        }
    }

    /// A clause that names a word which looks the same; empty if there is none.
    fn hint(&self, word: &str) -> String {
        match self {
            Words::Listed { alike, .. } => match alike.get(&alike::folded(word)) {
                Some(other) if other != word => alike::difference(word, other),
                _ => String::new(),
            },
            Words::Letters => String::new(),
        }
    }
}

/// A word that the lexicon lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The word.
    pub word: String,
    /// Number of its occurrences.
    pub count: usize,
    /// Number of utterances that have it.
    pub utterances: usize,
    /// The first place.
    pub place: String,
    /// Why it may be missing: digits, another form of a known word, a noise, a phone that the model lacks. Empty if that is not
    /// known.
    pub remark: String,
}

/// The treatment of utterances with words that the lexicon lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// They stay, with these words.
    #[default]
    Keep,
    /// They are lost.
    Lose,
}

/// Returns a clause that says why a word of the lexicon cannot be used; `None` if it can.
pub type Unusable<'u> = &'u dyn Fn(&str) -> Option<String>;

/// Replaces texts by words of the lexicon. An utterance without words is lost. Returns the words that the lexicon lacks or that
/// are unusable, the most frequent first.
pub fn apply(
    corpus: &mut Corpus,
    rule: &Rule,
    words: &Words,
    unusable: Unusable<'_>,
    policy: Policy,
) -> Vec<Missing> {
    let known = |word: &str| words.has(word);
    let usable = |word: &str| known(word) && unusable(word).is_none();
    let mut missing: FxHashMap<String, Missing> = FxHashMap::default();
    let mut lacking: FxHashMap<String, Vec<String>> = FxHashMap::default();
    for utterance in &mut corpus.utterances {
        let found = rule.words(&utterance.text, &known);
        let mut own: Vec<&String> = Vec::new();
        for word in found.iter().filter(|word| !usable(word)) {
            let entry = missing.entry(word.clone()).or_insert_with(|| Missing {
                word: word.clone(),
                count: 0,
                utterances: 0,
                place: utterance.place.clone(),
                remark: remark(word, words, unusable),
            });
            entry.count += 1;
            entry.utterances += usize::from(!own.contains(&word));
            own.push(word);
        }
        if !own.is_empty() {
            lacking.insert(utterance.id.clone(), own.into_iter().cloned().collect());
        }
        utterance.text = found.join(" ");
    }
    corpus.remove(|corpus, utterance| {
        let seconds = corpus.seconds(utterance);
        if utterance.text.is_empty() {
            let sentence = "the text has no word";
            return Some(Fault::loss(Kind::EmptyText, &utterance.place, sentence, seconds));
        }
        let lacking = lacking.get(&utterance.id).filter(|_| policy == Policy::Lose)?;
        let words = lacking.iter().take(3).map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
        let is_of_model = lacking.iter().any(|word| known(word));
        let who = if is_of_model { "the lexicon or the model lacks" } else { "the lexicon lacks" };
        let sentence = format!("{who} {words}");
        Some(Fault::loss(Kind::UnknownWords, &utterance.place, sentence, seconds))
    });
    let mut missing: Vec<Missing> = missing.into_values().collect();
    missing.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.word.cmp(&b.word)));
    missing
}

fn remark(word: &str, words: &Words, unusable: Unusable<'_>) -> String {
    if let Some(clause) = words.has(word).then(|| unusable(word)).flatten() {
        return clause;
    }
    if normalise::is_mark(word) {
        return "a noise".to_owned();
    }
    if word.chars().any(char::is_numeric) {
        return "digits: write them as words".to_owned();
    }
    words.hint(word)
}

/// Writes the words that the lexicon lacks: a line each, with tabs between word, count, utterances, first place and remark.
///
/// # Errors
/// The file cannot be written.
pub fn write_missing(file: &Path, missing: &[Missing]) -> Result<()> {
    let name = file.to_str().ok_or_else(|| Error::Output {
        path: file.display().to_string(),
        message: "the name is not UTF-8".to_owned(),
    })?;
    let mut out = KaldiWriter::create(name, false)?;
    out.write_bytes(b"word\tcount\tutterances\tfirst place\tremark\n")?;
    for Missing { word, count, utterances, place, remark } in missing {
        let place = place.replace(['\t', '\n'], " ");
        out.write_bytes(format!("{word}\t{count}\t{utterances}\t{place}\t{remark}\n").as_bytes())?;
    }
    Ok(out.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Recording, Source, Utterance};

    fn all_usable(_: &str) -> Option<String> {
        None
    }

    fn corpus(texts: &[&str]) -> Corpus {
        let mut corpus = Corpus::default();
        for (number, text) in texts.iter().enumerate() {
            corpus.recordings.push(Recording {
                id: format!("r{number}"),
                path: vec![format!("r{number}")],
                source: Source::File(format!("/r{number}.wav").into()),
                channel: Some(0),
                channels: 1,
                rate: 16000,
                seconds: 2.0,
                promised_seconds: 2.0,
                is_wave: true,
                levels: None,
            });
            corpus.utterances.push(Utterance {
                id: format!("u{number}"),
                recording: number,
                span: None,
                speaker: "s".to_owned(),
                text: (*text).to_owned(),
                place: format!("{number}.txt"),
            });
        }
        corpus
    }

    #[test]
    fn missing_words_are_counted_with_the_first_place_and_a_reason() {
        let words = Words::listed(["yes", "no", "Haus"].into_iter());
        let rule = words.rule();
        let mut all = corpus(&["Yes, maybe.", "maybe maybe 12", "…", "no"]);
        let missing = apply(&mut all, &rule, &words, &all_usable, Policy::Keep);
        assert_eq!(missing.len(), 2);
        let first = &missing[0];
        assert_eq!((first.word.as_str(), first.count, first.utterances), ("maybe", 3, 2));
        assert_eq!(first.place, "0.txt");
        assert_eq!(missing[1].remark, "digits: write them as words");
        assert_eq!(all.utterances.len(), 3);
        assert_eq!(all.utterances[0].text, "yes maybe");
        assert_eq!(all.faults.len(), 1);
        assert_eq!(all.faults[0].kind, Kind::EmptyText);
        assert_eq!(all.recordings.len(), 3);
        assert_eq!(all.recordings[all.utterances[2].recording].id, "r3");

        let mut all = corpus(&["Yes, maybe.", "no"]);
        apply(&mut all, &rule, &words, &all_usable, Policy::Lose);
        assert_eq!(all.utterances.len(), 1);
        assert_eq!(all.faults[0].to_string(), "0.txt: the lexicon lacks 'maybe'");
        assert_eq!(all.faults[0].lost.seconds, 2.0);
    }

    #[test]
    fn unusable_words_are_missing_with_their_reason_and_keep_their_form() {
        let words = Words::listed(["yes", "no"].into_iter());
        let unusable = |word: &str| (word == "yes").then(|| "no such phone".to_owned());
        let mut all = corpus(&["Yes, no", "no"]);
        let missing = apply(&mut all, &words.rule(), &words, &unusable, Policy::Keep);
        assert_eq!(missing.len(), 1);
        assert_eq!((missing[0].word.as_str(), missing[0].remark.as_str()), ("yes", "no such phone"));
        assert_eq!(all.utterances[0].text, "yes no");
        apply(&mut all, &words.rule(), &words, &unusable, Policy::Lose);
        assert_eq!((all.utterances.len(), all.faults[0].kind), (1, Kind::UnknownWords));
    }

    #[test]
    fn letters_are_words_in_small_letters() {
        let (words, mut all) = (Words::Letters, corpus(&["Kyéma, Ω'ndω 3"]));
        let missing = apply(&mut all, &words.rule(), &words, &all_usable, Policy::Keep);
        assert_eq!(all.utterances[0].text, "kyéma ω'ndω 3");
        assert_eq!(missing.len(), 1);
    }
}
