//! Components that are used many times, as in recurrences, update their parameters once, from all their inputs and
//! output derivatives stacked.

use super::renumber::insert_commands;
use crate::computation::{Backprop, Command, Computation, MatrixDebugInfo, SubmatrixId};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::ComponentId;
use nnet3_component::Properties;
use nnet3_network::Nnet;

/// Runs the pass, which must be done at most once.
pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    if !computation.need_model_derivative {
        return Ok(());
    }
    let mut backprops: Vec<Vec<usize>> = vec![Vec::new(); nnet.num_components()];
    for (c, command) in computation.commands.iter().enumerate() {
        if let Command::Backprop(Backprop { component, update_model: true, .. }) = *command {
            let properties = nnet.component(component).properties();
            if properties.contains(Properties::UPDATABLE | Properties::SIMPLE)
                && !properties.contains(Properties::USES_MEMO)
            {
                backprops[component.index()].push(c);
            }
        }
    }
    let mut out = Consolidator { computation, insertions: vec![], updates: vec![], deallocations: vec![] };
    let num_parts: usize = backprops.iter().map(Vec::len).sum();
    out.computation.submatrices.reserve(3 * num_parts);
    out.insertions.reserve(4 * num_parts);
    for (component, commands) in backprops.iter().enumerate() {
        if commands.len() > 1 {
            out.consolidate(ComponentId::from(component), commands)?;
        }
    }
    let Consolidator { mut insertions, updates, deallocations, .. } = out;
    let end = computation.commands.len();
    insertions.extend(updates.into_iter().chain(deallocations).map(|command| (end, command)));
    if !insertions.is_empty() {
        insert_commands(computation, insertions);
    }
    Ok(())
}

struct Consolidator<'a> {
    computation: &'a mut Computation,
    insertions: Vec<(usize, Command)>,
    updates: Vec<Command>,
    deallocations: Vec<Command>,
}

impl Consolidator<'_> {
    fn consolidate(&mut self, component: ComponentId, commands: &[usize]) -> Result<()> {
        let (mut in_values, mut out_values, mut out_derivs) = (vec![], vec![], vec![]);
        for &c in commands {
            if let Command::Backprop(Backprop { in_value, out_value, out_deriv, update_model, .. }) =
                &mut self.computation.commands[c]
            {
                *update_model = false;
                in_values.extend(*in_value);
                out_values.extend(*out_value);
                out_derivs.push(*out_deriv);
            }
        }
        let in_value = self.stack_all(commands, &in_values)?;
        let out_value = self.stack_all(commands, &out_values)?;
        let out_deriv = self.stack(commands, &out_derivs);
        self.updates.push(Command::Backprop(Backprop {
            component,
            precomputed: None,
            in_value,
            out_value,
            out_deriv,
            in_deriv: None,
            memo: None,
            update_model: true,
        }));
        Ok(())
    }

    fn stack_all(&mut self, commands: &[usize], parts: &[SubmatrixId]) -> Result<Option<SubmatrixId>> {
        match parts.len() {
            0 => Ok(None),
            n if n == commands.len() => Ok(Some(self.stack(commands, parts))),
            _ => Err(Error::computation("backprops of one component have different arguments")),
        }
    }

    /// A new matrix with the rows of all parts, each copied just before its command.
    fn stack(&mut self, commands: &[usize], parts: &[SubmatrixId]) -> SubmatrixId {
        let rows = parts.iter().map(|&s| self.computation.submatrix(s).rows).sum();
        let cols = self.computation.submatrix(parts[0]).cols;
        let contiguous = parts.iter().any(|&s| {
            self.computation.is_whole(s) && self.computation.matrix(self.computation.matrix_of(s)).contiguous
        });
        let info = self.debug_info(parts);
        let matrix = self.computation.new_matrix(rows, cols, contiguous);
        if !self.computation.debug_info.is_empty() {
            self.computation.debug_info.push(info);
        }
        self.insertions.push((0, Command::Allocate { matrix }));
        self.insertions.push((0, Command::SetConst { dest: matrix, value: 0.0 }));
        self.deallocations.push(Command::Deallocate { matrix });
        let mut row = 0;
        for (&c, &src) in commands.iter().zip(parts) {
            let rows = self.computation.submatrix(src).rows;
            let dest = self.computation.new_submatrix(matrix, row..row + rows, 0..cols);
            self.insertions.push((c, Command::Copy { dest, src, alpha: 1.0 }));
            row += rows;
        }
        matrix
    }

    fn debug_info(&self, parts: &[SubmatrixId]) -> MatrixDebugInfo {
        let mut out = MatrixDebugInfo::default();
        for &s in parts {
            let s = self.computation.submatrix(s);
            if let Some(info) = self.computation.debug_info.get(s.matrix.index()) {
                out.is_deriv = info.is_deriv;
                out.cindexes.extend_from_slice(&info.cindexes[s.row_offset..s.row_offset + s.rows]);
            }
        }
        out
    }
}
