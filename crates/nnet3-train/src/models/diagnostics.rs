//! Evaluates the objective of a network on examples of any kind, with derivatives or statistics on request.

use std::collections::BTreeMap;

use crate::accuracy::Accuracy;
use crate::error::Result;
use crate::ledger::{Entry, Ledger, Remark, Tally};
use crate::minibatch::{CompileOptions, Purpose, Runner};
use crate::objective::{Exchange, FrameObjective, Objective, ObjectiveValue};
use crate::phase_stats::averages;
use kaldi_io::log::{num, ratio};
use nnet3_core::execute::{Executor, Model, Observer};
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_matrix::Device;

/// Results beside objectives.
#[derive(Debug, Clone, Default)]
pub struct ProbOptions {
    /// The derivative of the sum of all objectives by the parameters.
    pub derivative: bool,
    /// Adds activation and batch-norm statistics to the network. This excludes `derivative`.
    pub store_component_stats: bool,
    pub compile: CompileOptions,
    /// Makes an observer of the programs' runs.
    pub observer: Option<fn() -> Box<dyn Observer>>,
}

/// Sums for one output.
#[derive(Debug, Clone, Default)]
pub struct OutputTotals {
    /// Name of the objective in log lines.
    pub title: &'static str,
    pub objective: ObjectiveValue,
}

/// Evaluates one network on many examples.
pub struct ProbComputer<O = FrameObjective> {
    options: ProbOptions,
    nnet: Nnet,
    /// Sum of the derivatives; empty if they are not wanted.
    gradient: Nnet,
    runner: Runner,
    objective: O,
    /// The ledger of the present example.
    ledger: Ledger,
    random: Random,
    totals: BTreeMap<String, OutputTotals>,
    remarks: Vec<Remark>,
}

impl ProbComputer {
    /// Makes one for plain examples.
    pub fn new(nnet: Nnet, options: ProbOptions, device: &Device) -> ProbComputer {
        ProbComputer::with_objective(FrameObjective::default(), nnet, options, device)
    }
}

impl<O: Objective> ProbComputer<O> {
    /// Makes one for examples of the objective.
    pub fn with_objective(
        objective: O,
        mut nnet: Nnet,
        options: ProbOptions,
        device: &Device,
    ) -> ProbComputer<O> {
        nnet.to_device(device);
        let mut gradient = Nnet::default();
        if options.derivative {
            gradient = nnet.clone();
            gradient.scale(0.0);
            gradient.set_as_gradient();
        }
        let mut executor = Executor::new(device);
        options.observer.into_iter().for_each(|new| executor.observe(new()));
        ProbComputer {
            runner: Runner::new(&options.compile, executor),
            objective,
            ledger: Ledger::default(),
            random: Random::new(0),
            totals: BTreeMap::new(),
            remarks: Vec::new(),
            options,
            nnet,
            gradient,
        }
    }

    /// Adds an example.
    pub fn compute(&mut self, example: &O::Example) -> Result<()> {
        let derivatives = self.options.derivative;
        let purpose = Purpose { derivatives, store_component_stats: self.options.store_component_stats };
        let request = self.objective.request(&self.nnet, example)?;
        self.runner.start(&self.nnet, &request, purpose)?;
        self.run()?;
        let mut tally = Tally::new(&mut self.ledger, 0, "");
        let exchange = Exchange::new(self.runner.executor(), &self.nnet, &self.random, derivatives);
        let evaluated = self.objective.evaluate(example, &exchange, &mut tally);
        let entries = self.ledger.read();
        // (If the device has failed, the objective's values are meaningless.)
        self.runner.executor().check_device()?;
        evaluated?;
        for (entry, numbers) in entries {
            match entry {
                Entry::Objective { output, value, .. } => self.add(output, value),
                Entry::Sum { output, weight, .. } => {
                    let value = ObjectiveValue { objective: numbers[0], weight, ..ObjectiveValue::default() };
                    self.add(output, value);
                }
                Entry::Remark { remark, .. } => self.remarks.push(remark),
                Entry::Change { .. } | Entry::Gradient { .. } | Entry::Constraint { .. } => {}
            }
        }
        if derivatives { self.run() } else { Ok(()) }
    }

    fn add(&mut self, output: String, value: ObjectiveValue) {
        let title = self.objective.title(&self.nnet, &output);
        let totals = self.totals.entry(output).or_default();
        totals.title = title;
        totals.objective += value;
    }

