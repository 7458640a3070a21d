//! Steps of parameters by the rules of a [`Plan`], and the state kept from step to step.
//!
//! The gradients are those that a [`Delta`] has collected at rate 1. All numbers stay on the device. After the first
//! step no memory is allocated.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::keys::{self, Keys};
use crate::learn::optimizer::muon;
use crate::learn::plan::{Part, Plan};
use crate::learn::rules::FROZEN;
use crate::learn::schedule::{PlateauState, Progress};
use crate::learn::state::{LearnerState, PartState};
use crate::ledger::{Entry, GradientStep, Ledger, Place};
use crate::norm_limits::limit_norms;
use kaldi_io::DenseMatrix;
use nnet3_core::component::Context;
use nnet3_core::config::ConfigLine;
use nnet3_core::index::ComponentId;
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::{Accumulator, Device, Factor, Learned, LearningStep, Matrix, ViewMut};

/// The divisor of sums over frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Normalize {
    /// The weight of the minibatch's targets.
    #[default]
    Frames,
    Sequences,
    Nothing,
}

impl std::str::FromStr for Normalize {
    type Err = Error;
    fn from_str(text: &str) -> Result<Normalize> {
        match text {
            "frames" => Ok(Normalize::Frames),
            "sequences" => Ok(Normalize::Sequences),
            "none" => Ok(Normalize::Nothing),
            _ => Err(Error::options(format!("`normalize`={text}: expected frames, sequences or none"))),
        }
    }
}

/// A running average of the parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AverageOptions {
    pub decay: f64,
    /// Less decay in the first steps: min(decay, (1 + t) / (10 + t)).
    pub warm_up: bool,
}

impl AverageOptions {
    /// A line `decay=… [warm-up=true]`.
    pub fn parse(mut line: ConfigLine) -> Result<AverageOptions> {
        let mut numbers = Keys { line: &mut line };
        let decay = numbers.optional("decay", keys::below_one)?;
        let warm_up = numbers.flag("warm-up", false)?;
        let decay = decay.ok_or_else(|| line.error("'decay' is missing"))?;
        line.finish()?;
        Ok(AverageOptions { decay, warm_up })
    }

    /// The decay at step t, which counts from 1.
    pub(crate) fn decay_at(&self, t: u64) -> f64 {
        let t = t as f64;
        if self.warm_up { self.decay.min((1.0 + t) / (10.0 + t)) } else { self.decay }
    }
}

/// Options in addition to the rules.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LearnerOptions {
    pub normalize: Normalize,
    pub average: Option<AverageOptions>,
    /// Multiplies the l2 constants of components.
    pub l2_factor: f64,
}

/// Counts of the data collected for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pending {
    pub minibatches: u64,
    pub weight: f64,
    pub sequences: f64,
}

/// A component that learns by gradients.
struct Collector {
    /// The parts of the plan that are its own.
    parts: Range<usize>,
    limit: Option<ChangeLimit>,
}

/// A limit on the norm of a component's change, as the device wants it.
struct ChangeLimit {
    /// The limit of the component; the sum of all has no limit.
    limits: Accumulator,
    square: Accumulator,
    /// The factor of the change, and whether it is finite (1 or 0).
    factors: Matrix,
}

/// A component that learns as without rules.
struct Kaldi {
    component: ComponentId,
    group: usize,
    rate_factor: f64,
    /// The rate in the model.
    model_rate: f32,
}

pub struct Learner {
    plan: Arc<Plan>,
    options: LearnerOptions,
    device: Device,
    collectors: Vec<Collector>,
    /// For each part, the matrices that its rule keeps.
    states: Vec<Vec<Matrix>>,
    /// Steps so far.
    steps: u64,
    /// One for each group.
    plateaus: Vec<PlateauState>,
    progress: Progress,
    /// A factor for each component, and whether the gradients are finite (1 or 0).
    factors: Matrix,
    limits: Accumulator,
    /// The running average of each part, and how often it was made.
    averages: Vec<Matrix>,
    averaged: u64,
    muon: muon::Numbers,
    kaldi: Vec<Kaldi>,
}

