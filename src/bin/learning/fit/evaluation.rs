//! Evaluates a model on a set of examples.

use anyhow::Result;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;
use nnet3_train::NnetExample;
use nnet3_train::diagnostics::ProbComputer;
use nnet3_train::learn::{Costs, Metric};
use nnet3_train::objective::FrameObjective;

use crate::learning::options::Monitor;
use nnet3::options::prob::prob_defaults;
use nnet3::{prepare, training_log};

/// Losses and metrics over a set.
#[derive(Debug, Clone)]
pub struct Evaluation {
    pub loss: f64,
    /// For each output its loss, and each requested metric.
    pub outputs: Vec<Output>,
    /// The messages that diagnostics log.
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
        device: &Device,
    ) -> Result<Evaluation> {
        prepare::for_evaluation(&mut nnet)?;
        let objective = FrameObjective::default().with_costs(costs.clone(), metrics.to_vec());
        let mut computer = ProbComputer::with_objective(objective, nnet, prob_defaults(), device);
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
        lines.extend(training_log::metrics(computer.objective()));
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
