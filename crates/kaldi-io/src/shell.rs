//! Analyses a shell command without a shell: the parts of a pipeline, and the words of a plain command.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::text::is_space;

/// Words with which a command begins that is more than a program and its arguments.
const RESERVED: [&str; 20] = [
    "!", "{", "}", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "select", "then", "time", "until", "while",
];

/// Names of programs that shells have built in. The built-in program may differ from the file of this name.
const BUILT_IN: [&str; 50] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "source",
    "test",
    "trap",
    "type",
    "ulimit",
    "umask",
];

/// A character of a command, and whether quotes or a backslash keep the shell from seeing more in it.
struct Letter {
    at: usize,
    c: char,
    quoted: bool,
}

/// `None` if quotes do not end, or have commands inside.
fn letters(text: &str) -> Option<Vec<Letter>> {
    let mut letters = Vec::with_capacity(text.len());
    let mut quote = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        letters.push(Letter { at, c, quoted: quote.is_some() || matches!(c, '\'' | '"' | '\\') });
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None | Some('"'), '\\') => {
                let (at, c) = chars.next()?;
                letters.push(Letter { at, c, quoted: true });
            }
            (None | Some('"'), '`') => return None,
            (Some('"'), '$') if chars.peek().is_some_and(|(_, next)| *next == '(') => return None,
            _ => {}
        }
    }
    quote.is_none().then_some(letters)
}

/// Returns the commands of a pipeline. `None` if the text is not a pipeline: a list, a command with a condition, or
/// other syntax of the shell. The contents of a part are not analysed.
pub fn parts(text: &str) -> Option<Vec<&str>> {
    let text = text.trim_matches([' ', '\t', '\n']);
    let letters = letters(text)?;
    let unquoted =
        |index: Option<usize>| index.and_then(|i| letters.get(i)).filter(|l| !l.quoted).map(|l| l.c);
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (i, letter) in letters.iter().enumerate().filter(|(_, letter)| !letter.quoted) {
        let (before, after) = (unquoted(i.checked_sub(1)), unquoted(Some(i + 1)));
        match letter.c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            ';' | '\n' => return None,
            '&' if !matches!(before, Some('>' | '<')) => return None,
            '<' if after == Some('<') => return None,
            '#' if i == 0 || before.is_some_and(char::is_whitespace) => return None,
            '|' if matches!(after, Some('|' | '&')) => return None,
            '|' if before != Some('>') => {
                parts.push(&text[start..letter.at]);
                start = letter.at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    let is_command =
        |part: &&str| part.split_whitespace().next().is_some_and(|word| !RESERVED.contains(&word));
    (depth == 0 && parts.iter().all(is_command)).then_some(parts)
}

/// Returns the words of a command. `None` if a shell would expand or redirect a part of it, or would treat a character
/// specially.
pub fn plain_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let rest = &command[at + 1..];
                let quoted = &rest[..rest.find(c)?];
                if c == '"' && quoted.contains(['$', '`', '\\', '!']) {
                    return None;
                }
                word.get_or_insert_default().push_str(quoted);
                // The quoted characters and the closing quote.
                chars.by_ref().take(quoted.chars().count() + 1).for_each(drop);
            }
            c if c.is_control() || "|$`\\;&<>()*?[]{}~#!^".contains(c) => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// The program that a shell would start for these words, if it would start one.
pub(crate) fn program_of(words: &[String]) -> Option<PathBuf> {
    let name = words.first()?.as_str();
    let function = format!("BASH_FUNC_{name}%%");
    let special = name.contains('=') || RESERVED.contains(&name) || BUILT_IN.contains(&name);
    if special || std::env::var_os(function).is_some() {
        return None;
    }
    program_file(name).filter(|file| starts_directly(file))
}

/// The file that a shell would run for a command of this name.
pub fn program_file(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// True if the system can execute the file directly. A shell may run other files as scripts.
fn starts_directly(file: &Path) -> bool {
    let mut start = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    is_executable(file) && read.is_ok() && (start == *b"\x7fELF" || start.starts_with(b"#!/"))
}

/// True if a command contains a pipeline that [`parts`] does not split, and no condition that could depend on its
/// status.
pub(crate) fn has_inner_pipe(command: &str) -> bool {
    let visible: String = match letters(command) {
        Some(letters) => letters.iter().map(|l| if l.quoted { 'q' } else { l.c }).collect(),
        None => command.to_owned(),
    };
    let is_condition = |word: &str| matches!(word, "if" | "elif" | "while" | "until" | "!");
    let mut words = visible.split(|c: char| c.is_ascii() && is_space(c as u8) || ";()|&".contains(c));
    let conditional = visible.contains("&&") || visible.contains("||") || words.any(is_condition);
    visible.contains('|') && !conditional
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_are_taken_apart() {
        for (text, expected) in [
            ("a b", vec!["a b"]),
            (" a 'b|c' | d \"e|f\" |g\\|h ", vec!["a 'b|c' ", " d \"e|f\" ", "g\\|h"]),
            ("(a | b; c) | d 2>/dev/null >&2", vec!["(a | b; c) ", " d 2>/dev/null >&2"]),
            ("a $(b | c) | X=$y d >|e", vec!["a $(b | c) ", " X=$y d >|e"]),
            ("a#b | c \\; d", vec!["a#b ", " c \\; d"]),
        ] {
            assert_eq!(parts(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "a |",
            "| a",
            "a || b",
            "a |& b",
            "a; b | c",
            "a && b",
            "a & b",
            "a\nb",
            "! a | b",
            "a | ! b",
            "a 'b",
            "a \"$(b | c)\" | d",
            "a `b` | c",
            "(a | b",
            "a) | b",
            "a <<E | b",
            "a | b # c",
            "time a | b",
            "{ a | b; }",
            "while a | b",
            "a \\",
        ] {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    #[test]
    fn pipes_inside() {
        for text in ["(a | b)", "cd x; a | b", "a <(b | c)", "x=`a | b`", "for f in x; do a | b; done"] {
            assert!(has_inner_pipe(text), "{text}");
        }
        for text in ["a '|'", "cd x", "cd x && a | b", "(if a | b; then c; fi)", "a | b || true", "(! a | b)"]
        {
            assert!(!has_inner_pipe(text), "{text}");
        }
    }

    fn program(command: &str) -> Option<PathBuf> {
        program_of(&plain_words(command)?)
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert_eq!(program_file("bin/x"), Some("bin/x".into()));
        assert!(is_executable(&program_file("sh").unwrap()));
        assert_eq!(program_file("no-such-program-anywhere"), None);
        assert_eq!(program("sh -c x"), program_file("sh"));
        for for_shell in ["echo x", "A=b sh", "no-such-program-anywhere", "sh >x", "/etc/passwd", "/", ""] {
            assert_eq!(program(for_shell), None, "{for_shell}");
        }
    }
}
