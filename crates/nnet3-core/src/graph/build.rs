//! Grows the graph from the outputs, level by level, and finds out what is computable (spec compiler §3.2).

use crate::component::Component;
use crate::error::{Error, Result};
use crate::index::{Cindex, Index, NodeId};
use crate::nnet::{Nnet, Node};
use crate::request::ComputationRequest;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Position of a cindex in a [`ComputationGraph`].
pub type CindexId = u32;

/// A fast hash for cindexes; iteration order is never used.
#[derive(Clone, Copy, Default)]
pub struct CindexHasher(u64);

impl Hasher for CindexHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u32(b as u32));
    }
    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0.rotate_left(23) ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_i32(&mut self, value: i32) {
        self.write_u32(value as u32);
    }
}

/// A map keyed by cindexes or indexes.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<CindexHasher>>;

/// Cindexes and what each is computed from.
#[derive(Clone, Default)]
pub struct ComputationGraph {
    pub cindexes: Vec<Cindex>,
    pub is_input: Vec<bool>,
    /// Without repeats, ascending.
    pub dependencies: Vec<Vec<CindexId>>,
    /// End of each segment's ids; a request is one segment.
    pub segment_ends: Vec<usize>,
    ids: FastMap<Cindex, CindexId>,
}

impl ComputationGraph {
    pub fn find(&self, cindex: Cindex) -> Option<CindexId> {
        self.ids.get(&cindex).copied()
    }

    /// The id of a cindex, and whether it is new.
    pub fn find_or_add(&mut self, cindex: Cindex, is_input: bool) -> (CindexId, bool) {
        let next = self.cindexes.len() as CindexId;
        match self.ids.entry(cindex) {
            std::collections::hash_map::Entry::Occupied(entry) => (*entry.get(), false),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(next);
                self.cindexes.push(cindex);
                self.is_input.push(is_input);
                self.dependencies.push(Vec::new());
                (next, true)
            }
        }
    }

    /// The ids of each segment.
    pub fn segments(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let starts = std::iter::once(0).chain(self.segment_ends.iter().copied());
        starts.zip(self.segment_ends.iter().copied()).map(|(start, end)| start..end)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computable {
    Unknown,
    Yes,
    No,
}

#[derive(Clone)]
struct Info {
    computable: Computable,
    /// 1 if a requested output, plus the number of cindexes that depend on this one, are used themselves and are not
    /// known to be not computable.
    usable_count: u32,
    queued: bool,
    dependencies_added: bool,
}

/// Builds a graph for one request, or for several in turn (looped computations). `compute` and `prune` alternate.
pub struct GraphBuilder<'n> {
    nnet: &'n Nnet,
    pub graph: ComputationGraph,
    info: Vec<Info>,
    /// The transpose of the graph's dependencies.
    dependents: Vec<Vec<CindexId>>,
    current_queue: Vec<CindexId>,
    next_queue: Vec<CindexId>,
}

/// Levels after which the dependencies are taken to be endless.
const MAX_DISTANCE: usize = 10_000;

