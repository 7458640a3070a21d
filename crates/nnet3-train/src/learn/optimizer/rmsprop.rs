//! RMSprop: steps are divided by the root of a moving average of squared gradients.

use super::{Decay, Elementwise, OptimizerRule, Type, elementwise};
use crate::error::Result;
use crate::keys::{Keys, below_one};
use nnet3_matrix::{Share, StepRule};

pub(super) const TYPES: &[Type] = &[
    Type {
        name: "rmsprop",
        rate: Some(0.01),
        decay: Decay::COUPLED,
        read: |keys| read(keys, 0.99, 1e-8, false),
    },
    Type {
        name: "neon-rmsprop",
        rate: Some(0.002),
        decay: Decay::COUPLED,
        read: |keys| read(keys, 0.95, 1e-6, true),
    },
];

#[derive(Debug)]
struct RmsProp {
    rho: f64,
    epsilon: f64,
    epsilon_in_root: bool,
}

fn read(keys: &mut Keys<'_>, rho: f64, epsilon: f64, epsilon_in_root: bool) -> Result<OptimizerRule> {
    let rho = keys.get("rho", rho, below_one)?;
    Ok(elementwise(RmsProp { rho, epsilon: keys.epsilon(epsilon)?, epsilon_in_root }))
}

impl Elementwise for RmsProp {
    fn step(&self, rate: f64, _: u64) -> (StepRule, f32) {
        let &RmsProp { rho, epsilon, epsilon_in_root } = self;
        let rule = StepRule::RmsProp { decay: Share::new(rho), epsilon: epsilon as f32, epsilon_in_root };
        (rule, rate as f32)
    }
}
