//! Keys of Kaldi's tables: readable, without blanks, and unique.

use rustc_hash::FxHashSet;

/// Longest part of a name that becomes a part of a key, in characters.
const LONGEST: usize = 160;

/// Returns a name as a part of a key: blanks, control characters and slashes become `_`. Empty only for an empty name.
pub(crate) fn part(name: &str) -> String {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\u{200b}' | '\u{feff}');
    name.trim().chars().map(|c| if is_bad(c) { '_' } else { c }).take(LONGEST).collect()
}

/// Returns a name as a speaker. Utterances are called `SPEAKER-…`. No character of a speaker is before `-` in the order of
/// bytes, nor equal to it: so the order of utterances is that of their speakers, as Kaldi's scripts demand.
pub(crate) fn speaker(name: &str) -> String {
    part(name).chars().map(|c| if c <= '-' { '_' } else { c }).collect()
}

/// The keys so far.
#[derive(Default)]
pub(crate) struct Keys(FxHashSet<String>);

impl Keys {
    /// Returns the name, or the name with the first number behind it that makes it unique.
    pub fn unique(&mut self, name: String, separator: char) -> String {
        let mut key = name.clone();
        let mut number = 2;
        while self.0.contains(&key) {
            key = format!("{name}{separator}{number}");
            number += 1;
        }
        self.0.insert(key.clone());
        key
    }

    /// Takes a key that must stay as it is; false if it is there already.
    pub fn take(&mut self, key: &str) -> bool {
        self.0.insert(key.to_owned())
    }
}

/// The shortest length, at least 8, at which long names such as hashes are still different from each other.
pub(crate) fn shortened<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Option<usize> {
    const LONG: usize = 32;
    let is_hash = |name: &str| name.len() >= LONG && name.bytes().all(|b| b.is_ascii_alphanumeric());
    let all: FxHashSet<&str> = names.collect();
    if all.is_empty() || !all.iter().all(|name| is_hash(name)) {
        return None;
    }
    (8..LONG)
        .find(|&length| all.iter().map(|name| &name[..length]).collect::<FxHashSet<_>>().len() == all.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_readable_and_unique() {
        assert_eq!(part(" a b/c\u{a0}d\n"), "a_b_c_d");
        assert_eq!(part("kyéma"), "kyéma");
        assert_eq!(speaker("84-1.b + c"), "84_1.b___c");
        let mut keys = Keys::default();
        assert!(keys.take("a-2"));
        assert!(!keys.take("a-2"));
        assert_eq!(["a", "a", "a"].map(|name| keys.unique(name.into(), '-')), ["a", "a-3", "a-4"]);
    }

    #[test]
    fn hashes_are_shortened_while_they_differ() {
        let (a, b) = ("0123456789".repeat(4), "0123456788".repeat(4));
        assert_eq!(shortened([a.as_str(), &b, &a].into_iter()), Some(10));
        assert_eq!(shortened([a.as_str(), "anna"].into_iter()), None);
        assert_eq!(shortened([].into_iter()), None);
    }
}
