//! `nnet3-export` as a program: which files appear, and which options do not go together.

use crate::common::{Folder, run, succeed};

/// A network of two layers over time.
fn network(folder: &Folder) -> String {
    let config = folder.write(
        "config",
        "component name=c1 type=AffineComponent input-dim=6 output-dim=4
component name=c2 type=AffineComponent input-dim=8 output-dim=2
input-node name=input dim=3
component-node name=c1 component=c1 input=Append(Offset(input, -1), input)
component-node name=c2 component=c2 input=Append(Offset(c1, -2), Offset(c1, 1))
output-node name=output input=c2
",
    );
    let model = folder.path("model.raw");
    succeed("nnet3-init", &[&config, &model]);
    model
}

#[test]
fn a_stream_is_three_files() {
    let folder = Folder::new("export_stream");
    let (model, out) = (network(&folder), folder.path("a/b"));
    succeed("nnet3-export", &["--streaming=true", "--frames-per-chunk=5", &model, &out]);
    let mut names: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["first.onnx", "step.onnx", "weights.onnx_data"]);
    let one = folder.path("one.onnx");
    succeed("nnet3-export", &["--streaming=true", "--single-graph=true", &model, &one]);
    assert!(std::fs::read(&one).unwrap().windows(14).any(|word| word == b"warm_up_chunks"));
}

#[test]
fn options_that_would_do_nothing_are_errors() {
    let folder = Folder::new("export_options");
    let (model, file, place) = (network(&folder), folder.path("never.onnx"), folder.path("never"));
    let request = format!("--request={}", folder.path("none.txt"));
    for (options, out, expected) in [
        (&["--frames-per-chunk=20"][..], &file, "--fixed-frames=true or --streaming=true"),
        (&["--pack-states=true"], &file, "with --streaming=true"),
        (&["--single-graph=true"], &file, "with --streaming=true"),
        (&["--fixed-frames=true", "--extra-left-context-initial=3"], &file, "--streaming=true"),
        (&["--streaming=true", "--extra-left-context-initial=-1"], &place, "must not be negative, found -1"),
        (&["--streaming=true", "--fixed-frames=true"], &place, "only one of"),
        (&[&request, "--outputs=output"], &file, "--outputs cannot be given with --request"),
        (&["--streaming=true"], &file, "never.onnx: expected a folder"),
        (&[], &place, "never: expected a file name that ends in .onnx"),
        (&["--outputs=output,other"], &file, "'other'"),
        (&["--fixed-frames=true", "--frames-per-chunk=0"], &file, "at least 1"),
        (&["--use-priors=true"], &file, "model.raw"),
        (&["--sherpa=words"], &file, "--sherpa=words: expected speaker"),
        (&["--sherpa=speaker", "--streaming=true"], &place, "only one of"),
        (
            &["--sherpa=speaker", "--frame-subsampling-factor=3"],
            &file,
            "cannot be given with --sherpa=speaker",
        ),
        (&["--sherpa=speaker", "--sample-rate=0"], &file, "expected a number above 0"),
        (&["--sherpa=speaker", "--language="], &file, "expected the name of a language"),
        (&["--sherpa=speaker"], &file, "3 columns; sherpa-onnx gives 80"),
        (&["--sample-rate=8000"], &file, "can only be given with --sherpa"),
    ] {
        let output = run("nnet3-export", &[options, &[&model, out]].concat());
        assert_eq!(output.status, 255, "{options:?}");
        assert!(output.stderr.contains(expected), "{options:?}: {}", output.stderr);
        assert!(!std::path::Path::new(out).exists(), "{options:?}");
    }
}
