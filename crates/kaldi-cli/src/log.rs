//! Kaldi's log lines on standard error (`base/kaldi-error.cc`): `LEVEL (PROGRAM[VERSION]:FUNCTION():FILE:LINE)
//! MESSAGE`.
//!
//! Training scripts search these lines, sometimes with function and file. So callers give function and file explicitly,
//! as a [`Site`]. The sites that scripts search for are in [`sites`]. On a terminal, messages without a place in Kaldi's sources have the
//! level and the program alone before them.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{PoisonError, RwLock};

use kaldi_io::host;
use kaldi_io::log::line;
pub use kaldi_io::log::{Site, VERSION, num, ratio};

use crate::{signal, terminal};

static PROGRAM: RwLock<&str> = RwLock::new("");
thread_local! {
    static ACTING_AS: Cell<Option<&'static str>> = const { Cell::new(None) };
}
static VERBOSE: AtomicI32 = AtomicI32::new(0);
/// True if `LOG` lines are printed from `--verbose=1` on only.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Returns the names of a program's options.
pub(crate) type OptionNames = fn() -> Vec<String>;
static OPTION_NAMES: RwLock<Vec<OptionNames>> = RwLock::new(Vec::new());

/// Sets the program's name, from its path, and makes this process the host of the libraries. (A process has few names, which
/// stay for messages that are on their way.)
pub fn init(program: &str) {
    host::set(&signal::Program);
    let name = program.rsplit('/').next().unwrap_or(program);
    if name != *PROGRAM.read().unwrap_or_else(PoisonError::into_inner) {
        *PROGRAM.write().unwrap_or_else(PoisonError::into_inner) = Box::leak(name.into());
    }
}

/// The program's name as log lines show it; empty before [`init`].
pub fn program() -> &'static str {
    ACTING_AS.get().unwrap_or_else(|| *PROGRAM.read().unwrap_or_else(PoisonError::into_inner))
}

/// Calls `f` under the name of another program: log lines of this thread show that name during the call.
pub fn acting_as<T>(program: &'static str, f: impl FnOnce() -> T) -> T {
    let before = ACTING_AS.replace(Some(program));
    let result = f();
    ACTING_AS.set(before);
    result
}

/// Sets the highest level of [`vlog`] that is printed (`--verbose`).
pub(crate) fn set_verbose(level: i32) {
    VERBOSE.store(level, Ordering::Relaxed);
}

/// Makes [`log`] print from `--verbose=1` on only, for programs whose users need results and faults alone.
pub(crate) fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

pub fn verbose() -> i32 {
    VERBOSE.load(Ordering::Relaxed)
}

/// Adds options that errors and warnings show with dashes: those of the running program, or of one that runs within it. A
/// library does not know command lines; it names a setting in backquotes.
pub(crate) fn add_option_names(names: OptionNames) {
    OPTION_NAMES.write().unwrap_or_else(PoisonError::into_inner).push(names);
}

/// Forgets the options of programs that ran before.
pub(crate) fn forget_option_names() {
    OPTION_NAMES.write().unwrap_or_else(PoisonError::into_inner).clear();
}

pub fn log(site: &Site, message: &str) {
    if !QUIET.load(Ordering::Relaxed) || verbose() > 0 {
        print("LOG", site, message);
    }
}

pub fn warning(site: &Site, message: &str) {
    print("WARNING", site, &as_on_the_command_line(message));
}

pub fn error(site: &Site, message: &str) {
    print("ERROR", site, &shortened(&as_on_the_command_line(message)));
}

/// Does the same as [`error`] when memory has run out: it allocates no memory, and cuts a long message.
pub fn error_without_memory(message: fmt::Arguments<'_>) {
    struct Line {
        bytes: [u8; 512],
        used: usize,
    }
    impl fmt::Write for Line {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            // (The last byte is for the end of the line.)
            let room = &mut self.bytes[self.used..511];
            let count = text.len().min(room.len());
            room[..count].copy_from_slice(&text.as_bytes()[..count]);
            self.used += count;
            Ok(())
        }
    }
    let mut line = Line { bytes: [0; 512], used: 0 };
    let (Site { function, line: number, .. }, program) = (Site::PROGRAM, program());
    let _ = fmt::write(
        &mut line,
        format_args!("ERROR ({program}[{VERSION}]:{function}():{program}.cc:{number}) {message}"),
    );
    line.bytes[line.used] = b'\n';
    let _ = std::io::stderr().write_all(&line.bytes[..=line.used]);
}

