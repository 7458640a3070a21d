//! A program's `main`: the command line, the run, the status.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use clap::{Args, FromArgMatches};
use kaldi_io::error::chain;
use kaldi_io::host::FAILED;

use crate::arguments::{self, command};
use crate::log::{self, Site};
use crate::signal::{end_by_sigpipe, handle_sigxfsz};
use crate::standard::{self, StandardOutput};
use crate::{generate, help, stack, terminal};

/// Status of a program that was called with wrong arguments, or had no work to do.
pub const NOTHING_DONE: u8 = 1;

// The options of every program. (Not a doc comment, which clap would take for the description of any program that
// flattens this struct.)
#[derive(Args, Debug, Clone, PartialEq)]
pub struct StandardOptions {
    /// Configuration file to read (this option may be repeated)
    #[arg(long, default_value = "", help_heading = help::STANDARD)]
    pub config: String,
    /// Print the command line arguments (to stderr)
    #[arg(long, default_value_t = true, help_heading = help::STANDARD)]
    pub print_args: bool,
    /// Verbose level (higher->more logging)
    #[arg(long, default_value_t = 0, help_heading = help::STANDARD)]
    pub verbose: i32,
}

/// The style of a program's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Kaldi's: the first argument ends the options.
    #[default]
    Kaldi,
    /// Options may stand behind arguments, `--` ends them, and `-x` is the option whose letter is x.
    Mixed,
    /// The same, and the command line and `LOG` lines are not shown unless they are asked for.
    Quiet,
}

/// Options of other programs, and what to do here instead: `("jobs", "--num-threads=N")`.
pub type Elsewhere = &'static [(&'static str, &'static str)];

/// A parsed command line.
#[derive(Debug)]
pub struct Parsed<A> {
    pub options: A,
    pub standard: StandardOptions,
    /// The command line as `--print-args` shows it, with its newline; empty if not wanted.
    pub echo: String,
}

/// Output and status of a program that does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The command line as `--print-args` shows it, before all others; empty if it is not shown.
    pub echo: String,
    /// Text for standard output, for `--help` or `--version`.
    pub shown: String,
    /// The text of an `ERROR` line.
    pub error: Option<String>,
    /// Text for standard error after that: the synopsis, the command line.
    pub text: String,
    /// Exit status: 0 after `--help`, 1 for a wrong number of arguments, 255 for a wrong option.
    pub status: u8,
}

impl Stop {
    pub(crate) fn shows(shown: String) -> Stop {
        Stop { echo: String::new(), shown, error: None, text: String::new(), status: 0 }
    }

    pub(crate) fn refuses(error: String) -> Stop {
        let (echo, shown, text) = Default::default();
        Stop { echo, shown, error: Some(error), text, status: FAILED }
    }
}

/// Parses a command line (`argv` with the program's name first) as Kaldi's programs do, including configuration files.
pub fn parse<A: clap::Parser>(argv: impl IntoIterator<Item = OsString>) -> Result<Parsed<A>, Stop> {
    parse_in(Style::Kaldi, &[], argv)
}

fn parse_in<A: clap::Parser>(
    style: Style,
    elsewhere: Elsewhere,
    argv: impl IntoIterator<Item = OsString>,
) -> Result<Parsed<A>, Stop> {
    log::add_option_names(option_names::<A>);
    let argv: Vec<OsString> = argv.into_iter().collect();
    let mut command = styled::<A>(style).bin_name(called_as(&argv));
    command.build();
    let arguments = arguments::normalize(&command, style, elsewhere, &argv)?;
    let fail = |e: clap::Error| match arguments::explain(&e, &command, &arguments) {
        // (Kaldi's programs count their arguments after the command line is shown.)
        arguments::Problem::Positionals(message) => {
            Stop { echo: arguments.echo.clone(), ..wrong_arguments(&command, message) }
        }
        arguments::Problem::Value(message) => arguments::refused(&command, &arguments.echo, message),
    };
    let mut matches = command.clone().try_get_matches_from(&arguments.for_clap).map_err(fail)?;
    let standard = StandardOptions::from_arg_matches(&matches).map_err(fail)?;
    let options = A::from_arg_matches_mut(&mut matches).map_err(fail)?;
    Ok(Parsed { options, standard, echo: arguments.echo })
}

/// The command of a program of this style.
fn styled<A: clap::Parser>(style: Style) -> clap::Command {
    match style {
        Style::Kaldi | Style::Mixed => command::<A>(),
        Style::Quiet => command::<A>().mut_arg("print_args", |arg| arg.default_value("false")),
    }
}

fn wrong_arguments(command: &clap::Command, message: String) -> Stop {
    Stop { text: help::hint(command), status: NOTHING_DONE, ..Stop::refuses(message) }
}

/// The whole `main` of a program: parses the command line, runs `program` and returns its status. An error is printed
/// as one `ERROR` line, with all its causes, and makes the status 255.
///
/// `program | head` ends silently, by SIGPIPE. A write beyond the largest file (`ulimit -f`) is an error, not a signal. Output
/// that is left in a buffer at the end is written, and a failure is an error.
pub fn run<A, E, F>(program: F) -> ExitCode
where
    A: clap::Parser,
    E: Into<Box<dyn Error + Send + Sync>>,
    F: FnOnce(A) -> Result<u8, E>,
{
    run_with(command_line(), program)
}

/// Does the same as [`run`] for a command line of this style.
pub fn run_styled<A, E, F>(style: Style, program: F) -> ExitCode
where
    A: clap::Parser,
    E: Into<Box<dyn Error + Send + Sync>>,
    F: FnOnce(A) -> Result<u8, E>,
{
    run_advised(style, &[], program)
}

