//! Training: one pass over minibatches, of any kind of example. Its state for resuming is in `trainer/state.rs`.

mod event;
mod options;
mod state;

pub use event::{Event, Report};
pub use options::TrainerOptions;
pub use state::keep_by_name;

use nnet3_core::graph::FrameContext;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::example::Example;
use crate::learn::learner::Pending;
use crate::learn::state::LearnerState;
use crate::learn::{Learner, LearnerOptions, Plan};
use crate::ledger::{CONSTRAINT_ENTRIES, Entry, Ledger, Tally};
use crate::max_change::{MaxChangeCounts, Stepped};
use crate::minibatch::{MinibatchMemory, Purpose, Runner};
use crate::objective::{Exchange, FrameObjective, Objective, ObjectiveValue};
use crate::phase_stats::{PhaseStats, Total};
use crate::request::MinibatchRequest;
use crate::update::{Step, Stepper, apply_l2, constrain_orthonormal};
use nnet3_core::component::Context;
use nnet3_core::execute::CachingCompiler;
use nnet3_core::execute::{Executor, Model, Program};
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_core::orthonormal::warning;
use nnet3_core::random::Random;
use nnet3_matrix::Device;

/// Upper end of the number that places backstitch steps among the minibatches.
const LARGEST_SEED: i32 = 100_000;
/// Upper end of a number that the reference draws in each minibatch, to see whether to verify its sequences.
const SELDOM: i32 = 100;

/// Suffix of an output's name in the statistics of the second step of backstitch.
const BACKSTITCH_SUFFIX: &str = "_backstitch";

/// A network and its state of training.
pub struct Trainer<O = FrameObjective> {
    options: TrainerOptions,
    nnet: Nnet,
    /// The change of parameters.
    delta: Delta,
    runner: Runner,
    objective: O,
    random: Random,
    seed: i32,
    minibatches: u64,
    objectives: BTreeMap<String, PhaseStats>,
    stepper: Stepper,
    /// Steps of the components that learn by rules other than kaldi's; `None` without rules.
    learner: Option<Learner>,
    /// The data collected for the next step.
    pending: Pending,
    ledger: Ledger,
    max_change: MaxChangeCounts,
    /// Bytes of the largest minibatch so far.
    largest: usize,
}

/// The result of a training.
pub struct Trained {
    pub nnet: Nnet,
    /// Averages over all minibatches, in the order of the outputs' names.
    pub totals: Vec<Total>,
    pub max_change: MaxChangeCounts,
    /// The state of the learner, if there are rules.
    pub learner: Option<LearnerState>,
    /// The compiler, with all that it has compiled.
    pub compiler: CachingCompiler,
}

/// One of the two steps of backstitch, or an ordinary one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Conventional,
    Back,
    Forth,
}

impl Trainer {
    /// Makes a trainer for plain examples. `seed` is the value of `--srand`.
    pub fn new(nnet: Nnet, options: TrainerOptions, device: &Device, seed: i32) -> Result<Trainer> {
        Trainer::with_objective(FrameObjective::default(), nnet, options, device, seed)
    }
}

impl<O: Objective> Trainer<O> {
    /// Makes a trainer for examples of the objective. `seed` is the value of `--srand`.
    pub fn with_objective(
        objective: O,
        nnet: Nnet,
        options: TrainerOptions,
        device: &Device,
        seed: i32,
    ) -> Result<Trainer<O>> {
        Trainer::with_rules(objective, nnet, options, None, device, seed)
    }

    /// Makes a trainer that learns by the rules of a plan for this network.
    pub fn with_rules(
        objective: O,
        mut nnet: Nnet,
        options: TrainerOptions,
        plan: Option<(Arc<Plan>, LearnerOptions)>,
        device: &Device,
        seed: i32,
    ) -> Result<Trainer<O>> {
        options.check()?;
        nnet.to_device(device);
        if options.zero_component_stats {
            nnet.zero_stats();
        }
        let (mut delta, mut stepper) = match &plan {
            None => (Delta::new(&nnet), Stepper::new(&nnet, !options.simple_steps, device)),
            Some((plan, _)) => {
                let others = plan.gradient_components();
                if !others.is_empty() && options.backstitch_training_scale > 0.0 {
                    return Err(Error::options(
                        "`backstitch-training-scale` needs all of the network to learn by an optimizer of type kaldi",
                    ));
                }
                let mut ids = nnet.updatable_components();
                ids.retain(|id| !others.contains(id));
                let delta = Delta::collecting(&nnet, |id| plan.collected(id));
                (delta, Stepper::of_components(&nnet, ids, !options.simple_steps, device))
            }
        };
        if options.simple_steps && (options.max_param_change != 0.0 || options.momentum != 0.0) {
            delta.collect_statistics();
            stepper.add_statistics(&nnet);
        }
        let random = Random::new(seed);
        if options.simple_steps && nnet.is_simple() {
            nnet.draw_for_context(&random)?;
        }
        let mut executor = Executor::new(device);
        executor.update_on_second_thread(options.second_thread);
        Ok(Trainer {
            runner: Runner::new(&options.compile, executor),
            objective,
            seed: if options.simple_steps { 0 } else { random.int(0, LARGEST_SEED) },
            random,
            minibatches: 0,
            objectives: BTreeMap::new(),
            stepper,
            learner: plan.map(|(plan, options)| Learner::new(plan, options, &nnet, device)),
            pending: Pending::default(),
            ledger: Ledger::default(),
            max_change: MaxChangeCounts::default(),
            largest: 0,
            options,
            nnet,
            delta,
        })
    }

