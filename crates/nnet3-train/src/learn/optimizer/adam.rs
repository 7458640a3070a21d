//! Adam and AdamW.

use super::{Decay, Elementwise, OptimizerRule, Type, elementwise, power};
use crate::error::Result;
use crate::keys::Keys;
use nnet3_matrix::{Share, StepRule};

const RATE: Option<f64> = Some(0.001);

pub(super) const TYPES: &[Type] = &[
    Type { name: "adam", rate: RATE, decay: Decay::COUPLED, read: |keys| read(keys, false) },
    Type {
        name: "adamw",
        rate: RATE,
        decay: Decay { weight: 0.01, decoupled: true },
        read: |keys| read(keys, false),
    },
    Type { name: "neon-adam", rate: RATE, decay: Decay::COUPLED, read: |keys| read(keys, true) },
];

#[derive(Debug)]
pub(super) struct Adam {
    pub betas: [f64; 2],
    pub epsilon: f64,
    /// ε is added to the root before the bias is corrected.
    pub epsilon_before_correction: bool,
}

fn read(keys: &mut Keys<'_>, epsilon_before_correction: bool) -> Result<OptimizerRule> {
    let betas = keys.betas([0.9, 0.999])?;
    Ok(elementwise(Adam { betas, epsilon: keys.epsilon(1e-8)?, epsilon_before_correction }))
}

impl Elementwise for Adam {
    fn step(&self, rate: f64, t: u64) -> (StepRule, f32) {
        let [first, second] = self.betas.map(|beta| 1.0 - power(beta, t));
        // √v / √c + ε, divided by √c
        let epsilon =
            if self.epsilon_before_correction { self.epsilon } else { self.epsilon * second.sqrt() };
        let rule = StepRule::Adam {
            first: Share::new(self.betas[0]),
            second: Share::new(self.betas[1]),
            epsilon: epsilon as f32,
        };
        (rule, (rate * second.sqrt() / first) as f32)
    }
}
