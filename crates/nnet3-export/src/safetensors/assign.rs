//! Values of a safetensors file into a model, by name.

use std::collections::{BTreeMap, BTreeSet};

use safetensors::tensor::TensorView;

use super::convert::{decode, encode};
use super::describe::Place;
use super::model_file::ModelFile;
use super::statistics::check_counts;
use super::{REST, open};
use crate::error::{Error, Result};

/// Names of tensors in the model, if they differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NameMap(BTreeMap<String, Option<String>>);

impl NameMap {
    /// Parses lines with the name of a tensor and its name in the model, or `-` for a tensor to leave out. Empty lines
    /// and lines that begin with `#` are skipped.
    pub fn parse(text: &str) -> Result<NameMap> {
        let (mut map, mut targets) = (BTreeMap::new(), BTreeSet::new());
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let wrong = |what: String| Error::tensors(format!("line {}: {what}", number + 1));
            let (theirs, ours) = match words[..] {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [theirs, ours] => (theirs, ours),
                _ => {
                    return Err(wrong(format!(
                        "expected two names, of a tensor and of a parameter of the model, found {} words",
                        words.len()
                    )));
                }
            };
            let target = (ours != "-").then(|| ours.to_owned());
            if target.is_some() && !targets.insert(ours) {
                return Err(wrong(format!("'{ours}' has a tensor already")));
            }
            if map.insert(theirs.to_owned(), target).is_some() {
                return Err(wrong(format!("the tensor '{theirs}' has a line already")));
            }
        }
        Ok(NameMap(map))
    }
}

/// The result of an assignment.
pub struct Assigned {
    /// The model file with its new values.
    pub model: Vec<u8>,
    /// Matrices, vectors and numbers that were set, in the order of the file.
    pub set: Vec<String>,
    /// Matrices and vectors that have kept their values, without the empty ones.
    pub kept: Vec<String>,
    /// Tensors without a counterpart.
    pub ignored: Vec<String>,
}

/// Replaces values of the model by tensors with the same names (after `names` has been applied). Numbers of 16, 32 and
/// 64 bits are converted to the model's type.
///
/// Errors: a tensor has another shape or does not hold floating-point numbers, or a number is not finite. Two tensors
/// may not have the same target, and each line of `names` needs a tensor. If `strict`, a tensor without a counterpart
/// in the model is an error too.
pub fn assign(model: &ModelFile, tensors: &[u8], names: &NameMap, strict: bool) -> Result<Assigned> {
    let file = open(tensors)?;
    let mut tensors: Vec<_> = file.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    if let Some(name) = names.0.keys().find(|name| file.tensor(name).is_err()) {
        return Err(Error::tensors(format!(
            "there is no tensor '{name}', which has a line in the list of names"
        )));
    }
    let places: BTreeMap<&str, &Place> =
        model.places.iter().map(|place| (place.name.as_str(), place)).collect();
    let (mut given, mut ignored) = (BTreeMap::new(), Vec::new());
    for (theirs, tensor) in &tensors {
        let ours = match names.0.get(theirs) {
            Some(None) => continue,
            Some(Some(ours)) => ours,
            None if theirs == REST => continue,
            None => theirs,
        };
        match places.get(ours.as_str()) {
            Some(place) => {
                let old = given.insert(place.bytes.start, (theirs, *place, tensor));
                if let Some((before, ..)) = old {
                    return Err(Error::tensors(format!("'{before}' and '{theirs}' are both for '{ours}'")));
                }
            }
            None if strict => return Err(unknown(theirs, ours, &places)),
            None => ignored.push(theirs.clone()),
        }
    }
    let mut bytes = model.bytes.clone();
    for (theirs, place, tensor) in given.values() {
        let values = values(theirs, place, tensor)?;
        bytes[place.bytes.clone()].copy_from_slice(&values);
    }
    let model = ModelFile::read("the model with these values", bytes)?;
    let is_set = |place: &Place| given.contains_key(&place.bytes.start);
    check_counts(&model, is_set)?;
    let all = |wanted: &dyn Fn(&Place) -> bool| {
        model.places.iter().filter(|place| wanted(place)).map(|place| place.name.clone()).collect()
    };
    let set = all(&|place| is_set(place));
    let kept = all(&|place| place.is_tensor() && !place.bytes.is_empty() && !is_set(place));
    Ok(Assigned { model: model.bytes, set, kept, ignored })
}

fn unknown(theirs: &str, ours: &str, places: &BTreeMap<&str, &Place>) -> Error {
    let who = if theirs == ours { String::new() } else { format!(" (the tensor '{theirs}')") };
    let near = places.keys().map(|name| (strsim::damerau_levenshtein(name, ours), name)).min();
    let hint = match near {
        Some((distance, name)) if distance <= ours.len() / 3 => format!("; did you mean '{name}'?"),
        _ => String::new(),
    };
    Error::tensors(format!("the model has no parameter or node '{ours}'{who}{hint}"))
}

/// The bytes that a tensor has for a place.
pub(super) fn values(theirs: &str, place: &Place, tensor: &TensorView<'_>) -> Result<Vec<u8>> {
    let Place { name, dtype, shape, .. } = place;
    // A single number may come as a vector of one.
    if tensor.shape() != shape && !(shape.is_empty() && tensor.shape() == [1]) {
        let found = tensor.shape();
        return Err(Error::tensors(format!(
            "the tensor '{theirs}' has the shape {found:?}, but '{name}' of the model has {shape:?}"
        )));
    }
    let Some(numbers) = decode(tensor) else {
        return Err(Error::tensors(format!(
            "the tensor '{theirs}' holds numbers of type {}; expected F32, F64, F16 or BF16",
            tensor.dtype()
        )));
    };
    encode(&numbers, *dtype).map_err(|(i, value)| {
        let place = match shape[..] {
            [_, cols] => format!("row {}, column {} (both from 0)", i / cols, i % cols),
            _ => format!("element {i} (from 0)"),
        };
        let fault = match value.is_finite() {
            true => format!("{value:e}, which no {dtype} can hold"),
            false => format!("{value}"),
        };
        Error::tensors(format!("the tensor '{theirs}' has at {place} the value {fault}"))
    })
}
