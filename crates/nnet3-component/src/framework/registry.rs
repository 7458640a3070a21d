//! The one list of all component types: creating them from config lines and reading them from files.

use crate::{Component, PrecomputedIndexes};
use kaldi_io::reader::KaldiReader;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::{Error, Result};
use nnet3_base::random::Random;
use std::borrow::Cow;
use std::sync::Arc;

/// Value type of a config key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Float,
    Bool,
    IntList,
    String,
    /// A file or pipe to read.
    File,
}

/// A key of a component's config line, for the documentation and its tests.
#[derive(Clone, Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    /// Empty if the key is required.
    pub default: Cow<'static, str>,
    pub meaning: &'static str,
}

/// A component type.
pub struct ComponentType {
    pub name: &'static str,
    /// One sentence.
    pub purpose: &'static str,
    pub updatable: bool,
    /// Keys that make a small valid component, for documentation and tests.
    pub example: &'static str,
    pub(super) keys: fn(&'static ComponentType) -> Vec<Key>,
    /// Takes all keys of a config line; the caller refuses the rest.
    pub(super) from_config:
        fn(&'static ComponentType, &mut ConfigLine, &Random) -> Result<Box<dyn Component>>,
    /// Reads all up to the closing token; the caller has read the opening one.
    pub(super) read: fn(&'static ComponentType, &mut KaldiReader) -> Result<Box<dyn Component>>,
}

impl ComponentType {
    /// Lists the keys besides the common ones of updatable components ([`crate::updatable::KEYS`]).
    pub fn keys(&'static self) -> Vec<Key> {
        (self.keys)(self)
    }
}

/// Name in files and reader of one type of precomputed indexes. Each family exports its own as `PRECOMPUTED`.
pub(crate) type PrecomputedReader =
    (&'static str, fn(&mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>>);

/// Iterates over all types, family by family.
pub fn types() -> impl Iterator<Item = &'static ComponentType> {
    const FAMILIES: &[&[&ComponentType]] = &[
        crate::attention::TYPES,
        crate::time_height::TYPES,
        crate::convolution::TYPES,
        crate::gru::TYPES,
        crate::lstm::TYPES,
        crate::tdnn::TYPES,
        crate::nonlinear::TYPES,
        crate::pooling::TYPES,
        crate::statistics::TYPES,
        crate::distribute::TYPES,
        crate::truncation::TYPES,
        crate::spec_augment::TYPES,
        crate::general_dropout::TYPES,
        crate::dropout::TYPES,
        crate::fixed::TYPES,
        crate::clip_gradient::TYPES,
        crate::groups::TYPES,
        crate::elementwise::TYPES,
        crate::normalize::TYPES,
        crate::batch_norm::TYPES,
        crate::composite::TYPES,
        crate::constant::TYPES,
        crate::scale_and_offset::TYPES,
        crate::per_element::TYPES,
        crate::block_affine::TYPES,
        crate::repeated::TYPES,
        crate::linear::TYPES,
        crate::affine::TYPES,
    ];
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

pub fn find(name: &str) -> Option<&'static ComponentType> {
    types().find(|t| t.name == name)
}

/// Makes a component from a config line; the caller has consumed its keys `name` and `type`.
pub fn from_config(type_name: &str, line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
    let Some(component_type) = find(type_name) else {
        return Err(line.error(unknown_type(type_name)));
    };
    let component = (component_type.from_config)(component_type, line, random)
        .map_err(|e| in_line(component_type, line, e))?;
    line.finish()?;
    Ok(component)
}

/// An error about a file that a config line names gets the key and the line.
fn in_line(component_type: &'static ComponentType, line: &ConfigLine, error: Error) -> Error {
    let Error::Io(error) = error else { return error };
    let is_file = |key: &&Key| key.kind == Kind::File && line.has(key.name);
    let keys = component_type.keys();
    let names: Vec<&str> = keys.iter().filter(is_file).map(|key| key.name).collect();
    line.error(format!("{}: {}", names.join(", "), error.chain()))
}

/// Reads a component from its opening token on.
pub fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
    let token = r.read_token()?;
    let name = token.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(&token);
    match find(name) {
        Some(component_type) => (component_type.read)(component_type, r),
        None => Err(r.error(format!("expected a component, found {}", unknown_type(name))).into()),
    }
}

/// Reads precomputed indexes, from their opening token on. Stored computations contain them.
pub fn read_precomputed(r: &mut KaldiReader) -> Result<Arc<dyn PrecomputedIndexes>> {
    const READERS: &[&[PrecomputedReader]] = &[
        crate::attention::PRECOMPUTED,
        crate::distribute::PRECOMPUTED,
        crate::general_dropout::PRECOMPUTED,
        crate::pooling::PRECOMPUTED,
        crate::spec_augment::PRECOMPUTED,
        crate::statistics::PRECOMPUTED,
        crate::tdnn::PRECOMPUTED,
        crate::time_height::PRECOMPUTED,
        crate::truncation::PRECOMPUTED,
    ];
    let token = r.read_token()?;
    let name = token.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(&token);
    match READERS.iter().flat_map(|family| family.iter()).find(|(known, _)| *known == name) {
        Some((_, read)) => Ok(Arc::from(read(r)?)),
        None => Err(r.error(format!("unknown kind of precomputed indexes '{name}'")).into()),
    }
}

fn unknown_type(name: &str) -> String {
    let distance = |t: &&ComponentType| strsim::damerau_levenshtein(t.name, name);
    let full = format!("{name}Component");
    let near = find(&full).or_else(|| types().min_by_key(distance).filter(|t| distance(t) <= 4));
    match near {
        Some(near) => format!("unknown component type '{name}'; did you mean {}?", near.name),
        None => format!("unknown component type '{name}'"),
    }
}
