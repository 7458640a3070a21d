//! Removes what no command refers to, and joins what is equal: matrices, sub-matrices, lists of rows, memo numbers
//! (spec compiler §6.5).

use crate::computation::{
    Command, Computation, IndexesId, MatrixId, MemoId, MultiIndexesId, RangesId, SubmatrixId,
};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

pub fn run(computation: &mut Computation) -> Result<()> {
    keep_used_lists(computation);
    renumber_submatrices(computation);
    join_equal_lists(computation);
    renumber_memos(computation)
}

/// Deletes the no-ops. The goto follows its label.
pub fn remove_no_ops(computation: &mut Computation) {
    computation.commands.retain(|c| *c != Command::NoOp);
    fix_goto(computation);
}

/// Inserts each command before the one that is at its position now; those of one position keep their order.
pub fn insert_commands(computation: &mut Computation, mut insertions: Vec<(usize, Command)>) {
    insertions.sort_by_key(|&(position, _)| position);
    let old = std::mem::take(&mut computation.commands);
    computation.commands.reserve(old.len() + insertions.len());
    let mut insertions = insertions.into_iter().peekable();
    for (position, command) in old.into_iter().enumerate() {
        while let Some((_, inserted)) = insertions.next_if(|&(p, _)| p <= position) {
            computation.commands.push(inserted);
        }
        computation.commands.push(command);
    }
    computation.commands.extend(insertions.map(|(_, command)| command));
    fix_goto(computation);
}

/// Points the goto, if there is one, to its label.
pub fn fix_goto(computation: &mut Computation) {
    let commands = &mut computation.commands;
    let goto = commands.iter().rposition(|c| matches!(c, Command::Goto { .. }));
    let label = commands.iter().position(|c| *c == Command::Label);
    if let (Some(goto), Some(target)) = (goto, label) {
        commands[goto] = Command::Goto { target };
    }
}

/// The list of rows of any sub-matrices that a command uses.
pub fn multi_indexes_of(command: &mut Command) -> Option<&mut MultiIndexesId> {
    match command {
        Command::CopyRowsMulti { rows, .. }
        | Command::CopyToRowsMulti { rows, .. }
        | Command::AddRowsMulti { rows, .. }
        | Command::AddToRowsMulti { rows, .. } => Some(rows),
        _ => None,
    }
}

fn indexes_of(command: &mut Command) -> Option<&mut IndexesId> {
    match command {
        Command::CopyRows { rows, .. } | Command::AddRows { rows, .. } => Some(rows),
        _ => None,
    }
}

fn ranges_of(command: &mut Command) -> Option<&mut RangesId> {
    match command {
        Command::AddRowRanges { ranges, .. } => Some(ranges),
        _ => None,
    }
}

/// Drops the lists of rows that no command uses, so that they do not keep sub-matrices alive.
fn keep_used_lists(computation: &mut Computation) {
    let mut used = vec![false; computation.multi_indexes.len()];
    computation.commands.iter_mut().filter_map(multi_indexes_of).for_each(|id| used[id.index()] = true);
    for (list, used) in computation.multi_indexes.iter_mut().zip(used) {
        if !used {
            list.clear();
        }
    }
}

