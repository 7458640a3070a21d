//! The choice of the tiers of TextGrids and ELAN's files that have utterances, and the speakers that tiers name.

use std::str::FromStr;

/// The tiers that are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TierRule {
    /// All tiers of intervals that stand by themselves, but not words or phones as aligners write them.
    #[default]
    Texts,
    /// Those with these names; a `*` stands for any characters.
    Named(Vec<String>),
}

impl FromStr for TierRule {
    type Err = String;

    /// Names with commas between them; empty for the default.
    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> =
            text.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect();
        match names.iter().find(|name| name.matches('*').count() > 1) {
            Some(name) => Err(format!("expected at most one '*' in a name, found '{name}'")),
            None if names.is_empty() => Ok(TierRule::Texts),
            None => Ok(TierRule::Named(names)),
        }
    }
}

/// The part of a tier's name that the `*` of a pattern stands for; empty for a pattern without one. `None` if the name is
/// another one. Capitals count.
pub(crate) fn matched<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    match pattern.split_once('*') {
        None => (pattern == name).then_some(""),
        Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after),
    }
}

/// The place of an utterance in a tier.
pub(crate) fn place(file: &str, tier: &str, begin: f64) -> String {
    format!("{file}, tier '{tier}', {begin:.2} s")
}

/// The tier of such a place.
pub(crate) fn of_place(place: &str) -> Option<&str> {
    let (_, rest) = place.split_once(", tier '")?;
    Some(rest.rsplit_once("', ")?.0)
}

/// The units that an aligner's tier has.
const WORDS: [&str; 6] = ["words", "word", "ort-mau", "wrd", "orthography - words", "tokens"];
const PHONES: [&str; 12] = [
    "phones",
    "phone",
    "phonemes",
    "phoneme",
    "mau",
    "kan-mau",
    "phn",
    "syllables",
    "syllable",
    "mas",
    "sounds",
    "phons",
];

/// Lower case, without a speaker's name that an aligner puts before the unit (`anna - words`).
fn unit(name: &str) -> String {
    let name = name.trim().to_lowercase();
    match name.rsplit_once([' ', '_', '/', ':', '.']) {
        Some((_, last)) if !last.is_empty() => last.to_owned(),
        _ => match name.rsplit_once('-') {
            // (MAUS' names are whole.)
            Some((_, last)) if !name.ends_with("-mau") => last.to_owned(),
            _ => name,
        },
    }
}

/// True if a tier is an aligner's: its name says so, and its texts are single words.
pub(crate) fn is_of_aligner<'t>(name: &str, texts: impl Iterator<Item = &'t str>) -> bool {
    let unit = unit(name);
    if !WORDS.contains(&unit.as_str()) && !PHONES.contains(&unit.as_str()) {
        return false;
    }
    let (mut single, mut all) = (0usize, 0usize);
    for text in texts {
        let words = text.split_whitespace().count();
        all += usize::from(words > 0);
        single += usize::from(words == 1);
    }
    single * 10 >= all * 9
}

/// Names of tiers that are no speakers.
const GENERIC: [&str; 38] = [
    "",
    "text",
    "texts",
    "utterance",
    "utterances",
    "utt",
    "utts",
    "sentence",
    "sentences",
    "phrase",
    "phrases",
    "transcription",
    "transcriptions",
    "transcript",
    "transcripts",
    "transcr",
    "trans",
    "trn",
    "orthography",
    "orthographic",
    "ortho",
    "ort",
    "speech",
    "speaker",
    "ipu",
    "ipus",
    "turn",
    "turns",
    "segment",
    "segments",
    "tier",
    "default",
    "words",
    "word",
    "ref",
    "tx",
    "intervals",
    "silences",
];

/// The speaker that the name of a tier means, if it is one.
pub(crate) fn speaker(name: &str) -> Option<&str> {
    let name = name.trim();
    let plain = name.to_lowercase();
    let plain = plain.trim_end_matches(|c: char| c.is_ascii_digit() || " -_".contains(c));
    // (A digit alone, or "speaker 2", is a speaker.)
    let is_numbered = plain.len() < name.len() && (plain.is_empty() || plain == "speaker");
    (is_numbered || !GENERIC.contains(&plain)).then_some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligners_tiers_are_told_from_transcripts_with_such_names() {
        let single = ["hello", "", "world"];
        for name in
            ["words", "phones", "anna - words", "Anna - phones", "ORT-MAU", "MAU", "b_phones", "spk/words"]
        {
            assert!(is_of_aligner(name, single.into_iter()), "{name}");
        }
        for name in ["anna", "utterances", "swords", "keywords"] {
            assert!(!is_of_aligner(name, single.into_iter()), "{name}");
        }
        assert!(!is_of_aligner("words", ["she said no", "and went"].into_iter()));
    }

    #[test]
    fn names_of_tiers_that_are_no_speakers() {
        for name in ["Anna", "F4", "speaker 2", "1", "Иван"] {
            assert_eq!(speaker(name), Some(name));
        }
        for name in ["", "Text", "utterances", "sentence 1", "Phrase", "IPU"] {
            assert_eq!(speaker(name), None, "{name}");
        }
    }

    #[test]
    fn patterns_give_the_part_of_the_star() {
        assert_eq!(matched("tx@*", "tx@SL"), Some("SL"));
        assert_eq!(matched("*-ort", "B-ort"), Some("B"));
        assert_eq!(matched("ort", "ort"), Some(""));
        assert_eq!(matched("tx@*", "ft@SL"), None);
        assert_eq!("a, b*".parse(), Ok(TierRule::Named(vec!["a".to_owned(), "b*".to_owned()])));
        assert_eq!("".parse(), Ok(TierRule::Texts));
        assert!("a*b*".parse::<TierRule>().is_err());
    }
}
