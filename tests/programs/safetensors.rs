//! `nnet3-export` and `nnet3-import` with safetensors files.

use std::path::PathBuf;

use crate::common::{Folder, run, succeed};

const CONFIG: &str = "input-node name=input dim=2
component name=a type=AffineComponent input-dim=2 output-dim=3
component-node name=a component=a input=input
component name=bn type=BatchNormComponent dim=3
component-node name=bn component=bn input=a
output-node name=output input=bn
";

/// A safetensors file with these tensors of 32 bits: name, shape, values.
fn tensors(given: &[(&str, &str, &[f32])]) -> Vec<u8> {
    let (mut header, mut data) = (String::from("{"), Vec::new());
    for (i, (name, shape, values)) in given.iter().enumerate() {
        let begin = data.len();
        data.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let comma = if i > 0 { "," } else { "" };
        header += &format!(
            "{comma}\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":[{begin},{}]}}",
            data.len()
        );
    }
    header += "}";
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

#[track_caller]
fn refused(f: &Folder, program: &str, arguments: &[&str], words: &[&str]) {
    f.write("old", "an older result");
    let output = run(program, arguments);
    assert_eq!(output.status, 255, "{}", output.stderr);
    let error = output.stderr.split_once("ERROR (").unwrap_or_else(|| panic!("{}", output.stderr)).1;
    words.iter().for_each(|word| assert!(error.contains(word), "no '{word}' in: {error}"));
    assert_eq!(f.read("old"), "an older result");
}

#[test]
fn models_come_back_byte_for_byte() {
    let f = Folder::new("safetensors-models");
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance");
    let kinds =
        std::fs::read_dir(folder).unwrap().map(|kind| kind.unwrap().path()).filter(|path| path.is_dir());
    let cases: Vec<PathBuf> =
        kinds.flat_map(|kind| std::fs::read_dir(kind).unwrap().map(|case| case.unwrap().path())).collect();
    let (file, back, text) = (f.path("m.safetensors"), f.path("back"), f.path("text"));
    let mut models = 0;
    for model in cases.iter().map(|case| case.join("model.raw")).filter(|model| model.exists()).step_by(8) {
        let model = model.display().to_string();
        succeed("nnet3-export", &[&model, &file]);
        succeed("nnet3-import", &[&file, &back]);
        assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(&model).unwrap(), "{model}");
        models += 1;
    }
    assert!(models > 2, "{models}");
    // A text becomes binary; through a pipe, too.
    succeed("nnet3-copy", &["--binary=false", &back, &text]);
    succeed("nnet3-copy", &[&text, &f.path("binary")]);
    let program = crate::common::binary("nnet3-copy").display().to_string();
    for from in [text.clone(), format!("{program} {text} - |")] {
        succeed("nnet3-export", &[&from, &file]);
        succeed("nnet3-import", &[&file, &back]);
        assert_eq!(std::fs::read(&back).unwrap(), std::fs::read(f.path("binary")).unwrap());
    }
}

#[test]
fn parameters_by_name() {
    let f = Folder::new("safetensors-names");
    let (base, out) = (f.path("0.raw"), f.path("1.raw"));
    succeed("nnet3-init", &[&f.write("config", CONFIG), &base]);
    let bias: &[f32] = &[1.0, 2.0, 3.0];
    let weights = f.write(
        "w.safetensors",
        tensors(&[("b", "[3]", bias), ("bn.count", "[]", &[8.0]), ("bn.stats_mean", "[3]", bias)]),
    );
    let names = format!("--names={}", f.write("names", "b a.bias_params\n"));
    let log = succeed("nnet3-import", &[&names, &base, &weights, &out]);
    assert!(
        log.contains("Set 3 of ")
            && log.contains("2 matrices and vectors, such as a.linear_params, have kept"),
        "{log}"
    );
    succeed("nnet3-copy", &["--binary=false", &out, &f.path("text")]);
    let text = f.read("text");
    assert!(text.contains("<BiasParams>  [ 1 2 3 ]"), "{text}");
    assert!(text.contains("<Count> 8 <StatsMean>  [ 1 2 3 ]"), "{text}");

    let old = f.path("old");
    refused(
        &f,
        "nnet3-import",
        &[&base, &weights, &old],
        &["w.safetensors for ", "no parameter or node 'b'"],
    );
    refused(&f, "nnet3-import", &[&base, &base, &old], &["0.raw for ", "no safetensors file"]);
    refused(&f, "nnet3-import", &[&base, &old], &["0.raw", "no safetensors file"]);
    refused(&f, "nnet3-import", &[&weights, &old], &["no metadata 'nnet3'", "give a model and this file"]);
    refused(&f, "nnet3-import", &["--strict=false", &weights, &old], &["--names and --strict"]);
    refused(&f, "nnet3-import", &[&weights, &weights, &old], &["w.safetensors"]);
    refused(&f, "nnet3-import", &[&f.path("none"), &weights, &old], &["cannot open", "none"]);
    let bad = format!("--names={}", f.write("bad", "a b\na\n"));
    refused(&f, "nnet3-import", &[&bad, &base, &weights, &old], &["bad", "line 2: expected two names"]);
    let unknown = f.write("u.safetensors", tensors(&[("x", "[1]", &[0.0])]));
    refused(&f, "nnet3-import", &["--strict=false", &base, &unknown, &old], &["no tensor has a counterpart"]);
    let both = f.write("m.safetensors", tensors(&[("x", "[1]", &[0.0]), ("a.bias_params", "[3]", bias)]));
    let log = succeed("nnet3-import", &["--strict=false", &base, &both, &out]);
    assert!(log.contains("WARNING") && log.contains("'x' has no counterpart"), "{log}");
    let nan = f.write("n.safetensors", tensors(&[("a.bias_params", "[3]", &[0.0, f32::NAN, 0.0])]));
    refused(
        &f,
        "nnet3-import",
        &[&base, &nan, &old],
        &["'a.bias_params' has at element 1 (from 0) the value NaN"],
    );
    let unwritable = run("nnet3-import", &[&names, &base, &weights, "/dev/full"]);
    assert_eq!(unwritable.status, 255, "{}", unwritable.stderr);

    refused(
        &f,
        "nnet3-export",
        &["--use-priors=true", &base, &f.path("x.safetensors")],
        &["options are for ONNX"],
    );
    refused(&f, "nnet3-export", &[&base, &old], &["expected a file name that ends in .onnx or .safetensors"]);
    refused(&f, "nnet3-export", &[&f.path("config"), &f.path("x.safetensors")], &["config", "<Nnet3>"]);
    let cut = std::fs::read(&base).unwrap();
    refused(
        &f,
        "nnet3-export",
        &[&f.write("cut", &cut[..cut.len() / 2]), &f.path("x.safetensors")],
        &["cut, byte"],
    );
    assert!(!PathBuf::from(f.path("x.safetensors")).exists());
}
