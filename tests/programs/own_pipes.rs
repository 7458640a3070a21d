//! Pipes of our own programs, run within the reading program: all results must be those of separate processes.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::common::{Folder, Output, binary, run, succeed};

/// Examples of eight frames, of 24 utterances.
fn examples(folder: &Folder) -> String {
    let (mut features, mut targets) = (String::new(), String::new());
    for utterance in 0..24 {
        features += &format!("u{utterance:02}  [\n");
        targets += &format!("u{utterance:02}");
        for t in 0..32 {
            let angle = f64::from(utterance * 7 + t) * 0.3;
            features += &format!("  {:.4} {:.4} {t}\n", angle.sin(), angle.cos());
            targets += &format!(" [ {} 1 ]", t % 3);
        }
        features += " ]\n";
        targets += "\n";
    }
    let egs = folder.path("egs.ark");
    let inputs = [
        format!("ark:{}", folder.write("feats.txt", &features)),
        format!("ark:{}", folder.write("post.txt", &targets)),
        format!("ark:{egs}"),
    ];
    let mut arguments = vec!["--num-pdfs=3", "--num-frames=8", "--left-context=1", "--right-context=1"];
    arguments.extend(inputs.iter().map(String::as_str));
    succeed("nnet3-get-egs", &arguments);
    egs
}

/// A program with our programs on the PATH, after the folders `first`.
fn with_path(first: &str, program: &str, arguments: &[&str]) -> Command {
    let own = binary(program).parent().unwrap().display().to_string();
    let mut command = Command::new(binary(program));
    command.args(arguments).env("PATH", format!("{first}{own}:{}", std::env::var("PATH").unwrap()));
    command
}

