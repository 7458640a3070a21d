//! A process that loads a library of ours parses no command line, and runs no function of ours before `main`.

use std::process::Command;

/// Returns the crates of the workspace that a third-party crate is linked into.
fn users(of: &str) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--offline", "--workspace", "--edges=normal", "--prefix=none", "--format={p}"]);
    let output = command.args(["--invert", of]).output().unwrap();
    let (text, error) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{of}: {error}");
    // Crates of the workspace have a path behind their version.
    let local = text.lines().filter(|line| line.contains(" (/"));
    let mut names: Vec<String> = local.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn command_lines_and_functions_before_main_are_for_programs() {
    for third_party in ["clap", "clap_builder", "ctor"] {
        assert_eq!(users(third_party), ["kaldi-cli", "nnet3"], "{third_party}");
    }
    assert!(users("thiserror").iter().any(|name| name == "nnet3-vosk"), "libraries are in the list");
}
