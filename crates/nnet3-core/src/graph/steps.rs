//! Steps: lists of cindexes, one matrix each, in an order in which they can be computed (spec compiler §3.4).

use super::build::{CindexId, ComputationGraph};
use crate::component::Properties;
use crate::error::{Error, Result};
use crate::index::{Cindex, Index, NO_TIME, NodeId, id_type};
use crate::nnet::{Nnet, Node};
use crate::request::{ComputationRequest, IoSpecification};

id_type!(
    /// Position of a step.
    StepId
);

/// One matrix to be: a node and its rows.
#[derive(Clone, Debug)]
pub struct Step {
    pub node: NodeId,
    /// One cindex a row. Empty only for the input of a component that needs none.
    pub ids: Vec<CindexId>,
    /// Which request it belongs to.
    pub segment: usize,
}

/// All steps, and where each cindex is computed.
pub struct Steps {
    pub steps: Vec<Step>,
    /// Step and row of each cindex. Component inputs may occur in two steps; theirs is the later one.
    pub locations: Vec<(StepId, u32)>,
}

const NOWHERE: (StepId, u32) = (StepId(u32::MAX), 0);

/// Turns the phases of every segment into steps. May add cindexes to the graph: padding, and rows of dim-range nodes.
pub fn steps(
    nnet: &Nnet,
    requests: &[ComputationRequest],
    graph: &mut ComputationGraph,
    phases: Vec<Vec<Vec<CindexId>>>,
) -> Result<Steps> {
    let locations = vec![NOWHERE; graph.cindexes.len()];
    let mut maker = StepMaker { nnet, graph, out: Steps { steps: Vec::new(), locations }, segment: 0 };
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
}

impl StepMaker<'_> {
    fn add_phase(&mut self, mut ids: Vec<CindexId>, request: &ComputationRequest) -> Result<()> {
        ids.sort_unstable_by_key(|&id| self.graph.cindexes[id as usize]);
        let cindexes = &self.graph.cindexes;
        let groups: Vec<Vec<CindexId>> = ids
            .chunk_by(|&a, &b| cindexes[a as usize].node == cindexes[b as usize].node)
            .map(<[_]>::to_vec)
            .collect();
        for group in groups {
            let node = self.graph.cindexes[group[0] as usize].node;
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

    fn add_step(&mut self, node: NodeId, ids: Vec<CindexId>) {
        let step = StepId::from(self.out.steps.len());
        self.out.locations.resize(self.graph.cindexes.len(), NOWHERE);
        for (row, &id) in ids.iter().enumerate() {
            self.out.locations[id as usize] = (step, row as u32);
        }
        self.out.steps.push(Step { node, ids, segment: self.segment });
    }

    /// Rows in the request's order.
    fn add_io(&mut self, node: NodeId, io: Option<&IoSpecification>) -> Result<()> {
        let missing = || Error::Request(format!("'{}' is not part of it", self.nnet.node_name(node)));
        let io = io.ok_or_else(missing)?;
        let find = |&index: &Index| self.graph.find(Cindex::new(node, index));
        let ids = io.indexes.iter().map(find).collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        self.add_step(node, ids);
        Ok(())
    }

    fn add_component(&mut self, node: NodeId, ids: Vec<CindexId>) -> Result<()> {
        let input_node = NodeId(node.0 - 1);
        let Some(component) = self.nnet.component_of(node).map(|c| self.nnet.component(c)) else {
            return Ok(());
        };
        let properties = component.properties();
        if properties.has(Properties::SIMPLE) {
            let input_of = |&id: &CindexId| {
                let index = self.graph.cindexes[id as usize].index;
                self.graph.find(Cindex::new(input_node, index))
            };
            let inputs = ids.iter().map(input_of).collect::<Option<Vec<_>>>();
            let inputs = inputs.ok_or_else(|| Error::computation("a simple component lacks an input row"))?;
            self.add_step(input_node, inputs);
            self.add_step(node, ids);
            return Ok(());
        }
        let mut input_ids: Vec<CindexId> =
            ids.iter().flat_map(|&id| self.graph.dependencies[id as usize].iter().copied()).collect();
        input_ids.sort_unstable();
        input_ids.dedup();
        input_ids.sort_unstable_by_key(|&id| self.graph.cindexes[id as usize]);
        if !properties.has(Properties::REORDERS_INDEXES) {
            self.add_step(input_node, input_ids);
            self.add_step(node, ids);
            return Ok(());
        }
        let index_of = |&id: &CindexId| self.graph.cindexes[id as usize].index;
        let mut inputs: Vec<Index> = input_ids.iter().map(index_of).collect();
        let mut outputs: Vec<Index> = ids.iter().map(index_of).collect();
        component.reorder_indexes(&mut inputs, &mut outputs)?;
        for (node, indexes) in [(input_node, inputs), (node, outputs)] {
            let ids =
                indexes.into_iter().map(|i| self.graph.find_or_add(Cindex::new(node, i), false).0).collect();
            self.add_step(node, ids);
        }
        Ok(())
    }

    /// One step for each step of the source that is read, with all its rows.
    fn add_dim_range(&mut self, node: NodeId, ids: Vec<CindexId>) {
        let mut sources: Vec<StepId> = ids
            .iter()
            .flat_map(|&id| self.graph.dependencies[id as usize].iter())
            .map(|&d| self.out.locations[d as usize].0)
            .collect();
        sources.sort_unstable();
        sources.dedup();
        for source in sources {
            let rows = self.out.steps[source.index()].ids.clone();
            let ids: Vec<CindexId> = rows
                .iter()
                .map(|&row| {
                    let index = self.graph.cindexes[row as usize].index;
                    let (id, _) = self.graph.find_or_add(Cindex::new(node, index), false);
                    if self.graph.dependencies[id as usize].is_empty() {
                        self.graph.dependencies[id as usize].push(row);
                    }
                    id
                })
                .collect();
            if self.out.locations.get(ids[0] as usize).is_none_or(|&location| location == NOWHERE) {
                self.add_step(node, ids);
            }
        }
    }

    /// Every row must be where its location says, but for padding.
    fn check(&self) -> Result<()> {
        for (s, step) in self.out.steps.iter().enumerate() {
            for (row, &id) in step.ids.iter().enumerate() {
                let cindex = self.graph.cindexes[id as usize];
                let is_input = matches!(self.nnet.node(cindex.node), Node::ComponentInput { .. });
                let found = self.out.locations[id as usize];
                if !is_input && cindex.index.t != NO_TIME && found != (StepId::from(s), row as u32) {
                    let name = self.nnet.node_name(cindex.node);
                    return Err(Error::computation(format!(
                        "{name} at {:?} is computed twice",
                        cindex.index
                    )));
                }
            }
        }
        Ok(())
    }
}
