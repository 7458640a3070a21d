//! Derivatives at times outside a range are taken to be zero; commands and matrices shrink accordingly. Needs debug
//! info, and every matrix zeroed at first: it must be the first pass.

use super::renumber;
use crate::analysis::{Analysis, is_zeroing};
use crate::computation::{
    Backprop, Command, Computation, IndexesId, MatrixId, MemoId, MultiIndexesId, Propagate, RangesId, RowOf,
    SubmatrixId,
};
use nnet3_base::error::{Error, Result};
use nnet3_component::Properties;
use nnet3_network::Nnet;
use std::ops::Range;

/// Keeps derivatives with `times.0` ≤ t ≤ `times.1`.
pub fn run(nnet: &Nnet, times: (i32, i32), computation: &mut Computation) -> Result<()> {
    if times.0 > times.1 {
        let message = format!("derivatives from time {} to {}: the range is empty", times.0, times.1);
        return Err(Error::Request(message));
    }
    if computation.debug_info.len() != computation.matrices.len() {
        return Err(Error::computation("limiting the times of derivatives needs debug info"));
    }
    let mut limiter = Limiter::new(times, computation);
    for c in 0..limiter.computation.commands.len() {
        let command = limiter.limit(nnet, limiter.computation.commands[c])?;
        limiter.computation.commands[c] = command;
    }
    limiter.forget_memos();
    limiter.shrink_matrices(nnet)?;
    renumber::remove_no_ops(computation);
    renumber::run(computation)
}

/// The rows of a matrix or sub-matrix from the first to the last that is in the range of times.
#[derive(Clone, PartialEq, Eq)]
enum Inside {
    None,
    Some(Range<usize>),
    All,
}

struct Limiter<'a> {
    times: (i32, i32),
    computation: &'a mut Computation,
    /// The part of each matrix inside the range of times.
    inside: Vec<Inside>,
    /// The part of each sub-matrix that is inside.
    part: Vec<Option<SubmatrixId>>,
    /// Memos without a backprop.
    unused_memos: Vec<MemoId>,
}

