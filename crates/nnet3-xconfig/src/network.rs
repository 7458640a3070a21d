//! Layers one after another: references between them, and the configs that they make up.

use crate::descriptor::Descriptor;
use crate::error::{Error, Problem, Result, nearest};
use crate::layer::{Built, Default, Layer, LayerType, MAX_DIM, MatrixFile, Output, Target};
use crate::line::{self, Line, is_name};
use crate::registry;
use crate::value::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A node of an existing network. Layers may use it by its full name.
#[derive(Clone, Debug, PartialEq)]
pub struct ExistingNode {
    pub name: String,
    pub dim: i64,
}

/// The configs of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Config {
    /// Inputs, and nodes for the statistics of an LDA-like transform.
    Init,
    /// The whole network with random parameters in place of matrices from files.
    Reference,
    /// The whole network.
    Final,
}

impl Config {
    fn takes(self, target: Target) -> bool {
        match target {
            Target::Network => self != Config::Init,
            Target::All => true,
            Target::Init => self == Config::Init,
            Target::Reference => self == Config::Reference,
            Target::Final => self == Config::Final,
        }
    }
}

/// An expanded xconfig.
pub struct Network {
    existing: Vec<ExistingNode>,
    layers: Vec<Expanded>,
    /// Auxiliary outputs in use, with index of the layer.
    used: BTreeSet<(usize, &'static str)>,
}

struct Expanded {
    layer_type: &'static LayerType,
    name: String,
    settings: BTreeMap<&'static str, Value>,
    /// The key `input` in normal form, if there is one.
    input: Option<String>,
    built: Built,
}

/// Expands an xconfig; `file` is its name in errors. `existing`: nodes of the network that the result will be added to.
pub fn expand(file: &str, text: &str, existing: Vec<ExistingNode>) -> Result<Network> {
    let mut network = Network { existing, layers: Vec::new(), used: BTreeSet::new() };
    for (index, line_text) in text.lines().enumerate() {
        let mut who = String::new();
        network.add(line_text, &mut who).map_err(|problem| Error::Line {
            file: file.to_owned(),
            line: index + 1,
            layer: who,
            problem: Box::new(problem),
            text: line_text.trim().to_owned(),
        })?;
    }
    if network.layers.is_empty() {
        return Err(Error::Empty { file: file.to_owned() });
    }
    let is_output = |(_, line): &(Target, String)| line.starts_with("output-node ");
    let mut lines = network.layers.iter().flat_map(|layer| &layer.built.lines);
    if !lines.any(|line| is_output(line) && Config::Final.takes(line.0)) {
        return Err(Error::NoOutput { file: file.to_owned() });
    }
    Ok(network)
}

impl Network {
    /// Adds the layer of a line. `who` becomes the layer's type and name as soon as they are known.
    fn add(&mut self, text: &str, who: &mut String) -> Result<(), Problem> {
        let Some(Line { layer_type, mut pairs }) = line::parse(text)? else { return Ok(()) };
        *who = layer_type.clone();
        let layer_type = registry::find(&layer_type).ok_or_else(|| Problem::UnknownType {
            near: nearest(&layer_type, registry::types().map(|t| t.name)),
            found: layer_type,
        })?;
        let name = match pairs.iter().position(|(key, _)| key == "name") {
            Some(index) => pairs.remove(index).1,
            None => return Err(Problem::Missing { key: "name".into(), expected: "text" }),
        };
        *who = format!("{who} '{name}'");
        self.check_name(&name)?;

        let settings = settings(layer_type, pairs)?;
        let mut layer = Layer { layer_type, name, settings, input: None };
        let mut normal = None;
        if let Some(Value::Text(text)) = layer.settings.get("input") {
            let (descriptor, output) = self.resolve(text).map_err(|message| Problem::Descriptor {
                key: "input".into(),
                found: text.clone(),
                message,
            })?;
            normal = Some(descriptor.text(&str::to_owned));
            layer.input = Some(output);
        }
        let built = (layer_type.build)(&mut layer)?;
        if let Some(output) = built.output.as_ref().filter(|output| output.dim > MAX_DIM) {
            return Err(Problem::Syntax(format!(
                "the output has {} columns; expected at most {MAX_DIM}",
                output.dim
            )));
        }
        let Layer { name, settings, .. } = layer;
        self.layers.push(Expanded { layer_type, name, settings, input: normal, built });
        Ok(())
    }

