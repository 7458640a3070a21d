//! Objectives of plain examples: each output has targets for its rows, and a function of both.
//!
//! To add a function: implement [`ObjectiveFunction`] and put it into [`FUNCTIONS`].

use std::collections::BTreeMap;

use super::{Exchange, Objective};
use crate::accuracy::{Accuracy, accuracy};
use crate::error::{Error, Result};
use crate::example::{NnetExample, NnetIo};
use crate::ledger::{Place, Tally};
use crate::objective::metrics::{self, Metric, Scale};
use crate::objective::{Costs, cost};
use crate::request::{MinibatchRequest, OutputRequest};
use kaldi_io::GeneralMatrix;
use kaldi_io::log::num;
use nnet3_core::nnet::{Nnet, Node};
use nnet3_matrix::{View, ViewMut, Workspace};

/// A function of one output and its targets.
pub trait ObjectiveFunction: Send + Sync {
    /// The name in `output-node … objective=`.
    fn name(&self) -> &'static str;

    /// Name of the objective in log lines of diagnostics.
    fn title(&self) -> &'static str {
        "objective"
    }

    /// Returns the divisor of the sum over the rows, for an average. The default is their number.
    fn weight(&self, targets: &GeneralMatrix) -> f64 {
        targets.rows() as f64
    }

    /// Form of the outputs that the objective expects.
    fn scale(&self) -> Scale {
        Scale::Plain
    }

    /// Adds the sum over all rows to `place`. `deriv` holds the targets, in the shape of `output`, and is replaced by the
    /// derivative of the sum with respect to the output.
    fn evaluate(&self, workspace: &Workspace, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>);
}

/// The objective functions that there are.
pub(crate) static FUNCTIONS: &[&dyn ObjectiveFunction] = &[&Linear, &Quadratic];

/// Σ output ⊙ target. With a log-softmax output and targets that sum to one this is the log-likelihood.
pub(crate) struct Linear;

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
    fn scale(&self) -> Scale {
        Scale::Log
    }
    fn evaluate(&self, workspace: &Workspace, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        workspace.device().accumulate_dot(place.sums, place.index, 1.0, output, deriv.as_view());
    }
}

/// -½ Σ (output - target)².
pub(crate) struct Quadratic;

impl ObjectiveFunction for Quadratic {
    fn name(&self) -> &'static str {
        "quadratic"
    }
    fn evaluate(&self, workspace: &Workspace, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        let backend = workspace.device();
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
pub(crate) fn function_of(nnet: &Nnet, output: &str) -> Result<&'static dyn ObjectiveFunction> {
    let Some(Node::Output { objective, .. }) = nnet.find_output(output).map(|id| nnet.node(id)) else {
        return Err(Error::data(format!("the network has no output '{output}'")));
    };
    let found = FUNCTIONS.iter().find(|f| f.name() == objective.name());
    found.copied().ok_or_else(|| Error::data(format!("unknown objective '{}'", objective.name())))
}

/// Evaluates outputs by the functions that the network's output nodes name, or by costs in their place.
#[derive(Default)]
pub struct FrameObjective {
    wanted: AccuracyOptions,
    accuracy: BTreeMap<String, Accuracy>,
    /// Scratch space for targets that are not stored row by row.
    dense: Vec<f32>,
    /// Functions that replace those of the nodes.
    costs: Costs,
    metrics: Vec<Metric>,
    metric_sums: BTreeMap<String, metrics::Sums>,
}

/// Options for measuring accuracy.
#[derive(Debug, Clone, Copy, Default)]
pub struct AccuracyOptions {
    /// True to measure accuracy.
    pub accuracy: bool,
    /// True if accuracies of each target dimension are wanted.
    pub per_dim: bool,
}

impl FrameObjective {
    /// Returns a message about each metric of each output.
    pub fn metric_lines(&self) -> Vec<String> {
        let (wanted, sums) = self.metrics();
        let mut lines = Vec::new();
        for (name, sums) in sums {
            let weight = num(sums.weight());
            for &metric in wanted {
                let value = num(sums.value(metric));
                lines.push(format!(
                    "Overall {metric} for '{name}' is {value} per frame, over {weight} frames."
                ));
            }
        }
        lines
    }

    /// Looks how often outputs are right, besides.
    pub fn with_accuracy(wanted: AccuracyOptions) -> FrameObjective {
        FrameObjective { wanted, ..FrameObjective::default() }
    }

    /// Replaces the nodes' own costs by these, and adds these metrics.
    pub fn with_costs(self, costs: Costs, metrics: Vec<Metric>) -> FrameObjective {
        FrameObjective { costs, metrics, ..self }
    }

