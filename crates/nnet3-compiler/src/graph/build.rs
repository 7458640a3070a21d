//! Grows the graph from the outputs, level by level, and decides the computability of each cindex.

use super::{CindexId, ComputationGraph};
use crate::request::ComputationRequest;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{Cindex, Index, NodeId};
use nnet3_component::Component;
use nnet3_network::descriptor::{Descriptor, Sum};
use nnet3_network::{Nnet, Node};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Computable {
    Unknown,
    Yes,
    No,
}

#[derive(Clone)]
struct Info {
    computable: Computable,
    queued: bool,
    dependencies_added: bool,
    /// Number of dependents of this cindex that are used and not known to be uncomputable; a requested output counts
    /// one more.
    usable_count: u32,
    /// If all dependencies are needed: the number of those with unknown computability.
    waiting_for: u32,
    /// The first of a chain in `dependents`.
    first_dependent: u32,
}

const END: u32 = u32::MAX;

/// Builds a graph for one request, or for several in turn (looped computations). `compute` and `prune` alternate.
pub struct GraphBuilder<'n> {
    nnet: &'n Nnet,
    pub graph: ComputationGraph,
    info: Vec<Info>,
    /// Chains of cindexes that wait for one they depend on: a cindex, and the next item of the chain.
    dependents: Vec<(CindexId, u32)>,
    /// For each node, whether it needs all its dependencies.
    needs_all: Vec<bool>,
    current_queue: Vec<CindexId>,
    next_queue: Vec<CindexId>,
    stays_in_sequence: bool,
    // Scratch space.
    inputs: Vec<Cindex>,
    indexes: Vec<Index>,
    ids: Vec<CindexId>,
    stack: Vec<CindexId>,
    visits: Vec<Visit>,
}

/// A stage of the walk through the dependencies of a cindex.
enum Visit {
    Enter(CindexId),
    Leave(CindexId),
}

/// Levels, besides the network's own, after which the dependencies are taken to be endless.
const MAX_DISTANCE: usize = 10_000;

impl<'n> GraphBuilder<'n> {
    pub fn new(nnet: &'n Nnet) -> GraphBuilder<'n> {
        GraphBuilder {
            nnet,
            graph: ComputationGraph::new(nnet.num_nodes()),
            info: Vec::new(),
            dependents: Vec::new(),
            needs_all: nnet.node_ids().map(|id| needs_all(nnet, id)).collect(),
            current_queue: Vec::new(),
            next_queue: Vec::new(),
            stays_in_sequence: true,
            inputs: Vec::new(),
            indexes: Vec::new(),
            ids: Vec::new(),
            stack: Vec::new(),
            visits: Vec::new(),
        }
    }

    /// Adds all possible dependencies of the request's outputs, and decides the computability of each.
    pub fn compute(&mut self, request: &ComputationRequest) -> Result<()> {
        self.compute_observed(request, &mut |_| ())
    }

    /// As [`GraphBuilder::compute`]. Calls `level` after each level, with the number of cindexes so far.
    ///
    /// Levels process cindexes in the reference's order, so that each level adds the same number.
    pub fn compute_observed(
        &mut self,
        request: &ComputationRequest,
        level: &mut dyn FnMut(usize),
    ) -> Result<()> {
        self.graph.expect(request);
        self.add_inputs(request)?;
        self.add_outputs(request)?;
        // A network without recurrences goes down to its inputs and up again.
        let most_levels = MAX_DISTANCE + 2 * self.nnet.num_nodes();
        for _ in 0..most_levels {
            std::mem::swap(&mut self.current_queue, &mut self.next_queue);
            if self.current_queue.is_empty() {
                return Ok(());
            }
            self.process_level();
            level(self.graph.cindexes.len());
        }
        let names: Vec<&str> = self.next_queue.iter().take(3).map(|&c| self.name_of(c)).collect();
        Err(Error::NotComputable(format!(
            "the outputs depend on an endless chain of earlier or later times (after {most_levels} steps still at \
             {}): a recurrence needs IfDefined or Failover to begin somewhere",
            names.join(", ")
        )))
    }

    /// True if every cindex so far depends only on its own sequence.
    pub(crate) fn stays_in_sequence(&self) -> bool {
        self.stays_in_sequence
    }

    fn name_of(&self, id: CindexId) -> &'n str {
        self.nnet.node_name(self.graph.cindexes[id as usize].node)
    }

