//! Evaluates a model on a set of examples.

use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::collapse::CollapseOptions;
use nnet3_matrix::Device;

use crate::NnetExample;
use crate::diagnostics::{ProbComputer, ProbOptions};
use crate::error::Result;
use crate::learn::{Costs, Metric};
use crate::objective::FrameObjective;

/// The value that selects the best model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Monitor {
    Loss,
    Metric(Metric),
}

/// Losses and metrics over a set.
#[derive(Debug, Clone)]
pub struct Evaluation {
    pub loss: f64,
    /// For each output its loss, and each requested metric.
    pub outputs: Vec<Output>,
    /// Messages about objectives and metrics, as diagnostics log them.
    pub lines: Vec<String>,
}

/// Name, loss and metrics.
pub type Output = (String, f64, Vec<(Metric, f64)>);

impl Evaluation {
    /// Evaluates the network in test mode, all examples together.
    pub fn of(
        mut nnet: Nnet,
        minibatches: &[NnetExample],
        costs: &Costs,
        metrics: &[Metric],
        options: ProbOptions,
        device: &Device,
    ) -> Result<Evaluation> {
        nnet.set_batchnorm_test_mode(true);
        nnet.set_dropout_test_mode(true);
        nnet.collapse(&CollapseOptions::ALL)?;
        let objective = FrameObjective::default().with_costs(costs.clone(), metrics.to_vec());
        let mut computer = ProbComputer::with_objective(objective, nnet, options, device);
        minibatches.iter().try_for_each(|minibatch| computer.compute(minibatch))?;
        let (mut sum, mut weight) = (0.0, 0.0);
        let (mut outputs, mut lines) = (Vec::new(), Vec::new());
        let (wanted, sums) = computer.objective().metrics();
        for (name, totals) in computer.totals() {
            sum -= costs.weight(name) * totals.objective.objective;
            weight += totals.objective.weight;
            lines.push(totals.objective_line(name));
            let values: Vec<(Metric, f64)> = sums
                .get(name)
                .map(|sums| wanted.iter().map(|&metric| (metric, sums.value(metric))).collect())
                .unwrap_or_default();
            outputs.push((name.clone(), -totals.objective.average(), values));
        }
        lines.extend(computer.objective().metric_lines());
        Ok(Evaluation { loss: sum / weight, outputs, lines })
    }

    /// The number that gets smaller as the model gets better.
    pub fn value(&self, monitor: Monitor) -> f64 {
        match monitor {
            Monitor::Loss => self.loss,
            Monitor::Metric(wanted) => {
                let of_first = self.outputs.first().map_or(&[][..], |(_, _, metrics)| metrics);
                let found = of_first.iter().find(|(metric, _)| *metric == wanted);
                let value = found.map_or(f64::NAN, |(_, value)| *value);
                let rises = matches!(wanted, Metric::Accuracy | Metric::Precision | Metric::Recall);
                if rises { -value } else { value }
            }
        }
    }
}
