//! Adadelta: as RMSprop, with steps of the size of earlier steps.

use super::{Decay, Elementwise, OptimizerRule, Type, elementwise};
use crate::error::Result;
use crate::keys::{Keys, below_one};
use nnet3_matrix::{Share, StepRule};

pub(super) const TYPES: &[Type] = &[
    Type { name: "adadelta", rate: Some(1.0), decay: Decay::COUPLED, read: |keys| read(keys, 0.9) },
    Type { name: "neon-adadelta", rate: Some(1.0), decay: Decay::COUPLED, read: |keys| read(keys, 0.95) },
];

#[derive(Debug)]
struct Adadelta {
    rho: f64,
    epsilon: f64,
}

fn read(keys: &mut Keys<'_>, rho: f64) -> Result<OptimizerRule> {
    let rho = keys.get("rho", rho, below_one)?;
    Ok(elementwise(Adadelta { rho, epsilon: keys.epsilon(1e-6)? }))
}

impl Elementwise for Adadelta {
    fn step(&self, rate: f64, _: u64) -> (StepRule, f32) {
        let rule = StepRule::Adadelta { decay: Share::new(self.rho), epsilon: self.epsilon as f32 };
        (rule, rate as f32)
    }
}
