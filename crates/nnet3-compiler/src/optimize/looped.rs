//! Turns a computation of consecutive requests into a loop, from the point where it becomes periodic. Needs debug info.

use super::renumber;
use crate::analysis::Analysis;
use crate::computation::{Command, Computation, MatrixDebugInfo, MatrixId, Propagate, SubmatrixId};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::{Cindex, NO_TIME};
use nnet3_network::Nnet;
use std::collections::{BTreeSet, HashMap};

/// Makes the loop, if the computation becomes periodic. The goto, if there is one, is the last command.
pub fn run(nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    if computation.debug_info.len() != computation.matrices.len() {
        return Err(Error::computation("looped computations need debug info"));
    }
    let positions = |wanted: Command| -> Vec<usize> {
        (0..computation.commands.len()).filter(|&c| computation.commands[c] == wanted).collect()
    };
    let splice_points = positions(Command::NoOpPermanent);
    let shift = time_shift(computation, &positions(Command::Marker))?;
    let analysis = Analysis::new(nnet, computation)?;
    let whole = whole_submatrices(computation)?;
    let active: Vec<Vec<MatrixId>> = splice_points
        .iter()
        .map(|&splice| {
            let is_active = |m: &MatrixId| {
                analysis.first_nontrivial_access(whole[m.index()]).is_some_and(|c| c < splice)
                    && analysis.last_access(whole[m.index()]).is_some_and(|c| c > splice)
            };
            (1..computation.matrices.len()).map(MatrixId::from).filter(is_active).collect()
        })
        .collect();
    let identities = identities(computation)?;
    let Some((first, second, moved)) = first_repeat(computation, &splice_points, &active, &identities, shift)
    else {
        return Ok(());
    };
    for &(to, from) in &moved {
        check_same(computation, to, from, shift * (second - first) as i32)?;
    }
    make_loop(computation, splice_points[first], splice_points[second]);
    let goto = computation.commands.len() - 1;
    let swaps = swap_order(moved)
        .into_iter()
        .map(|(to, from)| Command::Swap { first: whole[to.index()], second: whole[from.index()] });
    computation.commands.splice(goto..goto, swaps);
    renumber::run(computation)?;
    renumber::fix_goto(computation);
    Ok(())
}

fn whole_submatrices(computation: &Computation) -> Result<Vec<SubmatrixId>> {
    let lacking = |m: usize| Error::computation(format!("no sub-matrix covers the whole of m{m}"));
    let whole = computation.whole_submatrices().into_iter().enumerate();
    whole.map(|(m, s)| if m == 0 { Ok(SubmatrixId(0)) } else { s.ok_or_else(|| lacking(m)) }).collect()
}

/// Returns the time shift from one segment to the next.
fn time_shift(computation: &Computation, markers: &[usize]) -> Result<i32> {
    let &[second, third, fourth, ..] = markers else {
        return Err(Error::computation("a looped computation needs at least three segments"));
    };
    let first_output = |range: std::ops::Range<usize>| {
        computation.commands[range].iter().find_map(|c| match *c {
            Command::ProvideOutput { matrix, node } => Some((computation.matrix_of(matrix), node)),
            _ => None,
        })
    };
    let outputs = (first_output(second..third), first_output(third..fourth));
    let (Some((matrix2, node2)), Some((matrix3, node3))) = outputs else {
        return Err(Error::computation("segments of a looped computation lack outputs"));
    };
    let list = |m: MatrixId| &computation.debug_info[m.index()].cindexes;
    let shifts = list(matrix2).iter().zip(list(matrix3)).map(|(a, b)| b.index.t.wrapping_sub(a.index.t));
    let mut shifts: Vec<i32> = shifts.collect();
    shifts.dedup();
    match shifts[..] {
        [shift] if node2 == node3 && list(matrix2).len() == list(matrix3).len() && shift > 0 => Ok(shift),
        _ => Err(Error::computation(
            "the segments of a looped computation are not shifted in time by one amount",
        )),
    }
}

/// Identity of a matrix up to its time: a number for its rows relative to the first time, and that time.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Identity {
    rows: usize,
    time: i32,
}

fn identities(computation: &Computation) -> Result<Vec<Identity>> {
    let mut known: HashMap<MatrixDebugInfo, usize> = HashMap::new();
    let mut out = vec![Identity::default()];
    for (m, info) in computation.debug_info.iter().enumerate().skip(1) {
        let Some(first) = info.cindexes.iter().find(|c| c.index.t != NO_TIME) else {
            return Err(Error::computation(format!("no row of matrix m{m} has a time")));
        };
        let time = first.index.t;
        let relative = info.cindexes.iter().map(|&c| shifted(c, time.wrapping_neg())).collect();
        let next = known.len();
        let rows = *known.entry(MatrixDebugInfo { cindexes: relative, ..*info }).or_insert(next);
        out.push(Identity { rows, time });
    }
    Ok(out)
}

fn shifted(mut c: Cindex, by: i32) -> Cindex {
    if c.index.t != NO_TIME {
        c.index.t = c.index.t.wrapping_add(by);
    }
    c
}

/// Matrices of the earlier splice point, each with its counterpart at the later one.
type Moved = Vec<(MatrixId, MatrixId)>;

