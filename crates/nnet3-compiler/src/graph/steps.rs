//! Steps: lists of cindexes, one matrix each, in an order in which they can be computed.

use super::sequences::sequence_stride;
use super::{CindexId, ComputationGraph};
use crate::request::{ComputationRequest, IoSpecification};
use nnet3_base::error::{Error, Result};
use nnet3_base::id_type;
use nnet3_base::index::{Cindex, Index, NO_TIME, NodeId};
use nnet3_component::Properties;
use nnet3_network::{Nnet, Node};
use std::sync::Arc;

id_type!(
    /// Position of a step.
    StepId
);

/// One matrix to be: a node and its rows.
#[derive(Clone, Debug)]
pub struct Step {
    pub node: NodeId,
    /// The cindexes that the step computes, without padding. If one sequence stands for all, those of that sequence.
    /// Empty only for the input of a component without inputs.
    pub ids: Vec<CindexId>,
    pub layout: Layout,
    /// The number of the request that the step belongs to.
    pub segment: usize,
}

/// Placement of a step's ids in the rows.
#[derive(Clone, Debug)]
pub enum Layout {
    /// The rows are blocks of `stride` ids, each repeated for all sequences.
    Regular { stride: usize },
    /// The rows are in a component's own order, with padding.
    Listed(Arc<Listed>),
}

#[derive(Debug)]
pub struct Listed {
    /// The index of each row.
    pub indexes: Vec<Index>,
    /// The row of id number i of sequence n, at i × number of sequences + n.
    pub rows: Vec<u32>,
}

/// The rows of one id, sequence by sequence.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    Regular { first: u32, stride: u32 },
    Listed(&'a [u32]),
}

impl Rows<'_> {
    pub fn of_sequence(self, n: usize) -> u32 {
        match self {
            Rows::Regular { first, stride } => first + n as u32 * stride,
            Rows::Listed(rows) => rows[n],
        }
    }
}

/// All steps, and where each cindex is computed.
pub struct Steps {
    pub steps: Vec<Step>,
    /// Step of each cindex, and its position in the step's ids. Component inputs may occur in two steps; theirs is the
    /// later one.
    pub locations: Vec<(StepId, u32)>,
    /// The number of sequences, counted from 0, that each cindex stands for.
    pub num_sequences: usize,
}

impl Step {
    pub(crate) fn num_rows(&self, num_sequences: usize) -> usize {
        match &self.layout {
            Layout::Regular { .. } => self.ids.len() * num_sequences,
            Layout::Listed(listed) => listed.indexes.len(),
        }
    }

    /// The number of ids in a block, if all blocks have the same number and are repeated for each sequence in turn.
    pub fn stride(&self) -> Option<usize> {
        match self.layout {
            Layout::Regular { stride } => {
                (stride > 0 && self.ids.len().is_multiple_of(stride)).then_some(stride)
            }
            Layout::Listed(_) => None,
        }
    }

    /// The index of every row.
    pub fn indexes(&self, graph: &ComputationGraph, num_sequences: usize) -> Vec<Index> {
        self.all_rows(graph, num_sequences, |index| index)
    }

    /// The cindex of every row.
    pub fn cindexes(&self, graph: &ComputationGraph, num_sequences: usize) -> Vec<Cindex> {
        self.all_rows(graph, num_sequences, |index| Cindex::new(self.node, index))
    }

    fn all_rows<T>(
        &self,
        graph: &ComputationGraph,
        num_sequences: usize,
        make: impl Fn(Index) -> T,
    ) -> Vec<T> {
        let stride = match &self.layout {
            Layout::Regular { stride } => *stride,
            Layout::Listed(listed) => return listed.indexes.iter().copied().map(make).collect(),
        };
        let of = |&id: &CindexId| graph.cindexes[id as usize].index;
        if num_sequences == 1 {
            return self.ids.iter().map(|id| make(of(id))).collect();
        }
        let mut out = Vec::with_capacity(self.ids.len() * num_sequences);
        if stride == 1 {
            for index in self.ids.iter().map(of) {
                out.extend((0..num_sequences as i32).map(|n| make(Index { n, ..index })));
            }
            return out;
        }
        for block in self.ids.chunks(stride) {
            for n in 0..num_sequences as i32 {
                out.extend(block.iter().map(|id| make(Index { n, ..of(id) })));
            }
        }
        out
    }

