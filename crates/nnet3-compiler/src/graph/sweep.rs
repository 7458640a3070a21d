//! Builds the graph of a request node by node, for networks without recurrences. A backward walk collects the cindexes
//! that may be needed; a forward walk keeps the computable ones.
//!
//! The graph is the one of [`super::GraphBuilder`], apart from the order of ids, which has no meaning. Here cindexes of
//! one node follow each other, sorted.

use super::build::{needs_all, required};
use super::{CindexId, ComputationGraph};
use crate::request::ComputationRequest;
use nnet3_base::index::{Cindex, Index, NodeId};
use nnet3_component::{Component, Properties};
use nnet3_network::descriptor::{Descriptor, Forward};
use nnet3_network::{Nnet, Node};
use std::ops::Range;

/// Builds the graph of a request for a single sequence that depends on no other sequence. Returns `None` for other
/// requests, for a network with a recurrence, and for faults that [`super::GraphBuilder`] can explain.
pub(crate) fn sweep(nnet: &Nnet, epochs: &[usize], request: &ComputationRequest) -> Option<ComputationGraph> {
    let order = nodes_in_order(nnet, epochs)?;
    let needed = needed(nnet, &order, request)?;
    let mut sweep = Sweep {
        nnet,
        graph: ComputationGraph::new(nnet.num_nodes()),
        added: vec![0..0; nnet.num_nodes()],
        may_have_unused: false,
        used: Vec::new(),
        indexes: Vec::new(),
        ids: Vec::new(),
        terms: Vec::new(),
    };
    sweep.graph.expect(request);
    sweep.graph.add_inputs(nnet, request)?;
    for &node in &order {
        let before = sweep.graph.cindexes.len();
        sweep.add_computable(node, &needed[node.index()]);
        let added = sweep.graph.cindexes.len() - before;
        if matches!(nnet.node(node), Node::Output { .. }) && added < needed[node.index()].len() {
            return None;
        }
    }
    Some(sweep.finish())
}

/// Returns all nodes, each after the nodes it reads; `None` if several read each other. (A node that reads itself finds
/// no cindexes there.)
fn nodes_in_order(nnet: &Nnet, epochs: &[usize]) -> Option<Vec<NodeId>> {
    let mut order = vec![None; epochs.len()];
    for node in nnet.node_ids() {
        if order[epochs[node.index()]].replace(node).is_some() {
            return None;
        }
    }
    order.into_iter().collect()
}

/// For each node the indexes that the outputs may depend on, sorted.
fn needed(nnet: &Nnet, order: &[NodeId], request: &ComputationRequest) -> Option<Vec<Vec<Index>>> {
    let n = request.outputs.first()?.indexes.first()?.n;
    let mut needed = vec![Vec::new(); nnet.num_nodes()];
    for io in &request.outputs {
        let of_output: &mut Vec<Index> = &mut needed[nnet.find_output(&io.name)?.index()];
        of_output.extend_from_slice(&io.indexes);
        if !sort_unique(of_output, n) || of_output.len() != io.indexes.len() || io.indexes.is_empty() {
            return None;
        }
    }
    for &node in order.iter().rev() {
        let mut list = std::mem::take(&mut needed[node.index()]);
        if !sort_unique(&mut list, n) {
            return None;
        }
        match nnet.node(node) {
            Node::Input { .. } => {}
            Node::DimRange { source, .. } => needed[source.index()].extend_from_slice(&list),
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                let mut add = |forward: &Forward| {
                    let inputs = list.iter().map(|&index| forward.input(index));
                    match forward.node() {
                        Some(node) => needed[node.index()].extend(inputs.map(|input| input.index)),
                        None => inputs.for_each(|input| needed[input.node.index()].push(input.index)),
                    }
                };
                descriptor.for_each_forward(&mut add);
            }
            Node::Component { component } => {
                let component = nnet.component(*component);
                let inputs = &mut needed[node.index() - 1];
                match component.properties().contains(Properties::SIMPLE) {
                    true => inputs.extend_from_slice(&list),
                    false => list.iter().for_each(|&index| component.input_indexes(index, inputs)),
                }
            }
        }
        needed[node.index()] = list;
    }
    Some(needed)
}

/// Sorts, and removes repeats. False if an index belongs to another sequence than `n`.
fn sort_unique(list: &mut Vec<Index>, n: i32) -> bool {
    let Some(&first) = list.first() else {
        return true;
    };
    let (mut earliest, mut latest, mut same_x) = (first.t, first.t, true);
    for index in list.iter() {
        if index.n != n {
            return false;
        }
        (earliest, latest) = (earliest.min(index.t), latest.max(index.t));
        same_x &= index.x == first.x;
    }
    if list.is_sorted_by(|a, b| a < b) {
        return true;
    }
    let range = latest.abs_diff(earliest) as usize;
    if !same_x || range > 64 + 8 * list.len() {
        list.sort_unstable();
        list.dedup();
        return true;
    }
    let mut present = vec![false; range + 1];
    list.iter().for_each(|index| present[index.t.abs_diff(earliest) as usize] = true);
    list.clear();
    let times = (0..).zip(present).filter(|&(_, present)| present);
    list.extend(times.map(|(i, _)| Index { t: earliest.wrapping_add(i), ..first }));
    true
}

