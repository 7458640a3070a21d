//! Layer types: their keys, and the function that turns values into config lines.

use crate::error::Problem;
use crate::value::Value;
use std::collections::BTreeMap;
use std::fmt::Display;

/// A layer type.
pub struct LayerType {
    pub name: &'static str,
    /// One sentence.
    pub purpose: &'static str,
    /// All keys besides `name`, in groups that types share.
    pub keys: &'static [&'static [Key]],
    /// Keys that make a valid layer after an input of dimension 40, for documentation and tests.
    pub example: &'static str,
    /// Checks the values and writes the lines. May complete settings; expanded xconfigs show the completed ones.
    pub build: fn(&mut Layer) -> Result<Built, Problem>,
}

impl LayerType {
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.keys.iter().flat_map(|group| group.iter())
    }
}

/// A key of a layer type.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub default: Default,
    pub meaning: &'static str,
}

/// Integers of keys are at most this, and dimensions of outputs at most [`MAX_DIM`], so that no product of them that a
/// layer needs overflows.
const MAX_INT: i64 = 1_000_000_000;
pub(crate) const MAX_DIM: i64 = i32::MAX as i64;

/// The default of a key. All values of the key have the kind of the default.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(&'static str),
    /// An integer that has to be given.
    RequiredInt,
    /// A text that has to be given.
    RequiredText,
    /// A descriptor; the previous layer.
    Input,
}

impl Default {
    /// Describes the valid values.
    pub fn kind(self) -> &'static str {
        match self {
            Default::Int(_) | Default::RequiredInt => "integer",
            Default::Float(_) => "number",
            Default::Bool(_) => "true or false",
            Default::Text(_) | Default::RequiredText => "text",
            Default::Input => "descriptor",
        }
    }

    /// `None` if the key is required.
    pub fn value(self) -> Option<Value> {
        Some(match self {
            Default::Int(value) => Value::Int(value),
            Default::Float(value) => Value::Float(value),
            Default::Bool(value) => Value::Bool(value),
            Default::Text(text) => Value::Text(text.to_owned()),
            Default::Input => Value::Text("[-1]".to_owned()),
            Default::RequiredInt | Default::RequiredText => return None,
        })
    }

    /// A value of this kind from its text.
    pub fn parse(self, text: &str) -> Option<Value> {
        match self {
            Default::Int(_) | Default::RequiredInt => {
                text.parse().ok().filter(|value| (-MAX_INT..=MAX_INT).contains(value)).map(Value::Int)
            }
            Default::Float(_) => text.parse().ok().map(Value::Float),
            Default::Bool(_) => match text {
                "true" | "True" => Some(Value::Bool(true)),
                "false" | "False" => Some(Value::Bool(false)),
                _ => None,
            },
            Default::Text(_) | Default::RequiredText | Default::Input => Some(Value::Text(text.to_owned())),
        }
    }
}

pub const INPUT: Key = Key { name: "input", default: Default::Input, meaning: "descriptor of the input" };

/// Short form for tables of keys.
pub const fn key(name: &'static str, default: Default, meaning: &'static str) -> Key {
    Key { name, default, meaning }
}

/// The target of a descriptor: a node or an expression over nodes, and its number of columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub expression: String,
    pub dim: i64,
}

impl Output {
    pub fn new(expression: impl Into<String>, dim: i64) -> Output {
        Output { expression: expression.into(), dim }
    }
}

/// One layer while its lines are written. Getters panic if the layer type has no such key, or one of another kind.
pub struct Layer {
    pub layer_type: &'static LayerType,
    pub name: String,
    pub(crate) settings: BTreeMap<&'static str, Value>,
    /// Absent for layer types without a key `input`.
    pub(crate) input: Option<Output>,
}

impl Layer {
    /// The input, in terms of nodes.
    pub fn input(&self) -> Output {
        self.input.clone().expect("the layer type has an input")
    }

    pub fn value(&self, key: &str) -> &Value {
        self.settings.get(key).unwrap_or_else(|| panic!("{} has a key '{key}'", self.layer_type.name))
    }

