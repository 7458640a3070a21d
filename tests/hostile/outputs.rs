//! Outputs that are closed, full, or cannot be written.

use crate::common::{Folder, run};
use crate::data::{error_line, examples, features, network, shell};

#[test]
fn closed_standard_output() {
    let folder = Folder::new("hostile-closed");
    let (feats, net) = (features(&folder, 3), network(&folder, 1));
    for command in [
        format!("copy-feats ark:{feats} ark:- >&-"),
        format!("feat-to-dim ark:{feats} - >&-"),
        format!("nnet3-info {net} >&-"),
        format!("nnet3-copy {net} - >&-"),
    ] {
        let output = shell(&command);
        assert_eq!(output.status, 255, "{command}: {}", output.stderr);
        error_line(&output, &["cannot open standard output: it is closed"]);
    }
    folder.write("a.fst.txt", "0 1 1 1\n1\n");
    let fst = folder.path("a.fst");
    assert_eq!(shell(&format!("fstcompile {fst}.txt {fst}")).status, 0);
    // Programs that print text.
    for command in [
        format!("fstinfo {fst}"),
        format!("fstisstochastic {fst}"),
        format!("fstprint {fst}"),
        format!("matrix-dim ark:{feats}"),
        "feat-to-len scp:/dev/null ark,t:-".to_owned(),
        format!("nnet3-info {net}"),
        "nnet3 --list".to_owned(),
        "nnet3 --list=names".to_owned(),
        "nnet3 --help".to_owned(),
        "nnet3 --version".to_owned(),
        "nnet3 copy-feats --help".to_owned(),
        "copy-feats --version".to_owned(),
        "nnet3-lexicon --generate=man".to_owned(),
        "nnet3-transcribe --generate=bash".to_owned(),
        "nnet3-transcribe no-model no-sound".to_owned(),
    ] {
        // (Those of OpenFst end with 1, as OpenFst's own.)
        let failed = if command.starts_with("fstinfo") || command.starts_with("fstprint") { 1 } else { 255 };
        let output = shell(&format!("{command} >&-"));
        assert_eq!(output.status, failed, "{command}: {}", output.stderr);
        error_line(&output, &["standard output"]);
        if command.contains("no-model") || command.contains("/dev/null") {
            continue;
        }
        let output = shell(&format!("{command} >/dev/full"));
        assert_eq!(output.status, failed, "{command}: {}", output.stderr);
        error_line(&output, &["No space left on device"]);
        // A reader that has gone ends the program by SIGPIPE, without a word.
        let output = shell(&format!("({command}; echo $? >&2) 2>{0} | true; cat {0}", folder.path("status")));
        let last = output.stdout.lines().last();
        assert!(
            matches!(last, Some("141" | "0")) && !output.stdout.contains("ERROR"),
            "{command}: {}",
            output.stdout
        );
    }
    // Output to the null device is written.
    for nowhere in [">/dev/null", "1<>/dev/null"] {
        assert_eq!(shell(&format!("copy-feats ark:{feats} ark:- {nowhere}")).status, 0, "{nowhere}");
    }
}

#[test]
fn full_disk() {
    let folder = Folder::new("hostile-full");
    let (feats, net) = (features(&folder, 3), network(&folder, 1));
    for arguments in [
        vec!["copy-feats".to_owned(), format!("ark:{feats}"), "ark:/dev/full".to_owned()],
        vec!["nnet3-copy".to_owned(), net.clone(), "/dev/full".to_owned()],
    ] {
        let rest: Vec<&str> = arguments[1..].iter().map(String::as_str).collect();
        let output = run(&arguments[0], &rest);
        let line = error_line(&output, &["/dev/full: No space left on device"]);
        assert_eq!(line.matches("/dev/full").count(), 1, "{line}");
        assert_eq!(line.matches("No space left").count(), 1, "{line}");
    }
    let output = shell(&format!("nnet3-info {net} >/dev/full"));
    assert_eq!(output.status, 255, "{}", output.stderr);
    error_line(&output, &["standard output: No space left on device"]);
}

/// A model that cannot be written is missed before anything is trained.
#[test]
fn models_that_cannot_be_written() {
    let folder = Folder::new("hostile-late");
    let egs = format!("ark:nnet3-merge-egs --minibatch-size=2 ark:{} ark:- |", examples(&folder, 6, &[]));
    let net = network(&folder, 1);
    let missing = folder.path("no/such/folder/1.raw");
    let here = folder.path("");
    for out in [missing.as_str(), &here, "/proc/1.raw"] {
        for (program, arguments) in [
            ("nnet3-train", vec!["--use-gpu=no", &net, &egs, out]),
            ("nnet3-combine", vec!["--use-gpu=no", &net, &net, &egs, out]),
            ("nnet3-average", vec![&net, &net, out]),
        ] {
            let output = crate::data::run_on_path(program, &arguments);
            assert_eq!(output.status, 255, "{}", output.stderr);
            assert!(
                output.stderr.contains(&format!("cannot open {}", out.trim_end_matches('/'))),
                "{}",
                output.stderr
            );
            assert!(!output.stderr.contains("Overall"), "{}", output.stderr);
        }
    }
    // The check leaves no file behind, and an existing file stays until its successor is complete.
    let old = folder.write("old.raw", "old");
    let output = crate::data::run_on_path("nnet3-train", &["--use-gpu=no", &net, "ark:/dev/null", &old]);
    assert_ne!(output.status, 0);
    assert_eq!(folder.read("old.raw"), "old");
    let left = std::fs::read_dir(&here)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|e| e == "tmp"));
    assert_eq!(left.count(), 0);
}

/// `--use-gpu=yes` with a driver that has no GPU: missed before examples are made.
#[test]
fn training_script_looks_for_the_gpu_first() {
    let folder = Folder::new("hostile-gpu");
    let feats = features(&folder, 30);
    let targets: String = (0..30).map(|u| format!("u{u:02}{}\n", " 1".repeat(crate::data::FRAMES))).collect();
    let targets = folder.write("ali.txt", targets);
    let xconfig = folder.write(
        "net.xconfig",
        "input dim=2 name=input\nrelu-batchnorm-layer name=a dim=4\noutput-layer name=output dim=3 input=a\n",
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/train.sh");
    let output = shell(&format!(
        "NNET3_REQUIRE_GPU=1 CUDA_VISIBLE_DEVICES= {script} --use-gpu=yes --feats=ark:{feats} --targets=ark:{targets} \
         --xconfig={xconfig} {}",
        folder.path("exp")
    ));
    assert_ne!(output.status, 0, "{}", output.stderr);
    assert!(
        output.stderr.contains("use_gpu.log") || folder.read("exp/log/use_gpu.log").contains("ERROR"),
        "{}",
        output.stderr
    );
    assert!(!std::fs::exists(folder.path("exp/egs")).unwrap());
}
