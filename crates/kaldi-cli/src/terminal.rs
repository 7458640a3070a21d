//! Standard error on a terminal: permission to draw, and whole lines from several processes.
//!
//! A program that draws a progress bar must remove it before each printed line. Its own lines go through [`print()`].
//! Lines of its commands (`command |`) pass through this process and are printed in the same way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use kaldi_io::standard::unread;
use kaldi_io::threads::{self, Thread};

/// Wraps a print, such as removing a progress bar and drawing it again afterwards.
pub(crate) type Around = dyn Fn(&mut dyn FnMut()) + Send + Sync;

static AROUND: RwLock<Option<Box<Around>>> = RwLock::new(None);

/// Threads that print lines of commands.
static RELAYS: Mutex<Vec<Thread<()>>> = Mutex::new(Vec::new());

/// Time that [`drain`] waits for lines of commands with running children.
const PATIENCE: Duration = Duration::from_millis(500);

/// True if this process may draw: standard error is a terminal, and no later program of a pipeline shares it.
pub fn is_ours() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    #[allow(clippy::disallowed_methods)] // Nothing is written.
    *OURS.get_or_init(|| is_terminal() && !is_pipe(io::stdout()))
}

/// True if text on standard error may have colours: it is a terminal that knows them, and `NO_COLOR` is empty or not set
/// (<https://no-color.org>).
pub fn has_colours() -> bool {
    static COLOURS: OnceLock<bool> = OnceLock::new();
    *COLOURS.get_or_init(|| {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let knows_none = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
        is_terminal() && !is_set("NO_COLOR") && !knows_none
    })
}

/// True if standard error is a terminal.
pub fn is_terminal() -> bool {
    #[allow(clippy::disallowed_methods)] // Nothing is written.
    io::stderr().is_terminal()
}

fn is_pipe(end: impl AsFd) -> bool {
    let metadata = end.as_fd().try_clone_to_owned().and_then(|copy| File::from(copy).metadata());
    metadata.is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Sets the wrapper of all later prints; `None` removes it.
pub fn set_around(around: Option<Box<Around>>) {
    *AROUND.write().unwrap_or_else(PoisonError::into_inner) = around;
}

/// Prints to standard error, in one write, so that lines of several processes that share a log file stay whole.
pub fn print(text: &[u8]) {
    // An error cannot be reported if standard error is closed.
    let mut print = || drop(io::stderr().lock().write_all(text).map_err(unread));
    match &*AROUND.read().unwrap_or_else(PoisonError::into_inner) {
        Some(around) => around(&mut print),
        None => print(),
    }
}

/// Makes a standard error for a command, with lines that this process prints. `None` if the command may use ours.
pub(crate) fn stderr_of_command() -> Option<Stdio> {
    if !is_ours() {
        return None;
    }
    let (reader, writer) = io::pipe().ok()?;
    let thread = threads::start_or_return("lines of commands", reader, relay).ok()?;
    RELAYS.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    Some(writer.into())
}

fn relay(from: PipeReader) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        print(&line);
        line.clear();
    }
}

/// Waits until the output of commands has been printed.
pub(crate) fn drain() {
    let threads = std::mem::take(&mut *RELAYS.lock().unwrap_or_else(PoisonError::into_inner));
    let began = Instant::now();
    while threads.iter().any(|thread| !thread.is_finished()) && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
}
