//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! nnet3's core. A network is a graph of components, joined by descriptors over (n, t, x) indexes. For each request it
//! is compiled into a list of matrix commands, planned into one arena, and run.
//!
//! The path of a request: [`nnet::Nnet`] + [`request::ComputationRequest`] → [`graph`] (needed and computable cindexes,
//! in steps) → [`compile`] (commands on sub-matrices: [`computation`]) → [`optimize`] (passes) → [`plan`] (arena
//! offsets) → [`execute`] (replay). See `docs/architecture.md`.

pub mod analysis;
mod buckets;
pub mod c_rand;
pub mod check;
pub mod compile;
pub mod component;
pub mod computation;
pub mod config;
pub mod descriptor;
pub mod error;
pub mod execute;
mod fast_hash;
pub mod flops;
mod forms;
pub mod forward;
pub mod graph;
pub mod index;
pub mod inspect;
pub mod learning;
pub mod lower;
pub mod mersenne;
pub mod natural_gradient;
pub mod nnet;
pub mod optimize;
pub mod orthonormal;
pub mod plan;
pub mod random;
pub mod request;
pub mod run_request;
pub mod snapshot;
pub mod text;

pub use c_rand::CRand;
pub use error::{Error, Result};
pub use index::{Cindex, ComponentId, Index, NO_TIME, NodeId};
pub use mersenne::Mersenne;
pub use random::Random;
