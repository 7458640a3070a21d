//! The training without rules: natural gradient, momentum, limits on changes.

use super::{Decay, OptimizerRule, Type};
use crate::error::Result;
use crate::keys::{Keys, below_one, not_negative};

pub(super) const TYPES: &[Type] = &[Type { name: "kaldi", rate: None, decay: Decay::COUPLED, read }];

/// Settings that a line may have. `None` is the value of the program's option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kaldi {
    pub momentum: Option<f32>,
    pub max_param_change: Option<f32>,
}

fn read(keys: &mut Keys<'_>) -> Result<OptimizerRule> {
    let momentum = keys.optional("momentum", below_one)?.map(|m| m as f32);
    let max_param_change = keys.optional("max-param-change", not_negative)?.map(|m| m as f32);
    Ok(OptimizerRule::Kaldi(Kaldi { momentum, max_param_change }))
}
