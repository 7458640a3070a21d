//! The computation graph of a request: which cindexes are needed and computable, and in which steps they are computed.
//!
//! [`build`] grows the graph backwards from the requested outputs and prunes it; [`epochs`] orders the nodes;
//! [`phases`] orders cindexes within recurrences; [`steps`] turns phases into matrices' row lists.

pub mod build;
pub mod epochs;
pub mod explain;
pub mod phases;
pub mod steps;

pub use build::{ComputationGraph, GraphBuilder};

use crate::error::Result;
use crate::nnet::Nnet;
use crate::request::ComputationRequest;

/// For each requested output, whether each of its indexes is computable.
pub fn computable_outputs(nnet: &Nnet, request: &ComputationRequest) -> Result<Vec<Vec<bool>>> {
    let mut builder = GraphBuilder::new(nnet);
    builder.compute(request)?;
    Ok(builder.computable_outputs(request))
}
