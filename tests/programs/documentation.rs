//! Every program explains itself: help, manual page, completions.

use std::path::Path;
use std::process::Command;

fn programs() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_nnet3")).arg("--list=names").output().unwrap();
    let names: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert!(names.len() >= 191);
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
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{program}");
        let usage = format!("\nUsage: {program} [options]");
        assert!(!stdout.trim_start().starts_with("Usage"), "{program}: nothing says what it does: {stdout}");
        assert!(stdout.contains(&usage) && stdout.contains("\nStandard options:\n"), "{stdout}");
        assert_eq!(run(&program, "-h"), (Some(0), stdout.clone(), String::new()), "{program}");
        for line in stdout.lines().filter(|line| line.starts_with("  --")) {
            let explained =
                line.split_once(" : ").is_some_and(|(_, text)| !text.trim_start().starts_with('('));
            assert!(explained, "{program}: an option without an explanation: {line}");
        }
    }
}

/// The arguments have the names that they have in the reference's help.
#[test]
fn usage_lines() {
    let named = include_str!("../data/usage.txt").lines().filter(|line| !line.starts_with('#'));
    for line in named {
        let program = line.split(' ').next().unwrap();
        let (_, stdout, _) = run(program, "--help");
        let found = stdout.lines().find_map(|found| found.strip_prefix("Usage: "));
        assert_eq!(found, Some(line), "{program}");
    }
}

#[test]
fn versions() {
    for program in programs() {
        let expected = format!("{program} {} (files, ", env!("CARGO_PKG_VERSION"));
        let (status, stdout, stderr) = run(&program, "--version");
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{program}");
        assert!(stdout.starts_with(&expected), "{stdout}");
    }
}

/// The fault comes first, then one line of usage, then a hint at --help.
#[test]
fn wrong_numbers_of_arguments() {
    for program in programs() {
        // Programs that can do with none are called with too many.
        let arguments: &[&str] = if needs_arguments(&program) { &[] } else { &["surplus"; 9] };
        let path = Path::new(env!("CARGO_BIN_EXE_nnet3")).with_file_name(&program);
        let output = Command::new(path).args(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{program}: {stderr}");
        // The command line comes first, unless the program shows none.
        let is_echo = |line: &&str| line.split(' ').next().is_some_and(|name| name.ends_with(&program));
        let lines: Vec<&str> = stderr.lines().skip_while(is_echo).collect();
        assert_eq!(lines.len(), 3, "{stderr}");
        assert!(lines[0].starts_with(&format!("ERROR ({program}[5.5]:main()")), "{stderr}");
        assert!(lines[1].starts_with(&format!("Usage: {program} [options]")), "{stderr}");
        assert_eq!(lines[2], format!("{program} --help explains arguments and options."));
    }
}

/// True if the usage of a program names arguments outside of brackets.
fn needs_arguments(program: &str) -> bool {
    let (_, help, _) = run(program, "--help");
    let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap();
    let mut depth = 0;
    usage.chars().any(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == '<' && depth == 0
    })
}

/// Returns the completions of bash for a line with the cursor at its end.
fn completed(program: &str, line: &str, setup: &str) -> Vec<String> {
    let (_, script, _) = run(program, "--generate=bash");
    let script = format!(
        "{setup}\n{script}\nCOMP_LINE=$1 COMP_POINT=${{#1}}\n_{}\nfor word in \"${{COMPREPLY[@]}}\"; do echo \"$word\"; done",
        program.replace('-', "_")
    );
    let output = Command::new("bash").args(["-c", &script, "bash", line]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&output.stderr), "", "{program}: {line}");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn completions_of_values() {
    let completed = |line| completed("nnet3-train", line, "");
    assert_eq!(completed("nnet3-train --use-g"), ["--use-gpu="], "the value goes after it");
    assert_eq!(completed("nnet3-train --use-gpu="), ["yes", "no", "optional", "wait"]);
    assert_eq!(completed("nnet3-train --use-gpu=o"), ["optional"]);
    assert_eq!(completed("nnet3-train --gpu-math="), ["fp32", "tf32", "bf16"]);
    assert_eq!(completed("nnet3-train --srand=1 --binary=f"), ["false"]);
    assert_eq!(completed("nnet3-train --ver"), ["--verbose=", "--version"]);
    // If a function offers no words, bash itself offers files.
    for line in ["nnet3-train --write-cache=ca", "nnet3-train --srand=", "nnet3-train 1.r", "nnet3-train "] {
        assert_eq!(completed(line), [""; 0], "{line}");
    }
    let line = "nnet3-train --use-gpu=y";
    assert_eq!(self::completed("nnet3-train", line, "COMP_WORDBREAKS=' '"), ["--use-gpu=yes"]);
    assert_eq!(self::completed("nnet3-compile-info", "x --format=", ""), ["text", "json", "dot", "stored"]);
}

/// Options whose help begins with a list of choices offer them to completions, too.
#[test]
fn completions_offer_the_choices_of_the_help() {
    for program in programs() {
        let (_, help, _) = run(&program, "--help");
        for line in help.lines().filter(|line| line.starts_with("  --")) {
            let (name, text) = line.split_once(" : ").unwrap();
            let first = text.split([' ', ':', ',']).next().unwrap();
            let values: Vec<&str> = first.split('|').collect();
            if values.len() > 1 {
                let (_, script, _) = run(&program, "--generate=bash");
                let expected = format!("    {}=*) choices='{}' ;;", name.trim(), values.join(" "));
                assert!(script.contains(&expected), "{program}: no {expected} in\n{script}");
                let (_, script, _) = run(&program, "--generate=zsh");
                assert!(script.contains(&format!(":({})", values.join(" "))), "{program}:\n{script}");
            }
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
