//! Steps of parameters by the rules of a [`Plan`], and what is kept from step to step.
//!
//! The gradients are those that a [`Delta`] has collected at rate 1. All numbers stay on the device.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::learn::muon;
use crate::learn::plan::{Part, Plan};
use crate::learn::rules::FROZEN;
use crate::learn::schedule::{PlateauState, Progress};
use crate::learn::state::{LearnerState, PartState};
use crate::ledger::{Entry, Ledger, Place};
use kaldi_io::DenseMatrix;
use nnet3_core::component::Context;
use nnet3_core::index::ComponentId;
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::{Accumulator, Device, Factor, Learned, LearningStep, Matrix, Scratch, ViewMut};

/// What sums over frames are divided by.
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
            _ => Err(Error::options(format!("--normalize={text}: expected frames, sequences or none"))),
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
    /// The decay at step t, which counts from 1.
    pub fn decay_at(&self, t: u64) -> f64 {
        let t = t as f64;
        if self.warm_up { self.decay.min((1.0 + t) / (10.0 + t)) } else { self.decay }
    }
}

/// Options beside the rules.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LearnerOptions {
    pub normalize: Normalize,
    pub average: Option<AverageOptions>,
    /// Multiplies the l2 constants of components.
    pub l2_factor: f64,
}

/// What becomes of the gradients of a step: for the log.
#[derive(Debug, Clone)]
pub struct GradientStep {
    pub components: usize,
    /// What the norm of the sum was multiplied by.
    pub scale: f64,
    /// The limit on the norm; 0 for none.
    pub clip: f64,
}

/// The 2-norm of all gradients of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientNorm {
    pub norm: f64,
    pub clipped: bool,
}

impl GradientStep {
    /// The norm whose squares, component by component, these are.
    pub fn norm(&self, squares: &[f64]) -> GradientNorm {
        let norm = squares.iter().sum::<f64>().sqrt() * self.scale;
        GradientNorm { norm, clipped: self.clip > 0.0 && norm > self.clip }
    }
}

/// What a step is made of so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pending {
    pub minibatches: u64,
    pub weight: f64,
    pub sequences: f64,
}

pub struct Learner {
    plan: Arc<Plan>,
    options: LearnerOptions,
    device: Device,
    /// Components whose gradients are collected.
    components: Vec<ComponentId>,
    /// As many for each part as its rule keeps.
    states: Vec<Vec<Matrix>>,
    /// Steps of each group.
    steps: Vec<u64>,
    plateaus: Vec<PlateauState>,
    progress: Progress,
    /// A factor for each component, and whether the gradients are finite (1 or 0).
    factors: Matrix,
    limits: Accumulator,
    /// The running average of each part, and how often it was made.
    averages: Vec<Matrix>,
    averaged: u64,
    /// For limits on the changes of single components: their limit, norm and factor.
    change: (Accumulator, Accumulator, Matrix),
    muon: muon::Numbers,
    /// The model's rates of components that learn as without rules.
    model_rates: Vec<(ComponentId, f32)>,
}

impl Learner {
    /// For networks like this one, whose parameters are on `device`.
    pub fn new(plan: Arc<Plan>, options: LearnerOptions, nnet: &Nnet, device: &Device) -> Learner {
        let zeros = |part: &Part| Matrix::zeros(device, part.rows, part.cols);
        let states = plan.parts.iter().map(|part| (0..plan.states(part)).map(|_| zeros(part)).collect());
        let components = plan.gradient_components();
        let mut limits = vec![0.0; components.len()];
        limits.push(plan.clip.norm);
        let averages = match options.average {
            None => Vec::new(),
            Some(_) => plan.parts.iter().map(|part| parameter(nnet, part).clone()).collect(),
        };
        let rate = |id: &ComponentId| {
            nnet.component(*id).as_updatable().map_or(0.0, |updatable| updatable.settings().learning_rate)
        };
        Learner {
            options,
            device: device.clone(),
            states: states.collect(),
            steps: vec![0; plan.groups.len()],
            plateaus: vec![PlateauState::default(); plan.groups.len()],
            progress: Progress::default(),
            factors: Matrix::zeros(device, 1, components.len() + 1),
            limits: Accumulator::from_vec(limits),
            averages,
            averaged: 0,
            change: (Accumulator::zeros(2), Accumulator::zeros(1), Matrix::zeros(device, 1, 2)),
            muon: muon::Numbers::new(device),
            model_rates: plan.kaldi_components().iter().map(|id| (*id, rate(id))).collect(),
            components,
            plan,
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where the training is from now on: schedules look at it.
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

    /// What multiplies the rate of a group now.
    fn factor(&self, group: usize, base: f64) -> f64 {
        self.plan.groups[group].schedule.factor(self.progress, base) * self.plateaus[group].factor
    }

    /// The rate of each group now; of a group without a rate of its own the factor on the model's.
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
        let parts = &self.plan.parts;
        for &(id, model_rate) in &self.model_rates {
            let Some(part) = parts.iter().find(|part| part.component == id) else { continue };
            let Some(group) = part.group else { continue };
            let rate = match self.plan.groups[group].optimizer.rate {
                Some(rate) => (rate * self.factor(group, rate) * part.rate_factor) as f32,
                None => (f64::from(model_rate) * self.factor(group, 1.0)) as f32,
            };
            if let Some(updatable) = delta.nnet_mut().component_mut(id).as_updatable_mut() {
                updatable.settings_mut().learning_rate = rate;
            }
        }
    }

    /// Numbers that a step takes in the ledger.
    pub fn entries(&self) -> usize {
        self.components.len()
    }

    /// A step of all that learns by gradients, which are zero afterwards. If they are not finite, nothing else changes. The ledger
    /// gets their squared norms, and has room for them.
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
        // Targets without any weight give no gradient.
        let scale = if divisor > 0.0 { 1.0 / divisor } else { 0.0 };
        self.norms(delta, scale, minibatch, ledger);
        self.steps.iter_mut().for_each(|t| *t += 1);
        let l2 = 2.0 * self.options.l2_factor * pending.sequences * scale;
        let plan = self.plan.clone();
        let of_component = |id: ComponentId| {
            let first = plan.parts.iter().position(|part| part.component == id).unwrap_or(0);
            let count = plan.parts[first..].iter().take_while(|part| part.component == id).count();
            first..first + count
        };
        for k in 0..self.components.len() {
            let id = self.components[k];
            let range = of_component(id);
            let max_change = plan.parts[range.clone()].iter().map(|part| part.max_change).fold(0.0, f64::max);
            let mut old = Vec::new();
            if max_change > 0.0 {
                let copies = plan.parts[range.clone()].iter().map(|part| {
                    let mut copy = context.workspace.take(part.rows, part.cols);
                    self.device.copy(copy.view_mut(), parameter(nnet, part).view());
                    copy
                });
                old.extend(copies);
            }
            for p in range.clone() {
                self.step_of_part(&plan.parts[p], p, k, l2, nnet, delta, context);
            }
            if max_change > 0.0 {
                self.limit_change(nnet, &plan.parts[range], old, max_change);
            }
        }
    }