impl<'n> GraphBuilder<'n> {
    pub fn new(nnet: &'n Nnet) -> GraphBuilder<'n> {
        GraphBuilder {
            nnet,
            graph: ComputationGraph::default(),
            info: Vec::new(),
            dependents: Vec::new(),
            current_queue: Vec::new(),
            next_queue: Vec::new(),
        }
    }

    /// Adds all that the request's outputs may depend on, and decides what is computable.
    pub fn compute(&mut self, request: &ComputationRequest) -> Result<()> {
        self.add_inputs(request)?;
        self.add_outputs(request)?;
        for _ in 0..MAX_DISTANCE {
            std::mem::swap(&mut self.current_queue, &mut self.next_queue);
            if self.current_queue.is_empty() {
                return Ok(());
            }
            self.process_level();
        }
        let names: Vec<&str> = self.next_queue.iter().take(3).map(|&c| self.name_of(c)).collect();
        Err(Error::NotComputable(format!(
            "the outputs depend on an endless chain of earlier or later times (after {MAX_DISTANCE} steps still at \
             {}): a recurrence needs IfDefined or Failover to begin somewhere",
            names.join(", ")
        )))
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
                        "index {index:?} of input '{}' is given twice",
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
                return Err(Error::Request(format!("no index of output '{}' is asked for", io.name)));
            }
            for &index in &io.indexes {
                let (id, new) = self.add(Cindex::new(node, index), false);
                if !new {
                    return Err(Error::Request(format!(
                        "index {index:?} of output '{}' is asked for twice",
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
            return Err(Error::Request("no output is asked for".to_string()));
        }
        Ok(())
    }

    fn add(&mut self, cindex: Cindex, is_input: bool) -> (CindexId, bool) {
        let (id, new) = self.graph.find_or_add(cindex, is_input);
        if new {
            self.info.push(Info {
                computable: Computable::Unknown,
                usable_count: 0,
                queued: false,
                dependencies_added: false,
            });
            self.dependents.push(Vec::new());
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
        let mut inputs = Vec::new();
        match self.nnet.node(cindex.node) {
            Node::Input { .. } => {}
            Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                descriptor.dependencies(cindex.index, &mut inputs)
            }
            Node::Component { component } => {
                let mut indexes = Vec::new();
                self.nnet.component(*component).input_indexes(cindex.index, &mut indexes);
                let node = NodeId(cindex.node.0 - 1);
                inputs.extend(indexes.into_iter().map(|index| Cindex::new(node, index)));
            }
            Node::DimRange { source, .. } => inputs.push(Cindex::new(*source, cindex.index)),
        }
        let mut ids: Vec<CindexId> = Vec::with_capacity(inputs.len());
        for input in inputs {
            let (input_id, new) = self.add(input, false);
            if new {
                self.enqueue(input_id);
            }
            ids.push(input_id);
        }
        ids.sort_unstable();
        ids.dedup();
        for &input in &ids {
            self.dependents[input as usize].push(id);
        }
        self.graph.dependencies[id as usize] = ids.clone();
        for input in ids {
            self.increment_usable(input);
        }
    }

    fn increment_usable(&mut self, id: CindexId) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            let info = &mut self.info[id as usize];
            info.usable_count += 1;
            if info.usable_count == 1 && info.computable != Computable::No {
                stack.extend(self.graph.dependencies[id as usize].iter().rev());
                if info.computable == Computable::Unknown {
                    self.enqueue(id);
                }
            }
        }
    }

    fn decrement_usable(&mut self, id: CindexId) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            let info = &mut self.info[id as usize];
            info.usable_count -= 1;
            if info.usable_count == 0 && info.computable != Computable::No {
                stack.extend(self.graph.dependencies[id as usize].iter().rev());
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
        for i in 0..self.dependents[id as usize].len() {
            let dependent = self.dependents[id as usize][i];
            if self.info[dependent as usize].computable == Computable::Unknown {
                self.enqueue(dependent);
            }
        }
        if status == Computable::No {
            for i in 0..self.graph.dependencies[id as usize].len() {
                self.decrement_usable(self.graph.dependencies[id as usize][i]);
            }
        }
    }

    /// What is known of a cindex, given what is known of those it depends on.
    pub(super) fn computable(&self, id: CindexId) -> Computable {
        self.info[id as usize].computable
    }

    fn known(&self, cindex: Cindex) -> Option<Computable> {
        self.graph.find(cindex).map(|id| self.computable(id))
    }

    fn status(&self, id: CindexId) -> Computable {
        let cindex = self.graph.cindexes[id as usize];
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

    /// Whether every requested output is computable.
    pub fn all_outputs_are_computable(&self) -> bool {
        let start = self.segment_start();
        (start..self.graph.cindexes.len()).all(|id| {
            !matches!(self.nnet.node(self.graph.cindexes[id].node), Node::Output { .. })
                || self.info[id].computable == Computable::Yes
        })
    }

    /// For each requested output, whether each of its indexes is computable. Call before [`GraphBuilder::prune`].
    pub fn computable_outputs(&self, request: &ComputationRequest) -> Vec<Vec<bool>> {
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

    /// Keeps of the current segment the inputs and what the outputs use, with the dependencies that are used.
    pub fn prune(&mut self) {
        let start = self.segment_start();
        self.reduce_dependencies(start);
        let keep = self.required(start);
        let graph = &mut self.graph;
        let mut new_ids: Vec<CindexId> = (0..graph.cindexes.len() as CindexId).collect();
        let mut next = start;
        for id in start..graph.cindexes.len() {
            if keep[id - start] {
                new_ids[id] = next as CindexId;
                graph.cindexes[next] = graph.cindexes[id];
                graph.is_input[next] = graph.is_input[id];
                graph.dependencies[next] = std::mem::take(&mut graph.dependencies[id]);
                graph.ids.insert(graph.cindexes[next], next as CindexId);
                next += 1;
            } else {
                graph.ids.remove(&graph.cindexes[id]);
            }
        }
        graph.cindexes.truncate(next);
        graph.is_input.truncate(next);
        graph.dependencies.truncate(next);
        for list in &mut graph.dependencies[start..] {
            list.iter_mut().for_each(|d| *d = new_ids[*d as usize]);
        }
        graph.segment_ends.push(next);
        self.info.truncate(next);
        for info in &mut self.info[start..] {
            *info = Info {
                computable: Computable::Yes,
                usable_count: 1,
                queued: false,
                dependencies_added: true,
            };
        }
        self.dependents.truncate(start);
        self.dependents.resize(next, Vec::new());
        for list in &mut self.dependents[..start] {
            list.retain(|&d| (d as usize) < start);
        }
    }

    /// Leaves only those dependencies that computing each cindex really uses.
    fn reduce_dependencies(&mut self, start: usize) {
        for id in start..self.graph.cindexes.len() {
            if self.info[id].computable == Computable::No || self.info[id].usable_count == 0 {
                self.graph.dependencies[id].clear();
                continue;
            }
            let cindex = self.graph.cindexes[id];
            let available = |c: Cindex| self.known(c) == Some(Computable::Yes);
            let mut used = Vec::new();
            match self.nnet.node(cindex.node) {
                Node::Input { .. } | Node::DimRange { .. } => continue,
                Node::ComponentInput { descriptor } | Node::Output { descriptor, .. } => {
                    descriptor.is_computable(cindex.index, &available, Some(&mut used));
                }
                Node::Component { component } => {
                    let node = NodeId(cindex.node.0 - 1);
                    let mut indexes = Vec::new();
                    self.nnet.component(*component).is_computable(
                        cindex.index,
                        &|i| available(Cindex::new(node, i)),
                        Some(&mut indexes),
                    );
                    used.extend(indexes.into_iter().map(|i| Cindex::new(node, i)));
                }
            }
            let mut ids: Vec<CindexId> = used.into_iter().filter_map(|c| self.graph.find(c)).collect();
            ids.sort_unstable();
            ids.dedup();
            self.graph.dependencies[id] = ids;
        }
    }

    fn required(&self, start: usize) -> Vec<bool> {
        let graph = &self.graph;
        let mut keep: Vec<bool> = graph.is_input[start..].to_vec();
        let is_output =
            |id: &CindexId| matches!(self.nnet.node(graph.cindexes[*id as usize].node), Node::Output { .. });
        let mut stack: Vec<CindexId> =
            (start as CindexId..graph.cindexes.len() as CindexId).filter(is_output).collect();
        for &id in &stack {
            keep[id as usize - start] = true;
        }
        while let Some(id) = stack.pop() {
            for &d in &graph.dependencies[id as usize] {
                if d as usize >= start && !std::mem::replace(&mut keep[d as usize - start], true) {
                    stack.push(d);
                }
            }
        }
        keep
    }
}