    /// Trains on one minibatch. On the host its events come immediately; on other devices they come with a phase, or
    /// with [`Trainer::settle`].
    pub fn train(&mut self, minibatch: &O::Example, report: &mut dyn Report) -> Result<()> {
        let sequences = minibatch.num_sequences()? as f32;
        let interval = self.options.backstitch_training_interval;
        let backstitch = self.options.backstitch_training_scale > 0.0
            && self.minibatches % interval == self.seed as u64 % interval;
        if backstitch {
            // Compiles before the random numbers start again.
            self.program(minibatch)?;
            self.delta.freeze_natural_gradient(true);
            self.restart_random_numbers();
            self.pass(minibatch, sequences, Pass::Back, report)?;
            self.delta.freeze_natural_gradient(false);
            self.restart_random_numbers();
            self.pass(minibatch, sequences, Pass::Forth, report)?;
        } else {
            self.pass(minibatch, sequences, Pass::Conventional, report)?;
        }
        self.minibatches += 1;
        self.check_device()
    }

    /// Makes both steps of backstitch see the same random numbers.
    fn restart_random_numbers(&mut self) {
        self.random.reseed(self.seed.wrapping_add(self.minibatches as i32));
    }

    fn pass(
        &mut self,
        minibatch: &O::Example,
        sequences: f32,
        pass: Pass,
        report: &mut dyn Report,
    ) -> Result<()> {
        if let Some(learner) = &self.learner {
            learner.set_rates(&mut self.delta);
        }
        let weight = self.propagate_and_backprop(minibatch, pass, report)?;
        if pass != Pass::Back && self.options.batchnorm_stats_scale != 1.0 {
            self.nnet.scale_batchnorm_stats(self.options.batchnorm_stats_scale);
        }
        if pass != Pass::Back && !self.options.simple_steps {
            // For the sequence alone: ours are verified every time.
            self.random.int(0, SELDOM);
        }
        self.pending.minibatches += 1;
        self.pending.weight += weight;
        self.pending.sequences += f64::from(sequences);
        match self.pending.minibatches < self.options.accumulate {
            true => self.settle_if_due(pass, report),
            false => self.step(pass, report),
        }
        Ok(())
    }

    /// Makes a step of the collected gradients, even if there are fewer than [`TrainerOptions::accumulate`] asks for.
    pub fn step_of_rest(&mut self, report: &mut dyn Report) {
        if self.pending.minibatches > 0 {
            self.step(Pass::Conventional, report);
        }
    }

    fn step(&mut self, pass: Pass, report: &mut dyn Report) {
        let _halves = self.runner.executor().in_halves();
        let pending = std::mem::take(&mut self.pending);
        let strength = self.options.backstitch_training_scale;
        let (max_change_scale, scale, l2_factor) = match pass {
            Pass::Conventional => (1.0, 1.0 - self.options.momentum, 1.0),
            Pass::Back => (strength, -strength, 0.0),
            Pass::Forth => (1.0 + strength, 1.0 + strength, 1.0 / (1.0 + strength)),
        };
        let l2 = pending.sequences as f32 * self.options.l2_regularize_factor * l2_factor;
        if l2 != 0.0 {
            apply_l2(&self.nnet, &mut self.delta, l2);
        }
        let how = Step { scale, max_param_change: self.options.max_param_change, max_change_scale };
        self.make_room(self.stepper.entries(), report);
        if self.stepper.entries() > 0 || self.learner.is_none() {
            self.stepper.step(&mut self.nnet, &self.delta, how, self.minibatches, &mut self.ledger);
        }
        self.learn(pending, report);
        if pass != Pass::Forth && !self.options.simple_steps {
            self.constrain(report);
        }
        if pass != Pass::Back
            && let Some(learner) = &mut self.learner
        {
            learner.average(&self.nnet);
        }
        self.settle_if_due(pass, report);
        match pass == Pass::Conventional && self.options.momentum > 0.0 {
            true => self.stepper.keep(&mut self.delta, self.options.momentum),
            false if self.learner.is_some() => self.stepper.forget(&mut self.delta),
            false => self.delta.nnet_mut().scale(0.0),
        }
    }

