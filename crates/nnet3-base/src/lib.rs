//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! The words that all floors of nnet3's networks share: [`index`]es (n, t, x) and ids, [`config`] lines, [`error`]s,
//! [`text`]s of numbers, [`random`] numbers in the reference's order, and [`snapshot`]s of a training's state.

pub mod c_rand;
pub mod config;
pub mod error;
pub mod fast_hash;
pub mod index;
pub mod mersenne;
pub mod random;
pub mod snapshot;
pub mod text;

pub use c_rand::CRand;
pub use error::{Error, Result};
pub use index::{Cindex, ComponentId, Index, NO_TIME, NodeId};
pub use mersenne::Mersenne;
pub use random::Random;
