//! Compares words that look alike: they differ in the Unicode form or in capitals. Messages about a missing word use it
//! to suggest another one.

use std::fmt::Write;

use unicode_normalization::UnicodeNormalization;

/// Returns a word in one Unicode form (NFKC) and without capitals. Words with equal results look alike.
pub fn folded(word: &str) -> String {
    word.nfkc().flat_map(char::to_lowercase).nfkc().collect()
}

/// Describes the first candidate that looks like the word but is another one: a clause to put behind the message that
/// the word is missing. Empty if there is no such candidate.
pub fn hint<'c>(word: &str, mut candidates: impl Iterator<Item = &'c str>) -> String {
    let sought = folded(word);
    let found = candidates.find(|candidate| *candidate != word && folded(candidate) == sought);
    found.map_or_else(String::new, |other| format!(" ({})", difference(word, other)))
}

/// Returns the name that a wrong one was probably meant to be: few letters differ, or are swapped. `None` if none is near.
pub fn nearest<'c>(wrong: &str, names: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // (A long wrong name is none that was misspelt.)
    const LONGEST: usize = 100;
    if wrong.len() > LONGEST {
        return None;
    }
    let near = names.into_iter().map(|name| (strsim::osa_distance(name, wrong), name)).min()?;
    (near.0 <= 1 + wrong.chars().count() / 5).then_some(near.1)
}

/// Returns the clause `; did you mean 'NAME'?` about the [`nearest`] name; empty if none is near.
pub fn did_you_mean<'c>(wrong: &str, names: impl IntoIterator<Item = &'c str>) -> String {
    nearest(wrong, names).map_or_else(String::new, |near| format!("; did you mean '{near}'?"))
}

/// Describes the difference between two words with the same [`folded`] form.
pub fn difference(word: &str, other: &str) -> String {
    let form = |word: &str| -> String { word.nfkc().collect() };
    if form(word) != form(other) {
        return format!("'{other}' is there, with other capitals");
    }
    let (mut a, mut b): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    (a, b) = (a.split_off(same), b.split_off(same));
    while a.len() > 1 && b.len() > 1 && a.last() == b.last() {
        a.pop();
        b.pop();
    }
    format!("'{other}' is there in another Unicode form, with {} for {}", codes(&b), codes(&a))
}

/// The characters as `U+0061 U+0308`.
fn codes(characters: &[char]) -> String {
    let mut out = String::new();
    for character in characters {
        let blank = if out.is_empty() { "" } else { " " };
        let _ = write!(out, "{blank}U+{:04X}", u32::from(*character));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_capitals() {
        let words = ["es", "sp\u{e4}t", "Haus", "\u{fb01}n"];
        let hint = |word| hint(word, words.into_iter());
        assert_eq!(
            hint("spa\u{308}t"),
            " ('sp\u{e4}t' is there in another Unicode form, with U+00E4 for U+0061 U+0308)"
        );
        assert_eq!(hint("haus"), " ('Haus' is there, with other capitals)");
        assert_eq!(hint("SPA\u{308}T"), " ('sp\u{e4}t' is there, with other capitals)");
        assert_eq!(
            hint("fin"),
            " ('\u{fb01}n' is there in another Unicode form, with U+FB01 for U+0066 U+0069)"
        );
        assert_eq!(hint("es"), "");
        assert_eq!(hint("was"), "");
    }

    #[test]
    fn misspelt_names() {
        let names = ["rename-node", "remove-orphans", "remove-orphan-nodes", "dim"];
        assert_eq!(did_you_mean("renmae-node", names), "; did you mean 'rename-node'?");
        assert_eq!(did_you_mean("rename-nodes", names), "; did you mean 'rename-node'?");
        assert_eq!(did_you_mean("remove-orphan", names), "; did you mean 'remove-orphans'?");
        assert_eq!(did_you_mean("dmi", names), "; did you mean 'dim'?");
        for other in ["frobnicate", "name", "", &"x".repeat(1000)] {
            assert_eq!(nearest(other, names), None, "{other}");
        }
        assert_eq!(nearest("a", []), None);
    }
}
