//! Files that are written under a temporary name, and then take the place of another file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::{openers, temporary};

/// A file that has not got its real name yet; removed when dropped before that.
pub(crate) struct TemporaryFile {
    pub file: File,
    temporary: PathBuf,
    target: PathBuf,
    /// The temporary name is not to be removed: there is no such file any more, or it is all that is left.
    settled: bool,
}

/// Returns the regular file that `path` is or links to, or `path` itself if it does not exist.
pub(crate) fn replaceable(path: &Path) -> Option<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Some(path.to_owned()),
        Ok(metadata) if metadata.is_symlink() => {
            fs::canonicalize(path).ok().filter(|target| target.is_file())
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Some(path.to_owned()),
        _ => None,
    }
}

/// True if `target` must stay the same file, with new contents: it is empty, which is how a client makes a file for a
/// program to fill, it has other names, or a client has it open.
fn must_stay(target: &Path) -> bool {
    fs::metadata(target).is_ok_and(|data| data.len() == 0 || data.nlink() > 1) || openers::has_clients(target)
}

/// Removes old temporary files beside `target` that killed programs have left for it.
fn remove_abandoned(target: &Path) {
    const A_WHILE: Duration = Duration::from_secs(600);
    let (Some(folder), Some(base)) = (target.parent(), target.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let start = format!(".{}.", base.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let numbers = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".tmp"));
        let is_ours = numbers.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
        let age = || entry.metadata().and_then(|m| m.modified()).ok().and_then(|time| time.elapsed().ok());
        if is_ours && age().is_some_and(|age| age > A_WHILE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl TemporaryFile {
    pub fn create(target: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let base = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        remove_abandoned(target);
        let existing = fs::metadata(target).ok();
        if existing.as_ref().is_some_and(|m| m.permissions().readonly()) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut name = std::ffi::OsString::from(".");
        name.push(base);
        name.push(format!(".{}.{}.tmp", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        let temporary = target.with_file_name(name);
        // The entry is added before the file exists, because a signal may arrive at any time.
        temporary::add(&temporary);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&temporary);
        let file = file.inspect_err(|_| temporary::forget(&temporary))?;
        if let Some(existing) = existing {
            // If possible, the new file keeps the permissions of the old one.
            let _ = file.set_permissions(existing.permissions());
        }
        Ok(TemporaryFile { file, temporary, target: target.to_owned(), settled: false })
    }

    /// Changes the real name. The folder stays the same.
    pub fn set_target(&mut self, target: &Path) {
        target.clone_into(&mut self.target);
    }

    /// Gives the file its real name. If the file of that name must stay, or does not let itself be replaced (because it is mounted
    /// singly), it gets the contents instead.
    pub fn settle(&mut self) -> io::Result<()> {
        if must_stay(&self.target) {
            return self.fill();
        }
        match fs::rename(&self.temporary, &self.target) {
            Ok(()) => {
                self.settled = true;
                temporary::forget(&self.temporary);
                Ok(())
            }
            Err(e) if fs::metadata(&self.target).is_ok_and(|data| data.is_file()) => self
                .fill()
                .map_err(|other| if other.kind() == io::ErrorKind::PermissionDenied { e } else { other }),
            Err(e) => Err(e),
        }
    }

    /// Copies the contents into the existing file. If that fails in the middle, the temporary file stays.
    fn fill(&mut self) -> io::Result<()> {
        let mut target = OpenOptions::new().write(true).open(&self.target)?;
        self.file.seek(SeekFrom::Start(0))?;
        // From here on the temporary file may be all that is whole.
        self.settled = true;
        temporary::forget(&self.temporary);
        let copied = target.set_len(0).and_then(|()| io::copy(&mut self.file, &mut target)).map_err(|e| {
            io::Error::new(e.kind(), format!("{e} (all of it is in {})", self.temporary.display()))
        });
        copied?;
        fs::remove_file(&self.temporary)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.settled {
            let _ = fs::remove_file(&self.temporary);
            temporary::forget(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KaldiWriter;
    use std::io::Read;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("replacement-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn write(path: &Path, text: &str) {
        let mut writer = KaldiWriter::create(path.to_str().unwrap(), false).unwrap();
        writer.write_str(text).unwrap();
        writer.finish().unwrap();
    }

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    /// Clients find the new contents by their open handles.
    #[test]
    fn files_of_clients_stay_the_same_files() {
        let folder = folder("clients");
        let file = folder.join("file");
        fs::write(&file, "").unwrap();
        let mut client = OpenOptions::new().read(true).write(true).open(&file).unwrap();
        let mut read = || {
            client.seek(SeekFrom::Start(0)).unwrap();
            let mut text = String::new();
            client.read_to_string(&mut text).unwrap();
            text
        };
        write(&file, "the first text, which is long");
        assert_eq!(read(), "the first text, which is long");
        write(&file, "the second");
        assert_eq!(read(), "the second");
        assert_eq!(names(&folder), 1, "no temporary file stays");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn hard_links_have_the_new_contents() {
        let folder = folder("links");
        let (file, other) = (folder.join("file"), folder.join("other"));
        fs::write(&file, "old and long").unwrap();
        fs::hard_link(&file, &other).unwrap();
        write(&file, "new");
        assert_eq!(fs::read_to_string(&other).unwrap(), "new");
        assert_eq!(names(&folder), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    /// A process that reads the old contents goes on reading them.
    #[test]
    fn readers_keep_the_old_contents() {
        let folder = folder("readers");
        let file = folder.join("file");
        fs::write(&file, "old").unwrap();
        let mut reader = File::open(&file).unwrap();
        write(&file, "new");
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), fs::read_to_string(&file).unwrap().as_str()), ("old", "new"));
        fs::remove_dir_all(folder).unwrap();
    }
}
