//! Adagrad: steps are divided by the root of the sum of squared gradients.

use super::{Decay, Elementwise, OptimizerRule, Type, elementwise};
use crate::error::Result;
use crate::keys::Keys;
use nnet3_matrix::StepRule;

pub(super) const TYPES: &[Type] = &[
    Type { name: "adagrad", rate: Some(0.01), decay: Decay::COUPLED, read: |keys| read(keys, 1e-10, false) },
    Type {
        name: "neon-adagrad",
        rate: Some(0.01),
        decay: Decay::COUPLED,
        read: |keys| read(keys, 1e-6, true),
    },
];

#[derive(Debug)]
struct Adagrad {
    epsilon: f64,
    epsilon_in_root: bool,
}

fn read(keys: &mut Keys<'_>, epsilon: f64, epsilon_in_root: bool) -> Result<OptimizerRule> {
    Ok(elementwise(Adagrad { epsilon: keys.epsilon(epsilon)?, epsilon_in_root }))
}

impl Elementwise for Adagrad {
    fn step(&self, rate: f64, _: u64) -> (StepRule, f32) {
        let &Adagrad { epsilon, epsilon_in_root } = self;
        (StepRule::Adagrad { epsilon: epsilon as f32, epsilon_in_root }, rate as f32)
    }
}
