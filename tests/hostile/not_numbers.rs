//! One value that is no number.

use crate::common::{Folder, run, succeed};
use crate::data::{examples, feature_text, features, network, posteriors, refused};

/// Features with `value` in frame 5 of u01, column 1.
fn with(value: &str, folder: &Folder) -> String {
    let text = feature_text(4);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = &mut lines[(crate::data::FRAMES + 2) + 1 + 5];
    let first = line.trim().split(' ').next().unwrap().to_owned();
    *line = format!("  {first} {value}");
    folder.write("bad.txt", lines.join("\n") + "\n")
}

#[test]
fn where_examples_are_made() {
    let folder = Folder::new("hostile-nan-get");
    let post = format!("ark:{}", posteriors(&folder, 4));
    let egs = format!("ark:{}", folder.path("egs.ark"));
    for value in ["nan", "-inf"] {
        let feats = with(value, &folder);
        for compress in ["--compress=true", "--compress=false"] {
            let options = ["--num-pdfs=3", "--num-frames=8", compress];
            let all = |feats: &str| {
                [&options[..], &[feats, &post, &egs]]
                    .concat()
                    .iter()
                    .map(|s| s.to_string())
                    .collect::<Vec<_>>()
            };
            let arguments = all(&format!("ark:{feats}"));
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            refused(
                "nnet3-get-egs",
                &arguments,
                &["features of utterance u01: frame 5 has the value", value, "column 1"],
            );
            let arguments = all(&format!("ark,p:{feats}"));
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let log = succeed("nnet3-get-egs", &arguments);
            assert!(log.contains("features of utterance u01: frame 5"), "{log}");
            assert!(log.contains("1 utterances had errors"), "{log}");
        }
        let matrices = format!("input=ark:{feats}");
        refused(
            "nnet3-get-egs-simple",
            &[&matrices, &egs],
            &["key 'u01'", "'input' has the value", "at t=5", "column 1"],
        );
        let stats = folder.path("cmvn.ark");
        let log = succeed("compute-cmvn-stats", &[&format!("ark:{feats}"), &format!("ark,t:{stats}")]);
        assert!(log.contains("u01: frame 5 has the value") && log.contains("1 had errors"), "{log}");
        assert!(!folder.read("cmvn.ark").contains("nan"));
    }
}

/// An archive of examples with one value that is none: no program writes such any more.
fn bad_examples(folder: &Folder) -> String {
    let egs = examples(folder, 4, &["--compress=false"]);
    let mut bytes = std::fs::read(egs).unwrap();
    // The first example's input: 10 rows of 2 floats after their header.
    let at = bytes.windows(3).position(|window| window == b"FM ").unwrap() + 13;
    bytes[at + 12..at + 16].copy_from_slice(&f32::NAN.to_le_bytes());
    folder.write("bad.egs", bytes)
}

#[test]
fn where_examples_are_read() {
    let folder = Folder::new("hostile-nan-read");
    let egs = bad_examples(&folder);
    let (net, out) = (network(&folder, 1), folder.path("1.raw"));
    let words = ["key 'u00-0'", "'input' has the value nan at t=0, in column 1"];
    let table = format!("ark:{egs}");
    refused("nnet3-train", &["--use-gpu=no", &net, &table, &out], &words);
    refused("nnet3-compute-prob", &[&net, &table], &words);
    refused("nnet3-combine", &["--use-gpu=no", &net, &net, &table, &out], &words);
    refused("nnet3-merge-egs", &[&table, "ark:/dev/null"], &words);
    refused("nnet3-acc-lda-stats", &[&net, &table, &out], &words);
    assert!(!std::fs::exists(&out).unwrap());
    let log = succeed("nnet3-compute-prob", &[&net, &format!("ark,p:{egs}")]);
    assert!(words.iter().all(|words| log.contains(words)), "{log}");
    assert!(log.contains("left out 1 entry that could not be used"), "{log}");
    assert!(log.contains("Overall log-likelihood") && !log.contains("nan per frame"), "{log}");
}

#[test]
fn where_outputs_are_computed() {
    let folder = Folder::new("hostile-nan-compute");
    let net = network(&folder, 1);
    let feats = format!("ark:{}", with("nan", &folder));
    for program in ["nnet3-compute", "nnet3-compute-batch"] {
        let output = run(program, &["--use-gpu=no", &net, &feats, "ark,t:-"]);
        assert_eq!(output.status, 0, "{}", output.stderr);
        assert!(
            output.stderr.contains("u01: the features' frame 5 has the value nan in column 1"),
            "{}",
            output.stderr
        );
        assert!(output.stderr.contains("Done 3 utterances, failed for 1"), "{}", output.stderr);
        assert!(!output.stdout.contains("nan") && !output.stdout.contains("u01"), "{}", output.stdout);
    }
}

/// A model with `nan` in a batch normalization, as earlier programs may have written.
fn bad_model(folder: &Folder) -> String {
    let raw = network(folder, 1);
    let text = folder.path("text.raw");
    succeed("nnet3-copy", &["--binary=false", &raw, &text]);
    let model = folder.read("text.raw");
    let place = model.find("<BiasParams>  [ ").unwrap() + "<BiasParams>  [ ".len();
    let end = place + model[place..].find(' ').unwrap();
    folder.write("nan.raw", format!("{}nan{}", &model[..place], &model[end..]))
}

#[test]
fn a_model_with_nan_is_named_and_writes_no_output() {
    let folder = Folder::new("hostile-nan-model");
    let model = bad_model(&folder);
    let named = "values of the component a are nan or infinite";
    let output = run("nnet3-info", &[&model]);
    assert!(output.status == 0 && output.stderr.contains(named), "{}", output.stderr);
    // Outputs are none.
    let feats = format!("ark:{}", features(&folder, 3));
    let output = run("nnet3-compute", &["--use-gpu=no", &model, &feats, "ark,t:-"]);
    assert_eq!((output.status, output.stdout.as_str()), (1, ""), "{}", output.stderr);
    assert!(output.stderr.contains(named), "{}", output.stderr);
    assert!(output.stderr.contains("u02: the output's frame 0 has the value nan"), "{}", output.stderr);
    assert!(output.stderr.contains("Done 0 utterances, failed for 3"), "{}", output.stderr);
    // The result would be no valid model, so the old file stays.
    let egs = format!("ark:nnet3-merge-egs --minibatch-size=2 ark:{} ark:- |", examples(&folder, 3, &[]));
    let out = folder.write("old.raw", "old");
    for (program, arguments) in [
        ("nnet3-train", vec!["--use-gpu=no", &model, &egs, &out]),
        ("nnet3-average", vec![&model, &model, &out]),
    ] {
        let output = crate::data::run_on_path(program, &arguments);
        assert_eq!(output.status, 255, "{}", output.stderr);
        let error = output.stderr.lines().find(|line| line.starts_with("ERROR")).unwrap();
        assert!(error.contains("nan or infinite: the model is not written to"), "{error}");
        assert_eq!(folder.read("old.raw"), "old");
    }
}
