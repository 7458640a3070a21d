//! Files of a tree: sound by its ending, and names that programs can use.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kaldi_io::filename::RxFilename;

use crate::{Error, Result};

/// Endings of files with sound.
pub const SOUND_EXTENSIONS: [&str; 33] = [
    "wav", "wave", "flac", "mp3", "ogg", "oga", "opus", "m4a", "m4b", "mp4", "aac", "aif", "aiff", "aifc",
    "caf", "mka", "mkv", "webm", "wma", "amr", "3gp", "3ga", "sph", "nist", "au", "snd", "w64", "rf64",
    "mov", "mpg", "mpeg", "avi", "spx",
];

/// Folders within each other that are followed.
const DEEPEST: usize = 64;

pub(crate) fn is_sound(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| SOUND_EXTENSIONS.contains(&extension.to_lowercase().as_str()))
}

/// A name without the ending of a sound file, if it has one.
pub(crate) fn without_sound_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty() && SOUND_EXTENSIONS.contains(&extension.to_lowercase().as_str()) =>
        {
            stem
        }
        _ => name,
    }
}

/// Folders below `root` and the file's name without its ending.
pub(crate) fn parts(root: &Path, path: &Path) -> Vec<String> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let folders = below.parent().into_iter().flat_map(Path::components);
    let folders = folders.filter(|part| matches!(part, std::path::Component::Normal(_)));
    let mut parts: Vec<String> =
        folders.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    parts
}

/// A clause that says why programs cannot use the name of this file; `None` if they can.
pub(crate) fn name_problem(path: &Path) -> Option<String> {
    let Some(name) = path.to_str() else { return Some("the name is not UTF-8; rename the file".to_owned()) };
    if name.chars().any(|c| c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')) {
        return Some("the name has a line break or the like; rename the file".to_owned());
    }
    let is_plain = matches!(RxFilename::parse(name), Ok(RxFilename::File(file)) if file == path);
    // A range is cut off the name of an object, and a blank off the end of a line.
    if !is_plain || name.ends_with(']') || name.trim() != name {
        return Some(
            "programs would take this name for a command, a table or a part of a file; rename it".to_owned(),
        );
    }
    None
}

/// All files below a folder, sorted; those whose names begin with a point are left out. Folders behind symbolic links are
/// entered once.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    enter(root, 0, &mut seen, &mut found)?;
    found.sort();
    Ok(found)
}

fn enter(folder: &Path, depth: usize, seen: &mut BTreeSet<PathBuf>, found: &mut Vec<PathBuf>) -> Result<()> {
    let real = folder.canonicalize().map_err(|source| Error::io(folder, source))?;
    if depth > DEEPEST || !seen.insert(real) {
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| Error::io(folder, source))? {
        entries.push(entry.map_err(|source| Error::io(folder, source))?.path());
    }
    // (The order decides which of two links to one folder counts.)
    entries.sort();
    for path in entries {
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            continue;
        }
        if path.is_dir() {
            enter(&path, depth + 1, seen, found)?;
        } else if path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// The path as programs can use it from any folder.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_programs_would_misread_are_found() {
        for good in ["/a/b.wav", "/a/b c.wav", "/a/ωndω.wav", "/a/'b'.wav", "/a:b/c.wav"] {
            assert_eq!(name_problem(Path::new(good)), None, "{good}");
        }
        for bad in
            ["/a/b|.wav", "/a/b.wav |", "/a/b\n.wav", "/a/b.wav:12", "/a/b]", "/a/b\u{2028}.wav", "/a/b.wav "]
        {
            assert!(name_problem(Path::new(bad)).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_circle_of_links_ends() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("b/c")).unwrap();
        for file in ["b/x.wav", "b/c/y.WAV", ".hidden.wav", "z.txt"] {
            fs::write(root.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("b/loop")).unwrap();
        let found = files(root).unwrap();
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["b/c/y.WAV", "b/x.wav", "z.txt"]);
        assert_eq!(parts(root, &found[0]), ["b", "c", "y"]);
        assert!(is_sound(&found[0]) && !is_sound(&found[2]));
        assert_eq!(without_sound_extension("a.b.Wav"), "a.b");
        assert_eq!(without_sound_extension("a.b"), "a.b");
    }
}
