//! Replaces row operations on several sub-matrices by one or two operations on one sub-matrix each, if the rows come in
//! one or two blocks.

use super::renumber::{List, insert_commands, list_of};
use crate::computation::{Command, Computation, RowOf, SubmatrixId};

/// Largest ratio of the range of source rows to the number of used ones.
const MAX_SPREAD: usize = 2;

/// Consecutive entries of a list that refer to one sub-matrix.
struct Block {
    /// Position in the list.
    offset: usize,
    source: SubmatrixId,
    /// Rows of the source relative to `first_row`.
    rows: Vec<i32>,
    first_row: usize,
    /// Rows of the source from the first to the last used one.
    span: usize,
    consecutive: bool,
}

/// Returns true if it changed a command.
pub fn run(computation: &mut Computation) -> bool {
    let blocks: Vec<Option<Vec<Block>>> = computation.multi_indexes.iter().map(|list| blocks(list)).collect();
    let mut insertions = Vec::new();
    let mut changed = false;
    for c in 0..computation.commands.len() {
        let mut command = computation.commands[c];
        let Some(List::MultiIndexes(rows)) = list_of(&mut command) else {
            continue;
        };
        let rows = *rows;
        let Some(blocks) = &blocks[rows.index()] else {
            continue;
        };
        if matches!(command, Command::CopyToRowsMulti { .. }) && blocks.iter().any(|b| !b.consecutive) {
            continue;
        }
        for (i, block) in blocks.iter().enumerate() {
            let part = block_command(computation, command, block);
            match i {
                0 => computation.commands[c] = part,
                _ => insertions.push((c + 1, part)),
            }
        }
        changed = true;
    }
    if !insertions.is_empty() {
        insert_commands(computation, insertions);
    }
    changed
}

fn blocks(list: &[RowOf]) -> Option<Vec<Block>> {
    let source = list.first()?.map(|(s, _)| s);
    let split = list.iter().position(|item| item.map(|(s, _)| s) != source);
    match split {
        None => Some(vec![block(list, 0)?]),
        Some(split) => Some(vec![block(&list[..split], 0)?, block(&list[split..], split)?]),
    }
}

fn block(list: &[RowOf], offset: usize) -> Option<Block> {
    let source = (*list.first()?)?.0;
    let mut rows = Vec::with_capacity(list.len());
    for item in list {
        match item {
            Some((s, row)) if *s == source => rows.push(*row as i32),
            _ => return None,
        }
    }
    let (first, last) = (*rows.iter().min()?, *rows.iter().max()?);
    let span = (last - first + 1) as usize;
    if span > list.len() * MAX_SPREAD {
        return None;
    }
    let consecutive = rows.windows(2).all(|w| w[1] == w[0] + 1);
    rows.iter_mut().for_each(|row| *row -= first);
    Some(Block { offset, source, rows, first_row: first as usize, span, consecutive })
}

fn block_command(computation: &mut Computation, command: Command, block: &Block) -> Command {
    let mut part = |s: SubmatrixId, first: usize, rows: usize| {
        let cols = computation.submatrix(s).cols;
        computation.new_submatrix(s, first..first + rows, 0..cols)
    };
    let other = part(block.source, block.first_row, block.span);
    let size = block.rows.len();
    match command {
        Command::AddRowsMulti { dest, alpha, .. } => {
            let (dest, src) = (part(dest, block.offset, size), other);
            match block.consecutive {
                true => Command::Add { dest, src, alpha },
                false => {
                    let rows = computation.new_indexes(block.rows.clone());
                    Command::AddRows { dest, src, rows, alpha }
                }
            }
        }
        Command::CopyRowsMulti { dest, alpha, .. } => {
            let (dest, src) = (part(dest, block.offset, size), other);
            match block.consecutive {
                true => Command::Copy { dest, src, alpha },
                false => {
                    let rows = computation.new_indexes(block.rows.clone());
                    Command::CopyRows { dest, src, rows, alpha }
                }
            }
        }
        Command::AddToRowsMulti { src, alpha, .. } => {
            let (dest, src) = (other, part(src, block.offset, size));
            match block.consecutive {
                true => Command::Add { dest, src, alpha },
                false => {
                    let mut inverse = vec![-1; block.span];
                    for (i, &row) in block.rows.iter().enumerate() {
                        inverse[row as usize] = i as i32;
                    }
                    let rows = computation.new_indexes(inverse);
                    Command::AddRows { dest, src, rows, alpha }
                }
            }
        }
        Command::CopyToRowsMulti { src, .. } => {
            Command::Copy { dest: other, src: part(src, block.offset, size), alpha: 1.0 }
        }
        other => other,
    }
}