    pub fn int(&self, key: &str) -> i64 {
        match self.value(key) {
            Value::Int(value) => *value,
            other => panic!("'{key}' of {} is an integer: {other}", self.layer_type.name),
        }
    }

    pub fn float(&self, key: &str) -> f64 {
        match self.value(key) {
            Value::Float(value) => *value,
            other => panic!("'{key}' of {} is a number: {other}", self.layer_type.name),
        }
    }

    pub fn flag(&self, key: &str) -> bool {
        match self.value(key) {
            Value::Bool(value) => *value,
            other => panic!("'{key}' of {} is a bool: {other}", self.layer_type.name),
        }
    }

    pub fn text(&self, key: &str) -> &str {
        self.value(key).as_text().unwrap_or_else(|| panic!("'{key}' of {} is text", self.layer_type.name))
    }

    pub fn set(&mut self, key: &'static str, value: Value) {
        self.settings.insert(key, value);
    }

    /// A dimension that is the input's if it is not positive.
    pub(crate) fn dim_or_input(&mut self, key: &'static str) -> i64 {
        if self.int(key) <= 0 {
            self.set(key, Value::Int(self.input().dim));
        }
        self.int(key)
    }

    pub fn bad(&self, key: &str, expected: impl Into<String>) -> Problem {
        Problem::Value { key: key.to_owned(), found: self.value(key).to_string(), expected: expected.into() }
    }

    pub fn require(&self, good: bool, key: &str, expected: impl FnOnce() -> String) -> Result<(), Problem> {
        if good { Ok(()) } else { Err(self.bad(key, expected())) }
    }

    pub fn positive(&self, key: &str) -> Result<i64, Problem> {
        self.require(self.int(key) > 0, key, || "a positive integer".into())?;
        Ok(self.int(key))
    }

    pub fn not_negative(&self, key: &str) -> Result<i64, Problem> {
        self.require(self.int(key) >= 0, key, || "0 or a positive integer".into())?;
        Ok(self.int(key))
    }

    /// A number between 0 and 1.
    pub fn proportion(&self, key: &str) -> Result<f64, Problem> {
        self.require((0.0..=1.0).contains(&self.float(key)), key, || "a number from 0 to 1".into())?;
        Ok(self.float(key))
    }

    /// A dropout proportion, −1 for none.
    pub(crate) fn optional_dropout(&self) -> Result<Option<f64>, Problem> {
        let value = self.float("dropout-proportion");
        let good = value == -1.0 || (0.0..=1.0).contains(&value);
        self.require(good, "dropout-proportion", || "a number from 0 to 1, or -1 for no dropout".into())?;
        Ok((value != -1.0).then_some(value))
    }

    /// Returns `key=value` of each key with a nonempty value, in this order.
    pub fn given(&self, keys: &[&str]) -> String {
        let pair = |key: &&str| match self.value(key).to_string() {
            empty if empty.is_empty() => None,
            value => Some(format!("{key}={value}")),
        };
        keys.iter().filter_map(pair).collect::<Vec<_>>().join(" ")
    }

    /// Returns `key=value`, or an empty text if the value is `usual`.
    pub fn unless(&self, key: &str, usual: f64) -> String {
        if self.float(key) == usual { String::new() } else { format!("{key}={}", self.value(key)) }
    }

    /// The layer type's words before `-layer`: operations in their order.
    pub fn words(&self) -> Vec<&'static str> {
        self.layer_type.name.split('-').filter(|word| *word != "layer").collect()
    }

    /// The input if it is a node and not an expression.
    pub fn input_node(&self) -> Result<String, Problem> {
        let expression = self.input().expression;
        match crate::line::is_name(&expression) {
            true => Ok(expression),
            false => Err(self.bad("input", "one layer, without offsets or operators")),
        }
    }
}

/// The configs that receive a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The whole network: `ref` and `final`.
    Network,
    /// All configs: `init`, `ref` and `final`.
    All,
    Init,
    Reference,
    Final,
}

