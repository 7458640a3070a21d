//! Stochastic gradient descent, with momentum or without.

use super::{Decay, Elementwise, OptimizerRule, Type, elementwise};
use crate::error::Result;
use crate::keys::{Keys, below_one};
use nnet3_matrix::StepRule;

pub(super) const TYPES: &[Type] = &[Type { name: "sgd", rate: None, decay: Decay::COUPLED, read }];

#[derive(Debug)]
struct Sgd {
    momentum: f64,
    nesterov: bool,
}

fn read(keys: &mut Keys<'_>) -> Result<OptimizerRule> {
    let momentum = keys.get("momentum", 0.0, below_one)?;
    let nesterov = keys.flag("nesterov", false)?;
    if nesterov && momentum == 0.0 {
        return Err(keys.line.error("nesterov=true needs a momentum above 0").into());
    }
    Ok(elementwise(Sgd { momentum, nesterov }))
}

impl Elementwise for Sgd {
    fn step(&self, rate: f64, _: u64) -> (StepRule, f32) {
        let rule = match self.momentum {
            0.0 => StepRule::Descent,
            momentum => StepRule::Momentum { momentum: momentum as f32, nesterov: self.nesterov },
        };
        (rule, rate as f32)
    }
}
