//! The program around the libraries, and the two signals of writes.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

use kaldi_io::host::{FAILED, Host};
use kaldi_io::log::Site;
use signal_hook::consts::{SIGPIPE, SIGXFSZ};
use signal_hook::low_level::emulate_default_handler;

use crate::{log, standard, terminal};

/// The host of the libraries in a program.
pub(crate) struct Program;

impl Host for Program {
    fn warning(&self, site: &Site, message: &str) {
        log::warning(site, message);
    }

    fn error_line(&self, message: &str) -> String {
        kaldi_io::log::line("ERROR", log::program(), &Site::PROGRAM, message)
    }

    fn stderr_of_command(&self) -> Option<Stdio> {
        terminal::stderr_of_command()
    }

    fn lacks_output(&self) -> bool {
        standard::lacks_output()
    }

    /// Ends the program by SIGPIPE, silently: `program | head`. Only standard output and standard error end a program so.
    /// In programs that have a handler of their own for the signal, the write fails.
    fn output_is_unread(&self) {
        if IS_PROGRAM.load(Ordering::Relaxed) {
            kaldi_io::temporary::remove_all();
            let _ = emulate_default_handler(SIGPIPE);
        }
    }
}

/// True once a program runs.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// From now on the process ends by SIGPIPE if the reader of its standard output or standard error has closed it, as in
/// `nnet3-info model | head -4`. The signal itself stays ignored, as Rust's start-up code has it: a write to a command
/// that has ended is an error, which names the command, and ends no process.
pub(crate) fn end_by_sigpipe() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Ends the process by a signal that the program has [deferred](kaldi_io::interruption), after it has written its results. So the
/// caller sees the signal: a shell has the status 128 + its number, and leaves a loop after Ctrl-C.
pub fn end_by(signal: i32) -> u8 {
    terminal::drain();
    // (A failure was reported by the writer, or nobody is there to read the rest.)
    let _ = standard::flush_output();
    kaldi_io::temporary::remove_all();
    let _ = emulate_default_handler(signal);
    u8::try_from(128 + signal).unwrap_or(FAILED)
}

/// Makes a write beyond the largest file (`ulimit -f`) an error of the writer, which names the file, instead of a signal
/// that ends the process. Commands that are started get the default action back.
pub(crate) fn handle_sigxfsz() {
    static SIGNAL: Once = Once::new();
    // A handler is all that it takes. If there can be none, the signal ends the process, as it would anyway.
    SIGNAL.call_once(|| drop(signal_hook::flag::register(SIGXFSZ, Arc::default())));
}