    fn check_name(&self, name: &str) -> Result<(), Problem> {
        let bad = |expected: &str| Problem::Value {
            key: "name".into(),
            found: name.to_owned(),
            expected: expected.to_owned(),
        };
        if !is_name(name) {
            return Err(bad("a letter or _, then letters, digits, _ - ."));
        }
        match self.layers.iter().any(|layer| layer.name == name) {
            true => Err(bad("a name that no layer before has")),
            false => Ok(()),
        }
    }

    /// Parses a descriptor and resolves it to nodes. Notes the auxiliary outputs that it uses.
    fn resolve(&mut self, text: &str) -> Result<(Descriptor, Output), String> {
        let previous: Vec<&str> = self.layers.iter().map(|layer| layer.name.as_str()).collect();
        let descriptor = Descriptor::parse(text, &previous)?;
        let dim = descriptor.dim(&|name| self.find(name).map(|found| found.output.dim))?;
        if !(1..=MAX_DIM).contains(&dim) {
            return Err(format!("it has {dim} columns; expected at least 1 and at most {MAX_DIM}"));
        }
        let mut names = BTreeMap::new();
        let mut used = Vec::new();
        for name in descriptor.layers() {
            let found = self.find(name)?;
            used.extend(found.auxiliary);
            names.insert(name, found.output.expression);
        }
        let expression = descriptor.text(&|name| names[name].clone());
        self.used.extend(used);
        Ok((descriptor, Output { expression, dim }))
    }

    /// Finds a name of a descriptor: a node of the existing network, a layer, or a layer's auxiliary output.
    fn find(&self, name: &str) -> Result<Found, String> {
        if let Some(node) = self.existing.iter().find(|node| node.name == name) {
            return Ok(Found { output: Output::new(name, node.dim), auxiliary: None });
        }
        if let Some(layer) = self.layers.iter().find(|layer| layer.name == name) {
            return match &layer.built.output {
                Some(output) => Ok(Found { output: output.clone(), auxiliary: None }),
                None => Err(format!("'{name}' is an output of the network and cannot be an input{}", {
                    let names = auxiliary_names(layer);
                    if names.is_empty() { String::new() } else { format!("; {names} can") }
                })),
            };
        }
        for (index, layer) in self.layers.iter().enumerate() {
            let Some(rest) = name.strip_prefix(&layer.name).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            return match layer.built.auxiliary.iter().find(|auxiliary| auxiliary.name == rest) {
                Some(auxiliary) => {
                    Ok(Found { output: auxiliary.output.clone(), auxiliary: Some((index, auxiliary.name)) })
                }
                None => Err(format!("layer '{}' has no output '{rest}'{}", layer.name, {
                    let names = auxiliary_names(layer);
                    if names.is_empty() { String::new() } else { format!(" besides {names}") }
                })),
            };
        }
        // (A layer of an existing network is there as its nodes, of which the last has its output.)
        let prefix = format!("{name}.");
        if let Some(node) = self.existing.iter().rfind(|node| node.name.starts_with(&prefix)) {
            return Err(format!(
                "there is no layer '{name}' before this one; did you mean the node '{}'?",
                node.name
            ));
        }
        // (A misspelt node of a layer is rather the layer's last one than the one whose letters are most alike.)
        if let Some((layer, _)) = name.rsplit_once('.') {
            let prefix = format!("{layer}.");
            let nodes = self.existing.iter().rev().filter(|node| node.name.starts_with(&prefix));
            let nodes: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
            if !nodes.is_empty() {
                return Err(format!(
                    "there is no node '{name}'; the existing network has of '{layer}', the last one first: {}",
                    nodes.join(", ")
                ));
            }
        }
        let known = self.existing.iter().map(|node| node.name.as_str());
        let known = known.chain(self.layers.iter().map(|layer| layer.name.as_str()));
        let hint = nearest(name, known).map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
        Err(format!("there is no layer '{name}' before this one{hint}"))
    }