fn renumber_submatrices(computation: &mut Computation) {
    let mut used = vec![false; computation.submatrices.len()];
    for command in &mut computation.commands {
        command.for_each_submatrix(|s| used[s.index()] = true);
    }
    for &(s, _) in computation.multi_indexes.iter().flatten().flatten() {
        used[s.index()] = true;
    }

    let mut matrix_used = vec![false; computation.matrices.len()];
    matrix_used[0] = true;
    for (s, &used) in computation.submatrices.iter().zip(&used) {
        matrix_used[s.matrix.index()] |= used;
    }
    let mut new_matrices = vec![MatrixId(0); computation.matrices.len()];
    let mut count = 0;
    for (m, &used) in matrix_used.iter().enumerate() {
        if used {
            new_matrices[m] = MatrixId::from(count);
            count += 1;
        }
    }
    retain_marked(&mut computation.matrices, &matrix_used);
    retain_marked(&mut computation.debug_info, &matrix_used);

    let mut new_ids = vec![SubmatrixId(0); computation.submatrices.len()];
    let mut kept = vec![computation.submatrices[0]];
    let mut known = HashMap::new();
    for (i, s) in computation.submatrices.iter().enumerate().skip(1) {
        if used[i] {
            let mut s = *s;
            s.matrix = new_matrices[s.matrix.index()];
            new_ids[i] = *known.entry(s).or_insert_with(|| {
                kept.push(s);
                SubmatrixId::from(kept.len() - 1)
            });
        }
    }
    let changed = kept.len() != computation.submatrices.len();
    computation.submatrices = kept;
    if !changed {
        return;
    }
    for command in &mut computation.commands {
        command.for_each_submatrix(|s| *s = new_ids[s.index()]);
    }
    for (s, _) in computation.multi_indexes.iter_mut().flatten().flatten() {
        *s = new_ids[s.index()];
    }
}

fn retain_marked<T>(list: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    list.retain(|_| *marks.next().expect("a mark each"));
}

fn join_equal_lists(computation: &mut Computation) {
    let Computation { commands, indexes, multi_indexes, ranges, .. } = computation;
    join_equal(commands, multi_indexes, |c| multi_indexes_of(c).map(|id| &mut id.0));
    join_equal(commands, indexes, |c| indexes_of(c).map(|id| &mut id.0));
    join_equal(commands, ranges, |c| ranges_of(c).map(|id| &mut id.0));
}

/// Keeps the first of each set of equal lists that are used.
fn join_equal<T: Hash + Eq>(
    commands: &mut [Command],
    lists: &mut Vec<Vec<T>>,
    id_of: impl Fn(&mut Command) -> Option<&mut u32>,
) {
    let mut used = vec![false; lists.len()];
    commands.iter_mut().filter_map(&id_of).for_each(|id| used[*id as usize] = true);
    // By hash of the contents; candidates are compared in full.
    let mut known: HashMap<u64, Vec<u32>> = HashMap::new();
    let mut new_ids = vec![0u32; lists.len()];
    let mut kept: Vec<Vec<T>> = Vec::with_capacity(lists.len());
    for (i, list) in std::mem::take(lists).into_iter().enumerate() {
        if !used[i] {
            continue;
        }
        let candidates = known.entry(hash(&list)).or_default();
        new_ids[i] = match candidates.iter().find(|&&k| kept[k as usize] == list) {
            Some(&k) => k,
            None => {
                let k = kept.len() as u32;
                candidates.push(k);
                kept.push(list);
                k
            }
        };
    }
    *lists = kept;
    commands.iter_mut().filter_map(&id_of).for_each(|id| *id = new_ids[*id as usize]);
}

/// Of the length and some elements.
fn hash<T: Hash>(list: &[T]) -> u64 {
    let mut hasher = DefaultHasher::new();
    list.len().hash(&mut hasher);
    let step = list.len() / 16 + 1;
    list.iter().step_by(step).chain(list.last()).for_each(|item| item.hash(&mut hasher));
    hasher.finish()
}

/// 1, 2, … in the order of the propagates that make them.
fn renumber_memos(computation: &mut Computation) -> Result<()> {
    let mut pending: HashMap<MemoId, MemoId> = HashMap::new();
    let mut count = 0;
    for command in &mut computation.commands {
        match command {
            Command::Propagate { memo: Some(memo), .. } => {
                count += 1;
                let new = MemoId(count);
                if pending.insert(*memo, new).is_some() {
                    return Err(Error::computation(format!("memo {memo} is made twice")));
                }
                *memo = new;
            }
            Command::Backprop { memo: Some(memo), .. } => match pending.remove(memo) {
                Some(new) => *memo = new,
                None => return Err(Error::computation(format!("memo {memo} is used but not made"))),
            },
            _ => {}
        }
    }
    match pending.keys().min() {
        Some(memo) => Err(Error::computation(format!("memo {memo} is made but not used"))),
        None => Ok(()),
    }
}