    fn add_inputs(&mut self, request: &ComputationRequest) -> Result<()> {
        for io in &request.inputs {
            let Some(node) = self.nnet.find_input(&io.name) else {
                return Err(Error::Request(format!("the network has no input node '{}'", io.name)));
            };
            for &index in &io.indexes {
                let (id, new) = self.add(Cindex::new(node, index), true);
                if !new {
                    return Err(Error::Request(format!(
                        "index {index:?} of input '{}' appears twice",
                        io.name
                    )));
                }
                self.info[id as usize].computable = Computable::Yes;
            }
        }
        Ok(())
    }

    fn add_outputs(&mut self, request: &ComputationRequest) -> Result<()> {
        for io in &request.outputs {
            let Some(node) = self.nnet.find_output(&io.name) else {
                return Err(Error::Request(format!("the network has no output node '{}'", io.name)));
            };
            if io.indexes.is_empty() {
                return Err(Error::Request(format!("no index of output '{}' is requested", io.name)));
            }
            for &index in &io.indexes {
                let (id, new) = self.add(Cindex::new(node, index), false);
                if !new {
                    return Err(Error::Request(format!(
                        "index {index:?} of output '{}' is requested twice",
                        io.name
                    )));
                }
                let info = &mut self.info[id as usize];
                info.usable_count = 1;
                info.queued = true;
                self.next_queue.push(id);
            }
        }
        if request.outputs.is_empty() {
            return Err(Error::Request("no output is requested".to_string()));
        }
        Ok(())
    }

    fn add(&mut self, cindex: Cindex, is_input: bool) -> (CindexId, bool) {
        let (id, new) = self.graph.find_or_add(cindex, is_input);
        if new {
            self.info.push(Info {
                computable: Computable::Unknown,
                queued: false,
                dependencies_added: false,
                usable_count: 0,
                waiting_for: 0,
                first_dependent: END,
            });
        }
        (id, new)
    }

    fn enqueue(&mut self, id: CindexId) {
        let info = &mut self.info[id as usize];
        if !info.queued {
            info.queued = true;
            self.next_queue.push(id);
        }
    }

    fn process_level(&mut self) {
        while let Some(id) = self.current_queue.pop() {
            let info = &mut self.info[id as usize];
            info.queued = false;
            if !info.dependencies_added && info.usable_count != 0 {
                info.dependencies_added = true;
                self.add_dependencies(id);
                self.enqueue(id);
            } else if info.computable == Computable::Unknown {
                self.update_computable(id);
            }
        }
    }

