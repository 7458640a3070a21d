//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! nnet3's core. A network is a graph of components, joined by descriptors over (n, t, x) indexes. For each request it
//! is compiled into a list of matrix commands, planned into one arena, and run.
//!
//! This crate runs programs: [`execute`] (replay), [`forward`] (whole utterances), [`inspect`] (listings and profiles).
//! It shows the floors below under names of its own: components (`nnet3-component`), networks (`nnet3-network`), learning
//! (`nnet3-learning`) and the compiler (`nnet3-compiler`). The path of a request: [`nnet::Nnet`] +
//! [`request::ComputationRequest`] → [`graph`] (needed and computable cindexes, in steps) → [`compile`] (commands on
//! sub-matrices: [`computation`]) → [`optimize`] (passes) → [`plan`] (arena offsets) → [`execute`]. See
//! `docs/architecture.md`.

pub mod execute;
pub mod forward;
pub mod inspect;
pub mod run_request;

pub use nnet3_base::{c_rand, config, error, index, mersenne, random, snapshot, text};
pub use nnet3_compiler::{
    analysis, check, compile, computation, flops, graph, lower, optimize, plan, request,
};
pub use nnet3_component as component;
pub use nnet3_learning as learning;
pub use nnet3_learning::{natural_gradient, orthonormal};
pub use nnet3_network as nnet;
pub use nnet3_network::descriptor;

pub use c_rand::CRand;
pub use error::{Error, Result};
pub use index::{Cindex, ComponentId, Index, NO_TIME, NodeId};
pub use mersenne::Mersenne;
pub use random::Random;
