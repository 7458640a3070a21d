//! Steps of the network's parameters (`RnnlmCoreTrainer`).

use nnet3_core::Index;
use nnet3_core::component::Context;
use nnet3_core::execute::{CachingCompiler, Executor, Model};
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use nnet3_matrix::{Device, View, ViewMut, Workspace};
use nnet3_train::ledger::{Entry, Ledger};
use nnet3_train::max_change::{MaxChangeCounts, Stepped};
use nnet3_train::update::{Step, Stepper, apply_l2};

use super::{Event, Pass};
use crate::error::{Error, Result};
use crate::example::RnnlmExample;
use crate::objective::{Derivatives, ObjectiveOptions, Value, evaluate};

/// Options of the training of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreOptions {
    pub momentum: f32,
    /// Limit on the 2-norm of a minibatch's change of all parameters; 0 is none.
    pub max_param_change: f32,
    /// Multiplies the l2 constants of components.
    pub l2_regularize_factor: f32,
    /// Strength of backstitch; 0 is none.
    pub backstitch_training_scale: f32,
    /// Backstitch is done once in so many minibatches.
    pub backstitch_training_interval: i32,
}

impl Default for CoreOptions {
    fn default() -> CoreOptions {
        CoreOptions {
            momentum: 0.0,
            max_param_change: 2.0,
            l2_regularize_factor: 1.0,
            backstitch_training_scale: 0.0,
            backstitch_training_interval: 1,
        }
    }
}

impl CoreOptions {
    /// # Errors
    /// An option is out of its range; the message names it.
    pub fn check(&self) -> Result<()> {
        check_options(
            "rnnlm",
            self.momentum,
            self.backstitch_training_scale,
            self.backstitch_training_interval,
        )?;
        for (name, value) in
            [("max-param-change", self.max_param_change), ("l2-regularize-factor", self.l2_regularize_factor)]
        {
            if !value.is_finite() || value < 0.0 {
                return Err(Error::options(format!(
                    "`rnnlm.{name}`={value}: expected a number that is not negative"
                )));
            }
        }
        Ok(())
    }
}

/// Checks the options that network and embedding have both, with this prefix.
pub(super) fn check_options(prefix: &str, momentum: f32, backstitch: f32, interval: i32) -> Result<()> {
    if !(0.0..1.0).contains(&momentum) {
        return Err(Error::options(format!(
            "`{prefix}.momentum`={momentum}: expected a number from 0 to below 1"
        )));
    }
    if !backstitch.is_finite() || backstitch < 0.0 {
        return Err(Error::options(format!(
            "`{prefix}.backstitch-training-scale`={backstitch}: expected a number that is not negative"
        )));
    }
    if interval <= 0 {
        return Err(Error::options(format!(
            "`{prefix}.backstitch-training-interval`={interval}: expected a number above 0"
        )));
    }
    if backstitch > 0.0 && momentum > 0.0 {
        return Err(Error::options(format!(
            "`{prefix}.backstitch-training-scale` and `{prefix}.momentum` cannot both be above 0"
        )));
    }
    Ok(())
}

/// The request for a minibatch: rows are sequences within times.
pub(crate) fn request(example: &RnnlmExample, trains: bool, input_derivative: bool) -> ComputationRequest {
    let times =
        (0..example.chunk_length).flat_map(|t| (0..example.num_chunks).map(move |n| Index::new(n, t, 0)));
    let io = |name: &str, has_deriv: bool| IoSpecification {
        name: name.to_owned(),
        indexes: times.clone().collect(),
        has_deriv,
    };
    ComputationRequest {
        inputs: vec![io("input", input_derivative)],
        outputs: vec![io("output", trains || input_derivative)],
        need_model_derivative: trains,
        store_component_stats: trains,
    }
}

/// A network and what is needed to train it.
pub(super) struct CoreTrainer {
    options: CoreOptions,
    nnet: Nnet,
    delta: Delta,
    compiler: CachingCompiler,
    executor: Executor,
    random: Random,
    stepper: Stepper,
    ledger: Ledger,
    max_change: MaxChangeCounts,
    minibatches: u64,
}

impl CoreTrainer {
    pub fn new(
        options: CoreOptions,
        nnet: Nnet,
        compiler: CachingCompiler,
        random: Random,
        device: &Device,
    ) -> CoreTrainer {
        let mut delta = Delta::new(&nnet);
        delta.collect_statistics();
        CoreTrainer {
            options,
            delta,
            compiler,
            executor: Executor::new(device),
            random,
            stepper: Stepper::new(&nnet, true, device),
            ledger: Ledger::default(),
            max_change: MaxChangeCounts::default(),
            minibatches: 0,
            nnet,
        }
    }

