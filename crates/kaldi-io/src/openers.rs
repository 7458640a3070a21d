//! Finds out if other processes have a file open.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// More generations of processes than there are.
const GENERATIONS: usize = 100;

/// True if a client may look at the file through an open handle, and must see what is written under its name. A client is a process
/// that has it open for writing, such as Python with its `NamedTemporaryFile`; or a process that started this one, directly or
/// not, and has it open in any way, such as a shell with `exec 3<file`. Other processes that read the file go on reading the
/// old contents.
///
/// Returns false if the system does not tell: on systems other than Linux, for files of other users, and on some network
/// file systems.
pub(crate) fn has_clients(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|file| is_open_for_writing(path) || ancestors().any(|process| has_open(process, &file)))
}

/// The processes that started this one, nearest first.
fn ancestors() -> impl Iterator<Item = u32> {
    let parent = |process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name before it, in brackets, may have anything in it.
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok().filter(|&parent| parent > 1)
    };
    std::iter::successors(parent(std::process::id()), move |&process| parent(process)).take(GENERATIONS)
}

fn has_open(process: u32, file: &Metadata) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let is_same = |other: Metadata| (other.dev(), other.ino()) == (file.dev(), file.ino());
    descriptors.filter_map(|descriptor| fs::metadata(descriptor.path()).ok()).any(is_same)
}

/// Asks for a read lease, which the system refuses if some process has the file open for writing.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn is_open_for_writing(path: &Path) -> bool {
    use std::os::fd::AsRawFd;
    use std::sync::{Arc, Once};

    // Somebody who opens the file while the lease lasts causes this signal, which would end the process.
    static SIGNAL: Once = Once::new();
    SIGNAL.call_once(|| drop(signal_hook::flag::register(libc::SIGIO, Arc::default())));
    let Ok(file) = File::open(path) else { return false };
    let lease = |kind: libc::c_int| {
        // SAFETY: the descriptor is open while `file` lives; F_SETLEASE takes an integer, and touches no memory.
        let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
        if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    match lease(libc::F_RDLCK) {
        Ok(()) => lease(libc::F_UNLCK).is_err(),
        Err(e) => e.kind() == std::io::ErrorKind::WouldBlock,
    }
}

#[cfg(not(target_os = "linux"))]
fn is_open_for_writing(_: &Path) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn writers_are_clients_and_readers_are_not() {
        let path = std::env::temp_dir().join(format!("openers-{}", std::process::id()));
        fs::write(&path, "x").unwrap();
        assert!(!has_clients(&path));
        let reader = File::open(&path).unwrap();
        assert!(!has_clients(&path), "a reader");
        let writer = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        assert!(has_clients(&path), "a writer");
        drop((reader, writer));
        assert!(!has_clients(&path));
        fs::remove_file(&path).unwrap();
        assert!(!has_clients(&path));
    }

    #[test]
    fn the_parent_is_an_ancestor() {
        let parent = std::os::unix::process::parent_id();
        assert_eq!(ancestors().next(), Some(parent).filter(|&parent| parent > 1));
    }
}
