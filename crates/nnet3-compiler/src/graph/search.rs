//! Builds the graph of a request depth first. A cindex is visited after all its dependencies, so that one visit decides
//! its computability and the dependencies it uses.
//!
//! The graph is the one of [`super::GraphBuilder`], apart from the order of ids, which has no meaning.

use super::build::{needs_all, required};
use super::cindexes::FIRST_MARK;
use super::{CindexId, ComputationGraph};
use crate::request::ComputationRequest;
use nnet3_base::index::{Cindex, Index, NodeId};
use nnet3_component::{Component, Properties};
use nnet3_network::descriptor::{Descriptor, Forward, Sum};
use nnet3_network::{Nnet, Node};

/// Cindexes that wait for each other, one for the next, after which the dependencies are taken to be endless.
const MAX_DEPTH: usize = 1 << 18;

/// Builds the graph of one request; the flag is true if each cindex depends only on its own sequence. Returns `None`
/// for faults, which [`super::GraphBuilder`] can explain. `epochs` has the epoch of each node.
pub fn search(
    nnet: &Nnet,
    epochs: &[usize],
    request: &ComputationRequest,
) -> Option<(ComputationGraph, bool)> {
    let mut graph = ComputationGraph::new(nnet.num_nodes());
    graph.expect(request);
    let mut search = Search {
        nnet,
        sources: nnet.node_ids().map(|node| Sources::of(nnet, epochs, node)).collect(),
        not_computable: Vec::new(),
        graph,
        stays_in_sequence: true,
        has_optional: false,
        open: Vec::new(),
        pending: Vec::new(),
        indexes: Vec::new(),
        used: Vec::new(),
        ids: Vec::new(),
    };
    search.graph.add_inputs(nnet, request)?;
    search.add_outputs(request)?;
    Some(search.finish())
}

/// The places in the network that the cindexes of a node depend on.
struct Sources<'n> {
    needs_all: bool,
    kind: Kind<'n>,
}

enum Kind<'n> {
    /// The node is an input and has no dependencies.
    None,
    /// The node reads the same index of another one.
    Same(NodeId),
    /// A component chooses the indexes of its input node.
    Component(&'n dyn Component, NodeId),
    Descriptor(&'n Descriptor, Terms<'n>),
}

/// The terms of a descriptor in search order. Terms that are always required come first, and among these the earlier
/// epochs, so that a recurrence is not followed beyond the given inputs.
struct Terms<'n> {
    list: Vec<&'n Forward>,
    num_required: usize,
}

impl<'n> Sources<'n> {
    fn of(nnet: &'n Nnet, epochs: &[usize], node: NodeId) -> Sources<'n> {
        let kind = match nnet.node(node) {
            Node::Input { .. } => Kind::None,
            Node::DimRange { source, .. } => Kind::Same(*source),
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                Kind::Descriptor(descriptor, Terms::of(descriptor, epochs))
            }
            Node::Component { component } => {
                let component = nnet.component(*component);
                let input = NodeId(node.0 - 1);
                match component.properties().contains(Properties::SIMPLE) {
                    true => Kind::Same(input),
                    false => Kind::Component(component, input),
                }
            }
        };
        Sources { needs_all: needs_all(nnet, node), kind }
    }
}

impl<'n> Terms<'n> {
    fn of(descriptor: &'n Descriptor, epochs: &[usize]) -> Terms<'n> {
        let (mut required, mut optional) = (Vec::new(), Vec::new());
        descriptor.parts.iter().for_each(|part| collect(part, &mut required, &mut optional));
        let epoch = |term: &&Forward| {
            let mut latest = 0;
            term.for_each_node(&mut |node| latest = latest.max(epochs[node.index()]));
            latest
        };
        required.sort_by_key(epoch);
        let num_required = required.len();
        required.append(&mut optional);
        Terms { list: required, num_required }
    }
}

fn collect<'n>(sum: &'n Sum, required: &mut Vec<&'n Forward>, optional: &mut Vec<&'n Forward>) {
    match sum {
        Sum::Simple(term) => required.push(term),
        Sum::Sum(a, b) => {
            collect(a, required, optional);
            collect(b, required, optional);
        }
        Sum::Failover(..) | Sum::IfDefined(_) => sum.for_each_forward(&mut |term| optional.push(term)),
        Sum::Const { .. } => {}
    }
}

/// A cindex with dependencies under examination: those at `start .. end` of the pending ones.
struct Open {
    cindex: Cindex,
    start: usize,
    next: usize,
    end_of_required: usize,
    end: usize,
}

/// Marks of cindexes that are not in the graph.
const OPEN: CindexId = FIRST_MARK;
const NOT_COMPUTABLE: CindexId = FIRST_MARK + 1;

struct Search<'n> {
    nnet: &'n Nnet,
    /// The sources of each node.
    sources: Vec<Sources<'n>>,
    /// The computable cindexes.
    graph: ComputationGraph,
    /// The cindexes that are marked as not computable.
    not_computable: Vec<Cindex>,
    stays_in_sequence: bool,
    /// True if some cindexes may be computable and yet not used.
    has_optional: bool,
    /// The cindexes under examination; each waits for the next.
    open: Vec<Open>,
    pending: Vec<Cindex>,
    // Scratch space.
    indexes: Vec<Index>,
    used: Vec<Cindex>,
    ids: Vec<CindexId>,
}

