//! Sums over an epoch.

use std::collections::BTreeMap;

use nnet3_core::snapshot::Keeper;

use super::Host;
use crate::learn::Plan;
use crate::objective::ObjectiveValue;
use crate::trainer::{Event, keep_by_name};

/// Sums over the minibatches of an epoch, and its messages.
#[derive(Debug, Default)]
pub struct EpochSums {
    pub minibatches: u64,
    /// Objectives by the names of outputs.
    pub objectives: BTreeMap<String, ObjectiveValue>,
    /// Gradients with a finite norm, the sum of these norms, and the number of gradients that were clipped.
    pub gradients: u64,
    pub norms: f64,
    pub clipped: u64,
    /// Changes of parameters that were not made.
    pub refused: u64,
    /// Messages about phases and limits of changes, for the log of the epoch.
    pub messages: Vec<String>,
    /// An output with an objective that was not finite.
    pub not_finite: Option<String>,
}

impl EpochSums {
    /// Takes or puts back all of it.
    pub(super) fn keep(&mut self, keeper: &mut Keeper<'_>) -> nnet3_core::Result<()> {
        keep_by_name(keeper, &mut self.objectives, ObjectiveValue::default, ObjectiveValue::keep)?;
        keeper.count(&mut self.gradients)?;
        keeper.number(&mut self.norms)?;
        keeper.count(&mut self.clipped)?;
        keeper.count(&mut self.refused)?;
        let mut count = self.messages.len();
        keeper.count(&mut count)?;
        for k in 0..count {
            let mut message = self.messages.get_mut(k).map(std::mem::take).unwrap_or_default();
            keeper.text(&mut message)?;
            match self.messages.get_mut(k) {
                Some(own) => *own = message,
                None => self.messages.push(message),
            }
        }
        Ok(())
    }

    /// Adds an event, and passes it on if it does not go into sums alone.
    pub(super) fn add(&mut self, event: &Event, host: &mut dyn Host) {
        match event {
            Event::Objective { output, value, .. } => {
                if !value.total_average().is_finite() && value.weight != 0.0 {
                    self.not_finite = Some(output.clone());
                }
                *self.objectives.entry(output.clone()).or_default() += *value;
            }
            Event::Gradient { norm, .. } if norm.norm.is_finite() => {
                self.gradients += 1;
                self.norms += norm.norm;
                self.clipped += u64::from(norm.clipped);
            }
            Event::Gradient { .. } => {}
            Event::Phase(phase) => self.messages.push(phase.to_string()),
            Event::MaxChange(limits) => self.messages.push(limits.to_string()),
            Event::ChangeRefused { .. } => {
                self.refused += 1;
                host.event(event);
            }
            Event::Constraint { .. } | Event::Remark { .. } | Event::Memory { .. } => host.event(event),
        }
    }

    /// Returns the loss per frame.
    pub fn loss(&self, plan: &Plan) -> f64 {
        let sum = |f: &dyn Fn(&str, &ObjectiveValue) -> f64| {
            self.objectives.iter().map(|(name, v)| f(name, v)).sum::<f64>()
        };
        let cost = sum(&|name, v| -plan.costs.weight(name) * (v.objective + v.auxiliary));
        cost / sum(&|_, v| v.weight)
    }
}
