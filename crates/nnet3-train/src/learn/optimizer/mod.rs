//! Optimisers by name. Each rule is a file here, with its types: names, defaults, keys with valid ranges, and the
//! primitive's rule at a step.
//!
//! Forms and defaults are PyTorch's; those of Nervana's neon have `neon-` before their names.

mod adadelta;
mod adagrad;
mod adam;
mod adamax;
mod kaldi;
mod lion;
pub(super) mod muon;
mod rmsprop;
mod sgd;

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::Result;
use crate::keys::{Keys, below_one, not_negative, positive};
use nnet3_core::config::ConfigLine;
use nnet3_matrix::StepRule;

pub use kaldi::Kaldi;
pub use muon::Muon;

/// The types of all files.
const FAMILIES: &[&[Type]] = &[
    kaldi::TYPES,
    sgd::TYPES,
    rmsprop::TYPES,
    adagrad::TYPES,
    adadelta::TYPES,
    adam::TYPES,
    adamax::TYPES,
    lion::TYPES,
    muon::TYPES,
];

/// A type of optimiser, as lines of rules name it.
struct Type {
    name: &'static str,
    /// The learning rate of a line that has none; without it the line must have one.
    rate: Option<f64>,
    /// The weight decay of a line that has none, and its kind.
    decay: Decay,
    /// Takes the keys of the rule from a line.
    read: fn(&mut Keys<'_>) -> Result<OptimizerRule>,
}

/// A rule that turns gradients of some parameters into changes.
#[derive(Debug, Clone)]
pub struct Optimizer {
    pub name: String,
    /// The name of its type, as in the rules.
    pub type_name: String,
    pub rule: OptimizerRule,
    /// The learning rate; `None` for `kaldi` with the rates of the model.
    pub rate: Option<f64>,
    pub decay: Decay,
    /// Natural gradient is kept on below the rule.
    pub precondition: bool,
}

/// Weight decay: g += λ θ, or apart from the gradient θ -= η λ θ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decay {
    pub weight: f64,
    pub decoupled: bool,
}

impl Decay {
    /// None, unless a line asks for it: then it is added to the gradient.
    const COUPLED: Decay = Decay { weight: 0.0, decoupled: false };
    /// None, unless a line asks for it: then it is apart from the gradient.
    const DECOUPLED: Decay = Decay { weight: 0.0, decoupled: true };
}

#[derive(Debug, Clone)]
pub enum OptimizerRule {
    Kaldi(Kaldi),
    /// Each element of a parameter learns from its own gradients.
    Elementwise(Arc<dyn Elementwise>),
    Muon(Muon),
}

/// A rule whose steps are the primitive `learn`.
pub trait Elementwise: Debug + Send + Sync {
    /// The primitive's rule and its rate at step `t`, which counts from 1, for a learning rate.
    fn step(&self, rate: f64, t: u64) -> (StepRule, f32);
}

fn elementwise(rule: impl Elementwise + 'static) -> OptimizerRule {
    OptimizerRule::Elementwise(Arc::new(rule))
}

/// The names of all types.
pub fn type_names() -> impl Iterator<Item = &'static str> {
    types().map(|of_type| of_type.name)
}

fn types() -> impl Iterator<Item = &'static Type> {
    FAMILIES.iter().copied().flatten()
}

impl Optimizer {
    /// Parses the rest of a line `optimizer name=… type=…`; the caller has read the name.
    pub fn parse(name: String, line: &mut ConfigLine) -> Result<Optimizer> {
        let type_name = line.require_string("type")?;
        let Some(of_type) = types().find(|of_type| of_type.name == type_name) else {
            let there_are = type_names().collect::<Vec<_>>().join(", ");
            return Err(line.error(format!("type={type_name}: there are {there_are}")).into());
        };
        let mut keys = Keys { line };
        let rule = (of_type.read)(&mut keys)?;
        let rate = keys.optional("learning-rate", not_negative)?.or(of_type.rate);
        let (mut decay, mut precondition) = (of_type.decay, false);
        if !matches!(rule, OptimizerRule::Kaldi(_)) {
            if rate.is_none() {
                return Err(keys.line.error(format!("type={type_name} needs a learning-rate")).into());
            }
            decay.weight = keys.get("weight-decay", decay.weight, not_negative)?;
            precondition = keys.flag("precondition", false)?;
        }
        Ok(Optimizer { name, type_name, rule, rate, decay, precondition })
    }

    pub(crate) fn is_kaldi(&self) -> bool {
        matches!(self.rule, OptimizerRule::Kaldi(_))
    }

    pub fn muon(&self) -> Option<Muon> {
        match self.rule {
            OptimizerRule::Muon(muon) => Some(muon),
            _ => None,
        }
    }

    /// The rule and the rate of step `t`, which counts from 1, for parameters that are matrices or not.
    pub fn step(&self, rate: f64, t: u64, is_matrix: bool) -> (StepRule, f32) {
        match &self.rule {
            OptimizerRule::Kaldi(_) => panic!("changes of 'kaldi' are made by another step"),
            OptimizerRule::Elementwise(rule) => rule.step(rate, t),
            OptimizerRule::Muon(muon) => muon.step(rate, t, is_matrix),
        }
    }

    /// The rate of parameters that are matrices or not, before schedules; 0 for `kaldi` with the rates of the model.
    pub(crate) fn base_rate(&self, is_matrix: bool) -> f64 {
        match self.rule {
            OptimizerRule::Muon(muon) if !is_matrix => muon.vector_rate,
            _ => self.rate.unwrap_or(0.0),
        }
    }

    /// Matrices of a parameter's shape that are kept from step to step.
    pub fn states(&self, is_matrix: bool) -> usize {
        if self.is_kaldi() { 0 } else { self.step(0.0, 1, is_matrix).0.states() }
    }
}

/// β to the power of `t`.
fn power(beta: f64, t: u64) -> f64 {
    beta.powi(i32::try_from(t).unwrap_or(i32::MAX))
}

impl Keys<'_> {
    fn epsilon(&mut self, default: f64) -> Result<f64> {
        self.get("epsilon", default, positive)
    }

    fn betas(&mut self, [first, second]: [f64; 2]) -> Result<[f64; 2]> {
        Ok([self.get("beta1", first, below_one)?, self.get("beta2", second, below_one)?])
    }
}