impl Search<'_> {
    fn add_outputs(&mut self, request: &ComputationRequest) -> Option<()> {
        for io in &request.outputs {
            let node = self.nnet.find_output(&io.name)?;
            if io.indexes.is_empty() {
                return None;
            }
            for &index in &io.indexes {
                let cindex = Cindex::new(node, index);
                if self.graph.find(cindex).is_some() {
                    return None;
                }
                self.visit(cindex)?;
                self.graph.find(cindex)?;
            }
        }
        (!request.outputs.is_empty()).then_some(())
    }

    /// Decides about a cindex and all its possible dependencies. `None` if a cindex depends on itself.
    fn visit(&mut self, cindex: Cindex) -> Option<()> {
        self.open(cindex);
        while let Some(last) = self.open.last_mut() {
            if last.next == last.end {
                self.close();
                continue;
            }
            let dependency = self.pending[last.next];
            match self.graph.find_or_mark(dependency) {
                None => self.open(dependency),
                Some(OPEN) => return None,
                Some(NOT_COMPUTABLE) if last.next < last.end_of_required => self.give_up(),
                Some(_) => last.next += 1,
            }
            if self.open.len() > MAX_DEPTH {
                return None;
            }
        }
        Some(())
    }

    /// Begins with a cindex that has not been visited.
    fn open(&mut self, cindex: Cindex) {
        let Cindex { node, index } = cindex;
        let start = self.pending.len();
        let Sources { needs_all, kind } = &self.sources[node.index()];
        let mut num_required = 0;
        match kind {
            Kind::None => {
                self.not_computable.push(cindex);
                return self.graph.mark(cindex, NOT_COMPUTABLE);
            }
            Kind::Same(source) => self.pending.push(Cindex::new(*source, index)),
            Kind::Component(component, input) => {
                self.indexes.clear();
                component.input_indexes(index, &mut self.indexes);
                self.pending.extend(self.indexes.iter().map(|&i| Cindex::new(*input, i)));
                self.stays_in_sequence &= self.indexes.iter().all(|i| i.n == index.n);
            }
            Kind::Descriptor(_, terms) => {
                num_required = terms.num_required;
                self.pending.extend(terms.list.iter().map(|term| term.input(index)));
            }
        }
        let end = self.pending.len();
        let end_of_required = if *needs_all { end } else { start + num_required };
        self.graph.mark(cindex, OPEN);
        self.open.push(Open { cindex, start, next: start, end_of_required, end });
    }

    /// Discards the last open cindex, which lacks a dependency.
    fn give_up(&mut self) {
        if let Some(Open { cindex, start, .. }) = self.open.pop() {
            self.pending.truncate(start);
            self.graph.change_mark(cindex, Some(NOT_COMPUTABLE));
            self.not_computable.push(cindex);
        }
    }

    /// Decides about the last open cindex; all its dependencies are decided.
    fn close(&mut self) {
        let Some(&Open { cindex, start, .. }) = self.open.last() else { return };
        let Cindex { node, index } = cindex;
        let Sources { needs_all, kind } = &self.sources[node.index()];
        self.ids.clear();
        if *needs_all {
            self.ids.extend(self.pending[start..].iter().filter_map(|&c| self.graph.find(c)));
        } else {
            self.has_optional = true;
            self.used.clear();
            let available = |c: Cindex| self.graph.find(c).is_some();
            let computable = match kind {
                Kind::None | Kind::Same(_) => false,
                Kind::Component(component, input) => {
                    self.indexes.clear();
                    let available = |i: Index| available(Cindex::new(*input, i));
                    let computable = component.is_computable(index, &available, Some(&mut self.indexes));
                    self.used.extend(self.indexes.iter().map(|&i| Cindex::new(*input, i)));
                    computable
                }
                Kind::Descriptor(descriptor, _) => {
                    descriptor.is_computable(index, &available, Some(&mut self.used))
                }
            };
            if !computable {
                return self.give_up();
            }
            self.ids.extend(self.used.iter().filter_map(|&c| self.graph.find(c)));
        }
        if !self.ids.is_sorted_by(|a, b| a < b) {
            self.ids.sort_unstable();
            self.ids.dedup();
        }
        self.graph.add_marked(cindex, &self.ids);
        self.pending.truncate(start);
        self.open.pop();
    }

    /// Returns the graph without unused cindexes, as one segment.
    fn finish(mut self) -> (ComputationGraph, bool) {
        for &cindex in &self.not_computable {
            self.graph.change_mark(cindex, None);
        }
        if self.has_optional || !self.not_computable.is_empty() {
            let keep = required(self.nnet, &self.graph, 0);
            self.graph.retain(0, &keep);
        }
        self.graph.segment_ends.push(self.graph.cindexes.len());
        (self.graph, self.stays_in_sequence)
    }
}
