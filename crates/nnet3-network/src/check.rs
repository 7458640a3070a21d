//! Checks that a network is consistent, and finds unused nodes and components.

use super::{Nnet, Node};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{ComponentId, NodeId};
use nnet3_component::Properties;

impl Nnet {
    /// An error that names both nodes and both dimensions where two do not fit.
    pub fn check(&self) -> Result<()> {
        if self.nodes.is_empty() {
            return Err(Error::network("the network has no nodes"));
        }
        for id in self.node_ids() {
            self.check_node(id)?;
        }
        if self.input_nodes().next().is_none() {
            return Err(Error::network("the network has no input node"));
        }
        if self.output_nodes().next().is_none() {
            return Err(Error::network("the network has no output node"));
        }
        Ok(())
    }

    fn check_node(&self, id: NodeId) -> Result<()> {
        let name = self.node_name(id);
        match self.node(id) {
            Node::Input { .. } => Ok(()),
            Node::Component { component } => {
                let expected = self.component(*component).input_dim();
                if !self.component(*component).properties().contains(Properties::SIMPLE) && expected == 0 {
                    return Ok(());
                }
                let found = self.descriptor_dim(NodeId(id.0 - 1))?;
                if found == expected {
                    return Ok(());
                }
                let descriptor = self.node(NodeId(id.0 - 1)).descriptor();
                let text = descriptor.map_or(String::new(), |d| d.print(&self.node_names));
                Err(Error::network(format!(
                    "dimension mismatch at component-node '{name}': its input {text} has dimension {found} ({}), but \
                     component '{}' ({}) expects {expected}",
                    self.describe_sources(NodeId(id.0 - 1)),
                    self.component_name(*component),
                    self.component(*component).type_name()
                )))
            }
            Node::ComponentInput { .. } => Ok(()),
            Node::Output { .. } => self.descriptor_dim(id).map(|_| ()),
            Node::DimRange { source, dim, offset } => {
                let available = self.node_dim(*source);
                if offset + dim <= available {
                    return Ok(());
                }
                Err(Error::network(format!(
                    "dim-range-node '{name}' takes dimensions {offset} to {} of node '{}', which has dimension \
                     {available}",
                    offset + dim - 1,
                    self.node_name(*source)
                )))
            }
        }
    }

    fn descriptor_dim(&self, id: NodeId) -> Result<usize> {
        let descriptor =
            self.node(id).descriptor().ok_or_else(|| Error::network("the node has no descriptor"))?;
        descriptor.dim(&|n| self.node_dim(n)).map_err(|(a, b)| {
            Error::network(format!(
                "dimension mismatch in the input of node '{}': {} adds or chooses between terms of dimensions {a} and \
                 {b} ({})",
                self.node_name(id).trim_end_matches("_input"),
                descriptor.print(&self.node_names),
                self.describe_sources(id)
            ))
        })
    }

    /// `'a' has 3, 'b' has 4`: the nodes that a node reads, with their dimensions.
    fn describe_sources(&self, id: NodeId) -> String {
        let mut sources = self.node_dependencies(id);
        sources.sort();
        sources.dedup();
        let texts: Vec<String> =
            sources.iter().map(|&s| format!("'{}' has {}", self.node_name(s), self.node_dim(s))).collect();
        if texts.is_empty() { "it reads no node".to_string() } else { texts.join(", ") }
    }

    /// Nodes that no output depends on, ascending.
    pub(crate) fn orphan_nodes(&self) -> Vec<NodeId> {
        let mut needed = vec![false; self.nodes.len()];
        let mut stack: Vec<NodeId> = self.output_nodes().collect();
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut needed[id.index()], true) {
                stack.extend(self.node_dependencies(id));
            }
        }
        self.node_ids().filter(|id| !needed[id.index()]).collect()
    }

    /// Components that no node uses, ascending.
    pub(crate) fn orphan_components(&self) -> Vec<ComponentId> {
        let mut used = vec![false; self.components.len()];
        for node in &self.nodes {
            if let Node::Component { component } = node {
                used[component.index()] = true;
            }
        }
        (0..used.len()).filter(|&i| !used[i]).map(ComponentId::from).collect()
    }

    /// Sentences about unused nodes and components: one about the components, one about the nodes.
    pub fn orphan_warnings(&self) -> Vec<String> {
        let components = self.orphan_components();
        let components: Vec<&str> = components.iter().map(|&c| self.component_name(c)).collect();
        let nodes = self.orphan_nodes();
        let nodes = nodes.iter().filter(|&&n| !matches!(self.node(n), Node::ComponentInput { .. }));
        let nodes: Vec<&str> = nodes.map(|&n| self.node_name(n)).collect();
        let sentence = |what: &str, names: &[&str], by: &str| match names {
            [] => None,
            [name] => Some(format!("{what} '{name}' is never used {by}")),
            names => Some(format!("{} {what}s are never used {by}: {}", names.len(), names.join(", "))),
        };
        let texts = [
            sentence("component", &components, "by any node"),
            sentence("node", &nodes, "to compute any output"),
        ];
        texts.into_iter().flatten().collect()
    }
}