struct Sweep<'n> {
    nnet: &'n Nnet,
    /// The computable cindexes of the nodes done so far.
    graph: ComputationGraph,
    /// For each node the cindexes that have been added, in the order of their indexes; inputs have none.
    added: Vec<Range<CindexId>>,
    may_have_unused: bool,
    // Scratch space.
    used: Vec<Cindex>,
    indexes: Vec<Index>,
    ids: Vec<CindexId>,
    terms: Vec<&'n Forward>,
}

impl<'n> Sweep<'n> {
    /// Adds the computable cindexes of a node, with the dependencies they use.
    fn add_computable(&mut self, node: NodeId, indexes: &[Index]) {
        let before = self.graph.cindexes.len();
        match self.nnet.node(node) {
            Node::Input { .. } => return,
            Node::DimRange { source, .. } => self.add_same(node, *source, indexes),
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                self.add_descriptor(node, descriptor, indexes)
            }
            Node::Component { component } => {
                let component = self.nnet.component(*component);
                let input = NodeId(node.0 - 1);
                if component.properties().contains(Properties::SIMPLE) {
                    self.add_same(node, input, indexes)
                } else {
                    self.add_component(node, input, component, indexes)
                }
            }
        }
        let after = self.graph.cindexes.len();
        self.added[node.index()] = before as CindexId..after as CindexId;
        let added = after - before;
        self.may_have_unused |= added < indexes.len() || !needs_all(self.nnet, node);
    }

    /// Adds the cindexes of a node that each use the same index of another node.
    fn add_same(&mut self, node: NodeId, source: NodeId, indexes: &[Index]) {
        let sources = self.added[source.index()].clone();
        let of_source = &self.graph.cindexes[sources.start as usize..sources.end as usize];
        if of_source.iter().map(|c| &c.index).eq(indexes) {
            return self.graph.add_same(node, sources);
        }
        for &index in indexes {
            if let Some(id) = self.graph.find(Cindex::new(source, index)) {
                self.graph.add(Cindex::new(node, index), false, &[id]);
            }
        }
    }

    fn add_descriptor(&mut self, node: NodeId, descriptor: &'n Descriptor, indexes: &[Index]) {
        let all_are_needed = needs_all(self.nnet, node);
        let mut terms = std::mem::take(&mut self.terms);
        descriptor.for_each_forward(&mut |forward| terms.push(forward));
        for &index in indexes {
            let computable = if all_are_needed {
                self.ids.clear();
                for forward in &terms {
                    let Some(id) = self.graph.find(forward.input(index)) else { break };
                    self.ids.push(id);
                }
                self.ids.len() == terms.len()
            } else {
                self.used.clear();
                let available = |c: Cindex| self.graph.find(c).is_some();
                let computable = descriptor.is_computable(index, &available, Some(&mut self.used));
                self.ids.clear();
                self.ids.extend(self.used.iter().filter_map(|&c| self.graph.find(c)));
                computable
            };
            self.add_if(computable, Cindex::new(node, index));
        }
        terms.clear();
        self.terms = terms;
    }

    fn add_component(&mut self, node: NodeId, input: NodeId, component: &dyn Component, indexes: &[Index]) {
        let all_are_needed = !component.has_optional_inputs();
        for &index in indexes {
            let find = |i: Index| self.graph.find(Cindex::new(input, i));
            self.indexes.clear();
            let computable = if all_are_needed {
                component.input_indexes(index, &mut self.indexes);
                true
            } else {
                component.is_computable(index, &|i| find(i).is_some(), Some(&mut self.indexes))
            };
            self.ids.clear();
            self.ids.extend(self.indexes.iter().copied().map_while(find));
            let computable = computable && self.ids.len() == self.indexes.len();
            self.add_if(computable, Cindex::new(node, index));
        }
    }

    /// Adds a cindex that uses `self.ids`.
    fn add_if(&mut self, computable: bool, cindex: Cindex) {
        if !computable {
            return;
        }
        if !self.ids.is_sorted_by(|a, b| a < b) {
            self.ids.sort_unstable();
            self.ids.dedup();
        }
        self.graph.add(cindex, false, &self.ids);
    }

    /// Returns the graph without unused cindexes, as one segment.
    fn finish(mut self) -> ComputationGraph {
        if self.may_have_unused {
            let keep = required(self.nnet, &self.graph, 0);
            self.graph.retain(0, &keep);
        }
        self.graph.segment_ends.push(self.graph.cindexes.len());
        self.graph
    }
}
