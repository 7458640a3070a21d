//! What training maximises, as a function of an output and its targets (spec binaries §8.2).
//!
//! To add a function: implement [`ObjectiveFunction`] and put it into [`FUNCTIONS`].

use crate::error::{Error, Result};
use kaldi_io::GeneralMatrix;
use nnet3_core::execute::Executor;
use nnet3_core::nnet::{Nnet, Node};
use nnet3_matrix::{Accumulator, Backend, Device, View, ViewMut, Workspace};

/// A sum over frames: the objective, and what to divide it by.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ObjectiveValue {
    pub objective: f64,
    pub weight: f64,
}

/// A function of one output.
pub trait ObjectiveFunction: Sync {
    /// As in `output-node … objective=`.
    fn name(&self) -> &'static str;

    /// How log lines of diagnostics call it.
    fn title(&self) -> &'static str;

    /// What the sum over the rows is divided by, for an average.
    fn weight(&self, targets: &GeneralMatrix) -> f64;

    /// Adds the sum over all rows to `place`. `deriv` holds the targets, in the shape of `output`, and is replaced by the
    /// derivative of the sum with respect to the output.
    fn evaluate(&self, backend: &dyn Backend, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>);
}

/// One of the sums of a device.
pub struct Place<'s> {
    pub sums: &'s mut Accumulator,
    pub index: usize,
}

/// All functions.
pub static FUNCTIONS: &[&dyn ObjectiveFunction] = &[&Linear, &Quadratic];

/// Σ output ⊙ target. With a log-softmax output and targets that sum to one this is the log-likelihood.
struct Linear;

impl ObjectiveFunction for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn title(&self) -> &'static str {
        "log-likelihood"
    }
    fn weight(&self, targets: &GeneralMatrix) -> f64 {
        sum(targets)
    }
    fn evaluate(&self, backend: &dyn Backend, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        backend.accumulate_dot(place.sums, place.index, 1.0, output, deriv.as_view());
    }
}

/// -½ Σ (output - target)².
struct Quadratic;

impl ObjectiveFunction for Quadratic {
    fn name(&self) -> &'static str {
        "quadratic"
    }
    fn title(&self) -> &'static str {
        "objective"
    }
    fn weight(&self, targets: &GeneralMatrix) -> f64 {
        targets.rows() as f64
    }
    fn evaluate(&self, backend: &dyn Backend, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        backend.add(deriv, -1.0, output);
        backend.accumulate_dot(place.sums, place.index, -0.5, deriv.as_view(), deriv.as_view());
    }
}

/// The sum of all elements.
pub fn sum(matrix: &GeneralMatrix) -> f64 {
    let total = |values: &[f32]| values.iter().map(|&v| f64::from(v)).sum();
    match matrix {
        GeneralMatrix::Full(m) => total(&m.data),
        GeneralMatrix::Compressed(m) => total(&m.to_dense().data),
        GeneralMatrix::Sparse(m) => m.rows.iter().flat_map(|row| &row.pairs).map(|p| f64::from(p.1)).sum(),
    }
}

/// The function of an output of the network.
pub fn function_of(nnet: &Nnet, output: &str) -> Result<&'static dyn ObjectiveFunction> {
    let Some(Node::Output { objective, .. }) = nnet.find_output(output).map(|id| nnet.node(id)) else {
        return Err(Error::data(format!("the network has no output '{output}'")));
    };
    let found = FUNCTIONS.iter().find(|f| f.name() == objective.name());
    found.copied().ok_or_else(|| Error::data(format!("objective '{}' is not known", objective.name())))
}

/// Evaluates outputs of an executor, with memory that is kept from one minibatch to the next.
pub struct Evaluator {
    workspace: Workspace,
    dense: Vec<f32>,
}

impl Evaluator {
    pub fn new(device: &Device) -> Evaluator {
        Evaluator { workspace: Workspace::new(device), dense: Vec::new() }
    }

