//! Objective and accuracy of a network on examples, and derivatives or statistics on request (spec binaries §6).

use std::collections::BTreeMap;

use crate::accuracy::{Accuracy, accuracy};
use crate::error::Result;
use crate::example::NnetExample;
use crate::minibatch::{CompileOptions, Runner};
use crate::objective::{Evaluator, ObjectiveValue, Place, function_of};
use kaldi_io::log::num;
use nnet3_core::execute::{Executor, Model, Observer};
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_matrix::{Accumulator, Device};

/// What is wanted besides objectives.
#[derive(Debug, Clone, Default)]
pub struct ProbOptions {
    pub accuracy: bool,
    /// Accuracy for each value of the targets.
    pub per_dim_accuracy: bool,
    /// The derivative of the sum of all objectives by the parameters.
    pub derivative: bool,
    /// Add activation and batch-norm statistics to the network. Not together with `derivative`.
    pub store_component_stats: bool,
    pub compile: CompileOptions,
    /// Makes what watches the programs run.
    pub observer: Option<fn() -> Box<dyn Observer>>,
}

/// Sums for one output.
#[derive(Debug, Clone, Default)]
pub struct OutputTotals {
    /// What the objective is called.
    pub title: &'static str,
    pub objective: ObjectiveValue,
    /// If it was wanted.
    pub accuracy: Option<Accuracy>,
}

/// Evaluates one network on many examples.
pub struct ProbComputer {
    options: ProbOptions,
    nnet: Nnet,
    /// What receives derivatives; empty if they are not wanted.
    gradient: Nnet,
    runner: Runner,
    evaluator: Evaluator,
    /// Of the output that is evaluated.
    objective: Accumulator,
    random: Random,
    totals: BTreeMap<String, OutputTotals>,
}

impl ProbComputer {
    pub fn new(mut nnet: Nnet, options: ProbOptions, device: &Device) -> ProbComputer {
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
            evaluator: Evaluator::new(device),
            objective: Accumulator::zeros(1),
            random: Random::new(0),
            totals: BTreeMap::new(),
            options,
            nnet,
            gradient,
        }
    }

    /// Adds an example.
    pub fn compute(&mut self, example: &NnetExample) -> Result<()> {
        let (derivative, stats) = (self.options.derivative, self.options.store_component_stats);
        let program = self.runner.program(&self.nnet, example, derivative, stats)?;
        self.runner.start(&self.nnet, &program, example)?;
        self.run()?;
        for io in example.ios.iter().filter(|io| self.nnet.find_output(&io.name).is_some()) {
            let executor = self.runner.executor();
            let totals = self.totals.entry(io.name.clone()).or_default();
            if self.options.accuracy {
                let output = executor.output(&self.nnet, &io.name)?;
                let output = executor.device().download(output);
                let so_far = totals.accuracy.get_or_insert_default();
                accuracy(&output, &io.features, self.options.per_dim_accuracy, so_far);
            }
            totals.title = function_of(&self.nnet, &io.name)?.title();
            let place = Place { sums: &mut self.objective, index: 0 };
            let weight =
                self.evaluator.evaluate(executor, &self.nnet, &io.name, &io.features, derivative, place)?;
            totals.objective += ObjectiveValue { objective: self.objective.take(1)[0], weight };
        }
        if derivative { self.run() } else { Ok(()) }
    }

    fn run(&mut self) -> Result<()> {
        let (nnet, gradient) = (&mut self.nnet, &mut self.gradient);
        let mut model = match &self.options {
            options if options.derivative => Model::Gradient { nnet, gradient },
            // Nothing but statistics changes: there is no backward pass that would need the other network.
            options if options.store_component_stats => Model::Train { nnet, delta: gradient },
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
        let (title, average, weight) =
            (self.title, num(self.objective.average()), num(self.objective.weight));
        format!("Overall {title} for '{name}' is {average} per frame, over {weight} frames.")
    }

    /// Messages of log lines about its accuracy, if there is something to say.
    pub fn accuracy_lines(&self, name: &str) -> Vec<String> {
        let Some(accuracy) = self.accuracy.as_ref().filter(|accuracy| accuracy.weight > 0.0) else {
            return Vec::new();
        };
        let (average, weight) = (num(accuracy.correct / accuracy.weight), num(accuracy.weight));
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{classifier, minibatch, parameters, with_parameters};

    fn compute(nnet: &Nnet, options: ProbOptions) -> ProbComputer {
        let mut computer = ProbComputer::new(nnet.clone(), options, &nnet3_matrix::cpu());
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
        let options = ProbOptions { accuracy: true, per_dim_accuracy: true, ..ProbOptions::default() };
        let computer = compute(&classifier(), options);
        let totals = &computer.totals()["output"];
        let line = totals.objective_line("output");
        assert!(line.starts_with("Overall log-likelihood for 'output' is -"), "{line}");
        let lines = totals.accuracy_lines("output");
        assert!(lines[0].starts_with("Overall accuracy for 'output' is 0."), "{lines:?}");
        assert!(lines[1].starts_with("Overall per-dim accuracy vector for 'output' is  [ "), "{lines:?}");
        assert_eq!(lines[1].lines().count(), 2);
    }
}
