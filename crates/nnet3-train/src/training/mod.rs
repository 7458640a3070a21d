//! Training: from minibatches to changed parameters.
//!
//! - [`trainer`], [`replicas`]: one pass over minibatches, with one network or with several.
//! - [`request`], [`minibatch`]: the program of a minibatch and its inputs.
//! - [`update`]: the step of parameters; [`max_change`], [`norm_limits`]: its limits.
//! - [`ledger`], [`phase_stats`], [`times`]: values for the log.

pub mod ledger;
pub mod max_change;
pub mod minibatch;
pub mod norm_limits;
pub mod phase_stats;
pub mod replicas;
pub mod request;
pub mod times;
pub mod trainer;
pub mod update;
