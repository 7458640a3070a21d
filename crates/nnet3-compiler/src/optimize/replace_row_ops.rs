//! Row operations on one run of consecutive rows become operations on matrices.

use crate::computation::{Command, Computation, SubmatrixId};

/// Returns true if it changed a command. Rows that a copy would have zeroed are left alone; they are still zero when
/// this pass runs.
pub fn run(computation: &mut Computation) -> bool {
    let mut changed = false;
    for c in 0..computation.commands.len() {
        let (dest, src, rows) = match computation.commands[c] {
            Command::CopyRows { dest, src, rows, .. } | Command::AddRows { dest, src, rows, .. } => {
                (dest, src, rows)
            }
            _ => continue,
        };
        let Some((position, first, count)) = single_run(&computation.indexes[rows.index()]) else {
            continue;
        };
        let mut part = |s: SubmatrixId, first: usize| {
            let cols = computation.submatrix(s).cols;
            computation.new_submatrix(s, first..first + count, 0..cols)
        };
        let (dest, src) = (part(dest, position), part(src, first));
        computation.commands[c] = match computation.commands[c] {
            Command::CopyRows { alpha, .. } => Command::Copy { dest, src, alpha },
            Command::AddRows { alpha, .. } => Command::Add { dest, src, alpha },
            other => other,
        };
        changed = true;
    }
    changed
}

/// Position, first value and length of the run, if only -1 surrounds it.
fn single_run(rows: &[i32]) -> Option<(usize, usize, usize)> {
    let position = rows.iter().position(|&r| r >= 0)?;
    let count = 1 + rows[position..].windows(2).take_while(|w| w[1] == w[0] + 1).count();
    let alone = rows[position + count..].iter().all(|&r| r < 0);
    alone.then(|| (position, rows[position] as usize, count))
}

#[cfg(test)]
mod tests {
    use super::single_run;

    #[test]
    fn finds_runs() {
        assert_eq!(single_run(&[-1, -1, 5, 6, 7, 8, -1]), Some((2, 5, 4)));
        assert_eq!(single_run(&[3]), Some((0, 3, 1)));
        assert_eq!(single_run(&[5, 6, -1, 7]), None);
        assert_eq!(single_run(&[5, 5]), None);
        assert_eq!(single_run(&[-1]), None);
    }
}
