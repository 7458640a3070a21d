//! The graph itself: cindexes, and what each is computed from.

use super::table::CindexTable;
use crate::index::Cindex;
use std::ops::Range;

/// Room that is made for at most so many cindexes before they are known.
const MOST_EXPECTED: usize = 1 << 14;

/// Position of a cindex in a [`ComputationGraph`].
pub type CindexId = u32;

/// Cindexes and what each is computed from.
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
        self.table.get(cindex)
    }

    /// The id of a cindex, and whether it is new.
    pub fn find_or_add(&mut self, cindex: Cindex, is_input: bool) -> (CindexId, bool) {
        if let Some(id) = self.table.get(cindex) {
            return (id, false);
        }
        let id = to_u32(self.cindexes.len());
        self.table.add(cindex, id);
        self.cindexes.push(cindex);
        self.is_input.push(is_input);
        self.dependencies.push(0..0);
        (id, true)
    }

    /// Prepares for the cindexes of a request with `count` indexes of these times.
    pub(super) fn expect_times(&mut self, first: i32, last: i32, count: usize) {
        self.table.expect_times(first, last, count);
        let more = (4 * count).min(MOST_EXPECTED);
        self.cindexes.reserve(more);
        self.is_input.reserve(more);
        self.dependencies.reserve(more);
        self.edges.reserve(more);
    }

    /// What `id` is computed from, without repeats, ascending.
    pub fn dependencies(&self, id: CindexId) -> &[CindexId] {
        let range = &self.dependencies[id as usize];
        &self.edges[range.start as usize..range.end as usize]
    }

    /// Replaces the dependencies of `id`: ids without repeats, ascending.
    pub fn set_dependencies(&mut self, id: CindexId, ids: &[CindexId]) {
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

    /// Keeps of the ids from `start` on those that are marked. They must depend on none that is not.
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
    u32::try_from(i).expect("fewer than 2^32")
}
