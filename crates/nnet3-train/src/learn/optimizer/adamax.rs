//! Adamax: Adam with the largest of earlier gradients in the place of the root.

use super::{Decay, Elementwise, OptimizerRule, Type, elementwise, power};
use crate::error::Result;
use crate::keys::Keys;
use nnet3_matrix::{Share, StepRule};

pub(super) const TYPES: &[Type] = &[Type { name: "adamax", rate: Some(0.002), decay: Decay::COUPLED, read }];

#[derive(Debug)]
struct Adamax {
    betas: [f64; 2],
    epsilon: f64,
}

fn read(keys: &mut Keys<'_>) -> Result<OptimizerRule> {
    let betas = keys.betas([0.9, 0.999])?;
    Ok(elementwise(Adamax { betas, epsilon: keys.epsilon(1e-8)? }))
}

impl Elementwise for Adamax {
    fn step(&self, rate: f64, t: u64) -> (StepRule, f32) {
        let [first, second] = self.betas;
        let rule = StepRule::Adamax {
            first: Share::new(first),
            second: second as f32,
            epsilon: self.epsilon as f32,
        };
        (rule, (rate / (1.0 - power(first, t))) as f32)
    }
}
