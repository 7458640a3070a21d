//! Names of recordings in texts: short, but no two alike, and without blanks where blanks separate columns.

use std::collections::HashMap;
use std::path::Path;

/// The place in which a name must be valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// As it is.
    Plain,
    /// A column of a line: blanks become `_`.
    OfColumn,
    /// The name of a file in a folder: separators of folders become `_`. No name begins with a dot, which would hide the
    /// file, and signs of the shell in commands become `_`.
    OfFile,
}

/// True for sound that may arrive live: standard input, and commands. A file of such a name is a file.
pub fn is_live(path: &str) -> bool {
    path == "-" || (path.ends_with('|') && !Path::new(path).is_file())
}

/// Returns a name for each path: the file's without folders and suffix. Equal names get their folders, then their
/// suffixes, then `#2`, `#3` … behind them. Commands keep their whole text.
pub fn distinct(paths: &[String], form: Name) -> Vec<String> {
    let mut levels = vec![0; paths.len()];
    loop {
        let names: Vec<String> =
            paths.iter().zip(&levels).map(|(path, &level)| fitted(&candidate(path, level), form)).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        let mut changed = false;
        for (name, level) in names.iter().zip(&mut levels) {
            if counts[name.as_str()] > 1 && *level < LONGEST {
                *level += 1;
                changed = true;
            }
        }
        if !changed {
            return numbered(names);
        }
    }
}

/// The level of a whole path.
const LONGEST: usize = 2;

/// The name at a level: a file's without folders and suffix, without suffix, whole.
fn candidate(path: &str, level: usize) -> String {
    if is_live(path) || level == LONGEST {
        return path.to_owned();
    }
    let file = Path::new(path);
    let name = match level {
        0 => file.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
        _ => file.file_stem().map(|stem| file.with_file_name(stem).to_string_lossy().into_owned()),
    };
    name.unwrap_or_else(|| path.to_owned())
}

fn fitted(name: &str, form: Name) -> String {
    match form {
        Name::Plain => name.to_owned(),
        Name::OfColumn => name.replace(|c: char| c.is_whitespace() || c.is_control(), "_"),
        Name::OfFile if name == "-" => "stdin".to_owned(),
        Name::OfFile if is_live(name) => {
            let words = name.split(|c: char| !(c.is_alphanumeric() || "._+=@%#-".contains(c)));
            visible(words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_"))
        }
        Name::OfFile => {
            let parts = name.split('/').filter(|part| !matches!(*part, "." | ".."));
            visible(parts.collect::<Vec<_>>().join("_").replace(|c: char| c == '\\' || c.is_control(), "_"))
        }
    }
}

/// The name without dots before it. The rest has room for a suffix and a number within the 255 bytes that file systems take.
fn visible(name: String) -> String {
    const MOST: usize = 200;
    let name = name.trim_start_matches('.');
    let end = (0..=MOST.min(name.len())).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    if end == 0 { "_".to_owned() } else { name[..end].to_owned() }
}

/// Tells names apart that are still alike.
fn numbered(mut names: Vec<String>) -> Vec<String> {
    for i in 1..names.len() {
        let name = names[i].clone();
        let taken = |candidate: &str, names: &[String]| names[..i].iter().any(|name| name == candidate);
        let mut number = 2;
        while taken(&names[i], &names) || names[i] != name && names[i + 1..].contains(&names[i]) {
            names[i] = format!("{name}#{number}");
            number += 1;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str], form: Name) -> Vec<String> {
        distinct(&paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>(), form)
    }

    #[test]
    fn short_but_not_alike() {
        let plain = |paths: &[&str]| names(paths, Name::Plain);
        assert_eq!(
            plain(&["a/b/c.wav", "d", "-", "sox a.mp3 -t wav - |"]),
            ["c", "d", "-", "sox a.mp3 -t wav - |"]
        );
        assert_eq!(plain(&["a/x.wav", "b/x.wav", "y.wav"]), ["a/x", "b/x", "y"]);
        assert_eq!(plain(&["x.wav", "x.wave", "x.wav"]), ["x.wav", "x.wave", "x.wav#2"]);
        assert_eq!(plain(&["x", "x", "x#2"]), ["x", "x#3", "x#2"]);
        assert_eq!(plain(&["/r/x.wav", "x.wav"]), ["/r/x", "x"]);
    }

    #[test]
    fn columns_and_files() {
        assert_eq!(
            names(&["Bella's red\u{a0}snare.wav", "cat a.wav |"], Name::OfColumn),
            ["Bella's_red_snare", "cat_a.wav_|"]
        );
        assert_eq!(names(&["a b.wav", "a_b.wav"], Name::OfColumn), ["a_b.wav", "a_b.wav#2"]);
        assert_eq!(names(&["a/x.wav", "b/x.wav", "-"], Name::OfFile), ["a_x", "b_x", "stdin"]);
        assert_eq!(names(&["../a/x.wav", "../../b/x.wav", "./c/x.wav"], Name::OfFile), ["a_x", "b_x", "c_x"]);
        assert_eq!(names(&["../x.wav", "x.wav", "/x.wav"], Name::OfFile), ["x.wav", "x.wav#2", "_x"]);
        assert_eq!(names(&[".hidden.wav", "...", "a b.wav"], Name::OfFile), ["hidden", "_", "a b"]);
        assert_eq!(
            names(&["sox 'a b.mp3' -t wav - |", "cat ../a.wav|", "cat ../a.wav |"], Name::OfFile),
            ["sox_a_b.mp3_-t_wav_-", "cat_.._a.wav", "cat_.._a.wav#2"]
        );
        assert_eq!(names(&["é".repeat(150).as_str()], Name::OfFile), ["é".repeat(100)]);
        assert_eq!(names(&["a/b_c.wav", "a_b/c.wav", "c.wav"], Name::OfFile), ["b_c", "a_b_c", "c"]);
    }

    #[test]
    fn a_file_with_the_name_of_a_command_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("b |").display().to_string();
        assert!(is_live(&file) && is_live("-"));
        std::fs::write(&file, "x").unwrap();
        assert!(!is_live(&file));
        assert_eq!(names(&[&file], Name::Plain), ["b |"]);
    }
}
