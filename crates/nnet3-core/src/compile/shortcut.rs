//! Compiles a request for many sequences as one for two, and expands the result (spec compiler §4.9).
//!
//! It applies where the sequences of every input and output are numbered 0, 1, … and laid out regularly. Whether the
//! result has the structure that expansion needs is checked; if not, the caller compiles the request itself.

use crate::computation::{
    Command, Computation, MatrixDebugInfo, MatrixId, Precomputed, PrecomputedId, RowOf, Submatrix,
    SubmatrixId,
};
use crate::error::{Error, Result};
use crate::graph::sequences::{change_sequences, reduce, sequence_stride, stride_of};
use crate::index::{Cindex, ComponentId, Index};
use crate::nnet::Nnet;
use crate::request::ComputationRequest;
use std::sync::Arc;

/// The same request for two sequences and the number of sequences of `request`, if that is a regular number > 2.
pub fn mini_request(request: &ComputationRequest) -> Option<(ComputationRequest, usize)> {
    reduce(request, 2)
}

/// Turns a computation for two sequences into one for `count`. An error if it lacks the structure for that.
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
        "the computation for two sequences is not regular enough to be expanded; compile with --use-shortcut=false",
    )
}

fn strides(mini: &Computation) -> Result<Vec<usize>> {
    if mini.debug_info.len() != mini.matrices.len() {
        return Err(Error::computation("shortcut compilation needs debug info"));
    }
    let stride = |info: &MatrixDebugInfo| {
        let list = &info.cindexes;
        let two = list.last().is_some_and(|c| c.index.n == 1);
        stride_of(list.len(), |i| list[i]).filter(|_| two).ok_or_else(irregular)
    };
    let rest = mini.debug_info[1..].iter().map(stride);
    std::iter::once(Ok(1)).chain(rest).collect()
}

struct Expander<'a> {
    mini: &'a Computation,
    count: usize,
    /// For each matrix the distance of rows that differ by one in n.
    strides: Vec<usize>,
}

/// Where the rows of one sub-matrix go.
struct Places {
    count: u32,
    stride: u32,
    /// First row of the sub-matrix, before and after.
    old_offset: u32,
    new_offset: u32,
}

impl Places {
    /// For a row that belongs to sequence 0: its new place in the sub-matrix, and the distance to the same row of the
    /// next sequence.
    fn place(&self, row: usize) -> Option<(u32, u32)> {
        let row = self.old_offset + row as u32;
        let (block, within) = match self.stride {
            1 => (row / 2, row % 2),
            stride => (row / (2 * stride), row % (2 * stride)),
        };
        let new = || block * self.count * self.stride + within - self.new_offset;
        (within < self.stride).then(|| (new(), self.stride))
    }
}

