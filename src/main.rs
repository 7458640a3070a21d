//! All programs in one binary, `nnet3`. The name of the call chooses the program, or the first argument does (`nnet3
//! copy-feats …`). The build puts a link with each program's name beside the binary. So a folder on the `PATH` has all
//! programs, but only one is linked.

// Text that is lost must be an error: kaldi_cli::StandardOutput and kaldi_cli::terminal write it.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod door;

use std::cell::Cell;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use door::USAGE;
use nnet3_allocator::ProgramAllocator;

#[global_allocator]
static ALLOCATOR: ProgramAllocator = ProgramAllocator::new(handles_examples, out_of_memory);

/// True if examples pass one by one through the program that this name and first argument choose.
fn handles_examples(name: &[u8], argument: &[u8]) -> bool {
    let program = if name == b"nnet3" { argument } else { name };
    let ends = [b"-train".as_slice(), b"-train2", b"-copy-egs", b"-merge-egs", b"-shuffle-egs"];
    ends.iter().any(|end| program.ends_with(end))
}

/// True if some thread has run out of memory.
static NO_MEMORY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True if this thread has run out of memory.
    static ENDS_PROCESS: Cell<bool> = const { Cell::new(false) };
}

/// Ends the program with one message, unless the caller can do without this memory. It must not allocate, because then
/// it would call itself.
fn out_of_memory(bytes: usize) {
    if kaldi_io::memory::is_attempt() {
        return;
    }
    if ENDS_PROCESS.replace(true) {
        // Removing temporary files needs memory.
        nnet3_allocator::end_now(kaldi_cli::FAILED);
    }
    if NO_MEMORY.swap(true, Ordering::Relaxed) {
        // Another thread has said so, and ends the process.
        std::thread::sleep(Duration::from_secs(10));
        std::process::abort();
    }
    kaldi_cli::log::error_without_memory(format_args!(
        "out of memory: {bytes} bytes were asked for at once (does an option or the data have too large a number?)"
    ));
    kaldi_io::temporary::remove_all();
    nnet3_allocator::end_now(kaldi_cli::FAILED);
}

/// A program's `main`.
type Main = fn() -> ExitCode;

struct Program {
    name: &'static str,
    /// One sentence.
    about: &'static str,
    main: Main,
}

/// A folder of `src/bin`: programs about one topic, in the order of their names.
struct Family {
    name: &'static str,
    about: &'static str,
    programs: &'static [Program],
}

// `build.rs` writes a module for each family, and the table `FAMILIES`.
include!(concat!(env!("OUT_DIR"), "/families.rs"));

/// Names of all of Kaldi's programs, one a line.
const KALDIS_PROGRAMS: &str = include_str!("../egs/recipes/kaldi_programs.txt");

fn programs() -> impl Iterator<Item = &'static Program> {
    FAMILIES.iter().flat_map(|family| family.programs)
}

fn find(name: &str) -> Option<Main> {
    programs().find(|program| program.name == name).map(|program| program.main)
}

/// The program of this name, or of this name behind `nnet3-`.
fn full(name: &str) -> Option<&'static Program> {
    let named = |wanted: &str| programs().find(|program| program.name == wanted);
    named(name).or_else(|| named(&format!("nnet3-{name}")))
}

fn main() -> ExitCode {
    nnet3_allocator::end_without_libraries();
    kaldi_cli::with_enough_stack(run)
}

fn run() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let called = arguments.first().map(|path| kaldi_cli::program_name(path)).unwrap_or_default();
    if let Some(program) = find(&called) {
        return start(&called, program, &arguments[1..]);
    }
    let texts: Vec<&str> = arguments.iter().skip(1).map(|text| text.to_str().unwrap_or_default()).collect();
    match texts.as_slice() {
        ["--list"] => show(&door::list(None).unwrap_or_default()),
        ["--list", family] => list(family),
        [option] if option.starts_with("--list=") => list(&option["--list=".len()..]),
        [option] if option.starts_with("--generate=") => match door::generate(&option["--generate=".len()..])
        {
            Some(text) => show(&text),
            None => fail(&format!("{option}: expected man, bash, zsh or fish")),
        },
        ["help"] => show(USAGE),
        ["help", name] => match full(name) {
            Some(program) => {
                ExitCode::from(kaldi_cli::run_main(program.main, vec![program.name.into(), "--help".into()]))
            }
            None => no_program(name),
        },
        ["--install", folder] => install(Path::new(folder)),
        ["--help" | "-h"] => show(USAGE),
        ["--version"] => show(&format!("nnet3 {}\n", env!("CARGO_PKG_VERSION"))),
        [name, ..] if find(name).is_some() => {
            kaldi_cli::skip_arguments(1);
            find(name).map_or(ExitCode::FAILURE, |program| start(name, program, &arguments[2..]))
        }
        [name, ..] if full(name).is_some() => {
            full(name).map_or(ExitCode::FAILURE, |program| under_its_name(program, &arguments[2..]))
        }
        [option, ..] if option.starts_with("--generate=") => {
            fail(&format!("{option}: it is of nnet3 alone; for a program, give {option} behind its name"))
        }
        [option, ..] if option.starts_with('-') => fail(&format!("unknown option '{option}'\n{USAGE}")),
        [name, ..] => no_program(name),
        [] => fail(&format!("which program?\n{USAGE}")),
    }
}

