//! A pass for runs of operations that add rows of one matrix, or sums of consecutive rows, to the rows of another: the
//! derivative of an input that is read at many times. All become one sum over lists of rows. A zeroing just before them
//! becomes a part of it. Sums are rounded in another order.

use super::dataflow::{Rect, Region};
use super::op::{Op, SumRows};
use super::{Lowering, blocks::is_silent};
use crate::computation::{Command, Computation, SubmatrixId};
use nnet3_matrix::RowLists;
use std::ops::Range;
use std::sync::Arc;

/// One of the operations: dest += alpha · rows of src, or sums of them.
#[derive(Clone, Copy)]
struct Addition {
    command: usize,
    dest: SubmatrixId,
    src: SubmatrixId,
    alpha: f32,
}

impl Addition {
    fn of(command: usize, c: &Command) -> Option<Addition> {
        match *c {
            Command::AddRowRanges { dest, src, alpha, .. } | Command::AddRows { dest, src, alpha, .. } => {
                Some(Addition { command, dest, src, alpha })
            }
            _ => None,
        }
    }

    /// For each row of dest the rows of src, as a range.
    fn rows(&self, computation: &Computation) -> Vec<Range<i32>> {
        let single = |row: i32| if row < 0 { 0..0 } else { row..row + 1 };
        match computation.commands[self.command] {
            Command::AddRowRanges { ranges, .. } => {
                let ranges = computation.ranges[ranges.index()].iter();
                ranges.map(|&(begin, end)| begin.max(0)..end.max(0)).collect()
            }
            Command::AddRows { rows, .. } => {
                computation.indexes[rows.index()].iter().map(|&row| single(row)).collect()
            }
            _ => Vec::new(),
        }
    }
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    for run in runs(lowering) {
        let (dest, src) = (union(lowering, &run, |a| a.dest), union(lowering, &run, |a| a.src));
        let mut lists = vec![Vec::new(); dest.rect.rows.len()];
        for addition in &run {
            let (to, from) = (row_of(lowering, addition.dest), row_of(lowering, addition.src));
            for (i, rows) in addition.rows(lowering.computation).into_iter().enumerate() {
                let moved = from as i32 - src.rect.rows.start as i32;
                lists[to + i - dest.rect.rows.start].extend(rows.map(|row| row + moved));
            }
        }
        let zeroing = zeroing_before(lowering, run[0].command, &dest);
        zeroing.into_iter().for_each(|command| lowering.remove(command));
        run.iter().for_each(|addition| lowering.remove(addition.command));
        let (dest, src) = (lowering.part(&dest), lowering.part(&src));
        lowering.row_lists.push(Arc::new(RowLists::new(&lists)));
        let (alpha, lists) = (run[0].alpha, lowering.row_lists.len() - 1);
        let sum = SumRows { dest, src, alpha, lists, adds: zeroing.is_none() };
        lowering.replace(run[0].command, Op::SumRows(sum));
    }
}

/// Runs of two or more, consecutive apart from commands without effect on matrices, from the same columns of one matrix
/// to the same columns of another.
fn runs(lowering: &Lowering<'_>) -> Vec<Vec<Addition>> {
    let mut runs: Vec<Vec<Addition>> = Vec::new();
    let mut goes_on = false;
    for (c, command) in lowering.computation.commands.iter().enumerate() {
        match Addition::of(c, command).filter(|_| lowering.is_literal(c)) {
            Some(addition) => {
                match runs.last_mut().filter(|run| goes_on && fits(lowering.computation, run[0], addition)) {
                    Some(run) => run.push(addition),
                    None => runs.push(vec![addition]),
                }
                goes_on = true;
            }
            None if is_silent(command) => {}
            None => goes_on = false,
        }
    }
    runs.retain(|run| run.len() > 1);
    runs
}

fn fits(computation: &Computation, first: Addition, other: Addition) -> bool {
    let same_columns = |a: SubmatrixId, b: SubmatrixId| {
        computation.matrix_of(a) == computation.matrix_of(b)
            && Rect::of(computation, a).cols == Rect::of(computation, b).cols
    };
    first.alpha == other.alpha
        && same_columns(first.dest, other.dest)
        && same_columns(first.src, other.src)
        && computation.matrix_of(first.dest) != computation.matrix_of(first.src)
}

fn row_of(lowering: &Lowering<'_>, s: SubmatrixId) -> usize {
    lowering.computation.submatrix(s).row_offset
}

/// The smallest part of the matrix that has the sub-matrices of all operations.
fn union(lowering: &Lowering<'_>, run: &[Addition], of: fn(&Addition) -> SubmatrixId) -> Region {
    let all = run.iter().map(|addition| Region::of(lowering.computation, of(addition)));
    all.reduce(|a, b| {
        let rows = a.rect.rows.start.min(b.rect.rows.start)..a.rect.rows.end.max(b.rect.rows.end);
        a.with_rows(rows)
    })
    .expect("runs are not empty")
}

/// The literal command that zeroes this part and no other, if it comes just before.
fn zeroing_before(lowering: &Lowering<'_>, command: usize, part: &Region) -> Option<usize> {
    let before = (0..command).rev().find(|&c| !is_silent(&lowering.computation.commands[c]))?;
    let Command::SetConst { dest, value: 0.0 } = lowering.computation.commands[before] else { return None };
    let area = Region::of(lowering.computation, dest);
    (lowering.is_literal(before) && area.matrix == part.matrix && area.rect == part.rect).then_some(before)
}
