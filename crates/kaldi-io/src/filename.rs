//! Extended file names, which Kaldi's programs accept in place of a file's name (`util/kaldi-io`).
//!
//! Reading (rxfilename): `-`, `file`, `file:offset`, `command |`. Writing (wxfilename): `-`, `file`, `| command`. A
//! range `[first:last,first:last]` may follow the name of a matrix to be read.
//!
//! A name in one of these forms is still the name of a file if that file exists: `a:12`, `notes |`. Within [`as_path`]
//! every name is that of a file.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{IoError, Result};
use crate::table::specifier::is_table_specifier;
use crate::text::is_space;

/// A source of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RxFilename {
    Stdin,
    /// Standard output of a shell command.
    Pipe(String),
    File(PathBuf),
    /// A file from a byte offset on.
    Offset(PathBuf, u64),
}

/// A destination for data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WxFilename {
    Stdout,
    /// Standard input of a shell command.
    Pipe(String),
    File(PathBuf),
}

thread_local! {
    static ONLY_PATHS: Cell<bool> = const { Cell::new(false) };
    /// Archives, and true of those beside which a file has their name, a sign of a place within them, and more.
    static RELATIVES: RefCell<HashMap<String, bool>> = RefCell::new(HashMap::new());
}

/// The number of remembered archives.
const MOST_RELATIVES: usize = 1000;

/// Runs `f`. Meanwhile this thread takes all names for names of files: none is a command, a place within a file or
/// standard input. It is for names that come from outside, such as those of uploads.
pub fn as_path<T>(f: impl FnOnce() -> T) -> T {
    struct Restored(bool);
    impl Drop for Restored {
        fn drop(&mut self) {
            ONLY_PATHS.set(self.0);
        }
    }
    let _restored = Restored(ONLY_PATHS.replace(true));
    f()
}

fn is_file(name: &str) -> bool {
    std::fs::metadata(name).is_ok_and(|data| !data.is_dir())
}

/// True if a file has the whole name `archive` with an offset or a range behind it. Scripts have very many such names, so
/// the folder of an archive is read once.
fn is_file_beside(archive: &str, name: &str) -> bool {
    let has_relatives = RELATIVES.with_borrow_mut(|known| {
        if let Some(&has) = known.get(archive) {
            return has;
        }
        let path = Path::new(archive);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let base = path.file_name().unwrap_or_default().to_string_lossy();
        let is_relative = |other: std::fs::DirEntry| {
            let other = other.file_name();
            let rest = other.to_str().and_then(|other| other.strip_prefix(&*base));
            rest.is_some_and(|rest| rest.starts_with([':', '[']))
        };
        // A folder that can be entered but not listed tells nothing.
        let has = std::fs::read_dir(folder.unwrap_or(Path::new(".")))
            .map_or(true, |entries| entries.flatten().any(is_relative));
        if known.len() >= MOST_RELATIVES {
            known.clear();
        }
        known.insert(archive.to_owned(), has);
        has
    });
    has_relatives && is_file(name)
}

impl RxFilename {
    /// Classifies `name`: the name of an existing file, or else by Kaldi's rules, the first that matches.
    pub fn parse(name: &str) -> Result<Self> {
        let by_form = Self::by_form(name);
        let is_path = match &by_form {
            _ if ONLY_PATHS.get() => true,
            Ok(RxFilename::Stdin | RxFilename::File(_)) => false,
            Ok(RxFilename::Offset(archive, _)) => is_file_beside(archive.to_str().unwrap_or_default(), name),
            Ok(RxFilename::Pipe(_)) | Err(_) => is_file(name),
        };
        if is_path { Ok(RxFilename::File(name.into())) } else { by_form }
    }

    fn by_form(name: &str) -> Result<Self> {
        let invalid = |why: &str| Err(IoError::spec(name, format!("not a name for reading: {why}")));
        if name.is_empty() || name == "-" {
            return Ok(RxFilename::Stdin);
        }
        if name.starts_with('|') {
            return invalid("'| command' writes to a command; 'command |' reads from one");
        }
        if let Some(command) = name.strip_suffix('|') {
            return Ok(RxFilename::Pipe(command.to_owned()));
        }
        if has_outer_space(name) {
            return invalid("it begins or ends with a blank");
        }
        if is_table_specifier(name) {
            return invalid("expected a file, found a table ('ark:', 'scp:')");
        }
        if let Some((path, digits)) = name.rsplit_once(':')
            && !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
        {
            return match digits.parse() {
                Ok(offset) => Ok(RxFilename::Offset(path.into(), offset)),
                Err(_) => invalid("the offset is too large"),
            };
        }
        if name.contains('|') {
            return invalid("a '|' belongs at the end");
        }
        Ok(RxFilename::File(name.into()))
    }
}