    /// Evaluates the output of this name, whose forward pass is done: adds the objective to `place` and returns its weight.
    /// With `supply_derivative`, the derivative goes to the executor, which waits for it. `targets` have the shape of the
    /// output.
    pub fn evaluate(
        &mut self,
        executor: &mut Executor,
        nnet: &Nnet,
        name: &str,
        targets: &GeneralMatrix,
        supply_derivative: bool,
        place: Place<'_>,
    ) -> Result<f64> {
        let function = function_of(nnet, name)?;
        let device = executor.device().clone();
        let shape = (targets.rows(), targets.cols());
        let weight = function.weight(targets);
        let targets = dense(targets, &mut self.dense);
        // The executor lends one view at a time: the output is copied, the derivative is made in its place.
        let mut output = self.workspace.take(shape.0, shape.1);
        let value = executor.output(nnet, name)?;
        if (value.rows(), value.cols()) != shape {
            return Err(Error::data(format!(
                "output '{name}' has {} rows and {} columns, its targets have {} and {}",
                value.rows(),
                value.cols(),
                shape.0,
                shape.1
            )));
        }
        device.copy(output.view_mut(), value);
        let mut scratch = None;
        let deriv = if supply_derivative {
            executor.input(nnet, name)?
        } else {
            scratch.insert(self.workspace.take(shape.0, shape.1)).view_mut()
        };
        device.upload(deriv, targets);
        function.evaluate(&*device, output.view(), deriv, place);
        Ok(weight)
    }
}

/// The elements row by row; `buffer` is used if they are not stored so.
fn dense<'m>(matrix: &'m GeneralMatrix, buffer: &'m mut Vec<f32>) -> &'m [f32] {
    match matrix {
        GeneralMatrix::Full(m) => &m.data,
        GeneralMatrix::Compressed(m) => {
            *buffer = m.to_dense().data;
            buffer
        }
        GeneralMatrix::Sparse(m) => {
            buffer.clear();
            buffer.resize(matrix.rows() * matrix.cols(), 0.0);
            for (row, out) in m.rows.iter().zip(buffer.chunks_exact_mut(matrix.cols())) {
                row.pairs.iter().for_each(|&(index, value)| out[index as usize] = value);
            }
            buffer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::{CompressedMatrix, CompressionMethod, DenseMatrix, SparseMatrix, SparseVector};
    use nnet3_matrix::Matrix;

    /// A matrix of halves in all three forms.
    fn forms() -> [GeneralMatrix; 3] {
        let full = DenseMatrix::from_rows(&[[0.0f32, 0.5, 0.0], [0.25, 0.0, 1.0]]);
        let rows = [vec![(1, 0.5)], vec![(0, 0.25), (2, 1.0)]];
        let rows = rows.map(|pairs| SparseVector::new(3, pairs).unwrap()).to_vec();
        let compressed = CompressedMatrix::compress(&full, CompressionMethod::TwoByteAuto).unwrap();
        [full.into(), compressed.into(), SparseMatrix { rows }.into()]
    }

    #[test]
    fn the_form_of_targets_does_not_matter() {
        for targets in forms() {
            assert!((sum(&targets) - 1.75).abs() < 1e-4);
            let mut buffer = Vec::new();
            let values = dense(&targets, &mut buffer).to_vec();
            let expected = [0.0, 0.5, 0.0, 0.25, 0.0, 1.0];
            assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{values:?}");
        }
    }

    /// Values by hand, derivatives by finite differences.
    #[test]
    fn values_and_derivatives() {
        let device = nnet3_matrix::cpu();
        let output = [0.5f32, -1.0, 2.0, 0.0, 3.0, 1.0];
        let [targets, ..] = forms();
        let targets_data = targets.to_dense().data;
        for (function, expected) in
            FUNCTIONS.iter().zip([-0.5 + 1.0, -0.5 * (0.25 + 2.25 + 4.0 + 0.0625 + 9.0)])
        {
            let evaluate = |output: &[f32]| {
                let output = Matrix::from_vec(2, 3, output.to_vec());
                let mut deriv = Matrix::from_vec(2, 3, targets_data.clone());
                let mut sums = Accumulator::zeros(1);
                let place = Place { sums: &mut sums, index: 0 };
                function.evaluate(&*device, output.view(), deriv.view_mut(), place);
                (sums.values()[0], deriv.to_vec())
            };
            let (value, deriv) = evaluate(&output);
            assert!((value - expected).abs() < 1e-6, "{}: {value}", function.name());
            for i in 0..6 {
                let step = 1.0 / 64.0;
                let mut moved = output;
                moved[i] += step;
                let above = evaluate(&moved).0;
                moved[i] -= 2.0 * step;
                let slope = (above - evaluate(&moved).0) / (2.0 * f64::from(step));
                assert!((slope - f64::from(deriv[i])).abs() < 1e-4, "{}: {slope}", function.name());
            }
        }
        assert_eq!(FUNCTIONS.iter().map(|f| f.weight(&targets)).collect::<Vec<_>>(), [1.75, 2.0]);
    }
}
