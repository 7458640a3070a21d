//! Command lines as text, and their expected answers.

use crate::common::{Folder, Output};

/// Runs a command line: words between blanks, `@` stands for the folder.
pub fn run(folder: &Folder, line: &str) -> Output {
    let here = folder.path("");
    let words: Vec<String> = line.split_whitespace().map(|word| word.replace('@', &here)).collect();
    let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    let output = crate::common::run(&words[0], &arguments);
    assert!(!output.stderr.contains("panicked"), "{line}: {}", output.stderr);
    output
}

/// Standard output, in single blanks, of a command line that must succeed.
#[track_caller]
pub fn output(folder: &Folder, line: &str) -> String {
    let output = run(folder, line);
    assert_eq!(output.status, 0, "{line}: {}", output.stderr);
    output.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Standard error of a command line that must end with this status.
#[track_caller]
pub fn fails(folder: &Folder, status: i32, line: &str, words: &[&str]) {
    let output = run(folder, line);
    assert_eq!(output.status, status, "{line}: {}", output.stderr);
    for word in words {
        assert!(output.stderr.contains(word), "{line}: no '{word}' in: {}", output.stderr);
    }
}

/// The numbers of a text with matrices.
pub fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[track_caller]
pub fn close(found: &str, expected: &[f64], tolerance: f64) {
    let found = numbers(found);
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} instead of {expected}");
    }
}

pub const FEATS: &str = "a  [\n  1 2\n  3 4\n  5 7 ]\nb  [\n  -1 0\n  1 2 ]\n";

pub fn feats(name: &str) -> Folder {
    let folder = Folder::new(&format!("command-lines-{name}"));
    folder.write("feats.txt", FEATS);
    folder.write("empty.ark", "");
    folder
}