/// Prints the names of all programs, or those of a family with what they do.
fn list(family: &str) -> ExitCode {
    match family {
        "names" => show(&door::names().iter().map(|name| format!("{name}\n")).collect::<String>()),
        _ => match door::list(Some(family)) {
            Some(text) => show(&text),
            None => {
                fail(&format!("--list={family}: expected names or one of {}", door::families().join(", ")))
            }
        },
    }
}

/// Starts the binary again under a program's name, which is that of its messages.
fn under_its_name(program: &Program, arguments: &[OsString]) -> ExitCode {
    let failed = |error: std::io::Error| fail(&format!("{}: {error}", program.name));
    let binary = match std::env::current_exe() {
        Ok(binary) => binary,
        Err(error) => return failed(error),
    };
    failed(Command::new(binary).arg0(program.name).args(arguments).exec())
}

/// Names the program that may be meant: one with more before this name, or one with at most two other letters, with or without `nnet3-`.
fn meant(name: &str) -> String {
    let letters = |name: &str| name.chars().collect::<Vec<char>>();
    let distance = |other: &str| match other.strip_suffix(name) {
        Some(before) if before.ends_with('-') => 1,
        _ => {
            let far =
                |other: &str| nnet3_decode::edit_distance::errors(&letters(other), &letters(name)).total();
            other.strip_prefix("nnet3-").map_or(far(other), |short| far(short).min(far(other)))
        }
    };
    let near =
        programs().map(|program| (distance(program.name), program.name)).filter(|(far, _)| *far <= 2).min();
    near.map_or_else(String::new, |(_, name)| format!("; did you mean '{name}'?"))
}

/// Runs a program, or the worker, which can run every program.
fn start(name: &str, program: Main, arguments: &[OsString]) -> ExitCode {
    if name == "nnet3-train" && arguments == ["--worker"] { nnet3::worker::run(find) } else { program() }
}

/// Prints to standard output.
fn show(text: &str) -> ExitCode {
    kaldi_cli::log::init("nnet3");
    ExitCode::from(kaldi_cli::show(text))
}

/// Says that a program does not exist, and whether it is one of Kaldi's.
fn no_program(name: &str) -> ExitCode {
    if KALDIS_PROGRAMS.lines().any(|line| line == name) {
        return fail(&format!(
            "'{name}' is a program of Kaldi that does not exist here: docs/kaldi.md has a list, with what there is instead"
        ));
    }
    fail(&format!("there is no program '{name}'{}\n{USAGE}", meant(name)))
}

fn fail(message: &str) -> ExitCode {
    kaldi_cli::terminal::print(format!("nnet3: {}\n", message.trim_end()).as_bytes());
    ExitCode::from(kaldi_cli::NOTHING_DONE)
}

/// Makes links to the running binary under the names of all programs. Existing files that are not links stay unchanged.
fn install(folder: &Path) -> ExitCode {
    let links = || -> std::io::Result<usize> {
        let binary = std::env::current_exe()?.canonicalize()?;
        std::fs::create_dir_all(folder)?;
        for name in programs().map(|program| program.name).chain(["nnet3"]) {
            let path = folder.join(name);
            if path.canonicalize().is_ok_and(|path| path == binary) && !path.is_symlink() {
                continue;
            }
            if path.is_symlink() {
                std::fs::remove_file(&path)?;
            }
            #[cfg(unix)]
            std::os::unix::fs::symlink(&binary, &path)
                .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
            #[cfg(not(unix))]
            std::fs::copy(&binary, &path)?;
        }
        Ok(programs().count())
    };
    match links() {
        Ok(count) => show(&format!("{}: links for {count} programs, and nnet3 itself\n", folder.display())),
        Err(error) => fail(&format!("--install {}: {error}", folder.display())),
    }
}