    /// The rows of the id at `position`.
    pub fn rows(&self, position: usize, num_sequences: usize) -> Rows<'_> {
        match &self.layout {
            Layout::Regular { stride } => {
                let first = match *stride {
                    1 => position * num_sequences,
                    stride if position < stride => position,
                    stride => position / stride * stride * num_sequences + position % stride,
                };
                Rows::Regular { first: first as u32, stride: *stride as u32 }
            }
            Layout::Listed(listed) => Rows::Listed(&listed.rows[position * num_sequences..][..num_sequences]),
        }
    }

    /// Calls `f` for each row with the position of its id and its sequence; for padding with `None`.
    pub(crate) fn for_each_row(&self, num_sequences: usize, mut f: impl FnMut(Option<(usize, usize)>)) {
        match &self.layout {
            Layout::Regular { stride } => {
                for first in (0..self.ids.len()).step_by((*stride).max(1)) {
                    for n in 0..num_sequences {
                        (first..self.ids.len().min(first + stride)).for_each(|i| f(Some((i, n))));
                    }
                }
            }
            Layout::Listed(listed) => {
                let mut places = vec![None; listed.indexes.len()];
                for (k, &row) in listed.rows.iter().enumerate() {
                    places[row as usize] = Some((k / num_sequences, k % num_sequences));
                }
                places.into_iter().for_each(f);
            }
        }
    }
}

const NOWHERE: (StepId, u32) = (StepId(u32::MAX), 0);
const UNLISTED: u32 = u32::MAX;

/// Turns the phases of every segment into steps. Graph and phases are those of the requests' first sequence if
/// `num_sequences` > 1; `requests` have all. May add cindexes to the graph: rows of dim-range nodes, and padding rows
/// of components that reorder their rows.
pub fn steps(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    num_sequences: usize,
    graph: &mut ComputationGraph,
    phases: Vec<Vec<Vec<CindexId>>>,
) -> Result<Steps> {
    let locations = vec![NOWHERE; graph.cindexes.len()];
    let out = Steps { steps: Vec::new(), locations, num_sequences };
    let mut maker = StepMaker { nnet, graph, out, segment: 0, positions: Vec::new() };
    for (segment, segment_phases) in phases.into_iter().enumerate() {
        maker.segment = segment;
        for phase in segment_phases {
            maker.add_phase(phase, &requests[segment])?;
        }
    }
    maker.check()?;
    Ok(maker.out)
}

struct StepMaker<'a> {
    nnet: &'a Nnet,
    graph: &'a mut ComputationGraph,
    out: Steps,
    segment: usize,
    /// Scratch space of [`StepMaker::add_listed`]: `UNLISTED` for each id.
    positions: Vec<u32>,
}

