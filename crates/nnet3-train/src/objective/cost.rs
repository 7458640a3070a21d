//! Costs that rules name for outputs, in place of the objectives of the output nodes.

use std::sync::Arc;

use crate::error::Result;
use crate::keys::{self, Keys};
use crate::ledger::Place;
use crate::objective::metrics::Scale;
use crate::objective::{ObjectiveFunction, function_of};
use nnet3_core::config::ConfigLine;
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::edit::matches_pattern;
use nnet3_matrix::{Activation, ColumnTerm, Map, View, ViewMut, Workspace};

const TYPES: &str = "linear, quadratic, sum-squared, mean-squared, binary, smooth-l1, square-hinge";

/// A line of the rules with a cost for outputs.
#[derive(Debug, Clone)]
pub struct CostLine {
    /// A pattern of names.
    pub output: String,
    pub cost: Cost,
    pub line: ConfigLine,
}

/// The cost of an output, with the sign of an objective: it falls as the cost rises.
#[derive(Clone)]
pub struct Cost {
    /// `None`: the output node's function.
    function: Option<Arc<dyn ObjectiveFunction>>,
    /// Targets t become (1 - ε) t + ε (sum of the row) / (columns).
    pub smoothing: f64,
    /// Factor of the derivative, and of the value in a sum of several.
    pub weight: f64,
}

impl std::fmt::Debug for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.function.as_ref().map_or("that of the node", |function| function.name());
        write!(f, "{name}, smoothing {}, weight {}", self.smoothing, self.weight)
    }
}

impl Cost {
    /// The rest of a line `cost output=…`.
    pub fn parse(line: &mut ConfigLine) -> Result<Cost> {
        let kind = line.get_string("type");
        let function: Option<Arc<dyn ObjectiveFunction>> = match kind.as_deref() {
            None => None,
            Some("linear") => Some(Arc::new(crate::objective::Linear)),
            Some("quadratic" | "sum-squared") => Some(Arc::new(crate::objective::Quadratic)),
            Some("mean-squared") => Some(Arc::new(MeanSquared)),
            Some("binary") => Some(Arc::new(Binary)),
            Some("smooth-l1") => {
                let sigma = Keys { line }.get("sigma", 1.0, keys::positive)?;
                Some(Arc::new(SmoothL1 { square: (sigma * sigma) as f32 }))
            }
            Some("square-hinge") => {
                let margin = Keys { line }.get("margin", 1.0, keys::positive)?;
                Some(Arc::new(SquareHinge { margin: margin as f32 }))
            }
            Some(other) => return Err(line.error(format!("type={other}: there are {TYPES}")).into()),
        };
        let smoothing = Keys { line }.get("smoothing", 0.0, keys::below_one)?;
        let weight = Keys { line }.get("weight", 1.0, keys::not_negative)?;
        Ok(Cost { function, smoothing, weight })
    }
}

/// The costs of a network's outputs.
#[derive(Debug, Clone, Default)]
pub struct Costs(Vec<(String, Cost)>);

impl Costs {
    /// Fails if a pattern matches no output.
    pub fn new(nnet: &Nnet, lines: &[CostLine]) -> Result<Costs> {
        let outputs: Vec<&str> = nnet.output_nodes().map(|id| nnet.node_name(id)).collect();
        if let Some(line) =
            lines.iter().find(|line| !outputs.iter().any(|name| matches_pattern(name, &line.output)))
        {
            let message = format!("no output matches '{}'; there are {}", line.output, outputs.join(", "));
            return Err(line.line.error(message).into());
        }
        let cost_of = |name: &&str| {
            let line = lines.iter().rev().find(|line| matches_pattern(name, &line.output))?;
            Some(((*name).to_owned(), line.cost.clone()))
        };
        Ok(Costs(outputs.iter().filter_map(cost_of).collect()))
    }

    pub fn of(&self, output: &str) -> Option<&Cost> {
        self.0.iter().find(|(name, _)| name == output).map(|(_, cost)| cost)
    }

    /// Returns the weight of an output in a sum of several outputs.
    pub fn weight(&self, output: &str) -> f64 {
        self.of(output).map_or(1.0, |cost| cost.weight)
    }

    /// The function of an output, from the rules or from the network's node.
    pub fn function(&self, nnet: &Nnet, output: &str) -> Result<&dyn ObjectiveFunction> {
        match self.of(output).and_then(|cost| cost.function.as_deref()) {
            Some(function) => Ok(function),
            None => function_of(nnet, output),
        }
    }
}