    fn add_dependencies(&mut self, id: CindexId) {
        let cindex = self.graph.cindexes[id as usize];
        let mut inputs = std::mem::take(&mut self.inputs);
        inputs.clear();
        match self.nnet.node(cindex.node) {
            Node::Input { .. } => {}
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                descriptor.dependencies(cindex.index, &mut inputs)
            }
            Node::Component { component } => {
                self.indexes.clear();
                self.nnet.component(*component).input_indexes(cindex.index, &mut self.indexes);
                let node = NodeId(cindex.node.0 - 1);
                inputs.extend(self.indexes.iter().map(|&index| Cindex::new(node, index)));
            }
            Node::DimRange { source, .. } => inputs.push(Cindex::new(*source, cindex.index)),
        }
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        for &input in &inputs {
            self.stays_in_sequence &= input.index.n == cindex.index.n;
            let (input_id, new) = self.add(input, false);
            if new {
                self.enqueue(input_id);
            }
            ids.push(input_id);
        }
        ids.sort_unstable();
        ids.dedup();
        self.graph.set_dependencies(id, &ids);
        let mut waiting_for = 0;
        for &input in &ids {
            let info = &mut self.info[input as usize];
            if info.computable == Computable::Unknown {
                waiting_for += 1;
                self.dependents.push((id, info.first_dependent));
                info.first_dependent = self.dependents.len() as u32 - 1;
            }
            self.increment_usable(input);
        }
        self.info[id as usize].waiting_for = waiting_for;
        (self.inputs, self.ids) = (inputs, ids);
    }

    fn increment_usable(&mut self, id: CindexId) {
        let mut visits = std::mem::take(&mut self.visits);
        visits.push(Visit::Enter(id));
        while let Some(visit) = visits.pop() {
            let id = match visit {
                Visit::Enter(id) => id,
                Visit::Leave(id) => {
                    self.enqueue(id);
                    continue;
                }
            };
            let info = &mut self.info[id as usize];
            info.usable_count += 1;
            if info.usable_count == 1 && info.computable != Computable::No {
                if info.computable == Computable::Unknown {
                    visits.push(Visit::Leave(id));
                }
                visits.extend(self.graph.dependencies(id).iter().rev().map(|&input| Visit::Enter(input)));
            }
        }
        self.visits = visits;
    }

    fn decrement_usable(&mut self, id: CindexId) {
        self.stack.push(id);
        while let Some(id) = self.stack.pop() {
            let info = &mut self.info[id as usize];
            info.usable_count -= 1;
            if info.usable_count == 0 && info.computable != Computable::No {
                self.stack.extend(self.graph.dependencies(id).iter().rev());
            }
        }
    }

    fn update_computable(&mut self, id: CindexId) {
        if self.info[id as usize].usable_count == 0 {
            return;
        }
        let status = self.status(id);
        self.info[id as usize].computable = status;
        if status == Computable::Unknown {
            return;
        }
        let mut next = self.info[id as usize].first_dependent;
        self.stack.clear();
        while next != END {
            let (dependent, following) = self.dependents[next as usize];
            self.stack.push(dependent);
            next = following;
        }
        // The chain begins with the latest.
        while let Some(dependent) = self.stack.pop() {
            self.info[dependent as usize].waiting_for -= 1;
            if self.info[dependent as usize].computable == Computable::Unknown {
                self.enqueue(dependent);
            }
        }
        if status == Computable::No {
            for i in 0..self.graph.dependencies(id).len() {
                self.decrement_usable(self.graph.dependencies(id)[i]);
            }
        }
    }

    /// Returns the computability of a cindex, given that of its dependencies.
    pub(super) fn computable(&self, id: CindexId) -> Computable {
        self.info[id as usize].computable
    }

    fn known(&self, cindex: Cindex) -> Option<Computable> {
        self.graph.find(cindex).map(|id| self.computable(id))
    }

    fn status(&self, id: CindexId) -> Computable {
        let cindex = self.graph.cindexes[id as usize];
        if self.needs_all[cindex.node.index()] {
            let is_impossible = |&d: &CindexId| self.computable(d) == Computable::No;
            return match () {
                () if self.graph.dependencies(id).iter().any(is_impossible) => Computable::No,
                () if self.info[id as usize].waiting_for > 0 => Computable::Unknown,
                () => Computable::Yes,
            };
        }
        let certain = |c: Cindex| self.known(c) == Some(Computable::Yes);
        let possible = |c: Cindex| self.known(c).is_some_and(|k| k != Computable::No);
        let decide = |yes: bool, maybe: &dyn Fn() -> bool| match yes {
            true => Computable::Yes,
            false if maybe() => Computable::Unknown,
            false => Computable::No,
        };
        match self.nnet.node(cindex.node) {
            Node::Input { .. } => decide(self.graph.is_input[id as usize], &|| false),
            Node::DimRange { source, .. } => {
                self.known(Cindex::new(*source, cindex.index)).unwrap_or(Computable::Unknown)
            }
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                let index = cindex.index;
                decide(descriptor.is_computable(index, &certain, None), &|| {
                    descriptor.is_computable(index, &possible, None)
                })
            }
            Node::Component { component } => {
                let component: &dyn Component = self.nnet.component(*component);
                let node = NodeId(cindex.node.0 - 1);
                let with = |set: &dyn Fn(Cindex) -> bool| {
                    component.is_computable(cindex.index, &|i| set(Cindex::new(node, i)), None)
                };
                decide(with(&certain), &|| with(&possible))
            }
        }
    }

    /// True if every requested output is computable.
    pub fn all_outputs_are_computable(&self) -> bool {
        let start = self.segment_start();
        (start..self.graph.cindexes.len()).all(|id| {
            !matches!(self.nnet.node(self.graph.cindexes[id].node), Node::Output { .. })
                || self.info[id].computable == Computable::Yes
        })
    }

    /// For each requested output, whether each of its indexes is computable. Call before [`GraphBuilder::prune`].
    pub(crate) fn computable_outputs(&self, request: &ComputationRequest) -> Vec<Vec<bool>> {
        let one = |name: &str, index: Index| {
            let node = self.nnet.find_output(name)?;
            self.known(Cindex::new(node, index))
        };
        request
            .outputs
            .iter()
            .map(|io| io.indexes.iter().map(|&i| one(&io.name, i) == Some(Computable::Yes)).collect())
            .collect()
    }

    fn segment_start(&self) -> usize {
        self.graph.segment_ends.last().copied().unwrap_or(0)
    }

    /// Reduces the current segment to the inputs and the cindexes that the outputs use, with the dependencies that are
    /// used.
    pub fn prune(&mut self) {
        let start = self.segment_start();
        for id in start..self.graph.cindexes.len() {
            self.reduce_dependencies(id as CindexId);
        }
        let keep = required(self.nnet, &self.graph, start);
        self.graph.retain(start, &keep);
        let end = self.graph.cindexes.len();
        self.graph.segment_ends.push(end);
        self.info.truncate(end);
        for info in &mut self.info[start..] {
            *info = Info {
                computable: Computable::Yes,
                queued: false,
                dependencies_added: true,
                usable_count: 1,
                waiting_for: 0,
                first_dependent: END,
            };
        }
        // The remaining cindexes are known to be computable, so their dependents need no update.
        self.dependents.clear();
        self.info[..start].iter_mut().for_each(|info| info.first_dependent = END);
    }

    /// Leaves only those dependencies that computing the cindex really uses.
    fn reduce_dependencies(&mut self, id: CindexId) {
        let info = &self.info[id as usize];
        if info.computable == Computable::No || info.usable_count == 0 {
            self.graph.set_dependencies(id, &[]);
            return;
        }
        let cindex = self.graph.cindexes[id as usize];
        if self.needs_all[cindex.node.index()] {
            return;
        }
        let (mut used, mut indexes) = (std::mem::take(&mut self.inputs), std::mem::take(&mut self.indexes));
        used.clear();
        indexes.clear();
        let available = |c: Cindex| self.known(c) == Some(Computable::Yes);
        match self.nnet.node(cindex.node) {
            Node::Input { .. } | Node::DimRange { .. } => {}
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                descriptor.is_computable(cindex.index, &available, Some(&mut used));
            }
            Node::Component { component } => {
                let node = NodeId(cindex.node.0 - 1);
                let available = |i: Index| available(Cindex::new(node, i));
                self.nnet.component(*component).is_computable(cindex.index, &available, Some(&mut indexes));
                used.extend(indexes.iter().map(|&i| Cindex::new(node, i)));
            }
        }
        self.ids.clear();
        self.ids.extend(used.iter().filter_map(|&c| self.graph.find(c)));
        self.ids.sort_unstable();
        self.ids.dedup();
        self.graph.set_dependencies(id, &self.ids);
        (self.inputs, self.indexes) = (used, indexes);
    }
}

