//! Lion: steps of one size (Chen et al., "Symbolic discovery of optimization algorithms", 2023).

use super::{Decay, Elementwise, OptimizerRule, Type, elementwise};
use crate::error::Result;
use crate::keys::Keys;
use nnet3_matrix::{Share, StepRule};

pub(super) const TYPES: &[Type] = &[Type { name: "lion", rate: Some(1e-4), decay: Decay::DECOUPLED, read }];

#[derive(Debug)]
struct Lion {
    betas: [f64; 2],
}

fn read(keys: &mut Keys<'_>) -> Result<OptimizerRule> {
    Ok(elementwise(Lion { betas: keys.betas([0.9, 0.99])? }))
}

impl Elementwise for Lion {
    fn step(&self, rate: f64, _: u64) -> (StepRule, f32) {
        let [first, second] = self.betas.map(Share::new);
        (StepRule::Lion { first, second }, rate as f32)
    }
}
