//! Tests only: runs a component that depends on indexes, on values that are keyed by index. So a test can compare it
//! with its formula without knowing the order of rows.

use crate::plain::Plain;
use crate::testing::{Harness, random_matrix};
use crate::*;
use nnet3_base::index::NO_TIME;
use std::collections::BTreeMap;

/// Rows keyed by index.
pub type Rows = BTreeMap<Index, Vec<f64>>;
/// A component's reader of precomputed indexes.
type ReadPrecomputed = fn(&mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>>;

/// One propagate and backprop.
pub struct Trial {
    pub input: Rows,
    pub output: Rows,
    pub out_deriv: Rows,
    pub in_deriv: Rows,
    /// The gradient of the parameters, in the order of [`Updatable::vectorize`]; it is empty if there are no
    /// parameters.
    pub gradient: Vec<f64>,
}

/// Runs the `wanted` outputs that are computable from the available inputs; there must be some.
pub fn run(
    component: &dyn Component,
    wanted: &[Index],
    available: Available<'_>,
    read: ReadPrecomputed,
    random: &Random,
) -> Trial {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for &output in wanted {
        let mut used = Vec::new();
        let computable = component.is_computable(output, available, Some(&mut used));
        assert_eq!(component.is_computable(output, available, None), computable);
        let mut possible = Vec::new();
        component.input_indexes(output, &mut possible);
        if !component.has_optional_inputs() {
            assert_eq!(computable, possible.iter().all(|&i| available(i)));
        }
        if computable {
            assert!(used.iter().all(|i| available(*i) && possible.contains(i)));
            assert!(possible.iter().all(|i| !available(*i) || used.contains(i)));
            outputs.push(output);
            inputs.extend(used);
        }
    }
    assert!(!outputs.is_empty());
    inputs.sort();
    inputs.dedup();
    let originals = (inputs.clone(), outputs.clone());
    component.reorder_indexes(&mut inputs, &mut outputs).unwrap();
    assert!(
        originals.0.iter().all(|i| inputs.contains(i)) && originals.1.iter().all(|i| outputs.contains(i))
    );
    let again = (inputs.clone(), outputs.clone());
    component.reorder_indexes(&mut inputs, &mut outputs).unwrap();
    assert_eq!(again, (inputs.clone(), outputs.clone()), "a second reordering changes something");
    let indexes =
        component.precompute_indexes(&inputs, &outputs, true).unwrap().expect("precomputed indexes");
    let indexes = stored(&*indexes, read);

    let input = blanked(random_matrix(random, inputs.len(), component.input_dim()), &inputs);
    let out_deriv = blanked(random_matrix(random, outputs.len(), component.output_dim()), &outputs);
    let harness = Harness::new();
    let forward = harness.forward(component, Some(&*indexes), &input, outputs.len());
    let mut own = component.clone_box();
    let mut delta = component.clone_box();
    delta.scale(0.0);
    let updatable = delta.as_updatable_mut().map(|updatable| updatable.set_as_gradient()).is_some();
    let mut plain = Plain;
    let update = if updatable { Update::to(&mut *delta, &mut plain) } else { Update::None };
    let in_deriv = harness.backward(&mut *own, Some(&*indexes), &input, &forward, &out_deriv, update);
    let gradient = delta.as_updatable().map_or(Vec::new(), |updatable| updatable.vectorize());
    Trial {
        input: rows(&inputs, &input),
        output: rows(&outputs, &forward.output),
        out_deriv: rows(&outputs, &out_deriv),
        in_deriv: rows(&inputs, &in_deriv),
        gradient: gradient.into_iter().map(f64::from).collect(),
    }
}

/// Writes the indexes and reads them back, in text and binary mode.
fn stored(indexes: &dyn PrecomputedIndexes, read: ReadPrecomputed) -> Box<dyn PrecomputedIndexes> {
    let through = |indexes: &dyn PrecomputedIndexes, binary: bool| {
        let mut w = KaldiWriter::in_memory(binary);
        indexes.write(&mut w).unwrap();
        let mut r = KaldiReader::from_bytes("test", w.into_bytes());
        r.set_binary(binary);
        r.read_token().unwrap();
        let again = read(&mut r).unwrap();
        r.skip_whitespace().unwrap();
        assert!(r.at_eof().unwrap());
        assert_eq!(format!("{again:?}"), format!("{indexes:?}"));
        again
    };
    through(&*through(indexes, true), false)
}

/// The matrix with zeros in the rows of blank indexes.
fn blanked(matrix: Matrix, indexes: &[Index]) -> Matrix {
    let (cols, mut data) = (matrix.cols(), matrix.to_vec());
    for (row, _) in indexes.iter().enumerate().filter(|(_, index)| index.t == NO_TIME) {
        data[row * cols..(row + 1) * cols].fill(0.0);
    }
    Matrix::from_vec(matrix.rows(), cols, data)
}

fn rows(indexes: &[Index], matrix: &Matrix) -> Rows {
    let (cols, data) = (matrix.cols(), matrix.to_vec());
    let row = |r: usize| data[r * cols..(r + 1) * cols].iter().map(|&v| v as f64).collect();
    let known = indexes.iter().enumerate().filter(|(_, index)| index.t != NO_TIME);
    known.map(|(r, &index)| (index, row(r))).collect()
}

/// Zeros with the same indexes and sizes.
pub fn zeros_like(rows: &Rows) -> Rows {
    rows.iter().map(|(&index, row)| (index, vec![0.0; row.len()])).collect()
}

#[track_caller]
pub fn assert_rows_near(found: &Rows, expected: &Rows, what: &str) {
    assert!(found.keys().eq(expected.keys()), "{what}: other indexes");
    let flat = |rows: &Rows| rows.values().flatten().copied().collect::<Vec<f64>>();
    assert_values_near(&flat(found), &flat(expected), what);
}

#[track_caller]
pub fn assert_values_near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let difference = norm(&mut found.iter().zip(expected).map(|(a, b)| a - b));
    let size = norm(&mut expected.iter().copied());
    assert!(
        difference <= 2e-6 * size + 1e-6,
        "{what}: difference {difference} of {size}\n{found:?}\n{expected:?}"
    );
}

/// Draws some times from `from` to `to`, at least one; their distances are multiples of `step`.
pub fn some_times(random: &Random, from: i32, to: i32, step: i32) -> Vec<i32> {
    let times: Vec<i32> = (from..=to).step_by(step as usize).filter(|_| random.uniform() < 0.7).collect();
    if times.is_empty() { vec![from] } else { times }
}

/// Lists all indexes of these times and a few images, in the order of a request.
pub fn images_at(random: &Random, times: &[i32]) -> Vec<Index> {
    let (images, xs) = (random.int(1, 3), random.int(1, 2));
    let mut indexes = Vec::new();
    for n in 0..images {
        for x in 0..xs {
            indexes.extend(times.iter().map(|&t| Index::new(2 * n, t, x)));
        }
    }
    indexes
}

/// Draws some distinct integers from this range, at least one, and sorts them.
pub fn some_offsets(random: &Random, from: i32, to: i32) -> Vec<i32> {
    some_times(random, from, to, 1)
}
