//! Names of recordings: readable, unique, and the same in each call.

use std::collections::hash_map::Entry;

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::list::Listed;

/// The most bytes of a name.
const LONGEST: usize = 150;

/// The name with `_` for characters that mean something to a shell or separate columns. It does not begin with a dot or a
/// hyphen, nor is it too long.
pub fn plain(name: &str) -> String {
    let is_plain = |c: char| {
        let group = c.general_category_group();
        matches!(group, GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number) || "_.+=@%-".contains(c)
    };
    let name: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let name = name.trim_start_matches(['-', '.']);
    let end = (0..=LONGEST.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    match &name[..end.unwrap_or(0)] {
        "" => "_".to_owned(),
        name => name.to_owned(),
    }
}

/// The name of a file, and its ending with the dot, which may be empty.
pub(super) fn stem_and_suffix(path: &str) -> (&str, &str) {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rfind('.') {
        Some(place) if place > 0 && place + 1 < name.len() => name.split_at(place),
        _ => (name, ""),
    }
}

/// True of the base itself, and of the base with a number behind it.
fn is_of(name: &str, base: &str) -> bool {
    let Some(rest) = name.strip_prefix(base) else { return false };
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A name for each recording: that of the last time if its path is the same; else that of the list or of the file, with a number
/// if it is taken. Names that the list gives come first. `known` has names and paths of earlier calls.
pub fn give_names<'k>(listed: &[Listed], known: impl Iterator<Item = (&'k str, &'k str)>) -> Vec<String> {
    let mut before: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for (name, path) in known {
        before.entry(path).or_default().push(name);
    }
    let base = |listed: &Listed| match listed.name.as_str() {
        "" => plain(stem_and_suffix(&listed.path).0),
        name => plain(name),
    };
    let bases: Vec<String> = listed.iter().map(base).collect();
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    for base in &bases {
        *counts.entry(base).or_default() += 1;
    }
    let mut names: Vec<Option<String>> = vec![None; listed.len()];
    let mut taken: FxHashSet<String> = FxHashSet::default();
    let mut next: FxHashMap<&str, usize> = FxHashMap::default();
    for is_given in [true, false] {
        let wanted = |place: &usize| listed[*place].name.is_empty() != is_given;
        for place in (0..listed.len()).filter(wanted) {
            let old = before.get(listed[place].path.as_str()).into_iter().flatten();
            let base = &bases[place];
            let Some(&old) = old.into_iter().find(|name| is_of(name, base) && !taken.contains(**name)) else {
                continue;
            };
            if !(is_given && old != base && counts[base.as_str()] == 1) {
                taken.insert(old.to_owned());
                names[place] = Some(old.to_owned());
            }
        }
        for place in (0..listed.len()).filter(wanted) {
            if names[place].is_some() {
                continue;
            }
            let base = bases[place].as_str();
            let mut name = match next.entry(base) {
                Entry::Vacant(entry) => {
                    entry.insert(2);
                    base.to_owned()
                }
                Entry::Occupied(_) => String::new(),
            };
            while name.is_empty() || taken.contains(&name) {
                let number = next.entry(base).or_insert(2);
                name = format!("{base}-{number}");
                *number += 1;
            }
            taken.insert(name.clone());
            names[place] = Some(name);
        }
    }
    names.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(rows: &[(&str, &str)]) -> Vec<Listed> {
        rows.iter().map(|(name, path)| Listed { name: (*name).into(), path: (*path).into() }).collect()
    }

    fn names(rows: &[(&str, &str)], known: &[(&str, &str)]) -> Vec<String> {
        give_names(&listed(rows), known.iter().copied())
    }

    #[test]
    fn names_of_the_list_come_first_and_all_differ() {
        let rows = [("", "/a/x.wav"), ("", "/b/x.flac"), ("b y's", "/c.mp3"), ("-x", "/d")];
        assert_eq!(names(&rows, &[]), ["x-2", "x-3", "b_y_s", "x"]);
        // A name that the list gives replaces one with a number.
        assert_eq!(names(&[("", "/a/x"), ("x", "/b/y")], &[("x", "/a/x")]), ["x-2", "x"]);
        assert_eq!(names(&[("x", "/b")], &[("x-2", "/b")]), ["x"]);
        assert_eq!(names(&[("x", "/b"), ("x", "/c")], &[("x-2", "/b")]), ["x-2", "x"]);
    }

    #[test]
    fn names_are_readable_visible_and_short() {
        let long = "é".repeat(200);
        let rows = [
            ("", "/.x y.wav"),
            ("…", "/a"),
            ("a|b;c", "/b"),
            (long.as_str(), "/c"),
            ("..", "/d"),
            ("$(x)", "/e"),
            (".", "/f"),
            ("a\u{301}β५²ⅷ", "/g"),
        ];
        let found = names(&rows, &[]);
        assert_eq!(found[..3], ["x_y", "_", "a_b_c"]);
        assert_eq!(found[3], "é".repeat(75));
        assert_eq!(found[4..], ["_-2", "__x_", "_-3", "a_β५²ⅷ"]);
    }

    #[test]
    fn a_longer_list_keeps_names() {
        let known = [("call", "/1/call.wav"), ("call-2", "/2/call.wav")];
        let rows = [("", "/2/call.wav"), ("", "/0/call.wav"), ("", "/1/call.wav")];
        assert_eq!(names(&rows, &known), ["call-2", "call-3", "call"]);
        // A path twice in a list has two names.
        assert_eq!(names(&[("", "/1/call.wav"), ("", "/1/call.wav")], &known), ["call", "call-2"]);
    }

    #[test]
    fn endings_are_those_behind_a_name() {
        for (path, stem, suffix) in [
            ("/a/b.tar.gz", "b.tar", ".gz"),
            ("/a/.b", ".b", ""),
            ("/a/b.", "b.", ""),
            ("/", "", ""),
            ("/a/..b", ".", ".b"),
        ] {
            assert_eq!(stem_and_suffix(path), (stem, suffix));
        }
    }
}