impl StepMaker<'_> {
    fn add_phase(&mut self, mut ids: Vec<CindexId>, request: &ComputationRequest) -> Result<()> {
        self.sort(&mut ids);
        let mut rest = ids.as_slice();
        while let Some(&first) = rest.first() {
            let node = self.graph.cindexes[first as usize].node;
            let count = rest.partition_point(|&id| self.graph.cindexes[id as usize].node == node);
            let (group, others) = rest.split_at(count);
            rest = others;
            match self.nnet.node(node) {
                Node::ComponentInput { .. } => {}
                Node::Input { .. } => self.add_io(node, request.input(self.nnet.node_name(node)))?,
                Node::Output { .. } => self.add_io(node, request.output(self.nnet.node_name(node)))?,
                Node::Component { .. } => self.add_component(node, group)?,
                Node::DimRange { .. } => self.add_dim_range(node, group),
            }
        }
        Ok(())
    }

    /// Sorts ids by their cindexes.
    fn sort(&self, ids: &mut Vec<CindexId>) {
        let cindex = |id: CindexId| self.graph.cindexes[id as usize];
        let in_order = |&a: &CindexId, &b: &CindexId| {
            let (a, b) = (cindex(a), cindex(b));
            // The usual case.
            let only_later = a.node == b.node && a.index.t < b.index.t && a.index.x == b.index.x;
            only_later || a <= b
        };
        if !ids.is_sorted_by(in_order) && !sort_by_time(ids, cindex) {
            ids.sort_unstable_by_key(|&id| cindex(id));
        }
    }

    fn add_step(&mut self, node: NodeId, ids: Vec<CindexId>, layout: Layout) {
        let step = StepId::from(self.out.steps.len());
        self.out.locations.resize(self.graph.cindexes.len(), NOWHERE);
        for (position, &id) in ids.iter().enumerate() {
            self.out.locations[id as usize] = (step, position as u32);
        }
        self.out.steps.push(Step { node, ids, layout, segment: self.segment });
    }

    /// Adds a step whose rows are sorted, all sequences of an index together.
    fn add_sorted(&mut self, node: NodeId, ids: Vec<CindexId>) {
        self.add_step(node, ids, Layout::Regular { stride: 1 });
    }

    /// Adds a step with rows in the request's order.
    fn add_io(&mut self, node: NodeId, io: Option<&IoSpecification>) -> Result<()> {
        let missing = || Error::Request(format!("'{}' is not part of it", self.nnet.node_name(node)));
        let io = io.ok_or_else(missing)?;
        let all = self.out.num_sequences;
        let stride = match all {
            1 => 1,
            _ => sequence_stride(&io.indexes).ok_or_else(missing)?,
        };
        let first_sequence =
            io.indexes.chunks(stride * all).flat_map(|block| &block[..stride.min(block.len())]);
        let find = |&index: &Index| self.graph.find(Cindex::new(node, index));
        let ids = first_sequence.map(find).collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        self.add_step(node, ids, Layout::Regular { stride });
        Ok(())
    }

    fn add_component(&mut self, node: NodeId, ids: &[CindexId]) -> Result<()> {
        let input_node = NodeId(node.0 - 1);
        let Some(component) = self.nnet.component_of(node).map(|c| self.nnet.component(c)) else {
            return Ok(());
        };
        let properties = component.properties();
        if properties.contains(Properties::SIMPLE) {
            let inputs = ids.iter().map(|&id| self.graph.dependencies(id).first().copied());
            let inputs = inputs.collect::<Option<Vec<_>>>();
            let inputs = inputs.ok_or_else(|| Error::computation("a simple component lacks an input row"))?;
            self.add_sorted(input_node, inputs);
            self.add_sorted(node, ids.to_vec());
            return Ok(());
        }
        let mut input_ids: Vec<CindexId> =
            ids.iter().flat_map(|&id| self.graph.dependencies(id).iter().copied()).collect();
        input_ids.sort_unstable();
        input_ids.dedup();
        self.sort(&mut input_ids);
        if !properties.contains(Properties::REORDERS_INDEXES) {
            self.add_sorted(input_node, input_ids);
            self.add_sorted(node, ids.to_vec());
            return Ok(());
        }
        let mut inputs = self.all_sequences(&input_ids);
        let mut outputs = self.all_sequences(ids);
        component.reorder_indexes(&mut inputs, &mut outputs)?;
        for (node, indexes) in [(input_node, inputs), (node, outputs)] {
            self.add_listed(node, indexes)?;
        }
        Ok(())
    }

    /// The indexes of all sequences, in sorted order if the ids are.
    fn all_sequences(&self, ids: &[CindexId]) -> Vec<Index> {
        let of = |&id: &CindexId| self.graph.cindexes[id as usize].index;
        match self.out.num_sequences as i32 {
            1 => ids.iter().map(of).collect(),
            all => ids.iter().flat_map(|id| (0..all).map(move |n| Index { n, ..of(id) })).collect(),
        }
    }

    /// Adds a step with rows in the order of `indexes`, which may contain padding.
    fn add_listed(&mut self, node: NodeId, indexes: Vec<Index>) -> Result<()> {
        let all = self.out.num_sequences;
        let mut ids: Vec<CindexId> = Vec::with_capacity(indexes.len() / all);
        let mut rows: Vec<u32> = Vec::with_capacity(indexes.len());
        for (row, &index) in indexes.iter().enumerate().filter(|(_, index)| index.t != NO_TIME) {
            let (sequence, first) = match all {
                1 => (0, index),
                _ => (index.n as usize, Index { n: 0, ..index }),
            };
            let (id, _) = self.graph.find_or_add(Cindex::new(node, first), false);
            if id as usize >= self.positions.len() {
                self.positions.resize(self.graph.cindexes.len(), UNLISTED);
            }
            // The sequences of an index need not follow each other.
            let position = &mut self.positions[id as usize];
            if *position == UNLISTED {
                *position = ids.len() as u32;
                ids.push(id);
                rows.resize(rows.len() + all, u32::MAX);
            }
            if let Some(place) = rows.get_mut(*position as usize * all + sequence) {
                *place = row as u32;
            }
        }
        ids.iter().for_each(|&id| self.positions[id as usize] = UNLISTED);
        if rows.contains(&u32::MAX) {
            let name = self.nnet.node_name(node);
            return Err(Error::computation(format!(
                "rows of some sequences are missing after reordering {name}"
            )));
        }
        self.add_step(node, ids, Layout::Listed(Arc::new(Listed { indexes, rows })));
        Ok(())
    }

    /// Adds one step for each step of the source that is read, with all its rows.
    fn add_dim_range(&mut self, node: NodeId, ids: &[CindexId]) {
        let mut sources: Vec<StepId> = ids
            .iter()
            .flat_map(|&id| self.graph.dependencies(id).iter())
            .map(|&d| self.out.locations[d as usize].0)
            .collect();
        sources.sort_unstable();
        sources.dedup();
        for source in sources {
            let Step { ids: rows, layout, .. } = self.out.steps[source.index()].clone();
            let ids: Vec<CindexId> = rows
                .iter()
                .map(|&row| {
                    let index = self.graph.cindexes[row as usize].index;
                    let (id, _) = self.graph.find_or_add(Cindex::new(node, index), false);
                    if self.graph.dependencies(id).is_empty() {
                        self.graph.set_dependencies(id, &[row]);
                    }
                    id
                })
                .collect();
            if self.out.locations.get(ids[0] as usize).is_none_or(|&location| location == NOWHERE) {
                self.add_step(node, ids, layout);
            }
        }
    }

    /// Checks that every cindex is at its location.
    fn check(&self) -> Result<()> {
        for (s, step) in self.out.steps.iter().enumerate() {
            if matches!(self.nnet.node(step.node), Node::ComponentInput { .. }) {
                continue;
            }
            for (position, &id) in step.ids.iter().enumerate() {
                if self.out.locations[id as usize] != (StepId::from(s), position as u32) {
                    let name = self.nnet.node_name(step.node);
                    let index = self.graph.cindexes[id as usize].index;
                    return Err(Error::computation(format!("{name} at {index:?} is computed twice")));
                }
            }
        }
        Ok(())
    }
}

