//! Learning by other rules than natural gradient: optimisers chosen by the names of components and parts, schedules of
//! their rates. Costs of outputs and metrics are objectives ([`crate::objective`]).
//!
//! [`rules`] parses the lines of users, [`plan`] applies them to a network, [`learner`] makes the steps. Optimisers are
//! in [`optimizer`], a file each; their arithmetic is the primitive `learn`. [`fit`] is the loop of a whole training.

pub mod fit;
pub mod learner;
pub mod optimizer;
pub mod plan;
pub mod rules;
pub mod schedule;
pub mod state;

#[cfg(test)]
mod tests;

pub use crate::objective::{Costs, Metric};
pub use learner::{AverageOptions, Learner, LearnerOptions, Normalize};
pub use plan::Plan;
pub use rules::Rules;
pub use schedule::Progress;