    /// Makes a step of the parameters that learn by rules.
    fn learn(&mut self, pending: Pending, report: &mut dyn Report) {
        let Some(entries) = self.learner.as_ref().map(Learner::entries).filter(|&entries| entries > 0) else {
            return;
        };
        self.make_room(entries, report);
        let executor = self.runner.executor();
        let device = executor.device().clone();
        let context = Context { backend: &*device, workspace: executor.workspace(), random: &self.random };
        if let Some(learner) = &mut self.learner {
            // Rates change from step to step, so that this work is never the same again.
            device.mark();
            learner.step(
                &mut self.nnet,
                &mut self.delta,
                context,
                pending,
                self.minibatches,
                &mut self.ledger,
            );
            device.mark();
        }
    }

    /// The request of a minibatch, and its program.
    fn program<'e>(&mut self, minibatch: &'e O::Example) -> Result<(MinibatchRequest<'e>, Arc<Program>)> {
        let request = self.objective.request(&self.nnet, minibatch)?;
        let purpose =
            Purpose { derivatives: true, store_component_stats: self.options.store_component_stats };
        // Learning by rules goes on from snapshots, after which a program is compiled again: there it takes no numbers.
        let program = match &self.learner {
            None => self.runner.compile_drawing(&self.nnet, &request, purpose, &self.random)?,
            Some(_) => self.runner.compile(&self.nnet, &request, purpose)?,
        };
        Ok((request, program))
    }

    /// Forward and backward: the change of parameters is added to `delta`. The weight of the minibatch's targets.
    fn propagate_and_backprop(
        &mut self,
        minibatch: &O::Example,
        pass: Pass,
        report: &mut dyn Report,
    ) -> Result<f64> {
        let (request, program) = self.program(minibatch)?;
        let memory = MinibatchMemory {
            sequences: request.sequences(),
            matrices: program.plan().arena_bytes(),
            objective: self.objective.memory(&self.nnet, minibatch, self.runner.executor().device())?,
            parameters: 2 * size_of::<f32>() * self.nnet.num_parameters(),
        };
        if memory.total() > self.largest {
            self.largest = memory.total();
            report.event(Event::Memory { minibatch: self.minibatches, memory });
        }
        self.runner.start_program(&self.nnet, &request, &program)?;
        let executor = self.runner.executor();
        executor.run(&mut Model::Train { nnet: &mut self.nnet, delta: &mut self.delta }, &self.random)?;
        self.make_room(request.outputs().len(), report);
        let suffix = if pass == Pass::Forth { BACKSTITCH_SUFFIX } else { "" };
        let mut tally = Tally::new(&mut self.ledger, self.minibatches, suffix);
        let exchange = Exchange::new(self.runner.executor(), &self.nnet, &self.random, true);
        let evaluated = self.objective.evaluate(minibatch, &exchange, &mut tally);
        let weight = tally.weight();
        // (If the device has failed, the objective's values are meaningless.)
        self.runner.executor().check_device()?;
        evaluated?;
        let executor = self.runner.executor();
        executor.run(&mut Model::Train { nnet: &mut self.nnet, delta: &mut self.delta }, &self.random)?;
        Ok(weight)
    }

    fn make_room(&mut self, count: usize, report: &mut dyn Report) {
        if !self.ledger.has_room(count) {
            self.settle(report);
        }
    }

    /// Fails if the device has failed.
    pub fn check_device(&mut self) -> Result<()> {
        Ok(self.runner.executor().check_device()?)
    }

    /// Reports all that has happened so far; waits for the device.
    pub fn settle(&mut self, report: &mut dyn Report) {
        let entries = self.ledger.read();
        if self.check_device().is_err() {
            // The values read from it are zeros. The next caller gets the error.
            return;
        }
        for (entry, numbers) in entries {
            match entry {
                Entry::Objective { minibatch, output, value } => {
                    self.add_value(minibatch, output, value, report)
                }
                Entry::Sum { minibatch, output, weight } => {
                    let value = ObjectiveValue { objective: numbers[0], weight, ..ObjectiveValue::default() };
                    self.add_value(minibatch, output, value, report)
                }
                Entry::Remark { minibatch, remark } => report.event(Event::Remark { minibatch, remark }),
                Entry::Change { minibatch, limits } => match limits.applied(&numbers, &mut self.max_change) {
                    Stepped::Freely => {}
                    Stepped::Limited(limits) => report.event(Event::MaxChange(limits)),
                    Stepped::Refused => report.event(Event::ChangeRefused { minibatch }),
                },
                Entry::Gradient { minibatch, step } => {
                    let norm = step.norm(&numbers);
                    if !norm.norm.is_finite() {
                        self.learner.iter_mut().for_each(Learner::refused);
                        report.event(Event::ChangeRefused { minibatch });
                    }
                    report.event(Event::Gradient { minibatch, norm });
                }
                Entry::Constraint { component, small, .. } => {
                    if let Some(warning) = warning(numbers[0], numbers[1], small) {
                        report.event(Event::Constraint { component, warning });
                    }
                }
            }
        }
    }

    /// Reports past events: on the host always, else only sometimes, because it waits for the device.
    fn settle_if_due(&mut self, pass: Pass, report: &mut dyn Report) {
        let on_host = self.runner.executor().device().is_host();
        if on_host || (pass != Pass::Back && self.minibatches.is_multiple_of(self.options.print_interval)) {
            self.settle(report);
        }
    }

    fn add_value(&mut self, minibatch: u64, output: String, value: ObjectiveValue, report: &mut dyn Report) {
        let interval = self.options.print_interval;
        let stats = self.objectives.entry(output.clone()).or_insert_with(|| PhaseStats::new(interval));
        if let Some(phase) = stats.add(&output, minibatch, value) {
            report.event(Event::Phase(phase));
        }
        report.event(Event::Objective { minibatch, output, value });
    }

    /// Minibatches about which all has been reported.
    pub fn settled(&self) -> u64 {
        self.ledger.first().unwrap_or(self.minibatches)
    }

    fn constrain(&mut self, report: &mut dyn Report) {
        let components = self.stepper.entries() + self.learner.as_ref().map_or(0, Learner::entries);
        self.make_room(CONSTRAINT_ENTRIES * components, report);
        let executor = self.runner.executor();
        let device = executor.device().clone();
        let context = Context { backend: &*device, workspace: executor.workspace(), random: &self.random };
        constrain_orthonormal(&mut self.nnet, context, self.minibatches, &mut self.ledger);
    }

    /// Averages over all minibatches that are settled, in the order of the outputs' names.
    pub fn totals(&self) -> Vec<Total> {
        self.objectives.iter().map(|(name, stats)| stats.total(name)).collect()
    }

    /// Counts of active limits over all settled minibatches.
    pub fn max_change(&self) -> &MaxChangeCounts {
        &self.max_change
    }

    pub fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    /// Number of minibatches.
    pub fn minibatches(&self) -> u64 {
        self.minibatches
    }

    /// The learner, if there are rules.
    pub fn learner(&mut self) -> Option<&mut Learner> {
        self.learner.as_mut()
    }

    /// Restarts with the present network, as a new trainer with this seed would. The state of the learner stays.
    pub fn restart(&mut self, seed: i32) {
        if self.options.zero_component_stats {
            self.nnet.zero_stats();
        }
        self.delta.restart();
        self.random.reseed(seed);
        self.seed = self.random.int(0, LARGEST_SEED);
        self.minibatches = 0;
        self.objectives.clear();
        self.max_change = MaxChangeCounts::default();
    }

    /// Goes on from the parameters and statistics of another network, which has the same structure. Momentum and the
    /// state of natural gradient stay.
    pub fn set_nnet(&mut self, nnet: &Nnet) {
        self.nnet.assign(nnet);
        if !self.runner.executor().device().is_host() {
            // A device would add to its own sums, and the host would add these to others: rounded twice. A trainer that
            // continues from a snapshot has each sum in one place.
            let moved = self.statistics().and_then(|statistics| self.set_statistics(&statistics));
            // A failed device reports the failure at its next use.
            if self.check_device().is_ok() {
                moved.expect("statistics of the same network");
            }
        }
    }

    pub fn nnet(&self) -> &Nnet {
        &self.nnet
    }

    /// The trained network, after a last step with the changes collected so far. It is on the host. Fails if the
    /// device has failed.
    pub fn finish(mut self, report: &mut dyn Report) -> Result<Trained> {
        self.step_of_rest(report);
        self.settle(report);
        let totals = self.totals();
        let learner = self.learner.as_ref().map(Learner::state);
        let device = self.runner.executor().device().clone();
        self.nnet.bring_from(&device)?;
        Ok(Trained {
            learner,
            nnet: self.nnet,
            totals,
            max_change: self.max_change,
            compiler: self.runner.into_compiler(),
        })
    }
}
