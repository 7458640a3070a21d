//! Lists of recordings: a file in each line, or a name, a tab and a file; or a folder of recordings.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{Error, Result, path};

/// The most bytes of a list that is in no file, such as a pipe.
const MOST: u64 = 256 << 20;

/// A recording of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The name that the list gives, or nothing.
    pub name: String,
    /// The absolute path of the file, without `.` and `..`.
    pub path: String,
}

/// Recordings, and files of a folder that are taken for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// The recordings in their order.
    pub recordings: Vec<Listed>,
    /// Files whose names do not end as those of recordings do.
    pub others: Vec<PathBuf>,
}

/// Reads a list. A file that is not there yet is no error. A folder stands for the recordings in it and below it, by the endings of
/// their names, in the order of their paths.
///
/// # Errors
/// The list is no text, has no recording, or has a command; or blanks stand where a tab should separate a name and a file.
pub fn read_list(list: &Path) -> Result<List> {
    if list.is_dir() {
        return read_folder(list);
    }
    let text = read(list)?;
    let at = |line: usize, message: &str| Error::Format {
        file: list.display().to_string(),
        line,
        message: message.to_owned(),
    };
    let folder = std::env::current_dir().map_err(|source| Error::io(Path::new("."), source))?;
    let (mut found, mut blanks) = (Vec::new(), None);
    for (index, line) in text.split('\n').enumerate() {
        let number = index + 1;
        let (name, path) = line.trim_matches(ASCII_BLANKS).rsplit_once('\t').unwrap_or(("", line));
        let (name, path) = (name.trim_matches(is_blank), path.trim_matches(is_blank));
        // (The name of a file may begin or end with blanks.)
        let line = line.trim_end_matches('\r');
        let whole = line.rsplit_once('\t').map_or(line, |(_, path)| path);
        let path = if !Path::new(path).exists() && Path::new(whole).is_file() { whole } else { path };
        if path.is_empty() {
            continue;
        }
        if path.contains('\0') {
            return Err(at(number, "expected a file, found a name with a zero byte"));
        }
        if !Path::new(path).exists() {
            if path.ends_with('|') {
                return Err(at(number, "expected a file, found a command"));
            }
            let behind = path.split_once(is_blank).map(|(_, rest)| rest.trim_start_matches(is_blank));
            if name.is_empty() && path.contains(' ') && behind.is_some_and(|file| Path::new(file).exists()) {
                blanks = blanks.or(Some(number));
            }
        }
        found.push(Listed { name: name.to_owned(), path: absolute(&folder.to_string_lossy(), path) });
    }
    if let Some(number) = blanks {
        return Err(at(number, "there is no such file; a tab, not a blank, separates a name and a file"));
    }
    if found.is_empty() {
        return Err(Error::form(list, "there are no recordings"));
    }
    Ok(List { recordings: found, others: Vec::new() })
}

fn read_folder(folder: &Path) -> Result<List> {
    let mut found = Vec::new();
    let (files, others): (Vec<_>, Vec<_>) =
        path::files(folder)?.into_iter().partition(|file| path::is_sound(file));
    for file in &files {
        // (Tables of recordings have a line for each.)
        let plain =
            path::absolute(file).to_str().filter(|path| !path.contains(['\n', '\t'])).map(str::to_owned);
        let message = "expected a name in UTF-8 without tabs and line breaks";
        found.push(Listed { name: String::new(), path: plain.ok_or_else(|| Error::form(file, message))? });
    }
    if found.is_empty() {
        return Err(Error::form(folder, "the folder has no recordings"));
    }
    Ok(List { recordings: found, others })
}

const ASCII_BLANKS: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];

/// True for whitespace, and for the separators of information (U+001C to U+001F).
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Reads UTF-8 without a byte-order mark.
fn read(list: &Path) -> Result<String> {
    let failed = |source| Error::io(list, source);
    let file = File::open(list).map_err(failed)?;
    let limit = if file.metadata().map_err(failed)?.is_file() { u64::MAX } else { MOST + 1 };
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    if limit == bytes.len() as u64 {
        let message = format!("expected a text, found more than {} MB that are in no file", MOST >> 20);
        return Err(Error::form(list, message));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Error::Format {
            file: list.display().to_string(),
            line: 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count(),
            message: "this is not UTF-8".to_owned(),
        }),
    }
}

