//! A component of a recurrence updates its parameters once, from a stack of the inputs and of the output derivatives of all its steps
//! ([`super::consolidate_model_update`]). Often the stack has copies of some columns of matrices of the steps, the same columns of each.
//! This pass makes the stack as wide as these matrices, and makes them rows of it. Nothing is copied then.
//!
//! The reference has no such pass. So its result is only run: listings, caches, and expansions for more sequences are made of
//! the computation before.

use super::renumber;
use crate::analysis::{AccessKind, CommandAccesses, Life, lives};
use crate::buckets::Buckets;
use crate::computation::{Command, Computation, MatrixId, Submatrix, SubmatrixId};
use nnet3_base::error::Result;
use nnet3_network::Nnet;

/// A stack is made at most this many times as wide. Memory for columns that are no part of it is taken for its whole life.
const MOST_WIDENING: usize = 2;

/// Products read matrices fastest if their first elements are at multiples of this many floats (16 bytes).
const ALIGNED: usize = 4;

/// A matrix whose rows are copies of the same columns of whole matrices.
struct Stack {
    matrix: MatrixId,
    /// The first of these columns, and the number of columns of each source.
    first_column: usize,
    width: usize,
    blocks: Vec<Block>,
    /// Set the stack before the copies do.
    settings: Vec<usize>,
}

/// Rows of a stack.
struct Block {
    /// The copy's position.
    copy: usize,
    /// The first of the rows.
    row: usize,
    source: SubmatrixId,
}

/// The place of a matrix within a stack.
#[derive(Clone, Copy)]
struct Place {
    stack: MatrixId,
    row: usize,
    column: usize,
}

/// Runs the pass. Returns the new computation, or `None` if there is nothing to change.
pub fn run(nnet: &Nnet, computation: &Computation) -> Result<Option<Computation>> {
    if !computation.need_model_derivative || computation.is_looped() {
        return Ok(None);
    }
    let lives = lives(computation)?;
    let stacks = Search::new(nnet, computation, &lives).stacks();
    if stacks.is_empty() {
        return Ok(None);
    }
    let mut new = computation.clone();
    replace(&mut new, &lives, &stacks);
    renumber::remove_no_ops(&mut new);
    renumber::run(&mut new)?;
    Ok(Some(new))
}

#[derive(Clone, Copy)]
struct Access {
    command: usize,
    part: SubmatrixId,
    kind: AccessKind,
}

