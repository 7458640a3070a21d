//! Commands of the forward pass.

use super::locations::{List, Of};
use super::{Compiler, StepInfo};
use crate::computation::{Command, MemoId, Propagate, SubmatrixId};
use nnet3_base::error::{Error, Result};
use nnet3_component::Properties;
use nnet3_network::Node;

impl Compiler<'_> {
    /// Writes the commands of all steps in order, with a marker between segments.
    pub(super) fn forward(&mut self) -> Result<()> {
        for s in 0..self.infos.len() {
            let segment = self.infos[s].step.segment;
            if s > 0 && segment != self.infos[s - 1].step.segment {
                self.out.commands.push(Command::Marker);
            }
            self.forward_step(s)?;
        }
        Ok(())
    }

    /// True if step `s` is an input and the next one (of the same segment) is not.
    pub(super) fn ends_inputs(&self, s: usize) -> bool {
        self.infos.get(s + 1).is_none_or(|next| !self.is_input(&next.step))
    }

    fn forward_step(&mut self, s: usize) -> Result<()> {
        let StepInfo { step, value, .. } = &self.infos[s];
        let (node, Some(value)) = (step.node, *value) else {
            return Ok(());
        };
        match self.nnet.node(node) {
            Node::Input { .. } => {
                self.out.commands.push(Command::AcceptInput { matrix: value, node });
                if self.ends_inputs(s) {
                    self.out.commands.push(Command::NoOpPermanent);
                }
            }
            Node::DimRange { .. } => {}
            Node::Component { component } => {
                let properties = self.nnet.component(*component).properties();
                let memo = self.memo(s, properties);
                self.out.commands.push(Command::Propagate(Propagate {
                    component: *component,
                    precomputed: self.infos[s].precomputed,
                    input: self.infos[s - 1].value,
                    output: value,
                    memo: memo.filter(|_| self.infos[s].deriv.is_some()),
                    store_stats: self.requests[0].store_component_stats
                        && properties.contains(Properties::STORES_STATS),
                }));
            }
            Node::ComponentInput { .. } => self.forward_descriptor(s)?,
            Node::Output { .. } => {
                self.forward_descriptor(s)?;
                self.out.commands.push(Command::ProvideOutput { matrix: value, node });
            }
        }
        Ok(())
    }

    /// The memo of a step, which has the step's number.
    pub(super) fn memo(&self, s: usize, properties: Properties) -> Option<MemoId> {
        properties.contains(Properties::USES_MEMO).then(|| MemoId::from(s))
    }

    fn forward_descriptor(&mut self, s: usize) -> Result<()> {
        let node = self.infos[s].step.node;
        let Some(descriptor) = self.nnet.node(node).descriptor() else {
            return Ok(());
        };
        for (p, part) in descriptor.parts.iter().enumerate() {
            let dest = self.infos[s].parts[p].value;
            let constant = part.constant().map_err(|message| {
                let name = self.nnet.node_name(node);
                Error::network(format!("the input of node '{}': {message}", name.trim_end_matches("_input")))
            })?;
            if constant != 0.0 {
                self.out.commands.push(Command::SetConst { dest, value: constant });
            }
            let reads = self.reads(s, descriptor, p)?;
            for (alpha, list) in self.lists(s, &reads, Of::Value) {
                let command = match list {
                    List::All(src) => Command::Add { dest, src, alpha },
                    List::One(src, rows) => self.forward_from_one(dest, src, rows, alpha),
                    List::Few(src, few) => {
                        let mut rows = vec![-1; self.out.submatrix(dest).rows];
                        few.into_iter().for_each(|(i, row)| rows[i as usize] = row);
                        self.forward_from_one(dest, src, rows, alpha)
                    }
                    List::Several(list) => {
                        Command::AddRowsMulti { dest, rows: self.out.new_multi_indexes(list), alpha }
                    }
                };
                self.out.commands.push(command);
            }
            let part = &mut self.infos[s].parts[p];
            part.reads = Some(reads).filter(|_| part.deriv.is_some());
        }
        Ok(())
    }

    fn forward_from_one(
        &mut self,
        dest: SubmatrixId,
        src: SubmatrixId,
        rows: Vec<i32>,
        alpha: f32,
    ) -> Command {
        match is_identity(&rows, self.out.submatrix(src).rows) {
            true => Command::Add { dest, src, alpha },
            false => Command::AddRows { dest, src, rows: self.out.new_indexes(rows), alpha },
        }
    }
}

/// True if these are 0, 1, … size - 1.
fn is_identity(rows: &[i32], size: usize) -> bool {
    rows.len() == size && rows.iter().enumerate().all(|(i, &r)| r == i as i32)
}
