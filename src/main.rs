//! All programs in one binary, `nnet3`: the name by which it is called chooses the program, or its first argument does
//! (`nnet3 copy-feats …`). The build puts a link of each program's name beside the binary, so that a folder with them on
//! the `PATH` looks like one with many small programs, while only one is linked.

mod programs;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use kaldi_io::cli;
use nnet3_allocator::ProgramAllocator;

#[global_allocator]
static ALLOCATOR: ProgramAllocator = ProgramAllocator::new(handles_examples, out_of_memory);

/// Whether examples go through the program one by one which this name and first argument choose.
fn handles_examples(name: &[u8], argument: &[u8]) -> bool {
    let program = if name == b"nnet3" { argument } else { name };
    let ends = [b"-train".as_slice(), b"-train2", b"-copy-egs", b"-merge-egs", b"-shuffle-egs"];
    ends.iter().any(|end| program.ends_with(end))
}

/// Ends the program, unless what asks for so much can do without.
fn out_of_memory(bytes: usize) {
    if kaldi_io::memory::is_attempt() {
        return;
    }
    let message = format!(
        "out of memory: {bytes} bytes were asked for at once (is a number in the options or data absurd?)"
    );
    kaldi_io::log::error(&kaldi_io::log::Site::PROGRAM, &message);
    kaldi_io::temporary::remove_all();
    std::process::exit(i32::from(cli::FAILED));
}

/// A program's `main`.
type Main = fn() -> ExitCode;

/// Name and `main` of every program, in the order of the names.
static PROGRAMS: &[(&str, Main)] = include!(concat!(env!("OUT_DIR"), "/programs.rs"));

const USAGE: &str = "\
Usage: nnet3 PROGRAM [options] …     runs a program; PROGRAM --help explains it
       nnet3 --list                  prints the names of all programs
       nnet3 --install FOLDER        makes links in FOLDER, by which programs are called as PROGRAM
";

fn find(name: &str) -> Option<Main> {
    let place = PROGRAMS.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(PROGRAMS[place].1)
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let called = arguments.first().map(|path| cli::program_name(path)).unwrap_or_default();
    if let Some(program) = find(&called) {
        return start(&called, program, &arguments[1..]);
    }
    let texts: Vec<&str> = arguments.iter().skip(1).map(|text| text.to_str().unwrap_or_default()).collect();
    match texts.as_slice() {
        ["--list"] => {
            PROGRAMS.iter().for_each(|(name, _)| println!("{name}"));
            ExitCode::SUCCESS
        }
        ["--install", folder] => install(Path::new(folder)),
        ["--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        ["--version"] => {
            println!("nnet3 {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        [name, ..] if find(name).is_some() => {
            cli::skip_arguments(1);
            find(name).map_or(ExitCode::FAILURE, |program| start(name, program, &arguments[2..]))
        }
        [name, ..] => fail(&format!("there is no program '{name}'\n{USAGE}")),
        [] => fail(&format!("which program?\n{USAGE}")),
    }
}

/// Runs a program, or what knows all of them.
fn start(name: &str, program: Main, arguments: &[OsString]) -> ExitCode {
    if name == "nnet3-train" && arguments == ["--worker"] { nnet3::worker::run(find) } else { program() }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("nnet3: {}", message.trim_end());
    ExitCode::from(cli::NOTHING_DONE)
}

/// Links to the running binary under the names of all programs. Files that are there and are no links stay.
fn install(folder: &Path) -> ExitCode {
    let links = || -> std::io::Result<usize> {
        let binary = std::env::current_exe()?.canonicalize()?;
        std::fs::create_dir_all(folder)?;
        for (name, _) in PROGRAMS {
            let path = folder.join(name);
            if path.is_symlink() {
                std::fs::remove_file(&path)?;
            }
            #[cfg(unix)]
            std::os::unix::fs::symlink(&binary, &path)
                .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
            #[cfg(not(unix))]
            std::fs::copy(&binary, &path)?;
        }
        Ok(PROGRAMS.len())
    };
    match links() {
        Ok(count) => {
            println!("{count} programs are in {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(error) => fail(&format!("--install {}: {error}", folder.display())),
    }
}
