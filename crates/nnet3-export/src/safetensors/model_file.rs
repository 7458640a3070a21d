//! Places of the numbers in a model file.

use kaldi_io::KaldiReader;
use kaldi_io::matrix::read_vector;
use kaldi_io::reader::record::Entry;
use nnet3_core::nnet::Nnet;
use serde_json::Value;

use super::describe::{Names, Place, describe};
use crate::error::{Error, Result};

/// A model in binary form, and its parts that have been read.
pub struct ModelFile {
    pub(super) bytes: Vec<u8>,
    pub(super) node_lines: Vec<String>,
    pub(super) components: Vec<Value>,
    /// The places, in the order of the file.
    pub(super) places: Vec<Place>,
}

impl ModelFile {
    /// Reads a raw network, or an acoustic model from its network on. Bytes behind it are kept without interpretation.
    /// `name` is for messages. It is an error if the form is not binary, or if there is no such model.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<ModelFile> {
        let mut r = KaldiReader::from_bytes(name, bytes.clone());
        if !r.detect_header()? {
            return Err(Error::tensors(format!("{name}: expected a model in binary form")));
        }
        r.start_record();
        let nnet = Nnet::read(&mut r)?;
        let mut names = Names::default();
        let (components, mut places) = describe(&r.take_record(), &mut names);
        places.extend(priors(&mut r, &mut names)?);
        Ok(ModelFile { bytes, node_lines: nnet.node_lines(false), components, places })
    }

    /// Name, type and fields of each component, by the tokens of the file in snake case; parts of composite components are
    /// `parts`. Matrices and vectors are left out.
    pub fn components(&self) -> &[Value] {
        &self.components
    }

    /// The names of all that can be set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.iter().map(|place| place.name.as_str())
    }
}

/// The priors, if an acoustic model's contexts come next.
fn priors(r: &mut KaldiReader, names: &mut Names) -> Result<Option<Place>> {
    if !r.accept_token("<LeftContext>")? {
        return Ok(None);
    }
    r.read_i32()?;
    r.expect_token("<RightContext>")?;
    r.read_i32()?;
    r.expect_token("<Priors>")?;
    r.start_record();
    read_vector::<f32>(r)?;
    Ok(r.take_record().iter().find_map(|entry| match entry {
        Entry::Values(values) => Some(names.place("", "priors", values)),
        _ => None,
    }))
}
