//! Learning by other rules than natural gradient: optimisers chosen by the names of components and parts, schedules of
//! their rates, costs of outputs, metrics.
//!
//! [`rules`] parses the lines of users, [`plan`] applies them to a network, [`learner`] makes the steps. Optimisers are
//! in [`optimizer`]; their arithmetic is the primitive `learn`. A rule that needs more than single elements has a file
//! ([`muon`]). [`fit`] is the loop of a whole training.

pub mod cost;
pub mod fit;
mod keys;
pub mod learner;
pub mod metrics;
mod muon;
pub mod optimizer;
pub mod plan;
pub mod rules;
pub mod schedule;
pub mod state;

#[cfg(test)]
mod tests;

pub use cost::Costs;
pub use learner::{AverageOptions, Learner, LearnerOptions, Normalize};
pub use metrics::Metric;
pub use plan::Plan;
pub use rules::Rules;
pub use schedule::Progress;
