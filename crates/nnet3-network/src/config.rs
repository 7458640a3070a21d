//! Adds nodes and components from config lines to a network.

use super::{Nnet, Node, Objective};
use crate::descriptor::Descriptor;
use crate::descriptor::normal::normalize;
use crate::descriptor::parse::parse;
use kaldi_io::alike::did_you_mean;
use nnet3_base::config::{ConfigLine, parse_config};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{ComponentId, NodeId};
use nnet3_base::random::Random;
use nnet3_component::registry;
use std::collections::HashMap;

/// The first words of lines.
const DIRECTIVES: [&str; 5] = ["component", "component-node", "input-node", "output-node", "dim-range-node"];

impl Nnet {
    /// Adds the components and nodes of `lines`. A component of an existing name is replaced; a node of an existing
    /// name is redefined and moves behind the untouched ones. The result is checked; on error `self` is unchanged.
    pub fn read_config(&mut self, lines: Vec<ConfigLine>, random: &Random) -> Result<()> {
        *self = self.clone().with_config(lines, random)?;
        Ok(())
    }

    /// As [`Nnet::read_config`], for a network that the caller gives up: its parameters are not copied.
    pub(super) fn with_config(self, lines: Vec<ConfigLine>, random: &Random) -> Result<Nnet> {
        let old = self.node_lines(false).join("\n");
        let old_lines = parse_config("(existing network)", old.lines())?;
        let mut all = remove_redefined(old_lines, lines)?;
        let mut built =
            Nnet { components: self.components, component_names: self.component_names, ..Default::default() };
        let mut added = Vec::new();
        for line in &mut all {
            built.declare(line, random, &mut added)?;
        }
        let mut position = 0;
        for line in &mut all {
            built.define(line, &mut position)?;
        }
        built.check()?;
        Ok(built)
    }

    /// First pass: components, and the names of nodes.
    fn declare(&mut self, line: &mut ConfigLine, random: &Random, added: &mut Vec<String>) -> Result<()> {
        let name = line.require_name("name")?;
        match line.first_token.as_str() {
            "component" => {
                let type_name = line.require_string("type")?;
                let component = registry::from_config(&type_name, line, random)?;
                if added.contains(&name) {
                    return Err(line.error(format!("component '{name}' is defined twice")));
                }
                added.push(name.clone());
                match self.find_component(&name) {
                    Some(id) => self.components[id.index()] = component,
                    None => {
                        self.components.push(component);
                        self.component_names.push(name);
                    }
                }
                return Ok(());
            }
            "component-node" => {
                self.declare_node(line, format!("{name}_input"), Node::Input { dim: 0 })?;
                self.declare_node(line, name, Node::Component { component: ComponentId(0) })?;
            }
            "input-node" => {
                let dim = line.require_dim("dim")?;
                self.declare_node(line, name, Node::Input { dim })?;
                line.finish()?;
            }
            "output-node" => {
                let objective = match line.get_string("objective").as_deref() {
                    None | Some("linear") => Objective::Linear,
                    Some("quadratic") => Objective::Quadratic,
                    Some(other) => {
                        return Err(line.error(format!("objective={other}: expected linear or quadratic")));
                    }
                };
                self.declare_node(
                    line,
                    name,
                    Node::Output { descriptor: Descriptor { parts: vec![] }, objective },
                )?;
            }
            "dim-range-node" => {
                let dim = line.require_dim("dim")?;
                let offset = line.require_i32("dim-offset")?;
                let offset = usize::try_from(offset)
                    .map_err(|_| line.error(format!("dim-offset={offset}: expected 0 or more")))?;
                self.declare_node(line, name, Node::DimRange { source: NodeId(0), dim, offset })?;
            }
            _ => return Err(unknown_directive(line)),
        }
        Ok(())
    }