/// Runs a program so.
fn run_with_path(first: &str, program: &str, arguments: &[&str]) -> Output {
    let output = with_path(first, program, arguments).output().unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Status of reading a pipeline, its output, and its log lines in any order.
fn made_by(folder: &Folder, pipeline: &str) -> (i32, Option<Vec<u8>>, Vec<String>) {
    let copy = folder.path("copy.ark");
    let _ = std::fs::remove_file(&copy);
    let program = if pipeline.contains("nnet3-chain-") { "nnet3-chain-copy-egs" } else { "nnet3-copy-egs" };
    let output = run_with_path("", program, &[&format!("ark:{pipeline}|"), &format!("ark:{copy}")]);
    let mut lines: Vec<String> = output.stderr.lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    (output.status, std::fs::read(copy).ok(), lines)
}

/// The same through a shell, because a program does not run a subshell itself.
fn made_by_shell(folder: &Folder, pipeline: &str) -> (i32, Option<Vec<u8>>, Vec<String>) {
    made_by(folder, &format!("({pipeline})"))
}

fn pipelines(egs: &str) -> Vec<String> {
    let copy = format!("nnet3-copy-egs --frame=3 ark:{egs} ark:-");
    let merge = "nnet3-merge-egs --minibatch-size=16,5 ark:- ark:-";
    vec![
        format!("{copy} | nnet3-shuffle-egs --buffer-size=20 --srand=7 ark:- ark:- | {merge}"),
        format!("{copy} | nnet3-shuffle-egs --srand=1 ark:- ark:- "),
        format!(
            "nnet3-copy-egs --keep-proportion=1.6 --srand=3 --frame=random 'ark:cat {egs} |' ark:- | {merge}"
        ),
        format!("nnet3-merge-egs --minibatch-size=1:4 --compress=true ark:{egs} ark:-"),
        format!("cat {egs} | nnet3-subset-egs --n=30 --srand=2 ark:- ark:- | {merge}"),
        format!("nnet3-copy-egs --frame-shift=2 ark:{egs} ark,t:- | cat | nnet3-shuffle-egs ark:- ark:-"),
        format!("{copy} | nnet3-merge-egs --verbose=1 --minibatch-size=8 ark:- ark:-"),
    ]
}

#[test]
fn the_same_as_through_a_shell() {
    let folder = Folder::new("own-pipes");
    let egs = examples(&folder);
    for pipeline in pipelines(&egs) {
        let (own, shell) = (made_by(&folder, &pipeline), made_by_shell(&folder, &pipeline));
        assert_eq!(own.0, 0, "{pipeline}: {:?}", own.2);
        assert!(own.1.as_ref().is_some_and(|bytes| bytes.len() > 1000), "{pipeline}");
        assert!(own == shell, "{pipeline}:\n{:#?}\n{:#?}", own.2, shell.2);
    }
}

#[test]
fn pipes_of_chain_examples_too() {
    let folder = Folder::new("own-chain-pipes");
    let egs =
        format!("{}/crates/nnet3-chain/tests/data/chain/training/short2.cegs", env!("CARGO_MANIFEST_DIR"));
    let merge = "nnet3-chain-merge-egs --minibatch-size=3,2 ark:- ark:-";
    for pipeline in [
        format!("nnet3-chain-copy-egs --frame-shift=2 ark:{egs} ark:- | {merge}"),
        format!("cat {egs} | nnet3-chain-shuffle-egs --buffer-size=4 --srand=7 ark:- ark:- | {merge}"),
        format!("nnet3-chain-subset-egs --n=5 ark:{egs} ark:-"),
    ] {
        let (own, shell) = (made_by(&folder, &pipeline), made_by_shell(&folder, &pipeline));
        assert_eq!(own.0, 0, "{pipeline}: {:?}", own.2);
        assert!(own.1.as_ref().is_some_and(|bytes| bytes.len() > 1000), "{pipeline}");
        assert!(own == shell, "{pipeline}:\n{:#?}\n{:#?}", own.2, shell.2);
    }
}

/// A shell would hide the failure of a program that is not the last.
#[test]
fn failures_are_not_hidden() {
    let folder = Folder::new("own-pipes-failures");
    let egs = examples(&folder);
    let bytes = std::fs::read(&egs).unwrap();
    let short = folder.write("short.ark", &bytes[..bytes.len() - 7]);
    for (from, words) in [("no-such-file", "No such file"), (&short, "short.ark, key 'u23-24'")] {
        let pipeline = format!("nnet3-copy-egs ark:{from} ark:- | nnet3-merge-egs ark:- ark:-");
        let (status, made, lines) = made_by(&folder, &pipeline);
        assert_eq!((status, made), (255, None), "{lines:?}");
        let error = lines.iter().find(|line| line.starts_with("ERROR (nnet3-copy-egs[5.5]:main()")).unwrap();
        assert!(error.contains(" nnet3-copy-egs: ") && error.contains(words), "{error}");
    }
    let (status, _, lines) =
        made_by(&folder, &format!("cat {egs} | nnet3-shuffle-egs --buffer-size=-2 ark:- ark:-"));
    assert_eq!(status, 255);
    let error = "nnet3-shuffle-egs: --buffer-size=-2: expected a number that is not negative";
    assert!(lines.iter().any(|line| line.ends_with(error)), "{lines:?}");
    // Without results, both programs say so, and so does the reader.
    let pipeline = format!("nnet3-copy-egs --frame=99 ark:{egs} ark:- | nnet3-merge-egs ark:- ark:-");
    let (own, shell) = (made_by(&folder, &pipeline), made_by_shell(&folder, &pipeline));
    assert_eq!((own.0, &own.1, own.2.len()), (255, &None, shell.2.len()), "{:?}", own.2);
    let merging = |lines: &[String]| {
        lines.iter().find(|line| line.starts_with("ERROR (nnet3-merge-egs")).cloned().unwrap()
    };
    assert_eq!(merging(&own.2), merging(&shell.2));
    assert_eq!(own.0, shell.0);
}

#[test]
fn a_program_that_comes_first_on_the_path_is_the_one() {
    let folder = Folder::new("own-pipes-path");
    let egs = examples(&folder);
    let script = folder.write("nnet3-merge-egs", "#!/bin/sh\necho another >&2; exec cat\n");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let first = format!("{}:", folder.path(""));
    let pipeline = format!("ark:nnet3-copy-egs ark:{egs} ark:- | nnet3-merge-egs ark:- ark:- |");
    let output = run_with_path(&first, "nnet3-copy-egs", &[&pipeline, "ark:/dev/null"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stderr.contains("another\n"), "{}", output.stderr);
}

/// Some shells take functions from their environment, and would call one of this name.
#[test]
fn a_function_that_a_shell_may_know_is_left_to_it() {
    let pipeline = "ark:nnet3-copy-egs ark:no-such-file ark:- |";
    let own = run_with_path("", "nnet3-copy-egs", &[pipeline, "ark:/dev/null"]);
    assert!(own.stderr.contains(" nnet3-copy-egs: cannot open no-such-file"), "{}", own.stderr);
    let function = ("BASH_FUNC_nnet3-copy-egs%%", "() { true; }");
    let output =
        with_path("", "nnet3-copy-egs", &[pipeline, "ark:/dev/null"]).envs([function]).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains(" nnet3-copy-egs: cannot open"));
}

#[test]
fn networks_are_copied_as_through_a_shell() {
    let folder = Folder::new("own-pipes-models");
    let config = folder.write(
        "net.config",
        "input-node name=input dim=3\n\
         component name=a type=NaturalGradientAffineComponent input-dim=9 output-dim=4\n\
         component name=b type=BatchNormComponent dim=4\n\
         component-node name=a component=a input=Append(Offset(input,-1),input,Offset(input,1))\n\
         component-node name=b component=b input=a\n\
         output-node name=output input=b\n",
    );
    let network = folder.path("0.raw");
    succeed("nnet3-init", &[&config, &network]);
    let info = |rxfilename: &str| run_with_path("", "nnet3-copy", &["--binary=false", rxfilename, "-"]);
    for copy in [
        format!("nnet3-copy --learning-rate=0.25 --scale=0.5 {network} - "),
        format!("nnet3-copy --edits='set-learning-rate name=a learning-rate=0.125' {network} - "),
        format!("nnet3-copy --binary=false --prepare-for-test=true {network} - "),
    ] {
        let (own, shell) = (info(&format!("{copy}|")), info(&format!("({copy})|")));
        assert_eq!(own.status, 0, "{copy}: {}", own.stderr);
        assert_eq!(own.stdout, shell.stdout, "{copy}");
        assert_eq!(own.stderr.lines().skip(1).count(), shell.stderr.lines().skip(1).count(), "{copy}");
        assert!(own.stderr.contains("LOG (nnet3-copy[5.5]:main():nnet3-copy.cc:130) Copied raw"), "{copy}");
    }
    let output = info("nnet3-copy no-such-network - |");
    assert_eq!(output.status, 255);
    assert!(output.stderr.contains("ERROR (nnet3-copy[5.5]:main():nnet3-copy.cc:1) nnet3-copy: cannot open"));
    let output = run("nnet3-info", &[&format!("{} {network} - |", binary("nnet3-copy").display())]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(
        output.stdout.contains("component name=a type=NaturalGradientAffineComponent"),
        "{}",
        output.stdout
    );
}