struct Search<'a> {
    computation: &'a Computation,
    lives: &'a [Life],
    /// For each matrix the accesses to its parts, in order.
    accesses: Buckets<Access>,
    /// Matrices that are a stack or a part of one.
    taken: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(nnet: &Nnet, computation: &'a Computation, lives: &'a [Life]) -> Search<'a> {
        let mut accesses = Vec::with_capacity(4 * computation.commands.len());
        CommandAccesses::new(nnet, computation).for_each(|command, part, kind| {
            accesses.push((computation.matrix_of(part).0, Access { command, part, kind }));
        });
        let count = computation.matrices.len();
        Search { computation, lives, accesses: Buckets::new(count, &accesses), taken: vec![false; count] }
    }

    fn stacks(mut self) -> Vec<Stack> {
        let mut found = Vec::new();
        for matrix in (1..self.computation.matrices.len()).map(MatrixId::from) {
            if let Some(stack) = self.stack(matrix) {
                let sources = stack.blocks.iter().map(|block| self.computation.matrix_of(block.source));
                sources.chain([matrix]).for_each(|m| self.taken[m.index()] = true);
                found.push(stack);
            }
        }
        found
    }

    fn stack(&self, matrix: MatrixId) -> Option<Stack> {
        let info = self.computation.matrix(matrix);
        let (mut blocks, settings) = self.writes(matrix).filter(|_| self.is_free(matrix))?;
        blocks.sort_unstable_by_key(|block| block.row);
        let part = |block: &Block| *self.computation.submatrix(block.source);
        let first = part(blocks.first()?);
        let (first_column, width) = (first.col_offset, self.computation.matrix(first.matrix).cols);
        let mut rows = 0;
        let mut sources = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let source = part(block);
            let fits = block.row == rows
                && source.col_offset == first_column
                && self.computation.matrix(source.matrix).cols == width
                && source.rows == self.computation.matrix(source.matrix).rows
                && source.matrix != matrix
                && self.is_free(source.matrix)
                && self.keeps(&source, block.copy);
            if !fits {
                return None;
            }
            rows += source.rows;
            sources.push(source.matrix);
        }
        sources.sort_unstable();
        let distinct = sources.windows(2).all(|pair| pair[0] != pair[1]);
        let worth = width <= MOST_WIDENING * info.cols && width % ALIGNED == 0 && first_column % ALIGNED == 0;
        let complete = rows == info.rows && distinct && worth && !info.contiguous;
        complete.then_some(Stack { matrix, first_column, width, blocks, settings })
    }

    /// The copies to rows of a matrix that come before its first reader, and what sets it before them; `None` if it is written in other
    /// ways.
    fn writes(&self, matrix: MatrixId) -> Option<(Vec<Block>, Vec<usize>)> {
        let (mut blocks, mut settings, mut is_read) = (Vec::new(), Vec::new(), false);
        let cols = self.computation.matrix(matrix).cols;
        for &Access { command, part, kind } in self.accesses.of(matrix.index()) {
            let part = self.computation.submatrix(part);
            match self.computation.commands[command] {
                Command::SetConst { .. } if blocks.is_empty() && !is_read => settings.push(command),
                Command::Copy { src: source, alpha: 1.0, .. }
                    if kind == AccessKind::Write && part.cols == cols && !is_read =>
                {
                    blocks.push(Block { copy: command, row: part.row_offset, source });
                }
                _ if kind == AccessKind::Read => is_read = true,
                _ => return None,
            }
        }
        Some((blocks, settings))
    }

    /// True if the matrix belongs to no stack yet, and only this computation sets, reads and frees it.
    fn is_free(&self, matrix: MatrixId) -> bool {
        let Life { allocate, deallocate, is_input, is_output } = self.lives[matrix.index()];
        let is_compressed = |access: &Access| {
            let command = &self.computation.commands[access.command];
            matches!(command, Command::Compress { .. } | Command::Decompress { .. })
        };
        !self.taken[matrix.index()]
            && !is_input
            && !is_output
            && allocate.is_some()
            && deallocate.is_some()
            && !self.accesses.of(matrix.index()).iter().any(is_compressed)
    }

    /// True if these columns of a matrix are not written after the command.
    fn keeps(&self, columns: &Submatrix, command: usize) -> bool {
        let end = |s: &Submatrix| s.col_offset + s.cols;
        self.accesses.of(columns.matrix.index()).iter().all(|access| {
            let part = self.computation.submatrix(access.part);
            let apart = end(part) <= columns.col_offset || end(columns) <= part.col_offset;
            access.command <= command || !access.kind.writes() || apart
        })
    }
}

fn replace(computation: &mut Computation, lives: &[Life], stacks: &[Stack]) {
    let mut places: Vec<Option<Place>> = vec![None; computation.matrices.len()];
    let mut sizing = Vec::new();
    for &Stack { matrix: stack, first_column: column, width, ref blocks, ref settings } in stacks {
        places[stack.index()] = Some(Place { stack, row: 0, column });
        let (mut begin, mut end) = (lives[stack.index()].allocate, lives[stack.index()].deallocate);
        for &Block { copy, row, source } in blocks {
            let source = computation.matrix_of(source);
            places[source.index()] = Some(Place { stack, row, column: 0 });
            begin = begin.min(lives[source.index()].allocate);
            end = end.max(lives[source.index()].deallocate);
            computation.commands[copy] = Command::NoOp;
        }
        settings.iter().for_each(|&c| computation.commands[c] = Command::NoOp);
        sizing.push((stack, width, begin.zip(end)));
    }
    remove_sizing(computation, &places);
    for s in &mut computation.submatrices {
        if let Some(Place { stack, row, column }) = places[s.matrix.index()] {
            *s = Submatrix {
                matrix: stack,
                row_offset: s.row_offset + row,
                col_offset: s.col_offset + column,
                ..*s
            };
        }
    }
    let mut insertions = Vec::new();
    for (matrix, cols, life) in sizing {
        let Some((begin, end)) = life else { continue };
        computation.matrices[matrix.index()].cols = cols;
        let rows = computation.matrix(matrix).rows;
        computation.submatrices.push(Submatrix { matrix, row_offset: 0, rows, col_offset: 0, cols });
        let matrix = SubmatrixId::from(computation.submatrices.len() - 1);
        insertions.push((begin + 1, Command::Allocate { matrix }));
        insertions.push((end, Command::Deallocate { matrix }));
    }
    renumber::insert_commands(computation, insertions);
}

