//! Every program explains itself: help, manual page, completions.

use std::path::Path;
use std::process::Command;

fn programs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(names.len() >= 16);
    names
}

fn run(program: &str, argument: &str) -> (Option<i32>, String, String) {
    let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name(program);
    let output = Command::new(path).arg(argument).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn help() {
    for program in programs() {
        let (status, stdout, stderr) = run(&program, "--help");
        assert_eq!((status, stdout.as_str()), (Some(0), ""), "{program}");
        let usage = format!("Usage: {program} ");
        assert!(
            stderr.trim_start().len() > usage.len() && !stderr.trim_start().starts_with("Usage"),
            "{stderr}"
        );
        assert!(stderr.contains(&usage) && stderr.contains("\nStandard options:\n"), "{stderr}");
        for line in stderr.lines().filter(|line| line.starts_with("  --")) {
            let explained =
                line.split_once(" : ").is_some_and(|(_, text)| !text.trim_start().starts_with('('));
            assert!(explained, "{program}: an option without an explanation: {line}");
        }
    }
}

#[test]
fn manual_pages_and_completions() {
    for program in programs() {
        let checks = [
            ("man", format!(".TH {} 1", program.to_uppercase())),
            ("bash", format!(" -o default {program}\n")),
            ("zsh", format!("#compdef {program}")),
            ("fish", format!("complete -c {program} -l print-args")),
        ];
        for (kind, expected) in checks {
            let (status, stdout, stderr) = run(&program, &format!("--generate={kind}"));
            assert_eq!((status, stderr.as_str()), (Some(0), ""), "{program} {kind}");
            assert!(stdout.contains(&expected), "{program} {kind}: no '{expected}' in\n{stdout}");
        }
    }
    let (status, _, stderr) = run("nnet3-copy", "--generate=pdf");
    assert_eq!(status, Some(255));
    assert!(stderr.contains("expected man, bash, zsh or fish"), "{stderr}");
}