/// Smooths targets, row by row.
pub fn smooth(targets: &mut [f32], cols: usize, smoothing: f64) {
    for row in targets.chunks_exact_mut(cols.max(1)) {
        let total: f64 = row.iter().map(|&t| f64::from(t)).sum();
        let share = smoothing * total / cols as f64;
        row.iter_mut().for_each(|t| *t = ((1.0 - smoothing) * f64::from(*t) + share) as f32);
    }
}

/// -½ mean (output - target)².
struct MeanSquared;

impl ObjectiveFunction for MeanSquared {
    fn name(&self) -> &'static str {
        "mean-squared"
    }
    fn evaluate(&self, workspace: &Workspace, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        let backend = workspace.device();
        let part = 1.0 / output.cols() as f32;
        backend.add(deriv, -1.0, output);
        let half = -0.5 * f64::from(part);
        backend.accumulate_dot(place.sums, place.index, half, deriv.as_view(), deriv.as_view());
        backend.scale(deriv, part);
    }
}

/// Σ t log y + (1 - t) log(1 - y) with y = 1 / (1 + exp(-output)).
struct Binary;

impl ObjectiveFunction for Binary {
    fn name(&self) -> &'static str {
        "binary"
    }
    fn title(&self) -> &'static str {
        "log-likelihood"
    }
    fn scale(&self) -> Scale {
        Scale::Logit
    }
    /// Σ x t - max(x, 0) - log(1 + exp(-|x|))
    fn evaluate(&self, workspace: &Workspace, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        let backend = workspace.device();
        let (rows, cols) = (output.rows(), output.cols());
        let Place { sums, index } = place;
        backend.accumulate_dot(sums, index, 1.0, output, deriv.as_view());
        let mut scratch = workspace.take(rows, cols);
        let terms = scratch.view_mut();
        let column = || terms.as_view().reshape(rows * cols, 1);
        backend.map(terms, output, Map::Abs);
        backend.map(terms, terms.as_view(), Map::Affine { scale: -1.0, offset: 0.0 });
        backend.map(terms, terms.as_view(), Map::Exp);
        backend.map(terms, terms.as_view(), Map::Affine { scale: 1.0, offset: 1.0 });
        backend.map(terms, terms.as_view(), Map::Log { floor: 1.0 });
        backend.scale(terms, -1.0);
        backend.accumulate(sums, index, column(), ColumnTerm::Value);
        backend.map(terms, output, Map::Floor(0.0));
        backend.scale(terms, -1.0);
        backend.accumulate(sums, index, column(), ColumnTerm::Value);
        backend.activate(terms, output, Activation::Sigmoid);
        backend.add(deriv, -1.0, terms.as_view());
    }
}

/// -(½ σ² d² if |d| < 1 / σ², else |d| - ½ / σ²) with d = output - target.
struct SmoothL1 {
    square: f32,
}

impl ObjectiveFunction for SmoothL1 {
    fn name(&self) -> &'static str {
        "smooth-l1"
    }
    /// Evaluates the cost, which with c = d limited to ±1 / σ² is σ² (c d - ½ c²), and its derivative σ² c.
    fn evaluate(&self, workspace: &Workspace, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        let backend = workspace.device();
        let Place { sums, index } = place;
        let mut scratch = workspace.take(output.rows(), output.cols());
        let difference = scratch.view_mut();
        backend.copy(difference, deriv.as_view());
        backend.add(difference, -1.0, output);
        let limit = 1.0 / self.square;
        backend.map(deriv, difference.as_view(), Map::Floor(-limit));
        backend.map(deriv, deriv.as_view(), Map::Ceiling(limit));
        let square = f64::from(self.square);
        backend.accumulate_dot(sums, index, -square, deriv.as_view(), difference.as_view());
        backend.accumulate_dot(sums, index, 0.5 * square, deriv.as_view(), deriv.as_view());
        backend.scale(deriv, self.square);
    }
}

/// -mean max(0, m - t' y)² with t' = 2 t - 1.
struct SquareHinge {
    margin: f32,
}

