//! Reference figures for components one by one, below `$NNET3_CONFORMANCE_DIR`: `component/<Type>-N` has one component
//! between input and output, of every type that has such cases. Compared are outputs, derivatives, gradients (norms as
//! its README says). All models there, also those of `random` and `arch`, give files and info texts to compare.

use kaldi_io::matrix::DenseMatrix;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::Index;
use nnet3_core::component::{Backprop, Component, Context, Properties, Update, registry};
use nnet3_core::index::read_indexes;
use nnet3_core::random::Random;
use nnet3_matrix::{Matrix, View, Workspace};
use std::path::{Path, PathBuf};

/// A component of a network file, with its name and bytes.
struct Stored {
    name: String,
    component: Box<dyn Component>,
    bytes: Vec<u8>,
}

fn read_model(path: &Path) -> Vec<Stored> {
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
            let name = r.read_token().unwrap();
            let start = r.position() as usize;
            let component = registry::read(&mut r).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            Stored { name, component, bytes: bytes[start..r.position() as usize].to_vec() }
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

/// The larger; NaN if one is.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// ‖found − wanted‖ over what is allowed.
#[track_caller]
fn error(found: &[f32], wanted: &[f32], relative: f64, absolute: f64) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let difference: Vec<f32> = found.iter().zip(wanted).map(|(f, w)| f - w).collect();
    norm(&difference) / (relative * norm(wanted) + absolute)
}

/// The rows of the request, which are those of the input and of the output.
fn requested(dir: &Path) -> Vec<Index> {
    let text = std::fs::read_to_string(dir.join("request.txt")).unwrap();
    let start = text.find("<I1V>").unwrap();
    read_indexes(&mut KaldiReader::from_bytes("request.txt", text.as_bytes()[start..].to_vec())).unwrap()
}

/// Rows of `matrix`, which has those of `from`, in the order of `to`.
fn reordered(matrix: &Matrix, from: &[Index], to: &[Index]) -> Matrix {
    let (cols, data) = (matrix.cols(), matrix.to_vec());
    let row = |index: &Index| from.iter().position(|i| i == index).unwrap() * cols;
    let data = to.iter().flat_map(|index| data[row(index)..row(index) + cols].to_vec()).collect();
    Matrix::from_vec(to.len(), cols, data)
}

/// Worst error of one case, 1 being the limit.
fn check(dir: &Path) -> f64 {
    let device = nnet3_matrix::cpu();
    let workspace = Workspace::new(&device);
    let random = Random::new(0);
    let context = Context { backend: &*device, workspace: &workspace, random: &random };

    let mut component = read_model(&dir.join("model.raw")).pop().unwrap().component;
    let request = requested(dir);
    let read = |name: &str, rows: &[Index]| Some(reordered(&read_first(&dir.join(name))?, &request, rows));
    let (mut inputs, mut outputs) = (request.clone(), request.clone());
    component.reorder_indexes(&mut inputs, &mut outputs).unwrap();
    let indexes = component.precompute_indexes(&inputs, &outputs, true).unwrap();

    let input = read("inputs.ark", &inputs).unwrap();
    let expected = read("outputs.ark", &outputs).unwrap();
    let mut output = Matrix::zeros(&device, outputs.len(), component.output_dim());
    let (rows, cols) = component.memo_shape(indexes.as_deref(), outputs.len());
    let mut memo = Matrix::zeros(&device, rows, cols);
    component.propagate(context, indexes.as_deref(), input.view(), output.view_mut(), memo.view_mut());
    let mut worst = error(&output.to_vec(), &expected.to_vec(), 1e-4, 1e-5);

    let Some(out_deriv) = read("output_derivs.ark", &outputs) else { return worst };
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
        indexes: indexes.as_deref(),
        in_value: given(Properties::BACKPROP_NEEDS_INPUT, input.view()),
        out_value: given(Properties::BACKPROP_NEEDS_OUTPUT, output.view()),
        out_deriv: out_deriv.view(),
        memo: memo.view(),
        in_deriv: Some(in_deriv.view_mut()),
    };
    component.backprop(context, args, Update::Other(&mut *gradient));
    if let Some(expected) = read("input_derivs.ark", &inputs) {
        worst = worse(worst, error(&in_deriv.to_vec(), &expected.to_vec(), 1e-3, 1e-4));
    }
    if let Some(gradient) = gradient.as_updatable() {
        let expected = read_model(&dir.join("gradient.raw")).pop().unwrap().component;
        let expected = expected.as_updatable().unwrap().vectorize();
        worst = worse(worst, error(&gradient.vectorize(), &expected, 1e-3, 1e-4));
    }
    worst
}

fn root() -> Option<PathBuf> {
    let root = std::env::var_os("NNET3_CONFORMANCE_DIR");
    if root.is_none() {
        eprintln!("skipped: NNET3_CONFORMANCE_DIR is not set");
    }
    root.map(PathBuf::from)
}

/// The cases of one kind whose names begin with `prefix`.
fn cases(root: &Path, kind: &str, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join(kind)).unwrap().map(|e| e.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix))).collect();
    found.sort();
    found
}

#[test]
fn reference_figures() {
    let Some(root) = root() else { return };
    let (mut failures, mut count) = (Vec::new(), 0);
    for case in cases(&root, "component", "") {
        let worst = check(&case);
        println!("{}: {worst:.2e} of what is allowed", case.file_name().unwrap().display());
        count += 1;
        if worst.is_nan() || worst > 1.0 {
            failures.push(case);
        }
    }
    println!("{count} cases");
    assert!(failures.is_empty() && count > 0, "{failures:?}");
}

#[test]
fn files_and_info_texts() {
    let Some(root) = root() else { return };
    let (mut count, mut rewritten) = (0, Vec::new());
    for case in ["component", "random", "arch"].iter().flat_map(|kind| cases(&root, kind, "")) {
        let info = std::fs::read_to_string(case.join("info.txt")).unwrap();
        for Stored { name, component, bytes } in read_model(&case.join("model.raw")) {
            let place = format!("{}: {name}", case.display());
            let mut w = KaldiWriter::in_memory(true);
            component.write(&mut w).unwrap();
            // The reference rewrites the statistics of these cases too.
            if w.into_bytes() != bytes && !place.contains("component/BatchNormComponent-") {
                rewritten.push(place.clone());
            }
            let wanted = info.lines().find_map(|line| line.strip_prefix(&format!("component name={name} type=")));
            assert_eq!(component.info(false), wanted.unwrap(), "{place}");
            count += 1;
        }
    }
    println!("{count} components");
    assert!(rewritten.is_empty() && count > 0, "{rewritten:#?}");
}
