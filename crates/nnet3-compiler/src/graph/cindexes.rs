//! The graph itself: cindexes and their dependencies.

use super::table::CindexTable;
use crate::request::ComputationRequest;
use nnet3_base::index::{Cindex, NO_TIME, NodeId};
use nnet3_network::Nnet;
use std::ops::Range;

/// Largest number of cindexes for which memory is reserved beforehand.
const MOST_EXPECTED: usize = 1 << 14;

/// First of the marks that take the place of ids during the search, for cindexes that are not in the graph.
pub(super) const FIRST_MARK: CindexId = CindexId::MAX - 15;

/// Position of a cindex in a [`ComputationGraph`].
pub type CindexId = u32;

/// Cindexes and their dependencies.
#[derive(Clone, Default)]
pub struct ComputationGraph {
    pub cindexes: Vec<Cindex>,
    pub is_input: Vec<bool>,
    /// End of each segment's ids; a request is one segment.
    pub segment_ends: Vec<usize>,
    /// The dependencies of each id are a range of `edges`.
    dependencies: Vec<Range<u32>>,
    edges: Vec<CindexId>,
    table: CindexTable,
}

impl ComputationGraph {
    pub fn new(num_nodes: usize) -> ComputationGraph {
        ComputationGraph { table: CindexTable::new(num_nodes), ..ComputationGraph::default() }
    }

    pub fn find(&self, cindex: Cindex) -> Option<CindexId> {
        self.table.get(cindex).filter(|&id| id < FIRST_MARK)
    }

    /// As [`ComputationGraph::find`], but returns the mark of a cindex that is not in the graph.
    pub(super) fn find_or_mark(&self, cindex: Cindex) -> Option<CindexId> {
        self.table.get(cindex)
    }

    /// Marks a cindex that is not in the graph and has no mark.
    pub(super) fn mark(&mut self, cindex: Cindex, mark: CindexId) {
        self.table.add(cindex, mark);
    }

    /// Changes the mark of a cindex, or takes it away.
    pub(super) fn change_mark(&mut self, cindex: Cindex, mark: Option<CindexId>) {
        self.table.change(cindex, mark);
    }

    /// As [`ComputationGraph::add`], for a cindex with a mark.
    pub(super) fn add_marked(&mut self, cindex: Cindex, dependencies: &[CindexId]) {
        self.table.change(cindex, Some(to_u32(self.cindexes.len())));
        self.push(cindex, false, dependencies);
    }

    /// Adds the inputs of a request. Returns `None` if the network has no such input, or if a cindex is given twice.
    pub(super) fn add_inputs(&mut self, nnet: &Nnet, request: &ComputationRequest) -> Option<()> {
        for io in &request.inputs {
            let node = nnet.find_input(&io.name)?;
            for &index in &io.indexes {
                let (_, new) = self.find_or_add(Cindex::new(node, index), true);
                new.then_some(())?;
            }
        }
        Some(())
    }

    /// The id of a cindex, and whether it is new.
    pub(crate) fn find_or_add(&mut self, cindex: Cindex, is_input: bool) -> (CindexId, bool) {
        match self.table.get(cindex) {
            Some(id) => (id, false),
            None => (self.add(cindex, is_input, &[]), true),
        }
    }

    /// Adds a cindex that is not there, with its dependencies: ids without repeats, ascending.
    pub(super) fn add(&mut self, cindex: Cindex, is_input: bool, dependencies: &[CindexId]) -> CindexId {
        let id = to_u32(self.cindexes.len());
        self.table.add(cindex, id);
        self.push(cindex, is_input, dependencies);
        id
    }

    /// Adds for each of these ids the same index of another node, which depends on it and is not there.
    pub(super) fn add_same(&mut self, node: NodeId, sources: Range<CindexId>) {
        let count = sources.len();
        let first = to_u32(self.cindexes.len() + count) - count as CindexId;
        let first_edge = to_u32(self.edges.len() + count) - count as u32;
        for (id, source) in (first..).zip(sources.clone()) {
            let cindex = Cindex { node, ..self.cindexes[source as usize] };
            self.table.add(cindex, id);
            self.cindexes.push(cindex);
        }
        self.is_input.resize(self.is_input.len() + count, false);
        self.edges.extend(sources);
        self.dependencies.extend((first_edge..).take(count).map(|edge| edge..edge + 1));
    }

    fn push(&mut self, cindex: Cindex, is_input: bool, dependencies: &[CindexId]) {
        self.cindexes.push(cindex);
        self.is_input.push(is_input);
        let start = self.edges.len() as u32;
        // Usually there are one or a few.
        dependencies.iter().for_each(|&id| self.edges.push(id));
        self.dependencies.push(start..to_u32(self.edges.len()));
    }

    /// Makes room for the cindexes of a request.
    pub(super) fn expect(&mut self, request: &ComputationRequest) {
        let lists = || request.inputs.iter().chain(&request.outputs).map(|io| &io.indexes);
        let times = || lists().flatten().map(|index| index.t).filter(|&t| t != NO_TIME);
        let (Some(first), Some(last)) = (times().min(), times().max()) else {
            return;
        };
        let count = lists().map(Vec::len).sum();
        self.table.expect_times(first, last, count);
        let more = (4 * count).min(MOST_EXPECTED);
        self.cindexes.reserve(more);
        self.is_input.reserve(more);
        self.dependencies.reserve(more);
        self.edges.reserve(more);
    }

    /// The dependencies of `id`, without repeats, ascending.
    pub fn dependencies(&self, id: CindexId) -> &[CindexId] {
        let range = &self.dependencies[id as usize];
        &self.edges[range.start as usize..range.end as usize]
    }

    /// Replaces the dependencies of `id`: ids without repeats, ascending.
    pub(crate) fn set_dependencies(&mut self, id: CindexId, ids: &[CindexId]) {
        let range = &mut self.dependencies[id as usize];
        if ids.len() > range.len() {
            range.start = to_u32(self.edges.len());
            self.edges.extend_from_slice(ids);
        } else {
            self.edges[range.start as usize..range.start as usize + ids.len()].copy_from_slice(ids);
        }
        range.end = range.start + to_u32(ids.len());
    }

    /// The ids of each segment.
    pub fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.segment_ends.iter().copied());
        starts.zip(self.segment_ends.iter().copied()).map(|(start, end)| start..end)
    }

    /// Keeps the marked ids from `start` on. They must depend only on kept ones.
    pub(super) fn retain(&mut self, start: usize, keep: &[bool]) {
        if !keep.contains(&false) {
            return;
        }
        let mut new_ids = vec![CindexId::MAX; keep.len()];
        let mut next = start;
        for (i, &kept) in keep.iter().enumerate() {
            let id = start + i;
            if !kept {
                self.table.change(self.cindexes[id], None);
                continue;
            }
            new_ids[i] = next as CindexId;
            if next != id {
                self.cindexes[next] = self.cindexes[id];
                self.is_input[next] = self.is_input[id];
                self.dependencies[next] = self.dependencies[id].clone();
                self.table.change(self.cindexes[next], Some(next as CindexId));
            }
            next += 1;
        }
        self.cindexes.truncate(next);
        self.is_input.truncate(next);
        self.dependencies.truncate(next);
        for range in &self.dependencies[start..] {
            for d in &mut self.edges[range.start as usize..range.end as usize] {
                if *d as usize >= start {
                    *d = new_ids[*d as usize - start];
                }
            }
        }
    }
}

fn to_u32(i: usize) -> u32 {
    u32::try_from(i).ok().filter(|&i| i < FIRST_MARK).expect("fewer than 2^32 - 16")
}
