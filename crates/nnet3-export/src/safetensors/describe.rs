//! Interprets the record of a network: names for its numbers, and fields of components for readers without our formats.

use std::collections::HashSet;
use std::ops::Range;

use kaldi_io::reader::record::{Entry, Values};
use nnet3_core::component::registry;
use safetensors::Dtype;
use serde_json::{Map, Value, json};

use super::REST;

/// A matrix, a vector or a single number of a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub name: String,
    /// Byte range of its numbers, row after row, little-endian.
    pub bytes: Range<usize>,
    /// The type of its numbers, `F32` or `F64`.
    pub dtype: Dtype,
    /// Rows and columns of a matrix, the length of a vector, or an empty list for a single number.
    pub shape: Vec<usize>,
}

impl Place {
    /// True if this becomes a tensor: only matrices and vectors do. Single numbers can still be set.
    pub(super) fn is_tensor(&self) -> bool {
        !self.shape.is_empty()
    }
}

/// Names that are given already.
pub(super) struct Names(HashSet<String>);

impl Default for Names {
    fn default() -> Self {
        Names(HashSet::from([REST.to_owned()]))
    }
}

impl Names {
    /// `PREFIX.KEY`, or with `_2`, `_3` and so on if that is taken. Returns the name, and the key with that ending.
    fn give(&mut self, prefix: &str, key: &str) -> (String, String) {
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}.") };
        let mut ended = key.to_owned();
        for number in 2.. {
            if self.0.insert(format!("{prefix}{ended}")) {
                break;
            }
            ended = format!("{key}_{number}");
        }
        (format!("{prefix}{ended}"), ended)
    }

    pub(super) fn place(&mut self, prefix: &str, key: &str, values: &Values) -> Place {
        let dtype = if values.double { Dtype::F64 } else { Dtype::F32 };
        let shape = values.rows.into_iter().chain([values.cols]).collect();
        Place { name: self.give(prefix, key).0, bytes: bytes(&values.bytes), dtype, shape }
    }
}

fn bytes(range: &Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// A component while it is read, or a part of a composite one.
struct Part {
    name: String,
    type_name: String,
    fields: Map<String, Value>,
    parts: Vec<Value>,
    /// The key of the values that come next.
    key: String,
}

impl Part {
    fn new(name: String, type_name: &str) -> Part {
        let (fields, parts) = Default::default();
        Part { name, type_name: type_name.to_owned(), fields, parts, key: "value".to_owned() }
    }

    fn json(self, with_name: bool) -> Value {
        let mut out = Map::new();
        if with_name {
            out.insert("name".to_owned(), self.name.into());
        }
        out.insert("type".to_owned(), self.type_name.into());
        out.insert("fields".to_owned(), self.fields.into());
        if !self.parts.is_empty() {
            out.insert("parts".to_owned(), self.parts.into());
        }
        out.into()
    }
}

/// Returns the components of a network, from the record of its reading, and the places of their numbers.
pub(super) fn describe(record: &[Entry], names: &mut Names) -> (Vec<Value>, Vec<Place>) {
    let mut reading = Reading { names, open: Vec::new(), components: Vec::new(), places: Vec::new() };
    let mut entries = record.iter();
    while let Some(entry) = entries.next() {
        match entry {
            Entry::Token(token) if token == "<ComponentName>" => {
                reading.close_all();
                if let (Some(Entry::Token(name)), Some(Entry::Token(first))) =
                    (entries.next(), entries.next())
                {
                    reading.open.push(Part::new(name.clone(), letters(first)));
                }
            }
            Entry::Token(token) => reading.token(token),
            _ => reading.value(entry),
        }
    }
    reading.close_all();
    (reading.components, reading.places)
}

struct Reading<'n> {
    names: &'n mut Names,
    /// The component that is being read, and the part of it that is.
    open: Vec<Part>,
    components: Vec<Value>,
    places: Vec<Place>,
}