    pub fn options(&self) -> &CoreOptions {
        &self.options
    }
    pub fn random(&self) -> &Random {
        &self.random
    }
    pub fn device(&self) -> &Device {
        self.executor.device()
    }
    pub fn workspace(&self) -> &Workspace {
        self.executor.workspace()
    }
    pub fn context(&self) -> Context<'_> {
        Context {
            backend: &**self.executor.device(),
            workspace: self.executor.workspace(),
            random: &self.random,
        }
    }
    pub fn check_device(&self) -> Result<()> {
        Ok(self.executor.check_device()?)
    }

    /// Runs a minibatch forward and backward and makes a step of the parameters. The derivative by the embeddings is added to
    /// `deriv`.
    pub fn pass(
        &mut self,
        example: &RnnlmExample,
        embedding: View<'_>,
        deriv: Option<ViewMut<'_>>,
        (pass, objective): (Pass, &ObjectiveOptions),
        report: &mut dyn FnMut(Event),
    ) -> Result<Value> {
        let request = request(example, true, deriv.is_some());
        let program = self.compiler.program_drawing(&self.nnet, &request, &self.random)?;
        if pass == Pass::Back {
            self.delta.freeze_natural_gradient(true);
        }
        let executor = &mut self.executor;
        executor.start(&program)?;
        executor.pick_input(&self.nnet, "input", embedding, &example.input_words)?;
        let mut model = Model::Train { nnet: &mut self.nnet, delta: &mut self.delta };
        executor.run(&mut model, &self.random)?;
        let output = executor.output(&self.nnet, "output")?;
        let derivatives = Derivatives { output: executor.input(&self.nnet, "output")?, embedding: deriv };
        let value =
            evaluate(objective, executor.workspace(), example, (embedding, output), Some(derivatives));
        executor.check_device()?;
        let value = value?;
        let mut model = Model::Train { nnet: &mut self.nnet, delta: &mut self.delta };
        executor.run(&mut model, &self.random)?;
        if let Some(deriv) = deriv {
            executor.add_picked_derivative(&self.nnet, "input", deriv)?;
        }
        self.step(example.num_chunks as f32, pass, report);
        if pass == Pass::Back {
            self.delta.freeze_natural_gradient(false);
        } else {
            self.minibatches += 1;
        }
        Ok(value)
    }

    fn step(&mut self, sequences: f32, pass: Pass, report: &mut dyn FnMut(Event)) {
        let CoreOptions { momentum, max_param_change, l2_regularize_factor, .. } = self.options;
        let strength = self.options.backstitch_training_scale;
        let (max_change_scale, scale, l2_factor) = match pass {
            Pass::Conventional => (1.0, 1.0 - momentum, 1.0),
            Pass::Back => (strength, -strength, 0.0),
            Pass::Forth => (1.0 + strength, 1.0 + strength, 1.0 / (1.0 + strength)),
        };
        let l2 = sequences * l2_regularize_factor * l2_factor;
        if l2 != 0.0 {
            apply_l2(&self.nnet, &mut self.delta, l2);
        }
        let how = Step { scale, max_param_change, max_change_scale };
        self.stepper.step(&mut self.nnet, &self.delta, how, self.minibatches, &mut self.ledger);
        let mut factor = scale;
        for (entry, squares) in self.ledger.read() {
            let Entry::Change { minibatch, limits } = entry else { continue };
            match limits.applied(&squares, &mut self.max_change) {
                Stepped::Freely => {}
                Stepped::Limited(limits) => {
                    factor *= limits.global.map_or(1.0, |(factor, _)| factor as f32);
                    report(Event::MaxChange(limits));
                }
                Stepped::Refused => {
                    factor = 0.0;
                    report(Event::ChangeRefused { minibatch });
                }
            }
        }
        let keeps = pass == Pass::Conventional && momentum > 0.0 && factor != 0.0;
        self.add_statistics(factor);
        self.delta.nnet_mut().scale(if keeps { momentum } else { 0.0 });
    }

    /// Adds the statistics of components without parameters: times the factor of the change, as the reference does. (Those of
    /// components with parameters went with these.)
    fn add_statistics(&mut self, factor: f32) {
        for (own, change) in self.nnet.components_mut().zip(self.delta.nnet().components()) {
            if factor != 0.0 && own.as_updatable().is_none() {
                own.add(factor, change);
            }
        }
    }

    /// Returns the network, on the host, and what limits did.
    pub fn finish(mut self) -> Result<(Nnet, MaxChangeCounts, CachingCompiler)> {
        let device = self.executor.device().clone();
        self.nnet.bring_from(&device)?;
        Ok((self.nnet, self.max_change, self.compiler))
    }
}