impl Learner {
    /// Makes a learner for networks like this one, with parameters on `device`.
    pub fn new(plan: Arc<Plan>, options: LearnerOptions, nnet: &Nnet, device: &Device) -> Learner {
        let zeros = |part: &Part| Matrix::zeros(device, part.rows, part.cols);
        let states = plan.parts.iter().map(|part| (0..plan.states(part)).map(|_| zeros(part)).collect());
        let collector = |id: ComponentId| {
            let parts = plan.parts_of(id);
            let limit = plan.parts[parts.clone()].iter().map(|part| part.max_change).fold(0.0, f64::max);
            let limit = (limit > 0.0).then(|| ChangeLimit {
                limits: Accumulator::from_vec(vec![limit, 0.0]),
                square: Accumulator::zeros(1),
                factors: Matrix::zeros(device, 1, 2),
            });
            Collector { parts, limit }
        };
        let collectors: Vec<Collector> = plan.gradient_components().into_iter().map(collector).collect();
        let mut limits = vec![0.0; collectors.len()];
        limits.push(plan.clip.norm);
        let averages = match options.average {
            None => Vec::new(),
            Some(_) => plan.parts.iter().map(|part| parameter(nnet, part).clone()).collect(),
        };
        let kaldi = |id: ComponentId| {
            let part = &plan.parts[plan.parts_of(id).start];
            let updatable = nnet.component(id).as_updatable();
            let model_rate = updatable.map_or(0.0, |updatable| updatable.settings().learning_rate);
            let (component, rate_factor) = (id, part.rate_factor);
            part.group.map(|group| Kaldi { component, group, rate_factor, model_rate })
        };
        Learner {
            options,
            device: device.clone(),
            states: states.collect(),
            steps: 0,
            plateaus: vec![PlateauState::default(); plan.groups.len()],
            progress: Progress::default(),
            factors: Matrix::zeros(device, 1, collectors.len() + 1),
            limits: Accumulator::from_vec(limits),
            averages,
            averaged: 0,
            muon: muon::Numbers::new(device),
            kaldi: plan.kaldi_components().into_iter().filter_map(kaldi).collect(),
            collectors,
            plan,
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Sets the progress of the training, for schedules.
    pub fn set_progress(&mut self, progress: Progress) {
        self.progress = progress;
    }

    /// Plateau schedules hear of an evaluation.
    pub fn evaluated(&mut self, loss: f64) {
        for (group, state) in self.plan.groups.iter().zip(&mut self.plateaus) {
            if let Some(plateau) = group.schedule.plateau() {
                state.evaluated(loss, plateau);
            }
        }
    }

    /// Returns the present factor of a group's rate.
    fn factor(&self, group: usize, base: f64) -> f64 {
        self.plan.groups[group].schedule.factor(self.progress, base) * self.plateaus[group].factor
    }

    /// Returns the present rate of each group; for a group without a rate of its own, the factor of the model's rate.
    pub fn rates(&self) -> Vec<(String, f64)> {
        let rate = |k: usize| {
            let optimizer = &self.plan.groups[k].optimizer;
            let base = optimizer.rate.unwrap_or(1.0);
            (optimizer.name.clone(), base * self.factor(k, base))
        };
        (0..self.plan.groups.len()).map(rate).collect()
    }

    /// Gives components that learn as without rules their rates.
    pub fn set_rates(&self, delta: &mut Delta) {
        for &Kaldi { component, group, rate_factor, model_rate } in &self.kaldi {
            let rate = match self.plan.groups[group].optimizer.rate {
                Some(rate) => (rate * self.factor(group, rate) * rate_factor) as f32,
                None => (f64::from(model_rate) * self.factor(group, 1.0)) as f32,
            };
            if let Some(updatable) = delta.nnet_mut().component_mut(component).as_updatable_mut() {
                updatable.settings_mut().learning_rate = rate;
            }
        }
    }

    /// Numbers that a step takes in the ledger.
    pub fn entries(&self) -> usize {
        self.collectors.len()
    }

    /// Makes a step of all parameters that learn from gradients, and sets the gradients to zero. If they are not
    /// finite, no parameter changes. Adds their squared norms to the ledger, which must have room for them.
    pub fn step(
        &mut self,
        nnet: &mut Nnet,
        delta: &mut Delta,
        context: Context<'_>,
        pending: Pending,
        minibatch: u64,
        ledger: &mut Ledger,
    ) {
        let divisor = match self.options.normalize {
            Normalize::Frames => pending.weight,
            Normalize::Sequences => pending.sequences,
            Normalize::Nothing => 1.0,
        };
        // Targets without weight give no gradient.
        let scale = if divisor > 0.0 { 1.0 / divisor } else { 0.0 };
        self.norms(delta, scale, minibatch, ledger);
        self.steps += 1;
        let l2 = 2.0 * self.options.l2_factor * pending.sequences * scale;
        let plan = self.plan.clone();
        for k in 0..self.collectors.len() {
            let range = self.collectors[k].parts.clone();
            let parts = &plan.parts[range.clone()];
            let size = || parts.iter().map(Part::len).sum();
            let mut old = self.collectors[k].limit.is_some().then(|| context.workspace.take(1, size()));
            if let Some(old) = &mut old {
                for (part, old) in parts.iter().zip(pieces(old.view_mut(), parts)) {
                    self.device.copy(old, parameter(nnet, part).view());
                }
            }
            for (part, p) in parts.iter().zip(range) {
                self.step_of_part(part, p, k, l2, nnet, delta, context);
            }
            if let (Some(limit), Some(old)) = (&mut self.collectors[k].limit, &mut old) {
                limit.apply(&self.device, nnet, parts, old.view_mut());
            }
        }
    }

    /// The factors on the gradients: minus the scale, and less if their norm is to be clipped.
    fn norms(&mut self, delta: &Delta, scale: f64, minibatch: u64, ledger: &mut Ledger) {
        let count = self.collectors.len();
        let Place { sums, index } = ledger.reserve(count);
        for (k, collector) in self.collectors.iter().enumerate() {
            for part in self.plan.parts[collector.parts.clone()].iter().filter(|part| part.group.is_some()) {
                parameter(delta.nnet(), part).accumulate_square(sums, index + k);
            }
        }
        limit_norms(&self.device, self.factors.view_mut(), sums, index, &mut self.limits, -scale);
        let step = GradientStep { components: count, scale, clip: self.plan.clip.norm };
        ledger.note(index, Entry::Gradient { minibatch, step });
    }

    #[allow(clippy::too_many_arguments)]
    fn step_of_part(
        &mut self,
        part: &Part,
        p: usize,
        k: usize,
        l2: f64,
        nnet: &mut Nnet,
        delta: &mut Delta,
        context: Context<'_>,
    ) {
        let gradient = parameter_mut(delta.nnet_mut(), part);
        let Some(group) = part.group else { return gradient.set(0.0) };
        let gradient = gradient.view_mut();
        let optimizer = &self.plan.groups[group].optimizer;
        let is_matrix = part.is_matrix();
        let base = optimizer.base_rate(is_matrix);
        let rate = base * self.factor(group, base) * part.rate_factor;
        let (rule, step_rate) = optimizer.step(rate, self.steps, is_matrix);
        let (mut coupled, mut apart) = (l2 * part.l2, 0.0);
        match optimizer.decay.decoupled {
            true => apart = part.weight_decay,
            false => coupled += part.weight_decay,
        }
        let factor = |k: usize| Factor { times: 1.0, element: self.factors.view().col_range(k..k + 1) };
        let clip = self.plan.clip;
        let step = LearningStep {
            rule,
            factor: factor(k),
            rate: step_rate,
            decay: coupled as f32,
            keep: (1.0 - rate * apart) as f32,
            clip: clip.value as f32,
            bound: clip.parameter as f32,
        };
        let mut states: [Option<ViewMut<'_>>; 2] = [None, None];
        states.iter_mut().zip(&mut self.states[p]).for_each(|(to, state)| *to = Some(state.view_mut()));
        let value = parameter_mut(nnet, part).view_mut();
        let with = |states: &[ViewMut<'_>]| match (optimizer.muon(), is_matrix) {
            (Some(muon), true) => {
                // The size of an orthogonal direction carries no information, so the model's l2 becomes a separate
                // weight decay.
                let keep = (1.0 - rate * (apart + coupled)) as f32;
                let step = LearningStep { keep, decay: 0.0, ..step };
                let finite = factor(self.collectors.len());
                muon::step(
                    context,
                    Learned { parameter: value, gradient, states },
                    step,
                    muon,
                    finite,
                    &self.muon,
                );
            }
            _ => self.device.learn(Learned { parameter: value, gradient, states }, step),
        };
        match states {
            [Some(first), Some(second)] => with(&[first, second]),
            [Some(first), None] => with(&[first]),
            _ => with(&[]),
        }
    }

    /// Adds the parameters to the running average.
    pub fn average(&mut self, nnet: &Nnet) {
        let Some(average) = self.options.average else { return };
        self.averaged += 1;
        let decay = average.decay_at(self.averaged);
        for (part, sum) in self.plan.parts.iter().zip(&mut self.averages) {
            sum.scale(decay as f32);
            sum.add((1.0 - decay) as f32, parameter(nnet, part));
        }
    }

    /// True if the learner keeps a running average.
    pub fn averages(&self) -> bool {
        self.options.average.is_some()
    }

    /// Gives a copy of the network the averages as parameters.
    pub fn put_average(&self, nnet: &mut Nnet) {
        for (part, average) in self.plan.parts.iter().zip(&self.averages) {
            parameter_mut(nnet, part).clone_from(average);
        }
    }

    /// Copies the state that is kept from step to step to the host.
    pub fn state(&self) -> LearnerState {
        let host =
            |matrix: &Matrix| DenseMatrix { rows: matrix.rows(), cols: matrix.cols(), data: matrix.to_vec() };
        let part = |(k, part): (usize, &Part)| PartState {
            component: part.component_name.clone(),
            part: part.name.clone(),
            optimizer: self.type_of(part),
            matrices: self.states[k].iter().chain(self.averages.get(k)).map(host).collect(),
        };
        LearnerState {
            steps: self.steps,
            plateaus: self.plateaus.clone(),
            averaged: self.averaged,
            parts: self.plan.parts.iter().enumerate().map(part).collect(),
        }
    }

    /// Continues from a state. A state of another network or plan is an error and changes no parameter.
    pub fn set_state(&mut self, state: &LearnerState) -> Result<()> {
        let wrong = |message: String| Err(Error::data(format!("the checkpoint does not fit: {message}")));
        if (state.parts.len(), state.plateaus.len()) != (self.plan.parts.len(), self.plateaus.len()) {
            return wrong(format!(
                "it has {} parts and {} optimizers, the network and its rules {} and {}",
                state.parts.len(),
                state.plateaus.len(),
                self.plan.parts.len(),
                self.plateaus.len()
            ));
        }
        for (k, (saved, part)) in state.parts.iter().zip(&self.plan.parts).enumerate() {
            let own = (&*part.component_name, &*part.name, &*self.type_of(part));
            let found = (&*saved.component, &*saved.part, &*saved.optimizer);
            if found != own {
                return wrong(format!("expected part {own:?} of the network, found {found:?}"));
            }
            let count = self.states[k].len() + usize::from(self.averages());
            let shape = |matrix: &DenseMatrix<f32>| (matrix.rows, matrix.cols) == (part.rows, part.cols);
            if saved.matrices.len() != count || !saved.matrices.iter().all(shape) {
                return wrong(format!(
                    "component '{}', part '{}': expected {count} matrices of {} x {}",
                    part.component_name, part.name, part.rows, part.cols
                ));
            }
        }
        for (k, saved) in state.parts.iter().enumerate() {
            let own = self.states[k].iter_mut().chain(self.averages.get_mut(k));
            own.zip(&saved.matrices).for_each(|(own, saved)| self.device.upload(own.view_mut(), &saved.data));
        }
        self.plateaus.copy_from_slice(&state.plateaus);
        (self.steps, self.averaged) = (state.steps, state.averaged);
        Ok(())
    }

    fn type_of(&self, part: &Part) -> String {
        self.plan.optimizer(part).map_or(FROZEN, |optimizer| &optimizer.type_name).to_owned()
    }

    /// A step was refused: it does not count.
    pub fn refused(&mut self) {
        self.steps = self.steps.saturating_sub(1);
    }
}

impl ChangeLimit {
    /// Reduces the change of these parts if it is too large; `old` holds their former values in a row.
    fn apply(&mut self, device: &Device, nnet: &mut Nnet, parts: &[Part], old: ViewMut<'_>) {
        self.square.scale(0.0);
        for (part, old) in parts.iter().zip(pieces(old, parts)) {
            let value = parameter_mut(nnet, part).view_mut();
            device.add(value, -1.0, old.as_view());
            device.accumulate_dot(&mut self.square, 0, 1.0, value.as_view(), value.as_view());
        }
        limit_norms(device, self.factors.view_mut(), &mut self.square, 0, &mut self.limits, 1.0);
        for (part, old) in parts.iter().zip(pieces(old, parts)) {
            let value = parameter_mut(nnet, part).view_mut();
            let factor = Factor { times: 1.0, element: self.factors.view().col_range(0..1) };
            device.scale_by(value, factor);
            device.add(value, 1.0, old.as_view());
        }
    }
}

/// A row that is cut into matrices of the shapes of these parts.
fn pieces<'v>(row: ViewMut<'v>, parts: &[Part]) -> impl Iterator<Item = ViewMut<'v>> {
    parts.iter().scan(0, move |begin, part| {
        let piece = row.col_range(*begin..*begin + part.len()).reshape(part.rows, part.cols);
        *begin += part.len();
        Some(piece)
    })
}

pub(super) fn parameter<'n>(nnet: &'n Nnet, part: &Part) -> &'n Matrix {
    nnet.component(part.component).parameters().swap_remove(part.index).value
}

fn parameter_mut<'n>(nnet: &'n mut Nnet, part: &Part) -> &'n mut Matrix {
    nnet.component_mut(part.component).parameters_mut().swap_remove(part.index).value
}
