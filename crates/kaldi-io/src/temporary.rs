//! Files and folders that have not got their real names yet. A program that a signal ends removes its own first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::{interruption, threads};

static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a file that is to be removed if the program does not get to renaming it.
pub(crate) fn add(file: &Path) {
    watch();
    files().insert(file.to_owned());
}

/// The file has its real name, or is gone.
pub(crate) fn forget(file: &Path) {
    files().remove(file);
}

/// Removes all temporary files. It is called before the program ends abruptly.
pub fn remove_all() {
    // (Another thread, or this one, may be about to add a file.)
    if let Ok(mut files) = FILES.try_lock() {
        std::mem::take(&mut *files).iter().for_each(|path| remove(path));
    }
}

/// Removes a file, or a folder with its contents. Folders are read one at a time, so that a program at its limit of open files can
/// do it.
fn remove(path: &Path) {
    // (Links to folders are files here.)
    if !path.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        let _ = std::fs::remove_file(path);
        return;
    }
    // (Another thread may be adding files.)
    for _ in 0..TRIES {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        inside.iter().for_each(|path| remove(path));
        match std::fs::remove_dir(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {}
            _ => break,
        }
    }
}

/// Attempts to remove a folder.
const TRIES: usize = 10;

/// A hidden folder beside its later place. It goes when this is dropped, or when a signal ends the program, unless it was given its
/// name before.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes a new folder in `parent`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new_in(parent: &Path) -> std::io::Result<Folder> {
        let mut number = 0;
        loop {
            let path = parent.join(format!(".nnet3-{}-{number}.tmp", std::process::id()));
            // (The name is noted first: a signal may come between.)
            add(&path);
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder { path }),
                Err(error) => {
                    forget(&path);
                    if error.kind() != std::io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                    number += 1;
                }
            }
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder its name. There must be no file or folder of this name, other than an empty folder.
    ///
    /// # Errors
    /// The folder cannot be renamed, and is gone.
    pub fn rename(self, to: &Path) -> std::io::Result<()> {
        std::fs::rename(&self.path, to)?;
        forget(&self.path);
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
        forget(&self.path);
    }
}

/// Starts the thread that receives signals, unless it runs. It removes the files, then performs the default action of the signal.
/// Signals that are ignored, or that have handlers already, are left alone: a library in an interpreter does not end it at Ctrl-C.
/// A first one that is [deferred](interruption::defer) ends nothing either.
pub(crate) fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(start);
}

fn start() {
    let taken = taken_signals();
    let wanted = interruption::SIGNALS.into_iter().filter(|signal| taken >> (signal - 1) & 1 == 0);
    let wanted: Vec<i32> = wanted.collect();
    let (ready, registered) = sync_channel(0);
    // (Signals keep their default actions until there is a thread for them.)
    let thread =
        threads::start_or_return("signals", (wanted, ready), |(wanted, ready)| receive(&wanted, &ready));
    if thread.is_ok() {
        let _ = registered.recv();
    }
}

/// Receives these signals for ever. Tells `ready` when the first one may come.
fn receive(wanted: &[i32], ready: &SyncSender<()>) {
    let signals = Signals::new(wanted);
    let _ = ready.send(());
    let Ok(mut signals) = signals else { return };
    for signal in signals.forever() {
        if interruption::note(signal) {
            continue;
        }
        interruption::say_farewell(signal);
        // The lock keeps other threads from making files while the program ends.
        let mut files = files();
        std::mem::take(&mut *files).iter().for_each(|path| remove(path));
        let _ = emulate_default_handler(signal);
    }
}

/// Returns the mask of signals that are ignored or have handlers: the lowest bit is signal 1. (Zero if the system does not tell.)
fn taken_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = |name: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(name));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    };
    mask("SigIgn:") | mask("SigCgt:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_contents_unless_it_has_its_name() {
        let parent = std::env::temp_dir().join(format!("temporary-{}", std::process::id()));
        std::fs::create_dir_all(&parent).unwrap();
        let fill = |folder: &Folder| {
            std::fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
            std::fs::write(folder.path().join("a/b/x"), "x").unwrap();
            std::os::unix::fs::symlink("/etc", folder.path().join("a/link")).unwrap();
        };
        let (first, second) = (Folder::new_in(&parent).unwrap(), Folder::new_in(&parent).unwrap());
        assert_ne!(first.path(), second.path());
        fill(&first);
        fill(&second);
        drop(first);
        second.rename(&parent.join("kept")).unwrap();
        let names: Vec<_> =
            std::fs::read_dir(&parent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["kept"]);
        assert!(parent.join("kept/a/b/x").is_file() && Path::new("/etc").is_dir());
        let failing = Folder::new_in(&parent).unwrap();
        fill(&failing);
        assert!(failing.rename(&parent.join("none/there")).is_err());
        assert_eq!(std::fs::read_dir(&parent).unwrap().count(), 1);
        assert!(Folder::new_in(&parent.join("none")).is_err());
        std::fs::remove_dir_all(&parent).unwrap();
    }
}