/// The first two splice points with the same live matrices, apart from their times.
fn first_repeat(
    computation: &Computation,
    splice_points: &[usize],
    active: &[Vec<MatrixId>],
    identities: &[Identity],
    shift: i32,
) -> Option<(usize, usize, Moved)> {
    for first in 0..active.len() {
        for second in first + 1..active.len() {
            let by = shift * (second - first) as i32;
            let Some((moved, staying)) = correspondence(&active[first], &active[second], identities, by)
            else {
                continue;
            };
            let body = |from: usize| {
                let to = splice_points.get(from + second - first)?;
                Some(&computation.commands[splice_points[from]..*to])
            };
            let same_rows = |m: &MatrixId| match (body(first), body(second)) {
                (Some(a), Some(b)) => {
                    rows_read(computation, a, *m).is_some_and(|a| Some(a) == rows_read(computation, b, *m))
                }
                _ => false,
            };
            if staying.iter().all(same_rows) {
                return Some((first, second, moved));
            }
        }
    }
    None
}

/// Pairs matrices that move with time, and those that stay. A loop must read the latter in the same way each time, like
/// an i-vector. Rows of an input that successive chunks read one after the other do not qualify.
fn correspondence(
    a: &[MatrixId],
    b: &[MatrixId],
    identities: &[Identity],
    shift: i32,
) -> Option<(Moved, Vec<MatrixId>)> {
    if a.len() != b.len() {
        return None;
    }
    let (mut moved, mut staying) = (Vec::new(), Vec::new());
    for (&m1, &m2) in a.iter().zip(b) {
        let (i1, i2) = (identities[m1.index()], identities[m2.index()]);
        match i2.time.wrapping_sub(i1.time) {
            _ if i1.rows != i2.rows => return None,
            0 if m1 == m2 => staying.push(m1),
            by if by == shift => moved.push((m1, m2)),
            _ => return None,
        }
    }
    Some((moved, staying))
}

/// Rows of a matrix that commands use; `None` if only a component knows.
fn rows_read(computation: &Computation, commands: &[Command], m: MatrixId) -> Option<BTreeSet<usize>> {
    let inside = |s: SubmatrixId| computation.matrix_of(s) == m;
    let first_row = |s: SubmatrixId| computation.submatrix(s).row_offset;
    let mut out = BTreeSet::new();
    for command in commands {
        let single = match *command {
            Command::CopyRows { src, rows, .. } | Command::AddRows { src, rows, .. } if inside(src) => {
                let rows = computation.indexes[rows.index()].iter();
                out.extend(rows.filter(|&&r| r >= 0).map(|&r| first_row(src) + r as usize));
                Some(src)
            }
            Command::AddRowRanges { src, ranges, .. } if inside(src) => {
                let ranges = computation.ranges[ranges.index()].iter();
                out.extend(
                    ranges.flat_map(|&(a, b)| a.max(0)..b.max(0)).map(|r| first_row(src) + r as usize),
                );
                Some(src)
            }
            Command::CopyRowsMulti { rows, .. }
            | Command::AddRowsMulti { rows, .. }
            | Command::CopyToRowsMulti { rows, .. }
            | Command::AddToRowsMulti { rows, .. } => {
                let rows = computation.multi_indexes[rows.index()].iter().flatten();
                out.extend(rows.filter(|(s, _)| inside(*s)).map(|&(s, row)| first_row(s) + row as usize));
                None
            }
            Command::Propagate(Propagate { precomputed: Some(_), input: Some(s), .. }) if inside(s) => {
                return None;
            }
            _ => None,
        };
        for s in command.submatrices() {
            if inside(s) && Some(s) != single {
                let first = first_row(s);
                out.extend(first..first + computation.submatrix(s).rows);
            }
        }
    }
    Some(out)
}

fn check_same(computation: &Computation, m1: MatrixId, m2: MatrixId, by: i32) -> Result<()> {
    let (a, b) = (&computation.debug_info[m1.index()], &computation.debug_info[m2.index()]);
    let same = computation.matrix(m1) == computation.matrix(m2)
        && a.is_deriv == b.is_deriv
        && a.cindexes.len() == b.cindexes.len()
        && a.cindexes.iter().zip(&b.cindexes).all(|(&a, &b)| shifted(a, by) == b);
    match same {
        true => Ok(()),
        false => {
            Err(Error::computation(format!("matrices m{m1} and m{m2} of a loop differ in more than time")))
        }
    }
}

/// Ends with the later splice point, which jumps to a label before the earlier one.
fn make_loop(computation: &mut Computation, first: usize, second: usize) {
    computation.commands.truncate(second);
    computation.commands.push(Command::Goto { target: first });
    computation.commands.insert(first, Command::Label);
}

/// Orders the moves so that no matrix is overwritten before it has been moved.
fn swap_order(mut moved: Moved) -> Moved {
    let mut out = Vec::with_capacity(moved.len());
    while !moved.is_empty() {
        let waiting: Vec<MatrixId> = moved.iter().map(|&(_, from)| from).collect();
        let mut done: Vec<MatrixId> = Vec::new();
        let before = moved.len();
        moved.retain(|&(to, from)| {
            let free = !waiting.contains(&to) || done.contains(&to);
            if free {
                done.push(from);
                out.push((to, from));
            }
            !free
        });
        if moved.len() == before {
            // A cycle cannot be: times grow along it.
            out.append(&mut moved);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_overwritten_before_it_is_moved() {
        let m = MatrixId;
        let moved = vec![(m(2), m(1)), (m(5), m(6)), (m(3), m(2))];
        let moved_in_order = swap_order(moved);
        let at = |to: u32| moved_in_order.iter().position(|&(t, _)| t == m(to)).unwrap();
        assert!(at(3) < at(2));
        assert_eq!(moved_in_order.len(), 3);
    }
}
