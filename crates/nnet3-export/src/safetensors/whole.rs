//! A model file as a safetensors file, and back, byte for byte.

use std::borrow::Cow;
use std::collections::HashSet;

use safetensors::{Dtype, SafeTensors, View};
use serde_json::{Value, json};

use super::assign::values;
use super::model_file::ModelFile;
use super::statistics::{check_counts, uncounted};
use super::{METADATA, REST, open};
use crate::error::{Error, Result};

const VERSION: u64 = 1;

/// The metadata's list of statistics that had no effect before the export, as their count is 0.
const UNCOUNTED: &str = "statistics_without_count";

struct Tensor<'a> {
    dtype: Dtype,
    shape: Cow<'a, [usize]>,
    data: Cow<'a, [u8]>,
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.data)
    }
    fn data_len(&self) -> usize {
        self.data.len()
    }
}

/// Returns the bytes of a safetensors file that holds the model. They depend only on the model.
pub fn export(model: &ModelFile) -> Result<Vec<u8>> {
    let (mut rest, mut order, mut tensors) = (Vec::new(), Vec::new(), Vec::new());
    let mut done = 0;
    for place in model.places.iter().filter(|place| place.is_tensor()) {
        rest.extend_from_slice(&model.bytes[done..place.bytes.start]);
        order.push(json!(place.bytes.start - done));
        order.push(json!({"name": place.name, "dtype": place.dtype.to_string(), "shape": place.shape}));
        let data = Cow::Borrowed(&model.bytes[place.bytes.clone()]);
        let shape = Cow::Borrowed(&place.shape[..]);
        tensors.push((place.name.as_str(), Tensor { dtype: place.dtype, shape, data }));
        done = place.bytes.end;
    }
    rest.extend_from_slice(&model.bytes[done..]);
    order.push(json!(model.bytes.len() - done));
    let mut metadata = json!({
        "version": VERSION,
        "nodes": model.node_lines,
        "components": model.components,
        "file": order,
    });
    let uncounted: Vec<&str> = uncounted(model).iter().map(|(place, _)| place.name.as_str()).collect();
    if !uncounted.is_empty() {
        metadata[UNCOUNTED] = json!(uncounted);
    }
    let shape = Cow::Owned(vec![rest.len()]);
    tensors.push((REST, Tensor { dtype: Dtype::U8, shape, data: Cow::Owned(rest) }));
    let metadata = [(METADATA.to_owned(), metadata.to_string())];
    safetensors::serialize(tensors, Some(metadata.into_iter().collect()))
        .map_err(|e| Error::tensors(format!("the model does not fit a safetensors file: {e}")))
}

/// Returns the model file from which [`export`] made a safetensors file. Values may have changed since, but not shapes
/// and types. Single numbers of components can be set by further tensors of one element. The result is a readable
/// model. Statistics that have been set have an effect: it is an error if their count is 0.
pub fn restore(file: &[u8]) -> Result<Vec<u8>> {
    let tensors = open(file)?;
    let metadata = metadata(file)?;
    let order = order(&metadata)?;
    let mut rest = match tensors.tensor(REST) {
        Ok(tensor) => tensor.data(),
        Err(_) => {
            return Err(Error::tensors(format!("there is no tensor '{REST}', which a whole model has")));
        }
    };
    let (mut out, mut used) = (Vec::with_capacity(file.len()), HashSet::from([REST.to_owned()]));
    for item in &order {
        match item {
            Item::Rest(count) => {
                let Some((next, after)) = rest.split_at_checked(*count) else {
                    return Err(Error::tensors(format!(
                        "the tensor '{REST}' is too short: {count} more bytes expected, {} found",
                        rest.len()
                    )));
                };
                out.extend_from_slice(next);
                rest = after;
            }
            Item::Tensor { name, dtype, shape } => {
                out.extend_from_slice(expected(&tensors, name, dtype, shape)?);
                if !used.insert(name.clone()) {
                    return Err(Error::tensors(format!("the metadata names the tensor '{name}' twice")));
                }
            }
        }
    }
    if !rest.is_empty() {
        return Err(Error::tensors(format!("the tensor '{REST}' has {} bytes too many", rest.len())));
    }
    let mut model = ModelFile::read("the model in it", out)?;
    let mut more: Vec<_> = tensors.tensors().into_iter().filter(|(name, _)| !used.contains(name)).collect();
    more.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, tensor) in &more {
        let Some(place) = model.places.iter().find(|place| place.name == *name) else {
            return Err(Error::tensors(format!(
                "the tensor '{name}' is no part of the model; to set parameters by name, give a model and this file"
            )));
        };
        model.bytes[place.bytes.clone()].copy_from_slice(&values(name, place, tensor)?);
    }
    if !more.is_empty() {
        model = ModelFile::read("the model with these numbers", model.bytes)?;
    }
    let old = metadata[UNCOUNTED].as_array().map_or(&[][..], Vec::as_slice);
    check_counts(&model, |place| !old.iter().any(|name| *name == place.name))?;
    Ok(model.bytes)
}

/// A piece of the model file.
enum Item {
    /// The next bytes of `nnet3.rest`.
    Rest(usize),
    Tensor {
        name: String,
        dtype: String,
        shape: Vec<usize>,
    },
}

fn damaged(what: &str) -> Error {
    Error::tensors(format!("the metadata '{METADATA}' is damaged: {what}"))
}

/// The metadata of a whole model.
fn metadata(file: &[u8]) -> Result<Value> {
    let (_, metadata) =
        SafeTensors::read_metadata(file).map_err(|e| Error::tensors(format!("its header: {e}")))?;
    let Some(text) = metadata.metadata().as_ref().and_then(|all| all.get(METADATA)) else {
        return Err(Error::tensors(format!(
            "there is no metadata '{METADATA}', so this is no whole model; to set parameters by name, give a model and this file"
        )));
    };
    let value: Value = serde_json::from_str(text).map_err(|e| damaged(&e.to_string()))?;
    match &value["version"] {
        version if version.as_u64() == Some(VERSION) => Ok(value),
        version => Err(damaged(&format!("expected version {VERSION}, found {version}"))),
    }
}

/// The pieces of the model file in their order.
fn order(metadata: &Value) -> Result<Vec<Item>> {
    let items = metadata["file"].as_array().ok_or_else(|| damaged("there is no list 'file'"))?;
    let items = items.iter().map(item);
    items.collect::<Option<_>>().ok_or_else(|| damaged("an item of 'file' is neither a number nor a tensor"))
}

fn item(value: &Value) -> Option<Item> {
    let size = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    if value.is_number() {
        return size(value).map(Item::Rest);
    }
    Some(Item::Tensor {
        name: value["name"].as_str()?.to_owned(),
        dtype: value["dtype"].as_str()?.to_owned(),
        shape: value["shape"].as_array()?.iter().map(size).collect::<Option<_>>()?,
    })
}

/// The bytes of a tensor of this type and shape.
fn expected<'a>(tensors: &SafeTensors<'a>, name: &str, dtype: &str, shape: &[usize]) -> Result<&'a [u8]> {
    let Ok(tensor) = tensors.tensor(name) else {
        return Err(Error::tensors(format!("there is no tensor '{name}', which the model has")));
    };
    if (tensor.dtype().to_string(), tensor.shape()) != (dtype.to_owned(), shape) {
        return Err(Error::tensors(format!(
            "the tensor '{name}' is {} {:?}, but {dtype} {shape:?} in the model",
            tensor.dtype(),
            tensor.shape()
        )));
    }
    Ok(tensor.data())
}