impl Reading<'_> {
    fn token(&mut self, token: &str) {
        let Some(part) = self.open.last_mut() else { return };
        if token.strip_prefix("</").and_then(|rest| rest.strip_suffix('>')) == Some(&part.type_name) {
            self.close();
        } else if registry::find(letters(token)).is_some() {
            let name = format!("{}.{}", part.name, part.parts.len() + 1);
            self.open.push(Part::new(name, letters(token)));
        } else if token.starts_with('<') {
            part.key = snake_case(letters(token));
        } else {
            // A word is the value of the token before it.
            let (_, key) = self.names.give(&part.name, &part.key);
            part.fields.insert(key, token.into());
        }
    }

    /// Closes the innermost open part. It becomes a part of the enclosing part, or a component.
    fn close(&mut self) {
        let Some(part) = self.open.pop() else { return };
        match self.open.last_mut() {
            Some(around) => around.parts.push(part.json(false)),
            None => self.components.push(part.json(true)),
        }
    }

    /// A component ends where the next one begins, whatever its last token was.
    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }

    /// Matrices and vectors become places, single numbers both places and fields, all else fields.
    fn value(&mut self, entry: &Entry) {
        let Some(part) = self.open.last_mut() else { return };
        let value = match entry {
            Entry::Values(values) => {
                self.places.push(self.names.place(&part.name, &part.key, values));
                return;
            }
            Entry::Token(_) => return,
            Entry::Int(value) => json!(value),
            Entry::Real(real) if real.bytes.end - real.bytes.start == 4 => single(real.value as f32),
            Entry::Real(real) => json!(real.value),
            Entry::Bool(value) => json!(value),
            Entry::Ints(values) => json!(values),
            Entry::Pairs(pairs) => json!(pairs),
        };
        let (name, key) = self.names.give(&part.name, &part.key);
        if let Entry::Real(real) = entry {
            let bytes = bytes(&real.bytes);
            let dtype = if bytes.len() == 8 { Dtype::F64 } else { Dtype::F32 };
            self.places.push(Place { name, bytes, dtype, shape: Vec::new() });
        }
        part.fields.insert(key, value);
    }
}

/// A number of 32 bits as short as it can be; null if it is not finite.
pub fn single(value: f32) -> Value {
    match value.is_finite() {
        true => value.to_string().parse::<f64>().map_or(Value::Null, Value::from),
        false => Value::Null,
    }
}

/// A token without its angle brackets.
fn letters(token: &str) -> &str {
    token.trim_start_matches('<').trim_end_matches('>')
}

/// A name such as `LinearParams`, written as `linear_params`.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    let mut before = '_';
    for c in name.chars() {
        if c.is_ascii_uppercase() && before != '_' && !before.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
        before = if c == '-' { '_' } else { c };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_snake_case() {
        for (token, key) in [
            ("<LinearParams>", "linear_params"),
            ("<L2Regularize>", "l2_regularize"),
            ("<AlphaInOut>", "alpha_in_out"),
            ("<TargetRms>", "target_rms"),
            ("<IsBackstitch-Step>", "is_backstitch_step"),
            ("<MaxChange>", "max_change"),
        ] {
            assert_eq!(snake_case(letters(token)), key);
        }
    }

    #[test]
    fn numbers_are_short_or_null() {
        assert_eq!(single(0.1).to_string(), "0.1");
        assert_eq!(single(-3.0).to_string(), "-3.0");
        assert_eq!([single(f32::NAN), single(f32::INFINITY)], [Value::Null, Value::Null]);
    }

    #[test]
    fn names_are_unique() {
        let mut names = Names::default();
        assert_eq!(names.give("nnet3", "rest"), ("nnet3.rest_2".to_owned(), "rest_2".to_owned()));
        let given: Vec<String> = (0..3).map(|_| names.give("a", "alpha").0).collect();
        assert_eq!(given, ["a.alpha", "a.alpha_2", "a.alpha_3"]);
        assert_eq!(names.give("", "priors").0, "priors");
    }
}
