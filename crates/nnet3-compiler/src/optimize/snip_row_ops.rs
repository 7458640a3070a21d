//! Shortens row operations that have no effect on the first or last rows.

use crate::computation::{Command, Computation, SubmatrixId};
use std::ops::Range;

/// Returns true if it changed a command.
pub fn run(computation: &mut Computation) -> bool {
    let mut changed = false;
    for c in 0..computation.commands.len() {
        if let Some(command) = snip(computation, computation.commands[c]) {
            computation.commands[c] = command;
            changed = true;
        }
    }
    changed
}

/// Copies *from* rows do not change: there, "no row" means zero.
fn snip(computation: &mut Computation, command: Command) -> Option<Command> {
    let kept = match command {
        Command::AddRows { rows, .. } => active(&computation.indexes[rows.index()], |&row| row >= 0),
        Command::AddRowsMulti { rows, .. }
        | Command::AddToRowsMulti { rows, .. }
        | Command::CopyToRowsMulti { rows, .. } => {
            active(&computation.multi_indexes[rows.index()], Option::is_some)
        }
        Command::AddRowRanges { ranges, .. } => {
            active(&computation.ranges[ranges.index()], |(begin, end)| begin != end)
        }
        _ => None,
    }?;
    if kept.is_empty() {
        return Some(Command::NoOp);
    }
    let part = |computation: &mut Computation, s: SubmatrixId| {
        let cols = computation.submatrix(s).cols;
        computation.new_submatrix(s, kept.clone(), 0..cols)
    };
    Some(match command {
        Command::AddRows { dest, src, rows, alpha } => {
            let list = computation.indexes[rows.index()][kept.clone()].to_vec();
            let rows = computation.new_indexes(list);
            Command::AddRows { dest: part(computation, dest), src, rows, alpha }
        }
        Command::AddRowsMulti { dest, rows, alpha } => {
            let list = computation.multi_indexes[rows.index()][kept.clone()].to_vec();
            let rows = computation.new_multi_indexes(list);
            Command::AddRowsMulti { dest: part(computation, dest), rows, alpha }
        }
        Command::AddToRowsMulti { src, rows, alpha } => {
            let list = computation.multi_indexes[rows.index()][kept.clone()].to_vec();
            let rows = computation.new_multi_indexes(list);
            Command::AddToRowsMulti { src: part(computation, src), rows, alpha }
        }
        Command::CopyToRowsMulti { src, rows } => {
            let list = computation.multi_indexes[rows.index()][kept.clone()].to_vec();
            let rows = computation.new_multi_indexes(list);
            Command::CopyToRowsMulti { src: part(computation, src), rows }
        }
        Command::AddRowRanges { dest, src, ranges, alpha } => {
            let list = computation.ranges[ranges.index()][kept.clone()].to_vec();
            let ranges = computation.new_ranges(list);
            Command::AddRowRanges { dest: part(computation, dest), src, ranges, alpha }
        }
        other => other,
    })
}

/// The range from the first to the last active item, empty if there are none; `None` if it is the whole list.
fn active<T>(list: &[T], is_active: impl Fn(&T) -> bool) -> Option<Range<usize>> {
    let kept = match list.iter().position(&is_active) {
        Some(first) => first..list.iter().rposition(&is_active).map_or(first, |last| last + 1),
        None => 0..0,
    };
    (kept != (0..list.len())).then_some(kept)
}
