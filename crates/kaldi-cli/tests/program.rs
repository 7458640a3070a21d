//! Whole programs: exit statuses, standard error, SIGPIPE. This test starts itself again as the program.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, Output};

use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_vlog};
use kaldi_io::{IoError, KaldiReader};

/// A program for this test.
#[derive(clap::Parser)]
struct Options {
    /// Action to perform
    #[arg(long, default_value = "nothing")]
    action: String,
    file: String,
}

const SITE: Site = Site::main("nnet3-test.cc", 7);

fn program(options: Options) -> Result<u8, IoError> {
    match options.action.as_str() {
        "log" => {
            kaldi_log!(SITE, "Read {} things", 3);
            kaldi_vlog!(2, SITE, "detail");
        }
        "open" => drop(KaldiReader::open(&options.file)?),
        "write" => loop {
            // Ends by SIGPIPE.
            let _ = kaldi_cli::StandardOutput::print([b'y'; 4096]);
        },
        "none" => return Ok(1),
        _ => {}
    }
    Ok(0)
}

fn start(args: &[&str]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg0("/some/where/nnet3-test").env("KALDI_IO_TEST_PROGRAM", "1").args(args);
    command.output().unwrap()
}

fn main() -> ExitCode {
    if std::env::var_os("KALDI_IO_TEST_PROGRAM").is_some() {
        return kaldi_cli::run(program);
    }
    // A test runner first requests the list of tests.
    let asked = |option: &str| std::env::args().any(|arg| arg == option);
    if asked("--list") {
        if !asked("--ignored") {
            println!("program: test");
        }
        return ExitCode::SUCCESS;
    }
    let check = |args: &[&str], status: i32, stderr: &str| {
        let output = start(args);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{args:?}: {text}");
        assert!(text.contains(stderr), "{args:?}: {text}");
        assert!(output.stdout.is_empty(), "standard output is for data");
    };
    check(&["f"], 0, "/some/where/nnet3-test f \n");
    check(&["--action=none", "f"], 1, "");
    check(&["--action=log", "f"], 0, "\nLOG (nnet3-test[5.5]:main():nnet3-test.cc:7) Read 3 things\n");
    check(
        &["--action=log", "--verbose=2", "f"],
        0,
        "\nVLOG[2] (nnet3-test[5.5]:main():nnet3-test.cc:7) detail\n",
    );
    let error =
        "ERROR (nnet3-test[5.5]:main():nnet3-test.cc:1) cannot open /no/file: No such file or directory";
    check(&["--action=open", "/no/file"], 255, error);
    let missing = "ERROR (nnet3-test[5.5]:main():nnet3-test.cc:1) Called with no argument, expected at least 1: <file> is \
        missing\nUsage: nnet3-test [options] <file>\nnnet3-test --help explains arguments and options.\n";
    // (Kaldi's programs show the command line before they count its arguments.)
    assert_eq!(String::from_utf8(start(&[]).stderr).unwrap(), format!("/some/where/nnet3-test \n{missing}"));
    assert_eq!(String::from_utf8(start(&["--print-args=false"]).stderr).unwrap(), missing);
    check(&[], 1, missing);
    check(
        &["--actoin=x", "f"],
        255,
        "Invalid option --actoin=x (did you mean --action?)\nUsage: nnet3-test ",
    );
    for (argument, shown) in [
        ("--help", "\nUsage: nnet3-test [options] <file>\n"),
        ("-h", "\nUsage: nnet3-test [options] <file>\n"),
        ("--version", "nnet3-test "),
    ] {
        let output = start(&[argument]);
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{argument}");
        assert!(String::from_utf8(output.stdout).unwrap().contains(shown), "{argument}");
    }

    let this = std::env::current_exe().unwrap();
    let mut child = Command::new(this);
    child.env("KALDI_IO_TEST_PROGRAM", "1").args(["--action=write", "f"]);
    let mut child =
        child.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(
        child.wait().unwrap().signal(),
        Some(libc::SIGPIPE),
        "a closed pipe ends the program silently"
    );
    println!("test result: ok. 1 passed; 0 failed");
    ExitCode::SUCCESS
}
