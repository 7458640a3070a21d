//! Merges consecutive components, for networks that only run forward.
//!
//! A component-node can often do the work of two if its input is an Append of copies, possibly shifted in time, of one
//! other component-node. Outputs change by rounding only. The reference changes them in two cases, in which results
//! differ here. It ignores a `Scale` on the copied node, and it divides by the factor of dropout's test mode.

mod pairs;

use super::{Nnet, Node};
use crate::descriptor::parse::Expr;
use crate::descriptor::{Descriptor, Forward, Sum, normal::normalize};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{ComponentId, NodeId};
use std::fmt;

/// Every network is done after a few sweeps over its nodes.
const MOST_SWEEPS: usize = 10;

/// Kinds of pairs that are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollapseOptions {
    /// Dropout in test mode, into the component that follows.
    pub dropout: bool,
    /// Batch normalisation in test mode, into the component that follows.
    pub batchnorm: bool,
    /// An affine component, fixed or not, into the affine component that follows.
    pub affine: bool,
    /// Extends `affine` to pairs with a linear component or a TDNN.
    pub linear: bool,
    /// A fixed scale, into the affine component before.
    pub scale: bool,
}

/// The reference's choice, used for writing networks.
impl Default for CollapseOptions {
    fn default() -> Self {
        CollapseOptions { dropout: false, batchnorm: false, affine: true, linear: false, scale: true }
    }
}

impl CollapseOptions {
    /// All merges that there are, for a network in test mode that is run and not written.
    pub const ALL: CollapseOptions =
        CollapseOptions { dropout: true, batchnorm: true, affine: true, linear: true, scale: true };
}

/// The counts of [`Nnet::collapse`]. Prints as a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollapseReport {
    pub added_components: usize,
    pub removed_components: usize,
    pub removed_nodes: usize,
}

impl CollapseReport {
    /// True if the network is unchanged.
    pub fn is_empty(&self) -> bool {
        *self == CollapseReport::default()
    }
}

impl fmt::Display for CollapseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CollapseReport { added_components, removed_components, removed_nodes } = self;
        write!(
            f,
            "Added {added_components} components, removed {removed_components}; removed {removed_nodes} nodes"
        )
    }
}

impl Nnet {
    /// Merges the pairs of components that `options` allow, then removes unused nodes and components. The result no
    /// longer matches other networks with the old structure. Merging batch normalisation outside test mode is an error;
    /// the network is then unchanged.
    pub fn collapse(&mut self, options: &CollapseOptions) -> Result<CollapseReport> {
        let (nodes, old) = (self.nodes.clone(), self.num_components());
        if let Err(error) = self.merge_all(options) {
            self.nodes = nodes;
            self.components.truncate(old);
            self.component_names.truncate(old);
            return Err(error);
        }
        let added_components = self.num_components() - old;
        let removed_nodes = self.remove_orphan_nodes_but_inputs();
        let removed_components = self.remove_unused_components();
        Ok(CollapseReport { added_components, removed_components, removed_nodes })
    }

    /// Changes nodes and adds components; existing components do not change.
    fn merge_all(&mut self, options: &CollapseOptions) -> Result<()> {
        for _ in 0..MOST_SWEEPS {
            if !self.sweep(options)? {
                return Ok(());
            }
        }
        Err(Error::network("merging components does not end: are they in a loop?"))
    }

    /// Tries every node once; returns true if one changed.
    fn sweep(&mut self, options: &CollapseOptions) -> Result<bool> {
        let mut changed = false;
        for id in self.node_ids() {
            changed |= self.merge_into(id, options)?;
        }
        Ok(changed)
    }

    /// Merges the component that the node `id` reads into that node's, if `id` is the input of a component-node.
    fn merge_into(&mut self, id: NodeId, options: &CollapseOptions) -> Result<bool> {
        let Node::ComponentInput { descriptor } = self.node(id) else { return Ok(false) };
        let Some((source, offsets)) = copies_of_one_node(descriptor) else { return Ok(false) };
        let (Node::Component { component: first }, Some(second)) = (self.node(source), self.component_of(id))
        else {
            return Ok(false);
        };
        let (first, Some(inner)) = (*first, self.node(NodeId(source.0 - 1)).descriptor()) else {
            return Ok(false);
        };
        let copies = offsets.into_iter().map(|(t, x)| Expr::Offset(Box::new(to_expr(inner)), t, x)).collect();
        // Some inputs, such as a constant, cannot be shifted.
        let Ok(joined) = normalize(Expr::Append(copies)) else { return Ok(false) };
        let Some(merged) = self.merge(first, second, options)? else { return Ok(false) };
        if let Some(descriptor) = self.nodes[id.index()].descriptor_mut() {
            *descriptor = joined;
        }
        self.nodes[id.index() + 1] = Node::Component { component: merged };
        Ok(true)
    }

