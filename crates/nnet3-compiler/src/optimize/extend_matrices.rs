//! Copies of nearly all rows of a matrix to the end of another become copies of all rows, to a slightly longer matrix.
//! Then a merge can remove them.

use crate::analysis::is_zeroing;
use crate::check::LEAST_COPIED;
use crate::computation::{Command, Computation, Submatrix, SubmatrixId};
use nnet3_base::index::NO_TIME;

/// Returns true if it changed a command.
pub fn run(computation: &mut Computation) -> bool {
    let original_rows: Vec<usize> = computation.matrices.iter().map(|m| m.rows).collect();
    let mut exchanged = vec![false; computation.matrices.len()];
    for command in &computation.commands {
        if let Command::AcceptInput { matrix, .. } | Command::ProvideOutput { matrix, .. } = *command {
            exchanged[computation.matrix_of(matrix).index()] = true;
        }
    }
    for c in 0..computation.commands.len() {
        if let Command::Copy { dest, src, alpha: 1.0 } = computation.commands[c]
            && may_extend(computation, &original_rows, &exchanged, dest, src)
        {
            computation.commands[c] = extend(computation, dest, src);
        }
    }
    let changed = computation.matrices.iter().zip(&original_rows).any(|(m, &rows)| m.rows != rows);
    if changed {
        resize_whole(computation, &original_rows);
        extend_debug_info(computation);
    }
    changed
}

fn may_extend(
    computation: &Computation,
    original_rows: &[usize],
    exchanged: &[bool],
    dest: SubmatrixId,
    src: SubmatrixId,
) -> bool {
    let (dest, src) = (computation.submatrix(dest), computation.submatrix(src));
    let source = computation.matrix(src.matrix);
    src.matrix != dest.matrix
        && !exchanged[dest.matrix.index()]
        && src.rows as f64 >= LEAST_COPIED * original_rows[src.matrix.index()] as f64
        && (src.row_offset, src.col_offset, src.cols) == (0, 0, source.cols)
        && src.rows < source.rows
        && dest.row_offset + dest.rows == original_rows[dest.matrix.index()]
}

/// The copy of the whole source. The destination matrix grows if need be.
fn extend(computation: &mut Computation, dest: SubmatrixId, src: SubmatrixId) -> Command {
    let (dest, src) = (*computation.submatrix(dest), *computation.submatrix(src));
    let source = *computation.matrix(src.matrix);
    let mut push = |s: Submatrix| {
        computation.submatrices.push(s);
        SubmatrixId::from(computation.submatrices.len() - 1)
    };
    let new_dest = push(Submatrix { rows: source.rows, ..dest });
    let new_src = push(Submatrix { rows: source.rows, ..src });
    let matrix = &mut computation.matrices[dest.matrix.index()];
    if dest.row_offset + source.rows > matrix.rows {
        matrix.rows = dest.row_offset + source.rows;
        let (rows, cols) = (matrix.rows, matrix.cols);
        push(Submatrix { matrix: dest.matrix, row_offset: 0, rows, col_offset: 0, cols });
    }
    Command::Copy { dest: new_dest, src: new_src, alpha: 1.0 }
}

/// Commands that size or zero a whole matrix do so for the longer one.
fn resize_whole(computation: &mut Computation, original_rows: &[usize]) {
    let whole = computation.whole_submatrices();
    for c in 0..computation.commands.len() {
        let zeroes = is_zeroing(&computation.commands[c]);
        let (Command::Allocate { matrix: s }
        | Command::Deallocate { matrix: s }
        | Command::SetConst { dest: s, .. }) = &mut computation.commands[c]
        else {
            continue;
        };
        let part = &computation.submatrices[s.index()];
        let matrix = &computation.matrices[part.matrix.index()];
        let was_whole = (part.row_offset, part.col_offset) == (0, 0)
            && part.cols == matrix.cols
            && part.rows == original_rows[part.matrix.index()];
        let sizes = !matches!(computation.commands[c], Command::SetConst { .. });
        if let (Some(new), true) = (whole[part.matrix.index()], was_whole && (sizes || zeroes)) {
            computation.commands[c].for_each_submatrix(|s| *s = new);
        }
    }
}

/// Adds padding rows without a time.
fn extend_debug_info(computation: &mut Computation) {
    for (matrix, info) in computation.matrices.iter().zip(&mut computation.debug_info) {
        let (old, extra) = (info.cindexes.len(), matrix.rows - info.cindexes.len());
        for row in old..old + extra {
            let mut cindex = info.cindexes[row - extra];
            cindex.index.t = NO_TIME;
            info.cindexes.push(cindex);
        }
    }
}
