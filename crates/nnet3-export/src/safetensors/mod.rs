//! Models as safetensors files: writing and reading.
//!
//! A file of [`export`] has all bytes of a model file. Each matrix and vector is a tensor, named after its component
//! and the token before it (`tdnn1.affine.linear_params`). All other bytes are one tensor, `nnet3.rest`. The metadata
//! `nnet3` gives the order in which [`restore`] must join them. So types of components need no code here, and models in
//! an old form keep it.
//!
//! [`assign`] replaces values of a model by values of any safetensors file, by name.

mod assign;
mod convert;
mod describe;
mod model_file;
mod statistics;
#[cfg(test)]
mod tests;
mod whole;

pub use assign::{Assigned, NameMap, assign};
pub use describe::single;
pub use model_file::ModelFile;
pub use whole::{export, restore};

use crate::error::{Error, Result};
use safetensors::SafeTensors;

/// The tensor with the bytes that belong to no other.
pub(crate) const REST: &str = "nnet3.rest";

/// The key of the metadata.
const METADATA: &str = "nnet3";

/// Opens a safetensors file. The error says that it is none.
fn open(file: &[u8]) -> Result<SafeTensors<'_>> {
    SafeTensors::deserialize(file).map_err(|e| Error::tensors(format!("this is no safetensors file: {e}")))
}
