//! Finds the source rows of a descriptor part, with their scales.

use super::Compiler;
use crate::graph::CindexId;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{Cindex, NodeId};
use nnet3_network::descriptor::{Descriptor, Forward, Sum};
use std::rc::Rc;

/// The distinct scales of a part of a descriptor, ascending, each with its nodes.
pub(crate) type Scales = Vec<(f32, Vec<NodeId>)>;

/// The sources of a step's ids for one part of a descriptor.
pub enum Reads {
    /// One cindex each, all with the same scale.
    One {
        scale: f32,
        ids: Vec<CindexId>,
    },
    Several(SeveralReads),
}

pub(crate) struct SeveralReads {
    pub scales: Rc<Scales>,
    /// `starts[i] .. starts[i + 1]` are the items of id i.
    pub starts: Vec<u32>,
    /// The sources, in the order of cindexes, each with the position of its scale.
    pub items: Vec<(CindexId, u32)>,
}

impl SeveralReads {
    /// The items of ids that read one cindex each.
    pub fn of_one(scale: f32, ids: &[CindexId]) -> SeveralReads {
        SeveralReads {
            scales: Rc::new(vec![(scale, Vec::new())]),
            starts: (0..=ids.len() as u32).collect(),
            items: ids.iter().map(|&id| (id, 0)).collect(),
        }
    }
}

impl Compiler<'_> {
    /// Returns the sources of the ids of step `s` for part `p` of the node's descriptor.
    pub(super) fn reads(&mut self, s: usize, descriptor: &Descriptor, p: usize) -> Result<Reads> {
        let part = &descriptor.parts[p];
        if let Sum::Simple(term) = part
            && let Some(scale) = term.scale()
            && let Some(ids) = self.read_by_all(s, term)
        {
            return Ok(Reads::One { scale, ids });
        }
        let scales = self.scales_of(self.infos[s].step.node, descriptor)?[p].clone();
        Ok(Reads::Several(self.several_reads(s, part, scales)))
    }

    /// Returns the source of each id of step `s` for a term; `None` if one of them is not computed.
    fn read_by_all(&self, s: usize, term: &Forward) -> Option<Vec<CindexId>> {
        let ids = &self.infos[s].step.ids;
        let mut out = Vec::with_capacity(ids.len());
        for &id in ids {
            out.push(self.graph.find(term.input(self.graph.cindexes[id as usize].index))?);
        }
        Some(out)
    }

    fn several_reads(&self, s: usize, part: &Sum, scales: Rc<Scales>) -> SeveralReads {
        let ids = &self.infos[s].step.ids;
        let (mut starts, mut items) = (Vec::with_capacity(ids.len() + 1), Vec::with_capacity(ids.len()));
        starts.push(0);
        let exists = |c: Cindex| self.graph.find(c).is_some();
        let needs_all = part.needs_all();
        let mut used = Vec::new();
        for &id in ids {
            used.clear();
            let index = self.graph.cindexes[id as usize].index;
            match needs_all {
                true => part.dependencies(index, &mut used),
                false => _ = part.is_computable(index, &exists, Some(&mut used)),
            }
            used.sort_unstable();
            for input in &used {
                let group = match scales.len() {
                    1 => Some(0),
                    _ => scales.iter().position(|(_, nodes)| nodes.contains(&input.node)),
                };
                if let (Some(id), Some(group)) = (self.graph.find(*input), group) {
                    items.push((id, group as u32));
                }
            }
            starts.push(items.len() as u32);
        }
        SeveralReads { scales, starts, items }
    }

    /// The scales of each part of a node's descriptor.
    fn scales_of(&mut self, node: NodeId, descriptor: &Descriptor) -> Result<Rc<[Rc<Scales>]>> {
        if let Some(known) = &self.scales[node.index()] {
            return Ok(known.clone());
        }
        let of_parts = descriptor.parts.iter().map(|part| Ok(Rc::new(self.scales(part)?)));
        let of_parts: Rc<[Rc<Scales>]> = of_parts.collect::<Result<_>>()?;
        self.scales[node.index()] = Some(of_parts.clone());
        Ok(of_parts)
    }

    fn scales(&self, part: &Sum) -> Result<Scales> {
        let mut nodes = Vec::new();
        part.for_each_node(&mut |n| nodes.push(n));
        nodes.sort();
        nodes.dedup();
        let mut scales = Scales::new();
        for node in nodes {
            let scale = part.scale_for(node).map_err(|_| {
                Error::network(format!(
                    "node '{}' occurs with two different scales in one sum; read it through a dim-range-node for one of \
                     them",
                    self.nnet.node_name(node)
                ))
            })?;
            let scale = scale.unwrap_or(1.0);
            match scales.iter_mut().find(|(s, _)| *s == scale) {
                Some((_, list)) => list.push(node),
                None => scales.push((scale, vec![node])),
            }
        }
        scales.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(scales)
    }
}