impl Expander<'_> {
    /// Where the row of a matrix goes: sequence 0 stays the first, 1 becomes the last.
    fn row(&self, m: MatrixId, row: usize) -> usize {
        let stride = self.strides[m.index()];
        let (block, within) = (row / (2 * stride), row % (2 * stride));
        let sequence = if within < stride { 0 } else { self.count - 1 };
        (block * self.count + sequence) * stride + within % stride
    }

    fn sequence(&self, m: MatrixId, row: usize) -> usize {
        row / self.strides[m.index()] % 2
    }

    /// From where its first row goes to where its last row goes. If these are not the first and last of their blocks,
    /// it gets rows that the small one has not; see [`Expander::check_rows`].
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

    /// Whether the new sub-matrix has the rows of the old one, for all sequences, and no others.
    fn is_exact(&self, s: SubmatrixId) -> bool {
        let s = self.mini.submatrix(s);
        let block = 2 * self.strides[s.matrix.index()];
        s.row_offset.is_multiple_of(block) && s.rows.is_multiple_of(block)
    }

    /// Commands that treat rows alike must have rows that expand alike. Additions with a list of rows may have rows
    /// between, which the list leaves alone.
    fn check_rows(&self, command: &Command) -> Result<()> {
        let fine = match *command {
            Command::Copy { dest, src, .. } | Command::Add { dest, src, .. } => {
                let rows = self.mini.submatrix(dest).rows;
                let (to, from) = (self.places(dest), self.places(src));
                self.is_exact(dest)
                    && self.is_exact(src)
                    && (to.stride == from.stride || (0..rows).all(|row| to.place(row) == from.place(row)))
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
                Command::Propagate { component, precomputed: Some(PrecomputedId(p)), .. } => {
                    users[p as usize].0 = Some(component);
                }
                Command::Backprop { component, precomputed: Some(PrecomputedId(p)), .. } => {
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

    /// The command with its list of rows, if it has one, expanded; everything else keeps its number.
    fn command(&self, mut command: Command, out: &mut Computation) -> Result<Command> {
        self.check_rows(&command)?;
        match &mut command {
            Command::CopyRows { dest, src, rows, .. } | Command::AddRows { dest, src, rows, .. } => {
                let old = &self.mini.indexes[rows.index()];
                let mut new = vec![-1; out.submatrix(*dest).rows];
                let places = self.places(*src);
                self.replicate(*dest, old, &mut new, |&row| {
                    let Ok(row) = usize::try_from(row) else {
                        return Ok(None);
                    };
                    let (first, step) = places.place(row).ok_or_else(irregular)?;
                    Ok(Some(move |n: u32| (first + n * step) as i32))
                })?;
                *rows = out.new_indexes(new);
            }
            Command::CopyRowsMulti { dest: s, rows, .. }
            | Command::AddRowsMulti { dest: s, rows, .. }
            | Command::CopyToRowsMulti { src: s, rows }
            | Command::AddToRowsMulti { src: s, rows, .. } => {
                let old = &self.mini.multi_indexes[rows.index()];
                let mut new: Vec<RowOf> = vec![None; out.submatrix(*s).rows];
                self.replicate(*s, old, &mut new, |&item| {
                    let Some((other, row)) = item else {
                        return Ok(None);
                    };
                    let (first, step) = self.places(other).place(row as usize).ok_or_else(irregular)?;
                    Ok(Some(move |n: u32| Some((other, first + n * step))))
                })?;
                *rows = out.new_multi_indexes(new);
            }
            Command::AddRowRanges { dest, src, ranges, .. } => {
                let old = &self.mini.ranges[ranges.index()];
                let mut new = vec![(-1, -1); out.submatrix(*dest).rows];
                let places = self.places(*src);
                self.replicate(*dest, old, &mut new, |&(begin, end)| {
                    if begin == end {
                        return Ok(None);
                    }
                    let (first, step) = places.place(begin as usize).ok_or_else(irregular)?;
                    let (last, _) = places.place(end as usize - 1).ok_or_else(irregular)?;
                    if last + 1 - first != (end - begin) as u32 {
                        return Err(irregular());
                    }
                    Ok(Some(move |n: u32| ((first + n * step) as i32, (last + 1 + n * step) as i32)))
                })?;
                *ranges = out.new_ranges(new);
            }
            _ => {}
        }
        Ok(command)
    }

    /// Fills the new list of a command whose rows are those of `s`: `source` gives the item of each sequence for an
    /// item of sequence 0.
    fn replicate<Old, New, F: Fn(u32) -> New>(
        &self,
        s: SubmatrixId,
        old: &[Old],
        new: &mut [New],
        source: impl Fn(&Old) -> Result<Option<F>>,
    ) -> Result<()> {
        let places = self.places(s);
        for (row, item) in old.iter().enumerate() {
            let Some((first, step)) = places.place(row) else {
                continue;
            };
            let (first, step) = (first as usize, step as usize);
            if let Some(source) = source(item)? {
                let places = new.get_mut(first..=first + (self.count - 1) * step).ok_or_else(irregular)?;
                // The usual step.
                if step == 1 {
                    places.iter_mut().enumerate().for_each(|(n, place)| *place = source(n as u32));
                } else {
                    places
                        .iter_mut()
                        .step_by(step)
                        .enumerate()
                        .for_each(|(n, place)| *place = source(n as u32));
                }
            }
        }
        Ok(())
    }
}