/// For each id from `start` on, whether it is an input or an output, or used by one that is.
pub(super) fn required(nnet: &Nnet, graph: &ComputationGraph, start: usize) -> Vec<bool> {
    let mut keep: Vec<bool> = graph.is_input[start..].to_vec();
    let is_output =
        |id: &CindexId| matches!(nnet.node(graph.cindexes[*id as usize].node), Node::Output { .. });
    let mut stack: Vec<CindexId> =
        (start as CindexId..graph.cindexes.len() as CindexId).filter(is_output).collect();
    for &id in &stack {
        keep[id as usize - start] = true;
    }
    while let Some(id) = stack.pop() {
        for &d in graph.dependencies(id) {
            if d as usize >= start && !std::mem::replace(&mut keep[d as usize - start], true) {
                stack.push(d);
            }
        }
    }
    keep
}

/// True if a cindex of the node is computable exactly if all its dependencies are, and uses them all.
pub(super) fn needs_all(nnet: &Nnet, id: NodeId) -> bool {
    let descriptor_needs_all = |d: &Descriptor| d.parts.iter().all(Sum::needs_all);
    match nnet.node(id) {
        Node::Input { .. } => false,
        Node::DimRange { .. } => true,
        Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
            descriptor_needs_all(descriptor)
        }
        Node::Component { component } => !nnet.component(*component).has_optional_inputs(),
    }
}
