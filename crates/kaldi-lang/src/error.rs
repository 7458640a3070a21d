//! The error type of the crate.

use kaldi_io::IoError;
use kaldi_io::text::count;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault of a lexicon, of options or of a lang folder, with its place.
#[allow(missing_docs)] // The comment of a variant explains its fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a pipe.
    #[error(transparent)]
    Io(#[from] IoError),

    /// Topologies.
    #[error(transparent)]
    Hmm(#[from] kaldi_hmm::Error),

    /// Sets of phones.
    #[error(transparent)]
    Tree(#[from] kaldi_tree::Error),

    /// A file that cannot be used as a whole.
    #[error("{file}: {problem}")]
    File { file: String, problem: String },

    /// A line of a file.
    #[error("{file}, line {line}: {problem}")]
    Line { file: String, line: usize, problem: String },

    /// Several lines of a file, with their numbers and problems, and the number of further ones.
    #[error("{}", of_lines(.file, .problems, .more))]
    Lines { file: String, problems: Vec<(usize, String)>, more: usize },

    /// Options that cannot be used.
    #[error("{0}")]
    Options(String),
}

/// The faults of several lines, each in a line of the text.
fn of_lines(file: &str, problems: &[(usize, String)], more: &usize) -> String {
    let mut lines: Vec<String> =
        problems.iter().map(|(line, problem)| format!("{file}, line {line}: {problem}")).collect();
    if *more > 0 {
        lines.push(format!("… and {}", count(*more, "more line")));
    }
    lines.join("\n")
}

/// Faults of a file that are reported at once.
const MOST_FAULTS: usize = 10;

impl Error {
    /// The first faults of a file, by their lines. `None` if there is none.
    pub(crate) fn lines(file: &str, problems: impl IntoIterator<Item = (usize, String)>) -> Option<Error> {
        let mut problems: Vec<(usize, String)> = problems.into_iter().collect();
        let more = problems.len().saturating_sub(MOST_FAULTS);
        problems.truncate(MOST_FAULTS);
        match problems.len() {
            0 => None,
            1 => problems.pop().map(|(line, problem)| Error::line(file, line, problem)),
            _ => Some(Error::Lines { file: file.to_owned(), problems, more }),
        }
    }

    pub(crate) fn file(file: &str, problem: impl Into<String>) -> Error {
        Error::File { file: file.to_owned(), problem: problem.into() }
    }

    pub(crate) fn line(file: &str, line: usize, problem: impl Into<String>) -> Error {
        Error::Line { file: file.to_owned(), line, problem: problem.into() }
    }
}
