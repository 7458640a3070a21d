//! Reference figures for affine-like components: `component/<Type>-N` below `$NNET3_CONFORMANCE_DIR`.
//!
//! Each case is one component between input and output, rows mapping one to one. Compared are outputs, derivatives,
//! gradients (norms as its README says), the file's bytes and the info text.

use kaldi_io::matrix::DenseMatrix;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::component::{Backprop, Component, Context, Properties, Update, registry};
use nnet3_core::random::Random;
use nnet3_matrix::{Matrix, View, Workspace};
use std::path::{Path, PathBuf};

const TYPES: &[&str] = &[
    "AffineComponent",
    "NaturalGradientAffineComponent",
    "LinearComponent",
    "RepeatedAffineComponent",
    "NaturalGradientRepeatedAffineComponent",
    "BlockAffineComponent",
    "PerElementScaleComponent",
    "NaturalGradientPerElementScaleComponent",
    "PerElementOffsetComponent",
    "ScaleAndOffsetComponent",
    "ConstantFunctionComponent",
    "CompositeComponent",
];

/// The components of a network file, each with its bytes.
fn read_model(path: &Path) -> Vec<(Box<dyn Component>, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let mut r = KaldiReader::open(path.to_str().unwrap()).unwrap();
    r.expect_token("<Nnet3>").unwrap();
    r.read_line().unwrap();
    while r.read_line().unwrap().is_some_and(|line| !line.is_empty()) {}
    r.expect_token("<NumComponents>").unwrap();
    let count = r.read_i32().unwrap();
    (0..count)
        .map(|_| {
            r.expect_token("<ComponentName>").unwrap();
            r.read_token().unwrap();
            let start = r.position() as usize;
            let component = registry::read(&mut r).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (component, bytes[start..r.position() as usize].to_vec())
        })
        .collect()
}

/// The first matrix of an archive; None if there is none.
fn read_first(path: &Path) -> Option<Matrix> {
    let mut r = KaldiReader::open_raw(path.to_str().unwrap()).ok()?;
    if r.at_eof().unwrap() {
        return None;
    }
    r.read_token().unwrap();
    r.detect_header().unwrap();
    let m = DenseMatrix::<f32>::read(&mut r).unwrap();
    Some(Matrix::from_vec(m.rows, m.cols, m.data))
}

fn norm(values: &[f32]) -> f64 {
    values.iter().map(|&v| v as f64 * v as f64).sum::<f64>().sqrt()
}

/// ‖found − wanted‖ over what is allowed.
fn error(found: &[f32], wanted: &[f32], relative: f64, absolute: f64) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let difference: Vec<f32> = found.iter().zip(wanted).map(|(f, w)| f - w).collect();
    norm(&difference) / (relative * norm(wanted) + absolute)
}

/// Worst error of one case, 1 being the limit.
fn check(dir: &Path) -> f64 {
    let device = nnet3_matrix::cpu();
    let workspace = Workspace::new(&device);
    let random = Random::new(0);
    let context = Context { backend: &*device, workspace: &workspace, random: &random };

    let mut model = read_model(&dir.join("model.raw"));
    assert_eq!(model.len(), 1);
    let (mut component, bytes) = model.pop().unwrap();
    let mut w = KaldiWriter::in_memory(true);
    component.write(&mut w).unwrap();
    assert_eq!(w.into_bytes(), bytes, "rewritten");
    let info = std::fs::read_to_string(dir.join("info.txt")).unwrap();
    let wanted =
        info.lines().find_map(|l| Some(l.strip_prefix("component name=")?.split_once(" type=")?.1)).unwrap();
    assert_eq!(component.info(false), wanted);

    let input = read_first(&dir.join("inputs.ark")).unwrap();
    let expected = read_first(&dir.join("outputs.ark")).unwrap();
    let mut output = Matrix::zeros(&device, input.rows(), component.output_dim());
    let mut memo_matrix = {
        let (rows, cols) = component.memo_shape(None, input.rows());
        Matrix::zeros(&device, rows, cols)
    };
    component.propagate(context, None, input.view(), output.view_mut(), memo_matrix.view_mut());
    let mut worst = error(&output.to_vec(), &expected.to_vec(), 1e-4, 1e-5);

    let Some(out_deriv) = read_first(&dir.join("output_derivs.ark")) else { return worst };
    let mut gradient = component.clone();
    gradient.scale(0.0);
    if let Some(updatable) = gradient.as_updatable_mut() {
        updatable.set_as_gradient();
    }
    let properties = component.properties();
    let given = |needed: Properties, matrix| if properties.has(needed) { matrix } else { View::empty() };
    let mut in_deriv = Matrix::zeros(&device, input.rows(), input.cols());
    let args = Backprop {
        name: "component",
        indexes: None,
        in_value: given(Properties::BACKPROP_NEEDS_INPUT, input.view()),
        out_value: given(Properties::BACKPROP_NEEDS_OUTPUT, output.view()),
        out_deriv: out_deriv.view(),
        memo: memo_matrix.view(),
        in_deriv: Some(in_deriv.view_mut()),
    };
    component.backprop(context, args, Update::Other(&mut *gradient));
    if let Some(expected) = read_first(&dir.join("input_derivs.ark")) {
        worst = worst.max(error(&in_deriv.to_vec(), &expected.to_vec(), 1e-3, 1e-4));
    }
    if let Some(gradient) = gradient.as_updatable() {
        let (expected, _) = read_model(&dir.join("gradient.raw")).pop().unwrap();
        let expected = expected.as_updatable().unwrap().vectorize();
        worst = worst.max(error(&gradient.vectorize(), &expected, 1e-3, 1e-4));
    }
    worst
}

