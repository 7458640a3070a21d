//! Compiles a request for many sequences as one for two, and expands the result.
//!
//! It applies where the sequences of every input and output are numbered 0, 1, … and laid out regularly. This module
//! checks that the result has the structure that expansion needs. If it has not, the caller compiles the request
//! itself.

mod lists;

use crate::computation::{
    Backprop, Command, Computation, MatrixDebugInfo, MatrixId, Precomputed, PrecomputedId, Propagate, RowOf,
    Submatrix, SubmatrixId,
};
use crate::graph::sequences::{change_sequences, reduce, sequence_stride};
use crate::request::ComputationRequest;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{Cindex, ComponentId, Index};
use nnet3_network::Nnet;
use std::cell::Cell;
use std::sync::Arc;

/// The same request for two sequences and the number of sequences of `request`, if that is a regular number > 2.
pub fn mini_request(request: &ComputationRequest) -> Option<(ComputationRequest, usize)> {
    reduce(request, 2)
}

/// Turns a computation for two sequences into one for `count`. Fails if it lacks the structure for that.
pub fn expand(nnet: &Nnet, mini: &Computation, count: usize, debug_info: bool) -> Result<Computation> {
    let expander = Expander { mini, count, strides: strides(mini)? };
    let mut out = Computation {
        matrices: mini.matrices.clone(),
        commands: Vec::with_capacity(mini.commands.len()),
        need_model_derivative: mini.need_model_derivative,
        ..Computation::default()
    };
    for matrix in &mut out.matrices {
        matrix.rows = matrix.rows / 2 * count;
    }
    if debug_info {
        out.debug_info = (0..mini.matrices.len()).map(|m| expander.debug_info(m)).collect();
    }
    out.submatrices = mini.submatrices.iter().map(|s| expander.submatrix(s)).collect::<Result<_>>()?;
    out.precomputed = expander.precomputed(nnet)?;
    for &command in &mini.commands {
        let command = expander.command(command, &mut out)?;
        out.commands.push(command);
    }
    Ok(out)
}

fn irregular() -> Error {
    Error::computation(
        "the computation for two sequences is not regular enough to be expanded; compile with `use-shortcut`=false",
    )
}

fn strides(mini: &Computation) -> Result<Vec<usize>> {
    if mini.debug_info.len() != mini.matrices.len() {
        return Err(Error::computation("shortcut compilation needs debug info"));
    }
    let stride = |info: &MatrixDebugInfo| {
        let list = &info.cindexes;
        let two = list.last().is_some_and(|c| c.index.n == 1);
        sequence_stride(list).filter(|_| two).ok_or_else(irregular)
    };
    let rest = mini.debug_info[1..].iter().map(stride);
    std::iter::once(Ok(1)).chain(rest).collect()
}

struct Expander<'a> {
    mini: &'a Computation,
    count: usize,
    /// The distance, in each matrix, between rows whose indexes differ by one in n.
    strides: Vec<usize>,
}

/// The new places of the rows of one sub-matrix.
#[derive(Clone, Copy)]
struct Places {
    count: u32,
    stride: u32,
    /// First row of the sub-matrix, before and after.
    old_offset: u32,
    new_offset: u32,
}

impl Places {
    /// Returns the new place in the sub-matrix of a row that belongs to sequence 0. The same rows of the other
    /// sequences follow at the distance `stride`.
    fn place(&self, row: usize) -> Option<usize> {
        let row = self.old_offset + row as u32;
        let (block, within) = match self.stride {
            1 => (row / 2, row % 2),
            stride => (row / (2 * stride), row % (2 * stride)),
        };
        let new = || block * self.count * self.stride + within - self.new_offset;
        (within < self.stride).then(|| new() as usize)
    }
}

