//! Removes unreferenced items and joins equal ones: matrices, sub-matrices, lists of rows, memo numbers.

use crate::computation::{
    Backprop, Command, Computation, IndexesId, MatrixId, MemoId, MultiIndexesId, PendingMemos, Propagate,
    RangesId, Submatrix, SubmatrixId,
};
use nnet3_base::error::{Error, Result};
use nnet3_base::fast_hash::{FastHasher, FastMap};
use std::hash::{Hash, Hasher};

pub fn run(computation: &mut Computation) -> Result<()> {
    let used = Used::new(computation);
    let submatrices = renumber_submatrices(computation, &used.submatrices);
    for (s, _) in computation.multi_indexes.iter_mut().flatten().flatten() {
        *s = submatrices[s.index()];
    }
    let indexes = join_equal(&mut computation.indexes, &used.indexes, |list| list);
    let multi_indexes = join_equal(&mut computation.multi_indexes, &used.multi_indexes, |list| list);
    let ranges = join_equal(&mut computation.ranges, &used.ranges, |list| list);
    for command in &mut computation.commands {
        command.for_each_submatrix(|s| *s = submatrices[s.index()]);
        match list_of(command) {
            Some(List::Indexes(id)) => id.0 = indexes[id.index()],
            Some(List::MultiIndexes(id)) => id.0 = multi_indexes[id.index()],
            Some(List::Ranges(id)) => id.0 = ranges[id.index()],
            None => {}
        }
    }
    renumber_memos(computation)
}

/// Deletes the no-ops. The goto follows its label.
pub(crate) fn remove_no_ops(computation: &mut Computation) {
    computation.commands.retain(|c| !matches!(c, Command::NoOp));
    fix_goto(computation);
}

/// Inserts each command before the one at its position; insertions at one position keep their order.
pub(crate) fn insert_commands(computation: &mut Computation, mut insertions: Vec<(usize, Command)>) {
    insertions.sort_by_key(|&(position, _)| position);
    let old = std::mem::take(&mut computation.commands);
    let commands = &mut computation.commands;
    commands.reserve(old.len() + insertions.len());
    let mut copied = 0;
    for (position, command) in insertions {
        let position = position.min(old.len());
        commands.extend_from_slice(&old[copied..position]);
        commands.push(command);
        copied = position;
    }
    commands.extend_from_slice(&old[copied..]);
    fix_goto(computation);
}

/// Points the goto, if there is one, to its label.
pub(crate) fn fix_goto(computation: &mut Computation) {
    let commands = &mut computation.commands;
    let goto = commands.iter().rposition(|c| matches!(c, Command::Goto { .. }));
    let Some(goto) = goto else {
        return;
    };
    if let Some(target) = commands.iter().position(|c| matches!(c, Command::Label)) {
        commands[goto] = Command::Goto { target };
    }
}