/// An output of a layer besides the principal one, written `layer.name` in descriptors.
pub struct Auxiliary {
    pub name: &'static str,
    pub output: Output,
    /// A line that the network has only if this output is used.
    pub line_if_used: Option<String>,
}

/// A matrix that config lines refer to by file name, as text.
pub struct MatrixFile {
    pub path: String,
    pub text: String,
}

/// The result of a layer.
pub struct Built {
    pub lines: Vec<(Target, String)>,
    /// `None` for a layer that no descriptor may use.
    pub output: Option<Output>,
    pub auxiliary: Vec<Auxiliary>,
    pub matrices: Vec<MatrixFile>,
}

/// Writes the lines of a layer. Names of components and nodes are the layer's name, a dot and the given text. If the
/// text is empty, the name is the layer's own.
pub struct Builder {
    name: String,
    target: Target,
    lines: Vec<(Target, String)>,
    auxiliary: Vec<Auxiliary>,
    matrices: Vec<MatrixFile>,
}

impl Builder {
    pub fn new(layer: &Layer) -> Builder {
        Builder {
            name: layer.name.clone(),
            target: Target::Network,
            lines: Vec::new(),
            auxiliary: Vec::new(),
            matrices: Vec::new(),
        }
    }

    /// The configs of the lines from here on.
    pub fn target(&mut self, target: Target) {
        self.target = target;
    }

    pub(crate) fn full_name(&self, name: &str) -> String {
        if name.is_empty() { self.name.clone() } else { format!("{}.{name}", self.name) }
    }

    /// Any line; runs of blanks become one blank.
    pub fn line(&mut self, text: impl AsRef<str>) {
        let words: Vec<&str> = text.as_ref().split_whitespace().collect();
        self.lines.push((self.target, words.join(" ")));
    }

    pub fn component(&mut self, name: &str, component_type: &str, arguments: impl Display) {
        let name = self.full_name(name);
        self.line(format!("component name={name} type={component_type} {arguments}"));
    }

    /// A node; returns its full name.
    pub fn node(&mut self, name: &str, component: &str, input: impl Display) -> String {
        let (name, component) = (self.full_name(name), self.full_name(component));
        self.line(format!("component-node name={name} component={component} input={input}"));
        name
    }

    /// Adds a component, and the only node that uses it. Returns the node's full name.
    pub fn stage(
        &mut self,
        name: &str,
        component_type: &str,
        arguments: impl Display,
        input: impl Display,
    ) -> String {
        self.component(name, component_type, arguments);
        self.node(name, name, input)
    }

    /// A node with `dim` columns of another node of this layer, from column `offset` on.
    pub fn columns(&mut self, name: &str, of: &str, offset: i64, dim: i64) {
        let (name, of) = (self.full_name(name), self.full_name(of));
        self.line(format!("dim-range-node name={name} input-node={of} dim-offset={offset} dim={dim}"));
    }

    pub fn auxiliary(&mut self, name: &'static str, node: &str, dim: i64) {
        let output = Output::new(self.full_name(node), dim);
        self.auxiliary.push(Auxiliary { name, output, line_if_used: None });
    }

    /// An auxiliary output, the node `node`, which has the line `line` only if it is used.
    pub(crate) fn auxiliary_on_demand(&mut self, name: &'static str, node: &str, dim: i64, line: String) {
        let output = Output::new(self.full_name(node), dim);
        self.auxiliary.push(Auxiliary { name, output, line_if_used: Some(line) });
    }

    pub fn matrix(&mut self, path: &str, text: String) {
        self.matrices.push(MatrixFile { path: path.to_owned(), text });
    }

    /// The end, with a node or expression as output.
    pub fn finish(self, expression: impl Into<String>, dim: i64) -> Built {
        let output = Some(Output::new(expression, dim));
        Built { output, lines: self.lines, auxiliary: self.auxiliary, matrices: self.matrices }
    }

    /// Ends a layer without a usable principal output.
    pub(crate) fn finish_output(self) -> Built {
        Built { output: None, lines: self.lines, auxiliary: self.auxiliary, matrices: self.matrices }
    }
}