    /// Returns the merged component; makes it unless its name exists.
    fn merge(
        &mut self,
        first: ComponentId,
        second: ComponentId,
        options: &CollapseOptions,
    ) -> Result<Option<ComponentId>> {
        let names = (self.component_name(first), self.component_name(second));
        let merged = pairs::merge(self.component(first), self.component(second), names, options)?;
        Ok(match merged {
            None => None,
            Some(pairs::Merged::Second) => Some(second),
            Some(pairs::Merged::New { name, component }) => match self.find_component(&name) {
                Some(existing) => Some(existing),
                None => {
                    self.components.push(component);
                    self.component_names.push(name);
                    Some(ComponentId::from(self.components.len() - 1))
                }
            },
        })
    }

    /// Removes nodes that no output depends on, input nodes excepted. Returns how many, not counting the input parts
    /// of component-nodes.
    fn remove_orphan_nodes_but_inputs(&mut self) -> usize {
        let mut keep = vec![true; self.nodes.len()];
        for id in self.orphan_nodes() {
            keep[id.index()] = matches!(self.node(id), Node::Input { .. });
        }
        let counted =
            |id: &NodeId| !keep[id.index()] && !matches!(self.node(*id), Node::ComponentInput { .. });
        let count = self.node_ids().filter(counted).count();
        let new_ids = new_positions(&keep);
        let renumbered = |id: NodeId| NodeId::from(new_ids[id.index()]);
        retain(&mut self.nodes, &keep);
        retain(&mut self.node_names, &keep);
        for node in &mut self.nodes {
            if let Node::DimRange { source, .. } = node {
                *source = renumbered(*source);
            }
            if let Some(descriptor) = node.descriptor_mut() {
                descriptor.renumber(&renumbered);
            }
        }
        count
    }

    /// Removes components that no node uses; returns how many.
    fn remove_unused_components(&mut self) -> usize {
        let mut keep = vec![true; self.components.len()];
        let orphans = self.orphan_components();
        orphans.iter().for_each(|id| keep[id.index()] = false);
        let new_ids = new_positions(&keep);
        retain(&mut self.components, &keep);
        retain(&mut self.component_names, &keep);
        for node in &mut self.nodes {
            if let Node::Component { component } = node {
                *component = ComponentId::from(new_ids[component.index()]);
            }
        }
        orphans.len()
    }
}

/// The node and the offsets in t and x of its copies, if the descriptor consists only of these.
fn copies_of_one_node(descriptor: &Descriptor) -> Option<(NodeId, Vec<(i32, i32)>)> {
    let copies: Option<Vec<_>> = descriptor.parts.iter().map(copy_of_node).collect();
    let copies = copies?;
    let node = copies.first()?.0;
    let same = copies.iter().all(|copy| copy.0 == node);
    same.then(|| (node, copies.into_iter().map(|copy| copy.1).collect()))
}

fn copy_of_node(part: &Sum) -> Option<(NodeId, (i32, i32))> {
    let Sum::Simple(forward) = part else { return None };
    let (inner, offset) = match forward {
        Forward::Offset { child, t, x } => (&**child, (*t, *x)),
        other => (other, (0, 0)),
    };
    match inner {
        Forward::Node { node, scale: 1.0 } => Some((*node, offset)),
        _ => None,
    }
}

/// A descriptor as the expression that it is the normal form of.
fn to_expr(descriptor: &Descriptor) -> Expr {
    Expr::Append(descriptor.parts.iter().map(sum_to_expr).collect())
}

fn sum_to_expr(sum: &Sum) -> Expr {
    match sum {
        Sum::Simple(forward) => forward_to_expr(forward),
        Sum::Sum(a, b) => Expr::Sum(vec![sum_to_expr(a), sum_to_expr(b)]),
        Sum::Failover(a, b) => Expr::Failover(vec![sum_to_expr(a), sum_to_expr(b)]),
        Sum::IfDefined(a) => Expr::IfDefined(Box::new(sum_to_expr(a))),
        Sum::Const { value, dim } => Expr::Const(*value, *dim),
    }
}

fn forward_to_expr(forward: &Forward) -> Expr {
    let boxed = |child: &Forward| Box::new(forward_to_expr(child));
    match forward {
        Forward::Node { node, scale: 1.0 } => Expr::Node(*node),
        Forward::Node { node, scale } => Expr::Scale(*scale, Box::new(Expr::Node(*node))),
        Forward::Offset { child, t, x } => Expr::Offset(boxed(child), *t, *x),
        Forward::Switch(children) => Expr::Switch(children.iter().map(forward_to_expr).collect()),
        Forward::Round { child, modulus } => Expr::Round(boxed(child), *modulus),
        Forward::ReplaceIndex { child, variable, value } => {
            Expr::ReplaceIndex(boxed(child), *variable, *value)
        }
    }
}

/// Returns for each position the number of kept ones before it.
fn new_positions(keep: &[bool]) -> Vec<usize> {
    let mut next = 0;
    let position = |&keep: &bool| {
        let own = next;
        next += usize::from(keep);
        own
    };
    keep.iter().map(position).collect()
}

fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut position = 0;
    list.retain(|_| {
        position += 1;
        keep[position - 1]
    });
}