/// Does the same as [`run_styled`] for a program that knows what people mean by options of other programs: pairs of a name, and
/// a clause for the message that the program lacks the option.
pub fn run_advised<A, E, F>(style: Style, elsewhere: Elsewhere, program: F) -> ExitCode
where
    A: clap::Parser,
    E: Into<Box<dyn Error + Send + Sync>>,
    F: FnOnce(A) -> Result<u8, E>,
{
    ended(status_of(style, elsewhere, command_line(), program))
}

/// Keeps the status for [`run_main`].
fn ended(status: u8) -> ExitCode {
    LAST_STATUS.store(status, Ordering::Relaxed);
    ExitCode::from(status)
}

/// Does the same as [`run`] with a given command line, which may differ from the command line of the process.
pub fn run_with<A, E, F>(argv: Vec<OsString>, program: F) -> ExitCode
where
    A: clap::Parser,
    E: Into<Box<dyn Error + Send + Sync>>,
    F: FnOnce(A) -> Result<u8, E>,
{
    ended(status_of(Style::Kaldi, &[], argv, program))
}

fn status_of<A, E, F>(style: Style, elsewhere: Elsewhere, argv: Vec<OsString>, program: F) -> u8
where
    A: clap::Parser,
    E: Into<Box<dyn Error + Send + Sync>>,
    F: FnOnce(A) -> Result<u8, E>,
{
    end_by_sigpipe();
    handle_sigxfsz();
    log::init(&called_as(&argv));
    log::forget_option_names();
    if let Err(message) = stack::reserve() {
        return end(&Stop::refuses(message));
    }
    if let Some(status) = documentation::<A>(style, &argv) {
        return status;
    }
    let parsed = match parse_in::<A>(style, elsewhere, argv) {
        Ok(parsed) => parsed,
        Err(stop) => return end(&stop),
    };
    print(&parsed.echo);
    log::set_verbose(parsed.standard.verbose);
    log::set_quiet(style == Style::Quiet);
    let result = program(parsed.options);
    terminal::drain();
    match (result, standard::flush_output()) {
        (Err(e), _) => {
            let error: Box<dyn Error + Send + Sync> = e.into();
            report(&chain(error.as_ref()));
            FAILED
        }
        (Ok(_), Err(e)) => {
            report(&e.to_string());
            FAILED
        }
        (Ok(status), Ok(())) => status,
    }
}

/// Returns the long names of a program's options.
fn option_names<A: clap::Parser>() -> Vec<String> {
    command::<A>().get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
}

/// Exit status of the last program that ended; an `ExitCode` does not expose its number.
static LAST_STATUS: AtomicU8 = AtomicU8::new(FAILED);

/// A command line that takes the place of the process's own.
static GIVEN: RwLock<Option<Vec<OsString>>> = RwLock::new(None);

/// Runs a program's `main` as if the process had been started with these arguments, its name first. Its exit status.
pub fn run_main(main: fn() -> ExitCode, argv: Vec<OsString>) -> u8 {
    *GIVEN.write().unwrap_or_else(PoisonError::into_inner) = Some(argv);
    LAST_STATUS.store(FAILED, Ordering::Relaxed);
    main();
    LAST_STATUS.load(Ordering::Relaxed)
}

/// Number of arguments of the process before the name of the program.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// Skips the first `count` arguments of the process, its own name included. The next argument is the program's name.
pub fn skip_arguments(count: usize) {
    SKIPPED.store(count, Ordering::Relaxed);
}

/// The command line of the program that runs, its name first.
pub fn command_line() -> Vec<OsString> {
    if let Some(given) = &*GIVEN.read().unwrap_or_else(PoisonError::into_inner) {
        return given.clone();
    }
    std::env::args_os().skip(SKIPPED.load(Ordering::Relaxed)).collect()
}

/// Prints the document that `--generate=…` asks for; `None` if the command line has no such option.
fn documentation<A: clap::Parser>(style: Style, argv: &[OsString]) -> Option<u8> {
    let texts: Vec<String> = argv.iter().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    Some(match generate::requested(&texts)? {
        Ok(kind) => show(generate::generate(kind, styled::<A>(style), log::program())),
        Err(message) => end(&Stop::refuses(message)),
    })
}

/// Prints to standard output, and returns the exit status.
pub fn show(text: impl AsRef<[u8]>) -> u8 {
    end_by_sigpipe();
    match StandardOutput::print(text) {
        Ok(()) => 0,
        Err(e) => {
            report(&e.chain());
            FAILED
        }
    }
}

/// Prints the reason for which the program does not run, and returns the exit status.
fn end(stop: &Stop) -> u8 {
    print(&stop.echo);
    if let Some(message) = &stop.error {
        report(message);
    }
    print(&stop.text);
    if stop.shown.is_empty() { stop.status } else { show(stop.shown.as_bytes()) }
}

/// Handles wrong arguments that only the program can detect: prints `message` and the synopsis and returns the exit
/// status, as in `return Ok(usage_error::<Options>("…"))`.
pub fn usage_error<A: clap::Parser>(message: &str) -> u8 {
    let mut command = command::<A>().bin_name(log::program());
    command.build();
    end(&wrong_arguments(&command, message.to_owned()))
}

/// Returns the name of a program, from the path by which it was called.
pub fn program_name(path: &OsStr) -> String {
    path.to_string_lossy().rsplit('/').next().unwrap_or_default().to_owned()
}

fn called_as(argv: &[OsString]) -> String {
    argv.first().map(|path| program_name(path)).unwrap_or_default()
}

fn print(text: &str) {
    if !text.is_empty() {
        terminal::print(text.as_bytes());
    }
}

/// An `ERROR` line of the program's `main`.
fn report(message: &str) {
    log::error(&Site::PROGRAM, message);
}
