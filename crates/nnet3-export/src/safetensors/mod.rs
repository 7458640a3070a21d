//! Models as safetensors files, both ways.
//!
//! A file that [`export`] writes holds a model file to the last byte: each matrix and vector is a tensor, named after
//! its component and the token before it (`tdnn1.affine.linear_params`); all other bytes are one tensor, `nnet3.rest`;
//! the metadata `nnet3` gives the order in which [`restore`] must join them. So no type of component has code here, and
//! models in an old form keep it.
//!
//! [`assign`] is the other way in: values of any safetensors file replace those of a model by name.

mod assign;
mod convert;
mod describe;
mod model_file;
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

/// Opens what should be a safetensors file.
fn open(file: &[u8]) -> Result<SafeTensors<'_>> {
    SafeTensors::deserialize(file).map_err(|e| Error::tensors(format!("this is no safetensors file: {e}")))
}