    /// The metrics that are wanted, and their sums over all examples so far, by the names of outputs.
    pub fn metrics(&self) -> (&[Metric], &BTreeMap<String, metrics::Sums>) {
        (&self.metrics, &self.metric_sums)
    }

    /// The accuracy over all examples so far, by the names of outputs; empty if it is not wanted.
    pub fn accuracy(&self) -> &BTreeMap<String, Accuracy> {
        &self.accuracy
    }

    fn evaluate_output(&mut self, io: &NnetIo, exchange: &Exchange<'_>, tally: &mut Tally<'_>) -> Result<()> {
        let NnetIo { name, features: targets, .. } = io;
        let output = exchange.output(name)?;
        let shape = (targets.rows(), targets.cols());
        if (output.rows(), output.cols()) != shape {
            return Err(Error::data(format!(
                "output '{name}' has {} rows and {} columns, its targets have {} and {}",
                output.rows(),
                output.cols(),
                shape.0,
                shape.1
            )));
        }
        let function = self.costs.function(exchange.nnet(), name)?;
        let device = exchange.device();
        if !self.metrics.is_empty() {
            let scale = function.scale();
            let sums = self.metric_sums.entry(name.clone()).or_default();
            sums.add(&device.download(output), targets, scale, &self.metrics);
        }
        if self.wanted.accuracy {
            let so_far = self.accuracy.entry(name.clone()).or_default();
            accuracy(&device.download(output), targets, self.wanted.per_dim, so_far);
        }
        let mut scratch = None;
        let deriv = match exchange.derivative(name)? {
            Some(deriv) => deriv,
            None => scratch.insert(exchange.workspace().take(shape.0, shape.1)).view_mut(),
        };
        let cost = self.costs.of(name);
        match cost.map(|cost| cost.smoothing).filter(|&smoothing| smoothing > 0.0) {
            None => device.upload(deriv, dense(targets, &mut self.dense)),
            Some(smoothing) => {
                fill_dense(targets, &mut self.dense);
                cost::smooth(&mut self.dense, targets.cols(), smoothing);
                device.upload(deriv, &self.dense);
            }
        }
        let place = tally.sum(name, function.weight(targets));
        function.evaluate(exchange.workspace(), output, deriv, place);
        let weight = self.costs.weight(name);
        if weight != 1.0 {
            device.scale(deriv, weight as f32);
        }
        Ok(())
    }
}

impl Objective for FrameObjective {
    type Example = NnetExample;

    /// Requests every output in the example, from every input in it. Names that the network does not have and dimensions
    /// that differ are errors.
    fn request<'e>(&self, nnet: &Nnet, example: &'e NnetExample) -> Result<MinibatchRequest<'e>> {
        let mut request = MinibatchRequest::default();
        for io in &example.ios {
            if request.try_input(nnet, io)? {
                continue;
            }
            request.output(nnet, OutputRequest::of(io), Some(io.features.cols()))?;
        }
        Ok(request)
    }

    fn title(&self, nnet: &Nnet, output: &str) -> &'static str {
        self.costs.function(nnet, output).map_or("objective", |function| function.title())
    }

    fn evaluate(
        &mut self,
        example: &NnetExample,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()> {
        let outputs = example.ios.iter().filter(|io| exchange.nnet().find_output(&io.name).is_some());
        outputs.into_iter().try_for_each(|io| self.evaluate_output(io, exchange, tally))
    }
}

/// The elements row by row; `buffer` is used if they are not stored so.
fn dense<'m>(matrix: &'m GeneralMatrix, buffer: &'m mut Vec<f32>) -> &'m [f32] {
    if let GeneralMatrix::Full(m) = matrix {
        return &m.data;
    }
    fill_dense(matrix, buffer);
    buffer
}

/// Fills the buffer with the elements row by row.
fn fill_dense(matrix: &GeneralMatrix, buffer: &mut Vec<f32>) {
    buffer.clear();
    match matrix {
        GeneralMatrix::Full(m) => buffer.extend_from_slice(&m.data),
        GeneralMatrix::Compressed(m) => *buffer = m.to_dense().data,
        GeneralMatrix::Sparse(m) => {
            buffer.resize(matrix.rows() * matrix.cols(), 0.0);
            for (row, out) in m.rows.iter().zip(buffer.chunks_exact_mut(matrix.cols())) {
                row.pairs.iter().for_each(|&(index, value)| out[index as usize] = value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::{CompressedMatrix, CompressionMethod, DenseMatrix, SparseMatrix, SparseVector};
    use nnet3_matrix::{Accumulator, Matrix};

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
        let workspace = Workspace::new(&nnet3_matrix::cpu());
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
                function.evaluate(&workspace, output.view(), deriv.view_mut(), place);
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