/// Writes the settings of a message as options.
fn as_on_the_command_line(message: &str) -> Cow<'_, str> {
    if !message.contains('`') {
        return Cow::Borrowed(message);
    }
    let programs = OPTION_NAMES.read().unwrap_or_else(PoisonError::into_inner);
    let names: Vec<String> = programs.iter().flat_map(|names| names()).collect();
    Cow::Owned(with_dashes(message, &names))
}

/// Replaces `` `name` `` by `--name` for each of these names.
fn with_dashes(message: &str, names: &[String]) -> String {
    names
        .iter()
        .fold(message.to_owned(), |text, name| text.replace(&format!("`{name}`"), &format!("--{name}")))
}

/// Shortens a message to a readable size: keeps the beginning and the end of a long one.
fn shortened(message: &str) -> Cow<'_, str> {
    const BEGINNING: usize = 6000;
    const END: usize = 2000;
    if message.len() <= BEGINNING + END {
        return Cow::Borrowed(message);
    }
    let boundary = |at: usize| (at..message.len()).find(|&at| message.is_char_boundary(at));
    let place = |at: usize| boundary(at).unwrap_or(message.len());
    let (first, last) = (place(BEGINNING), place(message.len() - END));
    let cut = last - first;
    Cow::Owned(format!("{} … ({cut} bytes more) … {}", &message[..first], &message[last..]))
}

/// Prints if `level` is at most the verbosity.
pub fn vlog(level: i32, site: &Site, message: &str) {
    if level <= verbose() {
        print(&format!("VLOG[{level}]"), site, message);
    }
}

/// The line that [`log`] prints, with its newline.
pub fn log_line(site: &Site, message: &str) -> String {
    line("LOG", program(), site, message)
}

fn print(level: &str, site: &Site, message: &str) {
    let line = match terminal::is_terminal() && *site == Site::PROGRAM {
        true => short_line(level, program(), message),
        false => line(level, program(), site, message),
    };
    match colour(level).filter(|_| terminal::has_colours()) {
        Some(colour) => terminal::print(coloured(&line, level, colour).as_bytes()),
        None => terminal::print(line.as_bytes()),
    }
}

/// A line for a person at a terminal. The place in a program of Kaldi tells a person nothing if the message is none of Kaldi's.
fn short_line(level: &str, program: &str, message: &str) -> String {
    format!("{level} ({program}) {message}\n")
}

/// The colour of a level on terminals, as the number of an escape sequence: red, yellow.
fn colour(level: &str) -> Option<u8> {
    match level {
        "ERROR" => Some(31),
        "WARNING" => Some(33),
        _ => None,
    }
}

/// The line with its level in bold and in colour.
fn coloured(line: &str, level: &str, colour: u8) -> String {
    format!("\x1b[1;{colour}m{level}\x1b[0m{}", &line[level.len()..])
}

/// Messages that scripts look for.
pub mod sites {
    use super::Site;

    /// `Average objective function for …` of a complete phase.
    pub const TRAIN_PHASE: Site = Site::new("PrintStatsForThisPhase", "nnet-training.cc", 278);
    /// `Average objective function for …` of an incomplete phase.
    pub const TRAIN_PARTIAL_PHASE: Site = Site::new("PrintStatsForThisPhase", "nnet-training.cc", 284);
    /// `Overall average objective function for …`.
    pub const TRAIN_TOTAL: Site = Site::new("PrintTotalStats", "nnet-training.cc", 317);
    /// `[this line is to be parsed by a script:] log-prob-per-frame=…`.
    pub const TRAIN_TOTAL_PARSED: Site = Site::new("PrintTotalStats", "nnet-training.cc", 324);
    /// `Per-component max-change active on …`.
    pub const MAX_CHANGE: Site = Site::new("UpdateNnetWithMaxChange", "nnet-utils.cc", 2205);
    /// `For …, per-component max-change was enforced …`.
    pub const MAX_CHANGE_STATS: Site = Site::new("Print", "nnet-utils.cc", 2311);
    /// `The global max-change was enforced …`.
    pub const GLOBAL_MAX_CHANGE_STATS: Site = Site::new("Print", "nnet-utils.cc", 2320);
    /// `Orthonormal constraint …` at higher verbosity.
    pub const ORTHONORMAL: Site = Site::new("ConstrainOrthonormalInternal", "nnet-utils.cc", 1060);
    /// `Recomputing stats on nnet (affects batch-norm)`.
    pub const RECOMPUTE_STATS: Site = Site::new("RecomputeStats", "nnet-utils.cc", 551);
    /// `Done recomputing stats.`
    pub const RECOMPUTE_STATS_DONE: Site = Site::new("RecomputeStats", "nnet-utils.cc", 559);
    /// `Overall log-likelihood for 'output' is …`; scripts also match function and file.
    pub const PROB_OBJECTIVE: Site = Site::new("PrintTotalStats", "nnet-diagnostics.cc", 162);
    /// `Overall accuracy for 'output' is …`; scripts also match function and file.
    pub const PROB_ACCURACY: Site = Site::new("PrintTotalStats", "nnet-diagnostics.cc", 180);
    /// `Processed … egs of avg. size …`.
    pub const MERGE_AGGREGATE: Site = Site::new("PrintAggregateStats", "nnet-example-utils.cc", 1156);
    /// `Merged specific eg types as follows …`.
    pub const MERGE_SPECIFIC_FORMAT: Site = Site::new("PrintSpecificStats", "nnet-example-utils.cc", 1160);
    /// `20={64->15,d=0}`.
    pub const MERGE_SPECIFIC: Site = Site::new("PrintSpecificStats", "nnet-example-utils.cc", 1190);
    /// `… seconds taken in nnet3 compilation total …`.
    pub const COMPILER: Site = Site::new("~CachingOptimizingCompiler", "nnet-optimize.cc", 710);
    /// `c68: X.Propagate(…) | … | time: … secs` of `--computation.debug=true`.
    pub const COMPUTE_DEBUG: Site = Site::new("DebugAfterExecute", "nnet-compute.cc", 200);
}