impl Expander<'_> {
    /// Returns the row's place in the expanded matrix: sequence 0 stays the first one, and sequence 1 becomes the last.
    fn row(&self, m: MatrixId, row: usize) -> usize {
        let stride = self.strides[m.index()];
        let (block, within) = (row / (2 * stride), row % (2 * stride));
        let sequence = if within < stride { 0 } else { self.count - 1 };
        (block * self.count + sequence) * stride + within % stride
    }

    fn sequence(&self, m: MatrixId, row: usize) -> usize {
        row / self.strides[m.index()] % 2
    }

    /// The new sub-matrix spans from the new place of the old first row to that of the old last row. If these are not
    /// the first and last of their blocks, the new one has additional rows; see [`Expander::check_rows`].
    fn submatrix(&self, s: &Submatrix) -> Result<Submatrix> {
        if s.rows == 0 {
            return Ok(*s);
        }
        let last = s.row_offset + s.rows - 1;
        if self.sequence(s.matrix, s.row_offset) != 0 || self.sequence(s.matrix, last) != 1 {
            return Err(irregular());
        }
        let (first_row, last_row) = (self.row(s.matrix, s.row_offset), self.row(s.matrix, last));
        Ok(Submatrix { row_offset: first_row, rows: last_row + 1 - first_row, ..*s })
    }

    /// True if the new sub-matrix has exactly the rows of the old one, for all sequences.
    fn is_exact(&self, s: SubmatrixId) -> bool {
        let s = self.mini.submatrix(s);
        let block = 2 * self.strides[s.matrix.index()];
        s.row_offset.is_multiple_of(block) && s.rows.is_multiple_of(block)
    }

    /// Checks that commands which treat rows alike have rows that expand alike. Additions with a list of rows may have
    /// rows between these, which the list leaves alone.
    fn check_rows(&self, command: &Command) -> Result<()> {
        let fine = match *command {
            Command::Copy { dest, src, .. } | Command::Add { dest, src, .. } => {
                let stride = |s| self.strides[self.mini.matrix_of(s).index()];
                self.is_exact(dest) && self.is_exact(src) && stride(dest) == stride(src)
            }
            Command::AddRows { .. }
            | Command::AddRowRanges { .. }
            | Command::AddRowsMulti { .. }
            | Command::AddToRowsMulti { .. }
            | Command::CopyToRowsMulti { .. } => true,
            Command::CopyRows { dest, .. } | Command::CopyRowsMulti { dest, .. } => self.is_exact(dest),
            mut other => {
                let mut all = true;
                other.for_each_submatrix(|s| all &= self.is_exact(*s));
                all
            }
        };
        if fine { Ok(()) } else { Err(irregular()) }
    }

    fn places(&self, s: SubmatrixId) -> Places {
        let s = self.mini.submatrix(s);
        Places {
            count: self.count as u32,
            stride: self.strides[s.matrix.index()] as u32,
            old_offset: s.row_offset as u32,
            new_offset: self.row(s.matrix, s.row_offset) as u32,
        }
    }

    fn debug_info(&self, m: usize) -> MatrixDebugInfo {
        let info = &self.mini.debug_info[m];
        let stride = self.strides[m];
        let mut cindexes = Vec::with_capacity(info.cindexes.len() / 2 * self.count);
        for block in info.cindexes.chunks(2 * stride) {
            for n in 0..self.count {
                cindexes.extend(
                    block[..stride]
                        .iter()
                        .map(|c| Cindex { node: c.node, index: Index { n: n as i32, ..c.index } }),
                );
            }
        }
        MatrixDebugInfo { is_deriv: info.is_deriv, cindexes }
    }

    fn precomputed(&self, nnet: &Nnet) -> Result<Vec<Precomputed>> {
        let mut users: Vec<(Option<ComponentId>, bool)> = vec![(None, false); self.mini.precomputed.len()];
        for command in &self.mini.commands {
            match *command {
                Command::Propagate(Propagate { component, precomputed: Some(PrecomputedId(p)), .. }) => {
                    users[p as usize].0 = Some(component);
                }
                Command::Backprop(Backprop { component, precomputed: Some(PrecomputedId(p)), .. }) => {
                    users[p as usize] = (Some(component), true);
                }
                _ => {}
            }
        }
        let mut out = vec![Precomputed::default()];
        for (old, &(component, need_backprop)) in self.mini.precomputed.iter().zip(&users).skip(1) {
            let component = nnet.component(component.ok_or_else(irregular)?);
            let expand = |list: &[Index]| {
                let stride = sequence_stride(list).filter(|_| list.last().is_some_and(|i| i.n == 1));
                stride.map(|stride| change_sequences(list, stride, 2, self.count)).ok_or_else(irregular)
            };
            let (inputs, outputs) = (expand(&old.input_indexes)?, expand(&old.output_indexes)?);
            let data =
                component.precompute_indexes(&inputs, &outputs, need_backprop)?.ok_or_else(irregular)?;
            out.push(Precomputed { data: Some(Arc::from(data)), ..Precomputed::default() });
        }
        Ok(out)
    }

    /// Expands a command's list of rows, if it has one; all other numbers stay.
    fn command(&self, mut command: Command, out: &mut Computation) -> Result<Command> {
        self.check_rows(&command)?;
        match &mut command {
            Command::CopyRows { dest, src, rows, .. } | Command::AddRows { dest, src, rows, .. } => {
                let (old, from) = (&self.mini.indexes[rows.index()], self.places(*src));
                let source = |row: i32| {
                    let Ok(row) = usize::try_from(row) else { return Ok(None) };
                    let row = from.place(row).ok_or_else(irregular)?;
                    Ok(Some((row as i32, from.stride)))
                };
                let list = lists::expand(&self.places(*dest), old, out.submatrix(*dest).rows, source)?;
                *rows = out.new_indexes(list);
            }
            Command::CopyRowsMulti { dest: s, rows, .. }
            | Command::AddRowsMulti { dest: s, rows, .. }
            | Command::CopyToRowsMulti { src: s, rows }
            | Command::AddToRowsMulti { src: s, rows, .. } => {
                let old = &self.mini.multi_indexes[rows.index()];
                // Often one item after another is of the same sub-matrix.
                let last = Cell::new(None);
                let source = |item: RowOf| {
                    let Some((other, row)) = item else { return Ok(None) };
                    let known = last.get().filter(|&(id, _)| id == other);
                    let from = known.map_or_else(|| self.places(other), |(_, places)| places);
                    last.set(Some((other, from)));
                    let row = from.place(row as usize).ok_or_else(irregular)?;
                    Ok(Some((Some((other, row as u32)), from.stride)))
                };
                let list = lists::expand(&self.places(*s), old, out.submatrix(*s).rows, source)?;
                *rows = out.new_multi_indexes(list);
            }
            Command::AddRowRanges { dest, src, ranges, .. } => {
                let (old, from) = (&self.mini.ranges[ranges.index()], self.places(*src));
                let source = |(begin, end): (i32, i32)| {
                    if begin == end {
                        return Ok(None);
                    }
                    let first = from.place(begin as usize).ok_or_else(irregular)?;
                    let last = from.place(end as usize - 1).ok_or_else(irregular)?;
                    if last + 1 - first != (end - begin) as usize {
                        return Err(irregular());
                    }
                    Ok(Some(((first as i32, last as i32 + 1), from.stride)))
                };
                let list = lists::expand(&self.places(*dest), old, out.submatrix(*dest).rows, source)?;
                *ranges = out.new_ranges(list);
            }
            _ => {}
        }
        Ok(command)
    }
}
