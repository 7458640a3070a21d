//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! The compiler of networks. The path of a request: [`request::ComputationRequest`] → [`graph`] (needed and computable
//! cindexes, in steps) → [`compile`] (commands on sub-matrices: [`computation`]) → [`optimize`] (passes) → [`plan`]
//! (arena offsets) → [`lower`] (operations of a device). [`check`] refuses invalid computations.

pub mod analysis;
mod buckets;
pub mod check;
pub mod compile;
pub mod computation;
pub mod flops;
mod forms;
pub mod graph;
pub mod lower;
pub mod optimize;
pub mod plan;
pub mod request;