/// `kaldi_log!(site, "format {}", value)`: a `LOG` line.
#[macro_export]
macro_rules! kaldi_log {
    ($site:expr, $($argument:tt)*) => {
        $crate::log::log(&$site, &::std::format!($($argument)*))
    };
}

/// `kaldi_warn!(site, "format {}", value)`: a `WARNING` line.
#[macro_export]
macro_rules! kaldi_warn {
    ($site:expr, $($argument:tt)*) => {
        $crate::log::warning(&$site, &::std::format!($($argument)*))
    };
}

/// `kaldi_vlog!(level, site, "format {}", value)`: a `VLOG[level]` line, formatted only if it is printed.
#[macro_export]
macro_rules! kaldi_vlog {
    ($level:expr, $site:expr, $($argument:tt)*) => {
        if $level <= $crate::log::verbose() {
            $crate::log::vlog($level, &$site, &::std::format!($($argument)*))
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&"ä".repeat(1_000_000)).into_owned();
        assert!(long.len() < 8100 && long.contains("bytes more) …"), "{}", long.len());
    }

    #[test]
    fn the_level_alone_has_a_colour() {
        let line = line("ERROR", "p", &Site::PROGRAM, "no such ERROR");
        let shown = coloured(&line, "ERROR", 31);
        assert_eq!(shown, "\x1b[1;31mERROR\x1b[0m (p[5.5]:main():p.cc:1) no such ERROR\n");
        assert_eq!((colour("WARNING"), colour("LOG"), colour("VLOG[1]")), (Some(33), None, None));
    }

    #[test]
    fn settings_become_options() {
        let names = ["dim".to_owned(), "delta-pitch".to_owned()];
        for (message, expected) in [
            ("`dim`=3: see `delta-pitch`", "--dim=3: see --delta-pitch"),
            ("`dim`", "--dim"),
            ("the word `dims` of `dim", "the word `dims` of `dim"),
            ("`other` `dim` `", "`other` --dim `"),
            ("``dim``", "`--dim`"),
            ("no name", "no name"),
        ] {
            assert_eq!(with_dashes(message, &names), expected);
        }
        assert_eq!(with_dashes("`dim`=3", &[]), "`dim`=3");
    }

    /// A line that the reference logs.
    #[test]
    fn lines_look_like_kaldis() {
        assert_eq!(
            line(
                "LOG",
                "nnet3-train",
                &sites::TRAIN_TOTAL,
                "Overall average objective function for 'output' is -2.52004 over 7588.5 frames."
            ),
            "LOG (nnet3-train[5.5]:PrintTotalStats():nnet-training.cc:317) Overall average objective function for \
             'output' is -2.52004 over 7588.5 frames.\n"
        );
        assert_eq!(
            line("WARNING", "nnet3-copy", &Site::PROGRAM, "x"),
            "WARNING (nnet3-copy[5.5]:main():nnet3-copy.cc:1) x\n"
        );
        assert_eq!(short_line("WARNING", "nnet3-copy", "x"), "WARNING (nnet3-copy) x\n");
        assert_eq!(num(7588.5), "7588.5");
        assert_eq!(num(-2.520_041_2), "-2.52004");
        assert_eq!(num(100.0 / 3.0), "33.3333");
    }
}