/// Sorts distinct cindexes that differ only in their times, if these are close together. Otherwise returns false.
fn sort_by_time(ids: &mut Vec<CindexId>, cindex: impl Fn(CindexId) -> Cindex) -> bool {
    const NONE: CindexId = CindexId::MAX;
    let Some(&first) = ids.first() else {
        return true;
    };
    let like = cindex(first);
    let (mut earliest, mut latest) = (like.index.t, like.index.t);
    for &id in ids.iter() {
        let Cindex { node, index } = cindex(id);
        if (node, index.n, index.x) != (like.node, like.index.n, like.index.x) {
            return false;
        }
        (earliest, latest) = (earliest.min(index.t), latest.max(index.t));
    }
    let range = latest.abs_diff(earliest) as usize;
    if range > 4 * ids.len() {
        return false;
    }
    let mut places = vec![NONE; range + 1];
    ids.iter().for_each(|&id| places[cindex(id).index.t.abs_diff(earliest) as usize] = id);
    ids.clear();
    ids.extend(places.into_iter().filter(|&id| id != NONE));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the sort that it stands for.
    #[test]
    fn sorts_by_time() {
        let mut random = fastrand::Rng::with_seed(5);
        let (mut done, mut refused) = (0, 0);
        for _ in 0..300 {
            let start = random.choice([-20, 0, i32::MAX - 40, i32::MIN]).unwrap();
            let mut times: Vec<i32> = (0..random.i32(1..40)).map(|i| start + i).collect();
            times.retain(|_| random.u8(0..10) < random.u8(1..11));
            random.shuffle(&mut times);
            let odd = random.usize(0..200);
            let cindexes: Vec<Cindex> = times
                .iter()
                .enumerate()
                .map(|(i, &t)| Cindex::new(NodeId(1), Index::new(2, t, (i == odd) as i32)))
                .collect();
            let ids: Vec<CindexId> = (0..cindexes.len() as CindexId).collect();
            let (mut sorted, mut expected) = (ids.clone(), ids.clone());
            expected.sort_by_key(|&id| cindexes[id as usize]);
            match sort_by_time(&mut sorted, |id| cindexes[id as usize]) {
                true => {
                    assert_eq!(sorted, expected);
                    done += 1;
                }
                false => {
                    assert_eq!(sorted, ids);
                    refused += 1;
                }
            }
        }
        assert!(done > 100 && refused > 10, "{done} {refused}");
    }
}