impl WxFilename {
    /// Classifies `name`: the name of an existing file, or else by Kaldi's rules, the first that matches.
    pub fn parse(name: &str) -> Result<Self> {
        let by_form = Self::by_form(name);
        let is_path = match &by_form {
            _ if ONLY_PATHS.get() => true,
            Ok(WxFilename::Stdout | WxFilename::File(_)) => false,
            Ok(WxFilename::Pipe(_)) | Err(_) => is_file(name),
        };
        if is_path { Ok(WxFilename::File(name.into())) } else { by_form }
    }

    fn by_form(name: &str) -> Result<Self> {
        let invalid = |why: &str| Err(IoError::spec(name, format!("not a name for writing: {why}")));
        if name.is_empty() || name == "-" {
            return Ok(WxFilename::Stdout);
        }
        if let Some(command) = name.strip_prefix('|') {
            return Ok(WxFilename::Pipe(command.to_owned()));
        }
        if has_outer_space(name) {
            return invalid("it begins or ends with a blank");
        }
        if name.ends_with('|') {
            return invalid("'command |' reads from a command; '| command' writes to one");
        }
        if is_table_specifier(name) {
            return invalid("expected a file, found a table ('ark:', 'scp:')");
        }
        if let Some((_, digits)) = name.rsplit_once(':')
            && !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
        {
            return invalid("':number' is an offset, which only reading knows");
        }
        if name.contains('|') {
            return invalid("a '|' belongs at the beginning");
        }
        Ok(WxFilename::File(name.into()))
    }
}

fn has_outer_space(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|&b| is_space(b)) || bytes.last().is_some_and(|&b| is_space(b))
}

/// A file name as it appears in messages.
pub(crate) fn printable(name: &str, standard: &str) -> String {
    if name.is_empty() || name == "-" { standard.to_owned() } else { crate::escape::shell_escape(name) }
}

/// Splits `name[range]` into name and range. Names of existing files, and names that do not end in `]`, have no range.
pub fn split_range(name: &str) -> Result<(&str, Option<&str>)> {
    let Some(without_bracket) = name.strip_suffix(']') else { return Ok((name, None)) };
    let archive = name.split('[').next().unwrap_or_default();
    let offset = archive.rsplit_once(':').filter(|(_, digits)| digits.bytes().all(|b| b.is_ascii_digit()));
    if is_file_beside(offset.map_or(archive, |(archive, _)| archive), name) {
        return Ok((name, None));
    }
    match without_bracket.split_once('[') {
        Some((file, range)) if !file.is_empty() && !range.is_empty() && !range.contains('[') => {
            Ok((file, Some(range)))
        }
        _ => Err(IoError::spec(name, "expected name[range] with one '[' and text on both sides")),
    }
}

/// A span of indexes, as `(first, count)`.
pub type Span = (usize, usize);

/// Frames that a range may ask for past the end: features and alignments often differ by a few frames.
const OVERSHOOT: usize = 3;

/// The rows and columns that `rows` or `rows,cols` means in a matrix; each is `:` or `first:last` (inclusive).
/// The last row may exceed the matrix by up to three rows, which are cut off with a warning.
pub fn matrix_range(range: &str, rows: usize, cols: usize) -> Result<(Span, Span)> {
    let (row_range, col_range) = range.split_once(',').unwrap_or((range, ":"));
    Ok((parse_span(range, row_range, rows, OVERSHOOT)?, parse_span(range, col_range, cols, 0)?))
}

/// The elements that `first:last` (inclusive) or `:` means in a vector, with the tolerance of [`matrix_range`].
pub fn vector_range(range: &str, dim: usize) -> Result<Span> {
    parse_span(range, range, dim, OVERSHOOT)
}

