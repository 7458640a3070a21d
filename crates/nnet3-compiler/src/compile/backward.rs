//! Commands of the backward pass.

use super::Compiler;
use super::locations::{List, Of, contiguous_ranges};
use crate::computation::{Backprop, Command, SubmatrixId};
use nnet3_base::error::{Error, Result};
use nnet3_component::Properties;
use nnet3_network::Node;

impl Compiler<'_> {
    /// Writes the commands for the steps that need a derivative, in reverse order.
    pub(super) fn backward(&mut self) -> Result<()> {
        if !self.need_derivatives {
            return Ok(());
        }
        (0..self.infos.len()).rev().try_for_each(|s| self.backward_step(s))
    }

    fn backward_step(&mut self, s: usize) -> Result<()> {
        let info = &self.infos[s];
        let node = info.step.node;
        if info.deriv.is_none() {
            return Ok(());
        }
        match self.nnet.node(node) {
            Node::Input { .. } => {
                let io = self.request_of(&info.step).input(self.nnet.node_name(node));
                if let (Some(matrix), true) = (info.deriv, io.is_some_and(|io| io.has_deriv)) {
                    self.out.commands.push(Command::ProvideOutput { matrix, node });
                    if self.ends_inputs(s) {
                        self.out.commands.push(Command::NoOpPermanent);
                    }
                }
            }
            Node::DimRange { .. } => {}
            Node::Component { component } => {
                let Some(out_deriv) = info.deriv else {
                    return Ok(());
                };
                let properties = self.nnet.component(*component).properties();
                let input = &self.infos[s - 1];
                let needs = |property| properties.contains(property);
                self.out.commands.push(Command::Backprop(Backprop {
                    component: *component,
                    precomputed: info.precomputed,
                    in_value: input.value.filter(|_| needs(Properties::BACKPROP_NEEDS_INPUT)),
                    out_value: info.value.filter(|_| needs(Properties::BACKPROP_NEEDS_OUTPUT)),
                    out_deriv,
                    in_deriv: input.deriv,
                    memo: self.memo(s, properties),
                    update_model: true,
                }));
            }
            Node::ComponentInput { .. } => self.backward_descriptor(s)?,
            Node::Output { .. } => {
                if let Some(matrix) = info.deriv
                    && self.deriv_is_supplied(&info.step)
                {
                    self.out.commands.push(Command::AcceptInput { matrix, node });
                }
                self.backward_descriptor(s)?;
            }
        }
        Ok(())
    }

    fn backward_descriptor(&mut self, s: usize) -> Result<()> {
        let node = self.infos[s].step.node;
        let Some(descriptor) = self.nnet.node(node).descriptor() else {
            return Ok(());
        };
        for p in 0..descriptor.parts.len() {
            let part = &mut self.infos[s].parts[p];
            let Some(deriv) = part.deriv else {
                continue;
            };
            let reads = match part.reads.take() {
                Some(reads) => reads,
                None => self.reads(s, descriptor, p)?,
            };
            for (alpha, list) in self.lists(s, &reads, Of::Deriv) {
                let command = match list {
                    List::All(dest) => Command::Add { dest, src: deriv, alpha },
                    List::One(dest, rows) => {
                        let known = rows.iter().copied().enumerate().filter(|&(_, row)| row >= 0);
                        self.backward_to_one(dest, deriv, known, alpha)?
                    }
                    List::Few(dest, rows) => {
                        let known = rows.iter().map(|&(i, row)| (i as usize, row));
                        self.backward_to_one(dest, deriv, known, alpha)?
                    }
                    List::Several(list) => {
                        let rows = self.out.new_multi_indexes(list);
                        Command::AddToRowsMulti { src: deriv, rows, alpha }
                    }
                };
                self.out.commands.push(command);
            }
        }
        Ok(())
    }

    /// Adds row i of `src` to row `row` of `dest` for each (i, row) of `rows`, which are in the order of i.
    fn backward_to_one(
        &mut self,
        dest: SubmatrixId,
        src: SubmatrixId,
        rows: impl Iterator<Item = (usize, i32)> + Clone,
        alpha: f32,
    ) -> Result<Command> {
        let (dest_rows, src_rows) = (self.out.submatrix(dest).rows, self.out.submatrix(src).rows);
        if dest_rows == src_rows && rows.clone().eq((0..src_rows).map(|i| (i, i as i32))) {
            return Ok(Command::Add { dest, src, alpha });
        }
        if dest_rows >= src_rows
            && let Some(inverse) = inverse(rows.clone(), dest_rows)
        {
            return Ok(Command::AddRows { dest, src, rows: self.out.new_indexes(inverse), alpha });
        }
        match contiguous_ranges(rows, dest_rows) {
            Some(ranges) => {
                Ok(Command::AddRowRanges { dest, src, ranges: self.out.new_ranges(ranges), alpha })
            }
            None => Err(Error::computation("rows of a derivative are neither unique nor contiguous")),
        }
    }
}

/// Returns the position of each of `size` rows, -1 if it does not occur; `None` if a row occurs twice.
fn inverse(rows: impl Iterator<Item = (usize, i32)>, size: usize) -> Option<Vec<i32>> {
    let mut out = vec![-1; size];
    for (i, row) in rows {
        if std::mem::replace(&mut out[row as usize], i as i32) != -1 {
            return None;
        }
    }
    Some(out)
}