/// Matrices with a place take no memory of their own, and pass none on.
fn remove_sizing(computation: &mut Computation, places: &[Option<Place>]) {
    for c in 0..computation.commands.len() {
        let is_placed = |s: SubmatrixId| places[computation.matrix_of(s).index()].is_some();
        let new = match computation.commands[c] {
            Command::Allocate { matrix } | Command::Deallocate { matrix } if is_placed(matrix) => {
                Command::NoOp
            }
            Command::Swap { first, second } => match (is_placed(first), is_placed(second)) {
                (true, true) => Command::NoOp,
                (true, false) => Command::Deallocate { matrix: second },
                (false, true) => Command::Allocate { matrix: first },
                (false, false) => continue,
            },
            _ => continue,
        };
        computation.commands[c] = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::compile;
    use crate::lower::tests::networks::STACKED;
    use crate::lower::tests::nnet_and_request;
    use crate::optimize::{OptimizeOptions, optimize};

    fn training() -> (Nnet, Computation) {
        let (nnet, request) = nnet_and_request(STACKED, 3, 5);
        let mut computation = compile(&nnet, std::slice::from_ref(&request)).unwrap();
        optimize(&OptimizeOptions::default(), &nnet, 4, &mut computation).unwrap();
        (nnet, computation)
    }

    fn stacks(nnet: &Nnet, computation: &Computation) -> Vec<(usize, usize, usize)> {
        let lives = lives(computation).unwrap();
        let stacks = Search::new(nnet, computation, &lives).stacks();
        stacks.iter().map(|stack| (stack.first_column, stack.width, stack.blocks.len())).collect()
    }

    #[test]
    fn stacks_take_the_place_of_copies() {
        let (nnet, computation) = training();
        assert_eq!(stacks(&nnet, &computation), [(0, 20, 5), (4, 8, 5)]);
        let joined = run(&nnet, &computation).unwrap().unwrap();
        crate::check::check(&nnet, &joined, Default::default()).unwrap();
        let count = |c: &Computation| {
            c.commands.iter().filter(|command| matches!(command, Command::Copy { .. })).count()
        };
        assert_eq!(count(&joined) + 10, count(&computation));
        assert!(joined.peak_bytes() <= computation.peak_bytes());
        assert!(run(&nnet, &joined).unwrap().is_none());
    }

    /// Each of these commands would see, or spoil, rows that lie in the stack now.
    #[test]
    fn nobody_notices() {
        let (nnet, computation) = training();
        let is_part = |s: &SubmatrixId, cols: usize, of: usize| {
            let part = computation.submatrix(*s);
            part.cols == cols && computation.matrix(part.matrix).cols == of
        };
        let copies: Vec<(usize, SubmatrixId, SubmatrixId)> = (0..computation.commands.len())
            .filter_map(|c| match computation.commands[c] {
                Command::Copy { dest, src, .. } if is_part(&src, 16, 20) && is_part(&dest, 16, 16) => {
                    Some((c, dest, src))
                }
                _ => None,
            })
            .collect();
        let (copy, dest, source) = copies[2];
        let with = |at: usize, command: &dyn Fn(&mut Computation) -> Command| {
            let mut changed = computation.clone();
            let command = command(&mut changed);
            changed.commands.insert(at, command);
            stacks(&nnet, &changed).len()
        };
        let part = |c: &mut Computation, of: SubmatrixId, row: usize, columns: std::ops::Range<usize>| {
            let Submatrix { matrix, .. } = *c.submatrix(of);
            let cols = columns.len();
            c.submatrices.push(Submatrix {
                matrix,
                row_offset: row,
                rows: 1,
                col_offset: columns.start,
                cols,
            });
            SubmatrixId::from(c.submatrices.len() - 1)
        };
        let set = |of, row, columns: std::ops::Range<usize>| {
            move |c: &mut Computation| Command::SetConst {
                dest: part(c, of, row, columns.clone()),
                value: 1.0,
            }
        };
        // A row of the step changes after it was copied; a column that is no part of the stack may.
        assert_eq!([with(copy + 1, &set(source, 1, 3..5)), with(copy + 1, &set(source, 1, 16..20))], [1, 2]);
        // A row of the stack changes after the copy.
        assert_eq!(with(copy + 1, &set(dest, 2, 0..3)), 1);
        // Before all copies the stack may be set, but not read.
        assert_eq!(with(copies[0].0, &set(dest, 2, 0..3)), 2);
        let reads = |c: &mut Computation| Command::Copy {
            dest: c.new_matrix(1, 16, false),
            src: part(c, dest, 2, 0..16),
            alpha: 1.0,
        };
        assert_eq!([with(copies[0].0, &reads), with(copy + 1, &reads)], [1, 1]);
        // A row more is missing.
        let mut shorter = computation.clone();
        shorter.commands[copy] = Command::NoOp;
        assert_eq!(stacks(&nnet, &shorter).len(), 1);
    }
}