    fn run(&mut self) -> Result<()> {
        let (nnet, gradient) = (&mut self.nnet, &mut self.gradient);
        let mut model = match &self.options {
            options if options.derivative => Model::Gradient { nnet, gradient },
            options if options.store_component_stats => Model::Statistics(nnet),
            _ => Model::Frozen(nnet),
        };
        Ok(self.runner.executor().run(&mut model, &self.random)?)
    }

    /// Sums by the names of outputs.
    pub fn totals(&self) -> &BTreeMap<String, OutputTotals> {
        &self.totals
    }

    /// The sum over all outputs.
    pub fn total(&self) -> ObjectiveValue {
        let mut sum = ObjectiveValue::default();
        self.totals.values().for_each(|totals| sum += totals.objective);
        sum
    }

    /// The derivative so far; an empty network if it was not wanted.
    pub fn gradient(&self) -> &Nnet {
        &self.gradient
    }

    pub fn objective(&self) -> &O {
        &self.objective
    }

    /// Returns the objective's remarks since the last call.
    pub fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }

    pub fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    /// The network, with the statistics that were added.
    pub fn into_nnet(self) -> Nnet {
        self.nnet
    }
}

impl OutputTotals {
    /// Message of a log line about the objective of the output of this name.
    pub fn objective_line(&self, name: &str) -> String {
        let (title, averages, weight) = (self.title, averages(&self.objective), num(self.objective.weight));
        format!("Overall {title} for '{name}' is {averages} per frame, over {weight} frames.")
    }
}

/// Log lines about the accuracy of an output, if there is one.
pub fn accuracy_lines(accuracy: &Accuracy, name: &str) -> Vec<String> {
    if accuracy.weight <= 0.0 {
        return Vec::new();
    }
    let (average, weight) = (ratio(accuracy.correct, accuracy.weight), num(accuracy.weight));
    let mut lines =
        vec![format!("Overall accuracy for '{name}' is {average} per frame, over {weight} frames.")];
    if !accuracy.per_dim.is_empty() {
        let values: Vec<String> = accuracy.per_dim.iter().map(|dim| num(dim.average())).collect();
        lines.push(format!(
            "Overall per-dim accuracy vector for '{name}' is  [ {} ]\n per frame, over {weight} frames.",
            values.join(" ")
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::AccuracyOptions;
    use crate::testing::{classifier, minibatch, parameters, with_parameters};

    fn compute(nnet: &Nnet, options: ProbOptions) -> ProbComputer {
        let wanted = AccuracyOptions { accuracy: true, per_dim: true };
        let objective = FrameObjective::with_accuracy(wanted);
        let mut computer =
            ProbComputer::with_objective(objective, nnet.clone(), options, &nnet3_matrix::cpu());
        for (sequences, seed) in [(3, 1), (5, 2)] {
            computer.compute(&minibatch(sequences, seed)).unwrap();
        }
        computer
    }

    /// The derivative against differences of the objective.
    #[test]
    fn derivatives_are_slopes() {
        let nnet = classifier();
        let options = ProbOptions { derivative: true, ..ProbOptions::default() };
        let gradient = parameters(compute(&nnet, options).gradient());
        let objective_at = |k: usize, change: f32| {
            let mut moved = nnet.clone();
            let mut first = 0;
            with_parameters(&mut moved, |p| {
                if (first..first + p.len()).contains(&k) {
                    p[k - first] += change;
                }
                first += p.len();
            });
            compute(&moved, ProbOptions::default()).total().objective
        };
        for (k, &derivative) in gradient.iter().enumerate() {
            let step = 1.0 / 2048.0;
            let slope = (objective_at(k, step) - objective_at(k, -step)) / (2.0 * f64::from(step));
            let error = (slope - f64::from(derivative)).abs();
            assert!(error < 0.01 * (1.0 + slope.abs()), "parameter {k}: {slope} {derivative}");
        }
    }

    #[test]
    fn lines() {
        let computer = compute(&classifier(), ProbOptions::default());
        let totals = &computer.totals()["output"];
        let line = totals.objective_line("output");
        assert!(line.starts_with("Overall log-likelihood for 'output' is -"), "{line}");
        let lines = accuracy_lines(&computer.objective().accuracy()["output"], "output");
        assert!(lines[0].starts_with("Overall accuracy for 'output' is 0."), "{lines:?}");
        assert!(lines[1].starts_with("Overall per-dim accuracy vector for 'output' is  [ "), "{lines:?}");
        assert_eq!(lines[1].lines().count(), 2);
    }
}