/// A path from the root, without `.`, `..` and repeated slashes. Two slashes at its begin stay, as POSIX has it.
fn absolute(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut parts = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if whole.starts_with("//") && !whole.starts_with("///") { "//" } else { "/" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_a_walk() {
        for (path, whole) in [
            ("a/../b.wav", "/home/b.wav"),
            ("./a//b", "/home/a/b"),
            ("/../a", "/a"),
            ("//a/b", "//a/b"),
            ("///a", "/a"),
            ("..", "/"),
        ] {
            assert_eq!(absolute("/home", path), whole);
        }
    }

    #[test]
    fn a_folder_is_the_list_of_its_recordings() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("b")).unwrap();
        for name in ["c.MP3", "b/a.wav", "b/a.txt", ".d.wav", "a.flac"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let expected = ["a.flac", "b/a.wav", "c.MP3"];
        let listed =
            |name: &str| Listed { name: String::new(), path: folder.path().join(name).display().to_string() };
        let found = read_list(folder.path()).unwrap();
        assert_eq!(found.recordings, expected.map(listed));
        assert_eq!(found.others, [folder.path().join("b/a.txt")]);
    }

    #[test]
    fn lists_that_are_none_are_refused_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let (list, there) = (folder.path().join("list"), folder.path().join("there.wav"));
        std::fs::write(&there, "x").unwrap();
        let spaced = format!("a.wav\nname {}\n", there.display());
        for (content, fault) in [
            ("sox a.wav -t wav - |".as_bytes(), "line 1: expected a file, found a command"),
            (b"\t\n", "there are no recordings"),
            (b"a\0b", "line 1: expected a file, found a name with a zero byte"),
            (b"a.wav\n\xe9.wav\n", "line 2: this is not UTF-8"),
            (spaced.as_bytes(), "line 2: there is no such file; a tab, not a blank"),
        ] {
            std::fs::write(&list, content).unwrap();
            let said = read_list(&list).unwrap_err().to_string();
            assert!(said.contains(fault), "{said}");
        }
        let empty = folder.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        assert!(read_list(&empty).unwrap_err().to_string().ends_with("the folder has no recordings"));
        std::fs::write(&list, format!("\u{feff} {}\r\n\n a b \t/c\u{a0}\n", there.display())).unwrap();
        let found = read_list(&list).unwrap().recordings;
        assert_eq!(found[0], Listed { name: String::new(), path: there.display().to_string() });
        assert_eq!(found[1], Listed { name: "a b".to_owned(), path: "/c".to_owned() });
        let error = read_list(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("more than 256 MB that are in no file"), "{error}");
    }

    #[test]
    fn a_file_whose_name_looks_like_a_command_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (list, odd) = (folder.path().join("list"), folder.path().join("sox a.wav |"));
        std::fs::write(&odd, "x").unwrap();
        std::fs::write(&list, odd.display().to_string()).unwrap();
        assert_eq!(read_list(&list).unwrap().recordings[0].path, odd.display().to_string());
    }

    #[test]
    fn a_file_whose_name_ends_with_a_blank_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (list, odd, plain) =
            (folder.path().join("list"), folder.path().join("a "), folder.path().join("b"));
        std::fs::write(&odd, "x").unwrap();
        std::fs::write(&plain, "x").unwrap();
        let (odd, plain) = (odd.display().to_string(), plain.display().to_string());
        std::fs::write(&list, format!("{odd}\r\nname\t{odd}\n{plain} \n{plain}\t\n")).unwrap();
        let found = read_list(&list).unwrap().recordings;
        let paths: Vec<&str> = found.iter().map(|listed| &*listed.path).collect();
        assert_eq!(paths, [&odd, &odd, &plain, &plain]);
        assert_eq!(found[1].name, "name");
    }
}