    /// The layers with all their settings, as xconfig lines.
    pub fn expanded(&self) -> Vec<String> {
        self.layers.iter().map(|layer| layer.xconfig_line(false)).collect()
    }

    /// Does the same as [`Network::expanded`], with descriptors in normal form.
    pub fn normalized(&self) -> Vec<String> {
        self.layers.iter().map(|layer| layer.xconfig_line(true)).collect()
    }

    /// Returns the lines of a config. `None` for an `init` config without an output, which is not needed.
    pub fn config(&self, config: Config) -> Option<Vec<String>> {
        let mut out = Vec::new();
        for (index, layer) in self.layers.iter().enumerate() {
            let lines = layer.built.lines.iter().filter(|(target, _)| config.takes(*target));
            out.extend(lines.map(|(_, line)| line.clone()));
            if config.takes(Target::Network) {
                let used = layer.built.auxiliary.iter().filter(|a| self.used.contains(&(index, a.name)));
                out.extend(used.filter_map(|auxiliary| auxiliary.line_if_used.clone()));
            }
        }
        let needed = config != Config::Init || out.iter().any(|line| line.starts_with("output-node "));
        needed.then_some(out)
    }

    /// Matrices that the configs read from files and that the xconfig determines.
    pub fn matrices(&self) -> impl Iterator<Item = &MatrixFile> {
        self.layers.iter().flat_map(|layer| &layer.built.matrices)
    }
}

struct Found {
    output: Output,
    /// The layer's index and the output's name.
    auxiliary: Option<(usize, &'static str)>,
}

fn auxiliary_names(layer: &Expanded) -> String {
    let names: Vec<String> =
        layer.built.auxiliary.iter().map(|auxiliary| format!("{}.{}", layer.name, auxiliary.name)).collect();
    names.join(" and ")
}

/// Values of all keys of a layer type.
fn settings(
    layer_type: &'static LayerType,
    pairs: Vec<(String, String)>,
) -> Result<BTreeMap<&'static str, Value>, Problem> {
    let mut settings = BTreeMap::new();
    for (key, text) in pairs {
        let Some(known) = layer_type.all_keys().find(|known| known.name == key) else {
            let names = || layer_type.all_keys().map(|known| known.name);
            return Err(Problem::UnknownKey {
                near: nearest(&key, names()),
                known: names().collect::<Vec<_>>().join(", "),
                key,
            });
        };
        let value = known.default.parse(&text).ok_or_else(|| Problem::Value {
            key: key.clone(),
            found: text.clone(),
            expected: known.default.kind().to_owned(),
        })?;
        settings.insert(known.name, value);
    }
    for key in layer_type.all_keys() {
        if let std::collections::btree_map::Entry::Vacant(entry) = settings.entry(key.name) {
            let value = key.default.value();
            let missing = || Problem::Missing { key: key.name.into(), expected: key.default.kind() };
            entry.insert(value.ok_or_else(missing)?);
        } else if matches!(key.default, Default::RequiredText) && settings[key.name].to_string().is_empty() {
            return Err(Problem::Missing { key: key.name.into(), expected: key.default.kind() });
        }
    }
    Ok(settings)
}

impl Expanded {
    fn xconfig_line(&self, normalized: bool) -> String {
        let mut out = format!("{} name={}", self.layer_type.name, self.name);
        for (key, value) in &self.settings {
            let value = match &self.input {
                Some(normal) if normalized && *key == "input" => normal.clone(),
                _ => value.to_string(),
            };
            let quote = if value.contains('=') { "\"" } else { "" };
            out += &format!(" {key}={quote}{value}{quote}");
        }
        out
    }
}