    /// The factors on the gradients: minus the scale, and less if their norm is to be clipped.
    fn norms(&mut self, delta: &Delta, scale: f64, minibatch: u64, ledger: &mut Ledger) {
        let count = self.components.len();
        let Place { sums, index } = ledger.reserve(count);
        for part in self.plan.parts.iter().filter(|part| part.group.is_some()) {
            if let Some(k) = self.components.iter().position(|&id| id == part.component) {
                parameter(delta.nnet(), part).accumulate_square(sums, index + k);
            }
        }
        self.device.limit_norms(self.factors.view_mut(), sums, index, &mut self.limits, -scale);
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
        let (rule, step_rate) = optimizer.step(rate, self.steps[group], is_matrix);
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
                // What is made orthogonal has no size, so the model's l2 is decay apart from it.
                let keep = (1.0 - rate * (apart + coupled)) as f32;
                let step = LearningStep { keep, decay: 0.0, ..step };
                let finite = factor(self.components.len());
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

    /// Takes part of the change back if it is larger than `limit`.
    fn limit_change(&mut self, nnet: &mut Nnet, parts: &[Part], old: Vec<Scratch<'_>>, limit: f64) {
        let (limits, sums, factors) = &mut self.change;
        if limits.values()[0] != limit {
            *limits = Accumulator::from_vec(vec![limit, 0.0]);
        }
        sums.scale(0.0);
        for (part, old) in parts.iter().zip(&old) {
            let value = parameter_mut(nnet, part).view_mut();
            self.device.add(value, -1.0, old.view());
            self.device.accumulate_dot(sums, 0, 1.0, value.as_view(), value.as_view());
        }
        self.device.limit_norms(factors.view_mut(), sums, 0, limits, 1.0);
        for (part, old) in parts.iter().zip(&old) {
            let value = parameter_mut(nnet, part).view_mut();
            let factor = Factor { times: 1.0, element: factors.view().col_range(0..1) };
            self.device.scale_by(value, factor);
            self.device.add(value, 1.0, old.view());
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

    /// Whether a running average is made.
    pub fn averages(&self) -> bool {
        self.options.average.is_some()
    }

    /// Gives a copy of the network the averages as parameters.
    pub fn put_average(&self, nnet: &mut Nnet) {
        for (part, average) in self.plan.parts.iter().zip(&self.averages) {
            let value = parameter_mut(nnet, part);
            let device = value.device().clone();
            device.upload(value.view_mut(), &average.to_vec());
        }
    }

    /// What is kept from step to step, on the host.
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
            groups: self.steps.iter().copied().zip(self.plateaus.iter().copied()).collect(),
            averaged: self.averaged,
            parts: self.plan.parts.iter().enumerate().map(part).collect(),
        }
    }

    /// Goes on from a state; that of another network or plan is an error, and changes nothing.
    pub fn set_state(&mut self, state: &LearnerState) -> Result<()> {
        let wrong = |message: String| Err(Error::data(format!("the checkpoint does not fit: {message}")));
        if (state.parts.len(), state.groups.len()) != (self.plan.parts.len(), self.steps.len()) {
            return wrong(format!(
                "it has {} parts and {} optimizers, the network and its rules {} and {}",
                state.parts.len(),
                state.groups.len(),
                self.plan.parts.len(),
                self.steps.len()
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
        (self.steps, self.plateaus) = state.groups.iter().copied().unzip();
        self.averaged = state.averaged;
        Ok(())
    }

    fn type_of(&self, part: &Part) -> String {
        self.plan.optimizer(part).map_or(FROZEN, |optimizer| &optimizer.type_name).to_owned()
    }

    /// A step was refused: it does not count.
    pub fn refused(&mut self) {
        self.steps.iter_mut().for_each(|t| *t = t.saturating_sub(1));
    }
}

pub(super) fn parameter<'n>(nnet: &'n Nnet, part: &Part) -> &'n Matrix {
    nnet.component(part.component).parameters().swap_remove(part.index).value
}

fn parameter_mut<'n>(nnet: &'n mut Nnet, part: &Part) -> &'n mut Matrix {
    nnet.component_mut(part.component).parameters_mut().swap_remove(part.index).value
}