impl ObjectiveFunction for SquareHinge {
    fn name(&self) -> &'static str {
        "square-hinge"
    }
    fn evaluate(&self, workspace: &Workspace, output: View<'_>, deriv: ViewMut<'_>, place: Place<'_>) {
        let backend = workspace.device();
        let part = 1.0 / output.cols() as f32;
        let mut scratch = workspace.take(output.rows(), output.cols());
        let short = scratch.view_mut();
        backend.map(deriv, deriv.as_view(), Map::Affine { scale: 2.0, offset: -1.0 });
        backend.product(short, deriv.as_view(), output);
        backend.map(short, short.as_view(), Map::Affine { scale: -1.0, offset: self.margin });
        backend.map(short, short.as_view(), Map::Floor(0.0));
        let (sums, index) = (place.sums, place.index);
        backend.accumulate_dot(sums, index, -f64::from(part), short.as_view(), short.as_view());
        backend.multiply(deriv, short.as_view());
        backend.scale(deriv, 2.0 * part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nnet3_matrix::{Accumulator, Matrix};

    fn cost(text: &str) -> Cost {
        let mut line = ConfigLine::parse("rules:1", format!("cost {text}")).unwrap();
        let cost = Cost::parse(&mut line).unwrap();
        line.finish().unwrap();
        cost
    }

    /// The cost, and its derivative, with the sign of an objective.
    fn evaluate(cost: &Cost, output: &[f32], targets: &[f32]) -> (f64, Vec<f32>) {
        let workspace = Workspace::new(&nnet3_matrix::cpu());
        let mut targets = targets.to_vec();
        smooth(&mut targets, output.len(), cost.smoothing);
        let output = Matrix::from_vec(1, output.len(), output.to_vec());
        let mut deriv = Matrix::from_vec(1, targets.len(), targets);
        let mut sums = Accumulator::zeros(1);
        let function = cost.function.as_deref().unwrap();
        function.evaluate(&workspace, output.view(), deriv.view_mut(), Place { sums: &mut sums, index: 0 });
        (-sums.values()[0], deriv.to_vec().iter().map(|d| -d).collect())
    }

    /// Compares values and derivatives with those of neon and PyTorch.
    #[test]
    fn values_and_derivatives() {
        const X: [f32; 3] = [1.2, -0.7, 0.3];
        const T: [f32; 3] = [1.0, 0.0, 0.0];
        const R: [f32; 3] = [0.5, -0.2, 2.0];
        for (text, targets, value, derivative) in [
            ("type=binary", T, 1.52082376069, [-0.231475216501, 0.331812227832, 0.574442516812]),
            ("type=sum-squared", R, 1.815, [0.7, -0.5, -1.7]),
            ("type=mean-squared", R, 0.605, [0.7 / 3.0, -0.5 / 3.0, -1.7 / 3.0]),
            ("type=smooth-l1", R, 1.57, [0.7, -0.5, -1.0]),
            ("type=smooth-l1 sigma=2", R, 2.525, [1.0, -1.0, -1.0]),
            ("type=square-hinge", T, 0.593333333333, [0.0, 0.2, 0.866666666667]),
        ] {
            let (found, found_derivative) = evaluate(&cost(text), &X, &targets);
            assert!((found - value).abs() < 1e-6, "{text}: {found}");
            for (a, b) in found_derivative.iter().zip(derivative) {
                assert!((f64::from(*a) - b).abs() < 1e-6, "{text}: {found_derivative:?}");
            }
        }
        // Softmax and cross-entropy, with smoothing and without.
        let total = X.map(f32::exp).iter().sum::<f32>().ln();
        let log_softmax = X.map(|x| x - total);
        for (text, value, derivative) in [
            ("type=linear", 0.442207290036, [-0.357383586331, 0.0961152496822, 0.261268336649]),
            ("type=linear smoothing=.1", 0.535540623369, [-0.290716919665, 0.0627819163489, 0.227935003316]),
        ] {
            let (found, by_output) = evaluate(&cost(text), &log_softmax, &T);
            assert!((found - value).abs() < 1e-6, "{text}: {found}");
            let sum: f32 = by_output.iter().sum();
            for k in 0..3 {
                let d = f64::from(by_output[k] - log_softmax[k].exp() * sum);
                assert!((d - derivative[k]).abs() < 1e-6, "{text}: {d}");
            }
        }
    }

    #[test]
    fn rows_without_targets_stay_so() {
        let mut targets = [0.0, 0.0, 2.0, 0.0];
        smooth(&mut targets, 2, 0.5);
        assert_eq!(targets, [0.0, 0.0, 1.5, 0.5]);
    }
}