fn parse_span(whole: &str, span: &str, dim: usize, overshoot: usize) -> Result<Span> {
    if span == ":" {
        return Ok((0, dim));
    }
    let bad = |why: String| IoError::spec(format!("[{whole}]"), why);
    let (first, last) = span
        .split_once(':')
        .and_then(|(first, last)| Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?)))
        .ok_or_else(|| bad("expected ranges like 0:9 or 0:9,:".to_owned()))?;
    if first > last {
        return Err(bad(format!("{first}:{last} runs backwards: expected FIRST:LAST with FIRST <= LAST")));
    }
    if dim == 0 {
        return Err(bad(format!("{first}:{last} is a range of something empty")));
    }
    if first >= dim || last >= dim.saturating_add(overshoot) {
        return Err(bad(format!("{first}:{last} is not within 0:{}", dim - 1)));
    }
    if last >= dim {
        let site = crate::log::Site::new("ExtractObjectRange", "util/kaldi-holder.cc", 1);
        crate::log::kaldi_warn!(site, "Range [{whole}] goes past the end ({dim}); taking what is there");
    }
    Ok((first, last.min(dim - 1) - first + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rxfilenames() {
        let parse = RxFilename::parse;
        assert_eq!(parse("").unwrap(), RxFilename::Stdin);
        assert_eq!(parse("-").unwrap(), RxFilename::Stdin);
        assert_eq!(parse("gunzip -c a.gz |").unwrap(), RxFilename::Pipe("gunzip -c a.gz ".into()));
        assert_eq!(parse("a b").unwrap(), RxFilename::File("a b".into()));
        assert_eq!(parse("foo.ark:1234").unwrap(), RxFilename::Offset("foo.ark".into(), 1234));
        assert_eq!(parse("c:d:7").unwrap(), RxFilename::Offset("c:d".into(), 7));
        assert_eq!(parse("a:b").unwrap(), RxFilename::File("a:b".into()));
        assert_eq!(parse("file7").unwrap(), RxFilename::File("file7".into()));
        for bad in ["|cat", " a", "a ", "ark:x", "scp,s:y", "ark,scp:a,b", "a|b", "a:99999999999999999999"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn wxfilenames() {
        let parse = WxFilename::parse;
        assert_eq!(parse("-").unwrap(), WxFilename::Stdout);
        assert_eq!(parse("| gzip").unwrap(), WxFilename::Pipe(" gzip".into()));
        assert_eq!(parse("a:b").unwrap(), WxFilename::File("a:b".into()));
        for bad in ["cat |", " a", "a ", "ark:x", "a|b", "a:12"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    /// A folder with files of these names, and the whole names.
    fn files(test: &str, names: &[&str]) -> (PathBuf, Vec<String>) {
        let folder = std::env::temp_dir().join(format!("filename-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let paths: Vec<String> = names.iter().map(|name| format!("{}/{name}", folder.display())).collect();
        paths.iter().for_each(|path| std::fs::write(path, "x").unwrap());
        (folder, paths)
    }

    /// A file with the name of a command, or of a place within a file, is read and written as a file.
    #[test]
    fn existing_files_come_first() {
        let names = ["touch RUN |", "a:12", "a|b", " a", "a ", "a[0:1]", "a:12[0:1]"];
        let (folder, paths) = files("existing", &names);
        for path in &paths {
            assert_eq!(RxFilename::parse(path).unwrap(), RxFilename::File(path.into()), "{path}");
            assert_eq!(WxFilename::parse(path).unwrap(), WxFilename::File(path.into()), "{path}");
            assert_eq!(split_range(path).unwrap(), (path.as_str(), None), "{path}");
        }
        let other = |name: &str| format!("{}/{name}", folder.display());
        assert_eq!(RxFilename::parse(&other("a:13")).unwrap(), RxFilename::Offset(other("a").into(), 13));
        assert_eq!(split_range(&other("a:13[0:1]")).unwrap(), (other("a:13").as_str(), Some("0:1")));
        assert_eq!(RxFilename::parse(&other("b |")).unwrap(), RxFilename::Pipe(other("b ")));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn names_from_outside_are_paths() {
        for name in ["touch RUN |", "-", "", "a:12", "ark:x", "| cat", " a"] {
            assert_eq!(as_path(|| RxFilename::parse(name)).unwrap(), RxFilename::File(name.into()), "{name}");
            assert_eq!(as_path(|| WxFilename::parse(name)).unwrap(), WxFilename::File(name.into()), "{name}");
        }
        assert_eq!(RxFilename::parse("touch |").unwrap(), RxFilename::Pipe("touch ".into()));
    }

    #[test]
    fn ranges() {
        assert_eq!(split_range("file:123[0:10,3:4]").unwrap(), ("file:123", Some("0:10,3:4")));
        assert_eq!(split_range("file").unwrap(), ("file", None));
        for bad in ["a]", "a[]", "[0:1]", "a[0:1][2:3]"] {
            assert!(split_range(bad).is_err(), "{bad}");
        }
        assert_eq!(matrix_range("0:1", 5, 3).unwrap(), ((0, 2), (0, 3)));
        assert_eq!(matrix_range(":,1:2", 5, 3).unwrap(), ((0, 5), (1, 2)));
        assert_eq!(matrix_range("2:7", 5, 3).unwrap(), ((2, 3), (0, 3)));
        for bad in ["0:8", "3:2", ":3", "0:1,0:3", "5:6", "x:y", "-1:2"] {
            assert!(matrix_range(bad, 5, 3).is_err(), "{bad}");
        }
        let why = |range: &str, rows| matrix_range(range, rows, 3).unwrap_err().to_string();
        assert_eq!(why("10:4", 50), "'[10:4]': 10:4 runs backwards: expected FIRST:LAST with FIRST <= LAST");
        assert_eq!(
            why("0:1,2:1", 50),
            "'[0:1,2:1]': 2:1 runs backwards: expected FIRST:LAST with FIRST <= LAST"
        );
        assert_eq!(why("9:12", 5), "'[9:12]': 9:12 is not within 0:4");
        assert_eq!(why("0:1", 0), "'[0:1]': 0:1 is a range of something empty");
        assert_eq!(vector_range("1:3", 3).unwrap(), (1, 2));
    }
}