fn cases(root: &Path, component_type: &str) -> Vec<PathBuf> {
    let prefix = format!("{component_type}-");
    let entries = std::fs::read_dir(root.join("component")).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix))).collect();
    found.sort();
    found
}

/// All `model.raw` below a folder.
fn models(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            models(&path, found);
        } else if path.file_name().is_some_and(|name| name == "model.raw") {
            found.push(path);
        }
    }
}

/// Where the components of these types begin in a model's bytes, with their names.
fn components_in(bytes: &[u8]) -> Vec<(usize, String)> {
    let mark = b"<ComponentName> ";
    let starts = (0..bytes.len()).filter(|&i| bytes[i..].starts_with(mark)).map(|i| i + mark.len());
    let word = |at: usize| bytes[at..].split(|&b| b == b' ').next().and_then(|w| std::str::from_utf8(w).ok());
    starts
        .filter_map(|at| {
            let name = word(at)?;
            let component_type = word(at + name.len() + 1)?;
            let known = TYPES.contains(&component_type.trim_matches(['<', '>']));
            known.then(|| (at + name.len() + 1, name.to_string()))
        })
        .collect()
}

/// Components of all models, of whatever architecture: bytes and info text.
#[test]
fn models_are_copied() {
    let Some(root) = std::env::var_os("NNET3_CONFORMANCE_DIR") else {
        eprintln!("skipped: NNET3_CONFORMANCE_DIR is not set");
        return;
    };
    let mut paths = Vec::new();
    models(Path::new(&root), &mut paths);
    let mut count = 0;
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let info = std::fs::read_to_string(path.with_file_name("info.txt")).unwrap_or_default();
        for (start, name) in components_in(&bytes) {
            let mut r = KaldiReader::from_bytes("model", bytes[start..].to_vec());
            r.set_binary(true);
            let component =
                registry::read(&mut r).unwrap_or_else(|e| panic!("{}, {name}: {e}", path.display()));
            let mut w = KaldiWriter::in_memory(true);
            component.write(&mut w).unwrap();
            let end = start + r.position() as usize;
            assert!(w.into_bytes() == bytes[start..end], "{}, {name}: rewritten", path.display());
            if let Some(line) = info.lines().find(|l| l.starts_with(&format!("component name={name} type=")))
            {
                assert_eq!(line.split_once(" type=").unwrap().1, component.info(false), "{}", path.display());
            }
            count += 1;
        }
    }
    println!("{count} components copied");
    assert!(count > 0);
}

#[test]
fn reference_figures() {
    let Some(root) = std::env::var_os("NNET3_CONFORMANCE_DIR") else {
        eprintln!("skipped: NNET3_CONFORMANCE_DIR is not set");
        return;
    };
    let mut failures = Vec::new();
    for component_type in TYPES {
        for case in cases(Path::new(&root), component_type) {
            let worst = check(&case);
            println!("{}: {worst:.2e} of what is allowed", case.file_name().unwrap().display());
            if worst.is_nan() || worst > 1.0 {
                failures.push(case);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