/// The list of rows that a command uses.
pub enum List<'a> {
    Indexes(&'a mut IndexesId),
    MultiIndexes(&'a mut MultiIndexesId),
    Ranges(&'a mut RangesId),
}

pub(crate) fn list_of(command: &mut Command) -> Option<List<'_>> {
    match command {
        Command::CopyRows { rows, .. } | Command::AddRows { rows, .. } => Some(List::Indexes(rows)),
        Command::CopyRowsMulti { rows, .. }
        | Command::CopyToRowsMulti { rows, .. }
        | Command::AddRowsMulti { rows, .. }
        | Command::AddToRowsMulti { rows, .. } => Some(List::MultiIndexes(rows)),
        Command::AddRowRanges { ranges, .. } => Some(List::Ranges(ranges)),
        _ => None,
    }
}

/// The items that commands refer to, directly or through lists.
struct Used {
    submatrices: Vec<bool>,
    indexes: Vec<bool>,
    multi_indexes: Vec<bool>,
    ranges: Vec<bool>,
}

impl Used {
    fn new(computation: &mut Computation) -> Used {
        let mut used = Used {
            submatrices: vec![false; computation.submatrices.len()],
            indexes: vec![false; computation.indexes.len()],
            multi_indexes: vec![false; computation.multi_indexes.len()],
            ranges: vec![false; computation.ranges.len()],
        };
        for command in &mut computation.commands {
            command.for_each_submatrix(|s| used.submatrices[s.index()] = true);
            match list_of(command) {
                Some(List::Indexes(id)) => used.indexes[id.index()] = true,
                Some(List::MultiIndexes(id)) => used.multi_indexes[id.index()] = true,
                Some(List::Ranges(id)) => used.ranges[id.index()] = true,
                None => {}
            }
        }
        for (list, _) in computation.multi_indexes.iter().zip(&used.multi_indexes).filter(|(_, used)| **used)
        {
            list.iter().flatten().for_each(|(s, _)| used.submatrices[s.index()] = true);
        }
        used
    }
}

/// Keeps the used sub-matrices, the first of each set of equal ones, and the matrices that they are part of. Returns
/// the new ids, 0 for removed ones.
fn renumber_submatrices(computation: &mut Computation, used: &[bool]) -> Vec<SubmatrixId> {
    let new_matrices = renumber_matrices(computation, used);
    let mut new_ids = vec![SubmatrixId(0); used.len()];
    let mut whole: Vec<Option<SubmatrixId>> = vec![None; computation.matrices.len()];
    let mut parts: FastMap<Submatrix, SubmatrixId> =
        FastMap::with_capacity_and_hasher(used.len() / 2, Default::default());
    let mut count = 1;
    for i in (1..used.len()).filter(|&i| used[i]) {
        let mut s = computation.submatrices[i];
        s.matrix = new_matrices[s.matrix.index()];
        computation.submatrices[count] = s;
        let next = SubmatrixId::from(count);
        let known = match computation.is_whole(next) {
            true => whole[s.matrix.index()].get_or_insert(next),
            false => parts.entry(s).or_insert(next),
        };
        new_ids[i] = *known;
        count += (*known == next) as usize;
    }
    computation.submatrices.truncate(count);
    new_ids
}

/// Keeps the matrices of used sub-matrices, and the empty one. Returns the new ids.
fn renumber_matrices(computation: &mut Computation, used: &[bool]) -> Vec<MatrixId> {
    let mut kept = vec![false; computation.matrices.len()];
    kept[0] = true;
    for (s, &used) in computation.submatrices.iter().zip(used) {
        kept[s.matrix.index()] |= used;
    }
    let mut count = 0;
    let number = |&kept: &bool| {
        let id = MatrixId::from(count);
        count += kept as usize;
        id
    };
    let new_ids = kept.iter().map(number).collect();
    retain_marked(&mut computation.matrices, &kept);
    retain_marked(&mut computation.debug_info, &kept);
    new_ids
}

fn retain_marked<T>(list: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    list.retain(|_| *marks.next().expect("a mark each"));
}

/// Keeps the used lists, the first of each set of equal ones. Returns the new positions.
fn join_equal<L: Eq, T: Hash>(lists: &mut Vec<L>, used: &[bool], items: impl Fn(&L) -> &[T]) -> Vec<u32> {
    const END: u32 = u32::MAX;
    // Lists of equal hash are chained; they are compared in full.
    let mut known: FastMap<u64, u32> = FastMap::default();
    let mut next: Vec<u32> = Vec::new();
    let mut new_ids = vec![0; lists.len()];
    let mut kept: Vec<L> = Vec::with_capacity(lists.len());
    for (i, list) in std::mem::take(lists).into_iter().enumerate().filter(|&(i, _)| used[i]) {
        let first = known.entry(hash(items(&list))).or_insert(END);
        let mut k = *first;
        while k != END && kept[k as usize] != list {
            k = next[k as usize];
        }
        if k == END {
            k = kept.len() as u32;
            kept.push(list);
            next.push(std::mem::replace(first, k));
        }
        new_ids[i] = k;
    }
    *lists = kept;
    new_ids
}

/// Hashes the length and some elements.
fn hash<T: Hash>(list: &[T]) -> u64 {
    let mut hasher = FastHasher::default();
    list.len().hash(&mut hasher);
    let step = list.len() / 16 + 1;
    list.iter().step_by(step).chain(list.last()).for_each(|item| item.hash(&mut hasher));
    hasher.finish()
}

/// 1, 2, … in the order of the propagates that make them.
fn renumber_memos(computation: &mut Computation) -> Result<()> {
    let mut pending = PendingMemos::default();
    let mut count = 0;
    for command in &mut computation.commands {
        match command {
            Command::Propagate(Propagate { memo: Some(memo), .. }) => {
                count += 1;
                let new = MemoId(count);
                if !pending.add(*memo, new) {
                    return Err(Error::computation(format!("memo {memo} is made twice")));
                }
                *memo = new;
            }
            Command::Backprop(Backprop { memo: Some(memo), .. }) => match pending.take(*memo) {
                Some(new) => *memo = new,
                None => return Err(Error::computation(format!("memo {memo} is used but not made"))),
            },
            _ => {}
        }
    }
    match pending.iter().next() {
        Some((memo, _)) => Err(Error::computation(format!("memo {memo} is made but not used"))),
        None => Ok(()),
    }
}