impl<'a> Limiter<'a> {
    fn new(times: (i32, i32), computation: &'a mut Computation) -> Limiter<'a> {
        let in_range = |t: i32| times.0 <= t && t <= times.1;
        let inside: Vec<Inside> = computation
            .debug_info
            .iter()
            .map(|info| {
                let is_in = |c: &nnet3_base::index::Cindex| in_range(c.index.t);
                let first = info.cindexes.iter().position(is_in);
                let last = info.cindexes.iter().rposition(is_in);
                match (first, last) {
                    (Some(0), Some(last)) if last + 1 == info.cindexes.len() => Inside::All,
                    (Some(first), Some(last)) => Inside::Some(first..last + 1),
                    _ => Inside::None,
                }
            })
            .collect();
        let mut part = vec![None];
        for i in 1..computation.submatrices.len() {
            let id = SubmatrixId::from(i);
            let s = computation.submatrices[i];
            part.push(match &inside[s.matrix.index()] {
                Inside::All => Some(id),
                Inside::None => None,
                Inside::Some(rows) => {
                    let first = rows.start.max(s.row_offset);
                    let end = rows.end.min(s.row_offset + s.rows);
                    let rows = first.saturating_sub(s.row_offset)..end.saturating_sub(s.row_offset);
                    match rows.len() {
                        _ if first >= end => None,
                        n if n == s.rows => Some(id),
                        _ => Some(computation.new_submatrix(id, rows, 0..s.cols)),
                    }
                }
            });
        }
        Limiter { times, computation, inside, part, unused_memos: Vec::new() }
    }

    fn is_deriv(&self, m: MatrixId) -> bool {
        self.computation.debug_info[m.index()].is_deriv
    }

    /// The part of a derivative that is not zero; all of a value.
    fn nonzero_part(&self, s: SubmatrixId) -> Option<SubmatrixId> {
        match self.is_deriv(self.computation.matrix_of(s)) {
            true => self.part[s.index()],
            false => Some(s),
        }
    }

    fn row_is_kept(&self, s: SubmatrixId, row: usize) -> bool {
        let s = self.computation.submatrix(s);
        let info = &self.computation.debug_info[s.matrix.index()];
        let t = info.cindexes[s.row_offset + row].index.t;
        !info.is_deriv || (self.times.0 <= t && t <= self.times.1)
    }

    /// Rows that `part` lacks at the beginning of `s`.
    fn rows_before(&self, s: SubmatrixId, part: SubmatrixId) -> usize {
        self.computation.submatrix(part).row_offset - self.computation.submatrix(s).row_offset
    }

    /// Returns the command without its effect on derivatives outside the range.
    fn limit(&mut self, nnet: &Nnet, command: Command) -> Result<Command> {
        Ok(match command {
            Command::Propagate(Propagate { output, .. }) if self.part[output.index()].is_none() => {
                let mut command = command;
                if let Command::Propagate(Propagate { store_stats, .. }) = &mut command {
                    *store_stats = false;
                }
                command
            }
            Command::Backprop(Backprop { component, .. }) => {
                let properties = nnet.component(component).properties();
                match properties.contains(Properties::SIMPLE) {
                    true => self.limit_backprop(command, properties)?,
                    false => command,
                }
            }
            Command::Copy { dest, src, alpha } => match self.limit_pair(dest, src) {
                Some((dest, src)) => Command::Copy { dest, src, alpha },
                None => Command::NoOp,
            },
            Command::Add { dest, src, alpha } => match self.limit_pair(dest, src) {
                Some((dest, src)) => Command::Add { dest, src, alpha },
                None => Command::NoOp,
            },
            Command::CopyRows { dest, src, rows, alpha } => match self.limit_rows(dest, src, rows) {
                Some((dest, src, rows)) => Command::CopyRows { dest, src, rows, alpha },
                None => Command::NoOp,
            },
            Command::AddRows { dest, src, rows, alpha } => match self.limit_rows(dest, src, rows) {
                Some((dest, src, rows)) => Command::AddRows { dest, src, rows, alpha },
                None => Command::NoOp,
            },
            Command::CopyRowsMulti { dest, rows, alpha } => match self.limit_multi(dest, rows) {
                Some((dest, rows)) => Command::CopyRowsMulti { dest, rows, alpha },
                None => Command::NoOp,
            },
            Command::AddRowsMulti { dest, rows, alpha } => match self.limit_multi(dest, rows) {
                Some((dest, rows)) => Command::AddRowsMulti { dest, rows, alpha },
                None => Command::NoOp,
            },
            Command::CopyToRowsMulti { src, rows } => match self.limit_multi(src, rows) {
                Some((src, rows)) => Command::CopyToRowsMulti { src, rows },
                None => Command::NoOp,
            },
            Command::AddToRowsMulti { src, rows, alpha } => match self.limit_multi(src, rows) {
                Some((src, rows)) => Command::AddToRowsMulti { src, rows, alpha },
                None => Command::NoOp,
            },
            Command::AddRowRanges { dest, src, ranges, alpha } => {
                match self.limit_ranges(dest, src, ranges) {
                    Some((dest, src, ranges)) => Command::AddRowRanges { dest, src, ranges, alpha },
                    None => Command::NoOp,
                }
            }
            Command::Compress { .. } | Command::Decompress { .. } | Command::Label | Command::Goto { .. } => {
                return Err(Error::computation("limiting the times of derivatives must be the first pass"));
            }
            other => other,
        })
    }

    fn limit_backprop(&mut self, mut command: Command, properties: Properties) -> Result<Command> {
        let Command::Backprop(Backprop { in_value, out_value, out_deriv, in_deriv, memo, .. }) = &mut command
        else {
            return Ok(command);
        };
        let mapped = |s: &Option<SubmatrixId>| s.and_then(|s| self.part[s.index()]);
        let new = (mapped(in_value), mapped(out_value), mapped(in_deriv));
        let Some(new_deriv) = self.part[out_deriv.index()] else {
            if new != (None, None, None) {
                return Err(Error::computation("input and output of a simple component differ in time"));
            }
            self.unused_memos.extend(*memo);
            return Ok(Command::NoOp);
        };
        // A memo belongs to all rows.
        if new_deriv != *out_deriv && !properties.contains(Properties::USES_MEMO) {
            *out_deriv = new_deriv;
            (*in_value, *out_value, *in_deriv) = new;
        }
        Ok(command)
    }

    fn limit_pair(&mut self, dest: SubmatrixId, src: SubmatrixId) -> Option<(SubmatrixId, SubmatrixId)> {
        let (new_dest, new_src) = (self.nonzero_part(dest)?, self.nonzero_part(src)?);
        if (new_dest, new_src) == (dest, src) {
            return Some((dest, src));
        }
        let rows = |s: SubmatrixId| self.computation.submatrix(s).rows;
        let before = [self.rows_before(dest, new_dest), self.rows_before(src, new_src)];
        let ends = [before[0] + rows(new_dest), before[1] + rows(new_src)];
        if before[0] == before[1] && ends[0] == ends[1] {
            return Some((new_dest, new_src));
        }
        let kept = before[0].max(before[1])..ends[0].min(ends[1]);
        if kept.is_empty() {
            return None;
        }
        let mut cut = |s: SubmatrixId| {
            let cols = self.computation.submatrix(s).cols;
            self.computation.new_submatrix(s, kept.clone(), 0..cols)
        };
        Some((cut(dest), cut(src)))
    }

    fn limit_rows(
        &mut self,
        dest: SubmatrixId,
        src: SubmatrixId,
        rows: IndexesId,
    ) -> Option<(SubmatrixId, SubmatrixId, IndexesId)> {
        let (new_dest, new_src) = (self.nonzero_part(dest)?, self.nonzero_part(src)?);
        let (dest_before, src_before) = (self.rows_before(dest, new_dest), self.rows_before(src, new_src));
        let old = &self.computation.indexes[rows.index()][dest_before..];
        let count = self.computation.submatrix(new_dest).rows;
        let new: Vec<i32> = (0..count)
            .map(|i| match usize::try_from(old[i]) {
                Ok(row) if self.row_is_kept(src, row) && self.row_is_kept(new_dest, i) => {
                    (row - src_before) as i32
                }
                _ => -1,
            })
            .collect();
        if new.iter().all(|&row| row == -1) {
            return None;
        }
        Some((new_dest, new_src, self.computation.new_indexes(new)))
    }

    fn limit_multi(&mut self, s: SubmatrixId, rows: MultiIndexesId) -> Option<(SubmatrixId, MultiIndexesId)> {
        let new_s = self.nonzero_part(s)?;
        let before = self.rows_before(s, new_s);
        let old = &self.computation.multi_indexes[rows.index()][before..];
        let count = self.computation.submatrix(new_s).rows;
        let new: Vec<RowOf> = (0..count)
            .map(|i| {
                let (other, row) = old[i]?;
                let kept = self.row_is_kept(other, row as usize) && self.row_is_kept(new_s, i);
                let part = self.nonzero_part(other).filter(|_| kept)?;
                Some((part, row - self.rows_before(other, part) as u32))
            })
            .collect();
        if new.iter().all(Option::is_none) {
            return None;
        }
        if new_s == s && new == self.computation.multi_indexes[rows.index()] {
            return Some((s, rows));
        }
        Some((new_s, self.computation.new_multi_indexes(new)))
    }

    fn limit_ranges(
        &mut self,
        dest: SubmatrixId,
        src: SubmatrixId,
        ranges: RangesId,
    ) -> Option<(SubmatrixId, SubmatrixId, RangesId)> {
        let (new_dest, new_src) = (self.nonzero_part(dest)?, self.nonzero_part(src)?);
        if (new_dest, new_src) == (dest, src) {
            return Some((dest, src, ranges));
        }
        let (dest_before, src_before) = (self.rows_before(dest, new_dest), self.rows_before(src, new_src));
        let old = &self.computation.ranges[ranges.index()][dest_before..];
        let count = self.computation.submatrix(new_dest).rows;
        let shrink = |i: usize| {
            let (begin, end) = old[i];
            let mut kept = (begin.max(0)..end.max(0)).filter(|&row| self.row_is_kept(src, row as usize));
            match kept.next() {
                Some(first) if self.row_is_kept(new_dest, i) => {
                    let last = kept.next_back().unwrap_or(first);
                    (first - src_before as i32, last + 1 - src_before as i32)
                }
                _ => (-1, -1),
            }
        };
        let new: Vec<(i32, i32)> = (0..count).map(shrink).collect();
        if new.iter().all(|&range| range == (-1, -1)) {
            return None;
        }
        Some((new_dest, new_src, self.computation.new_ranges(new)))
    }

    fn forget_memos(&mut self) {
        for command in &mut self.computation.commands {
            if let Command::Propagate(Propagate { memo, .. }) = command {
                *memo = memo.filter(|memo| !self.unused_memos.contains(memo));
            }
        }
    }

    /// Derivatives that the user does not see and that are only set to constants outside the range lose these rows.
    fn shrink_matrices(&mut self, nnet: &Nnet) -> Result<()> {
        let analysis = Analysis::new(nnet, self.computation)?;
        let mut shrunk: Vec<Option<Range<usize>>> = vec![None; self.computation.matrices.len()];
        for (m, life) in analysis.lives.iter().enumerate().skip(1) {
            let id = MatrixId::from(m);
            if life.is_input || life.is_output || !self.is_deriv(id) {
                continue;
            }
            let commands = &mut self.computation.commands;
            match &self.inside[m] {
                Inside::All => {}
                Inside::None => {
                    let accesses = || analysis.variables.of_matrix(id).flat_map(|v| analysis.accesses(v));
                    if accesses().all(|a| is_zeroing(&commands[a.command()])) {
                        let sizing = life.allocate.into_iter().chain(life.deallocate);
                        let unused = sizing.chain(accesses().map(|a| a.command()));
                        unused.for_each(|c| commands[c] = Command::NoOp);
                    }
                }
                Inside::Some(rows) => {
                    let only_set = |v: usize| {
                        let (area, _) = analysis.variables.area(v);
                        let outside = area.end <= rows.start || area.start >= rows.end;
                        let is_set = |c: usize| matches!(commands[c], Command::SetConst { .. });
                        !outside || analysis.accesses(v).iter().all(|a| is_set(a.command()))
                    };
                    if analysis.variables.of_matrix(id).all(only_set) {
                        shrunk[m] = Some(rows.clone());
                    }
                }
            }
        }
        self.cut_rows(&shrunk);
        Ok(())
    }

    fn cut_rows(&mut self, shrunk: &[Option<Range<usize>>]) {
        let Computation { submatrices, matrices, debug_info, .. } = &mut *self.computation;
        for s in submatrices {
            let Some(kept) = &shrunk[s.matrix.index()] else {
                continue;
            };
            let first = s.row_offset.max(kept.start);
            let end = (s.row_offset + s.rows).min(kept.end);
            // A part outside the range is no longer used; any valid part will do.
            (s.row_offset, s.rows) = match first < end {
                true => (first - kept.start, end - first),
                false => (0, 1),
            };
        }
        for ((matrix, info), kept) in matrices.iter_mut().zip(debug_info).zip(shrunk) {
            if let Some(kept) = kept {
                matrix.rows = kept.len();
                info.cindexes = info.cindexes[kept.clone()].to_vec();
            }
        }
    }
}
