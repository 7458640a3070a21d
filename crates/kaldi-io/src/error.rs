//! The one error type of the crate.
//!
//! `Display` of a variant prints only this error. Its cause is available through `source()`, so a program can print the
//! whole chain as `a: b: c`.

use std::fmt;

pub type Result<T> = std::result::Result<T, IoError>;

/// A place in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Bytes from the start of the file or stream, for binary data.
    Byte(u64),
    /// Line number from 1, for text.
    Line(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Byte(n) => write!(f, "byte {n}"),
            Position::Line(n) => write!(f, "line {n}"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// A file or command could not be opened.
    #[error("cannot open {name}")]
    Open { name: String, source: std::io::Error },
    /// The operating system failed while reading, writing, renaming.
    #[error("{name}")]
    Io { name: String, source: std::io::Error },
    /// The content violates the format.
    #[error("{name}, {position}: {message}")]
    Format { name: String, position: Position, message: String },
    /// There is no data at all.
    #[error("{0}")]
    Empty(String),
    /// A file name, rspecifier, wspecifier or range that makes no sense.
    #[error("'{spec}': {message}")]
    Spec { spec: String, message: String },
    /// The system refuses a thread.
    #[error(
        "cannot start a thread for {task} (is there a limit, such as ulimit -u, ulimit -v or that of a container?)"
    )]
    Thread { task: String, source: std::io::Error },
    /// A command at the other end of a pipe failed.
    #[error("command '{command}' failed: {status}")]
    Pipe { command: String, status: std::process::ExitStatus },
    /// One of several commands of a pipe failed.
    #[error("'{part}' in the pipe '{command}' failed: {status}")]
    PipePart { part: String, command: String, status: std::process::ExitStatus },
    /// Something about one entry of a table.
    #[error("{table}, key '{key}'")]
    Entry { table: String, key: String, source: Box<IoError> },
    /// A table as a whole is wrong: not sorted, keys repeated, used against its options.
    #[error("{table}: {message}")]
    Table { table: String, message: String },
    /// An object was read completely but cannot be used; the object after it can be read.
    #[error("{0}")]
    Refused(String),
    /// There is not enough memory for the data.
    #[error("{0}")]
    Memory(String),
    /// A value cannot be stored or combined as requested.
    #[error("{0}")]
    Value(String),
}

impl IoError {
    pub(crate) fn spec(spec: impl Into<String>, message: impl Into<String>) -> Self {
        IoError::Spec { spec: spec.into(), message: message.into() }
    }

    /// True if reading can continue after this error.
    pub(crate) fn is_refusal(&self) -> bool {
        match self {
            IoError::Refused(_) => true,
            IoError::Entry { source, .. } => source.is_refusal(),
            _ => false,
        }
    }

    /// True if the error is about a name or a range, including one of a table's entry.
    pub(crate) fn is_specification(&self) -> bool {
        match self {
            IoError::Spec { .. } => true,
            IoError::Entry { source, .. } => source.is_specification(),
            _ => false,
        }
    }

    /// A copy of an error about a command that failed; `None` of other errors.
    pub(crate) fn copy_of_failure(&self) -> Option<IoError> {
        match self {
            IoError::Pipe { command, status } => {
                Some(IoError::Pipe { command: command.clone(), status: *status })
            }
            IoError::PipePart { part, command, status } => {
                Some(IoError::PipePart { part: part.clone(), command: command.clone(), status: *status })
            }
            _ => None,
        }
    }

    /// Adds a remark to the message about a wrong format. Other errors stay unchanged.
    pub(crate) fn remark(self, remark: impl FnOnce() -> Option<String>) -> IoError {
        match self {
            IoError::Format { name, position, message } if !message.contains("looks like") => {
                let message =
                    remark().map_or_else(|| message.clone(), |remark| format!("{message}; {remark}"));
                IoError::Format { name, position, message }
            }
            other => other,
        }
    }

    pub(crate) fn entry(self, table: &str, key: &str) -> Self {
        IoError::Entry { table: table.to_owned(), key: key.to_owned(), source: Box::new(self) }
    }

    /// This error and all its causes in one line, outermost first.
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// A text without the numbers that Rust puts behind the system's errors: ` (os error 2)`.
pub fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split(" (os error ");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => out.push_str(rest),
            _ => {
                out.push_str(" (os error ");
                out.push_str(part);
            }
        }
    }
    out
}

/// `error` and all its causes in one line, outermost first: `a: b: c`. The system's errors come without their numbers. A file and a
/// key are named once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(e) = cause {
        let text = e.to_string();
        if texts.last().is_none_or(|last| !last.ends_with(&text)) {
            texts.push(text);
        }
        cause = e.source();
    }
    for i in 0..texts.len() {
        if let Some((name, key)) = entry_of(&texts[i])
            && texts[i + 1..].iter().any(|text| text.contains(key))
        {
            texts[i] = name.to_owned();
        }
    }
    let mut out = String::new();
    for (i, text) in texts.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| texts[i].as_str()).unwrap_or_default();
        let name = entry_of(before).map_or(before, |(name, _)| name);
        match text.strip_prefix(name) {
            // The place in a file that was named, as in `a.ark, key 'x', byte 3`.
            Some(place) if !name.is_empty() && [", ", ": "].iter().any(|mark| place.starts_with(mark)) => {
                out.push_str(place);
            }
            _ if i == 0 => out.push_str(text),
            _ => {
                out.push_str(": ");
                out.push_str(text);
            }
        }
    }
    without_numbers(&out)
}

/// Splits the name of an entry of a table, `a.ark, key 'x'`, into the table's name and `key 'x'`.
fn entry_of(text: &str) -> Option<(&str, &str)> {
    let (name, key) = text.rsplit_once(", ")?;
    (key.starts_with("key '") && key.len() > 5 && key.ends_with('\'')).then_some((name, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Said(&'static str, #[source] Option<Box<Said>>);

    #[test]
    fn a_file_and_a_key_are_named_once() {
        let chained = |texts: &[&'static str]| {
            let all = texts.iter().rev().fold(None, |cause, text| Some(Box::new(Said(text, cause))));
            chain(&*all.unwrap())
        };
        for (texts, expected) in [
            (&["a.ark, key 'x'", "a.ark, byte 3: no number"][..], "a.ark, key 'x', byte 3: no number"),
            (&["ark:a, key 'x'", "o.scp, key 'x'", "cannot open b"], "ark:a: o.scp, key 'x': cannot open b"),
            (&["ark:a, key 'x'", "ark:b", "key 'x' is there twice"], "ark:a: ark:b: key 'x' is there twice"),
            (&["ark:a, key 'x'", "ark:b, key 'y'", "bad"], "ark:a, key 'x': ark:b, key 'y': bad"),
            (&["a", "a: bad", "bad"], "a: bad"),
            (&["a", "a, line 2: bad"], "a, line 2: bad"),
            (&["a", "ab: bad"], "a: ab: bad"),
            (&["--x", "cannot open a", "No such file (os error 2)"], "--x: cannot open a: No such file"),
        ] {
            assert_eq!(chained(texts), expected);
        }
    }
}
