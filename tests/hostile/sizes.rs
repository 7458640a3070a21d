//! Absurd numbers and sizes: the error names the request, and the program does not abort.

use std::process::Command;

use crate::common::{Folder, Output, binary};
use crate::data::{error_line, examples, features, network, posteriors};

/// Runs a program that may have 4 GB.
fn limited(program: &str, arguments: &[&str]) -> Output {
    let command = "ulimit -v 4000000; exec \"$@\"";
    let program = binary(program);
    let own = program.parent().unwrap().display().to_string();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", command, "bash"])
        .arg(&program)
        .args(arguments)
        .env("PATH", path)
        .output()
        .unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::new(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn absurd_numbers() {
    let folder = Folder::new("hostile-sizes");
    let egs = format!("ark:{}", examples(&folder, 3, &[]));
    let feats = format!("ark:{}", features(&folder, 3));
    let post = format!("ark:{}", posteriors(&folder, 3));
    let net = network(&folder, 1);
    let get_egs =
        |option: &'static str| vec!["nnet3-get-egs", "--num-pdfs=3", option, &feats, &post, "ark:/dev/null"];
    for (arguments, succeeds) in [
        (vec!["post-to-feats", "--post-dim=1000000000", &post, "ark:/dev/null"], false),
        (vec!["splice-feats", "--left-context=1000000000", &feats, "ark:/dev/null"], false),
        (vec!["add-deltas", "--delta-order=1000000000", &feats, "ark:/dev/null"], false),
        (vec!["add-deltas", "--delta-window=1000000000", &feats, "ark:/dev/null"], false),
        (vec!["nnet3-shuffle-egs", "--buffer-size=2147483647", &egs, "ark:/dev/null"], true),
        (get_egs("--num-frames=1000000000"), false),
        (get_egs("--left-context=1000000000"), false),
        (get_egs("--num-frames=2147483647"), false),
        (get_egs("--right-context=2147483647"), false),
        (get_egs("--frame-subsampling-factor=1000000000"), false),
        (
            vec![
                "nnet3-compute",
                "--use-gpu=no",
                "--extra-left-context=1000000000",
                &net,
                &feats,
                "ark:/dev/null",
            ],
            false,
        ),
        (
            vec![
                "nnet3-compute",
                "--use-gpu=no",
                "--frames-per-chunk=1000000000",
                &net,
                &feats,
                "ark:/dev/null",
            ],
            true,
        ),
    ] {
        let output = limited(arguments[0], &arguments[1..]);
        assert!(matches!(output.status, 0 | 1 | 255), "{arguments:?}: {} {}", output.status, output.stderr);
        assert!(!output.stderr.contains("panicked"), "{arguments:?}: {}", output.stderr);
        if succeeds {
            assert_eq!(output.status, 0, "{arguments:?}: {}", output.stderr);
        } else {
            assert_ne!(output.status, 0, "{arguments:?}: {}", output.stderr);
        }
        if output.status == 255 {
            error_line(&output, &[]);
        }
    }
}

/// A file that is no archive is not read into memory in search of the end of a key.
#[test]
fn archives_without_keys() {
    let folder = Folder::new("hostile-zeros");
    let path = folder.path("zeros.ark");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(1_500_000_000).unwrap();
    let output = limited("copy-feats", &[&format!("ark:{path}"), "ark:/dev/null"]);
    assert_eq!(output.status, 255, "{}", output.stderr);
    let line = error_line(
        &output,
        &["zeros.ark", "expected a word and a blank, found more than 1048576 bytes without one"],
    );
    assert!(line.len() < 1000);
    let output = limited("nnet3-copy-egs", &[&format!("scp:{path}"), "ark:/dev/null"]);
    assert_eq!(output.status, 255, "{}", output.stderr);
}