    fn declare_node(&mut self, line: &ConfigLine, name: String, node: Node) -> Result<()> {
        if self.find_node(&name).is_some() {
            let reserved = name.strip_suffix("_input").map_or(String::new(), |base| {
                format!(" ('{name}' is reserved for the input of component-node '{base}')")
            });
            return Err(line.error(format!("the node name '{name}' is taken{reserved}")));
        }
        self.nodes.push(node);
        self.node_names.push(name);
        Ok(())
    }

    /// Second pass, in the order of the first: resolves the references of nodes.
    fn define(&mut self, line: &mut ConfigLine, position: &mut usize) -> Result<()> {
        match line.first_token.as_str() {
            "component" => return Ok(()),
            "component-node" => {
                let name = line.require_string("component")?;
                let Some(component) = self.find_component(&name) else {
                    return Err(line.error(format!("there is no component '{name}'")));
                };
                let descriptor = self.parse_descriptor(line)?;
                self.nodes[*position] = Node::ComponentInput { descriptor };
                self.nodes[*position + 1] = Node::Component { component };
                *position += 1;
            }
            "output-node" => {
                let parsed = self.parse_descriptor(line)?;
                if let Some(descriptor) = self.nodes[*position].descriptor_mut() {
                    *descriptor = parsed;
                }
            }
            "dim-range-node" => {
                let name = line.require_string("input-node")?;
                let id = match self.find_node(&name) {
                    Some(id) if matches!(self.node(id), Node::Input { .. } | Node::Component { .. }) => id,
                    Some(_) => {
                        return Err(line.error(format!("'{name}' is neither an input- nor a component-node")));
                    }
                    None => return Err(line.error(format!("there is no node '{name}'"))),
                };
                if let Node::DimRange { source, .. } = &mut self.nodes[*position] {
                    *source = id;
                }
            }
            _ => {}
        }
        *position += 1;
        line.finish()
    }

    fn parse_descriptor(&self, line: &mut ConfigLine) -> Result<Descriptor> {
        let text = line.require_string("input")?;
        self.descriptor(&text).map_err(|message| line.error(format!("input={text}: {message}")))
    }

    /// Parses and normalises a descriptor over this network's nodes. The error is a sentence without a place.
    pub(super) fn descriptor(&self, text: &str) -> std::result::Result<Descriptor, String> {
        // Component inputs are still declared as inputs here; only their reserved names distinguish them.
        let readable = |name: &str| {
            let id = self.find_node(name)?;
            let follower = self.nodes.get(id.index() + 1);
            let is_component_input = matches!(follower, Some(Node::Component { .. }))
                && name.strip_suffix("_input") == Some(self.node_name(NodeId(id.0 + 1)));
            (self.node(id).is_readable() && !is_component_input).then_some(id)
        };
        parse(text, &readable).and_then(normalize)
    }
}

fn unknown_directive(line: &ConfigLine) -> Error {
    match line.first_token.as_str() {
        "" => line.error("expected a directive such as component or component-node first"),
        other => line.error(format!(
            "unknown directive '{other}': expected component, component-node, input-node, output-node or \
             dim-range-node{}",
            did_you_mean(other, DIRECTIVES)
        )),
    }
}

/// Old lines that the new ones do not redefine, then the new ones. A component and a node may have one name, so directives
/// are looked at before names.
fn remove_redefined(old: Vec<ConfigLine>, mut new: Vec<ConfigLine>) -> Result<Vec<ConfigLine>> {
    let mut places: HashMap<(bool, String), String> = HashMap::new();
    for line in &mut new {
        if !DIRECTIVES.contains(&line.first_token.as_str()) {
            return Err(unknown_directive(line));
        }
        let key = (line.first_token == "component", line.require_name("name")?);
        if let Some(place) = places.insert(key, line.place().to_string()) {
            return Err(line.error(format!("this name is already defined at {place}")));
        }
    }
    let mut all = Vec::new();
    for mut line in old {
        let name = line.get_string("name").ok_or_else(|| Error::network("the node has no name"))?;
        if !places.contains_key(&(false, name)) {
            all.push(line);
        }
    }
    all.append(&mut new);
    Ok(all)
}
