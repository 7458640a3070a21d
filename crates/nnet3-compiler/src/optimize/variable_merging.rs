//! Merges two matrices if one is copied to the other or an operation could work in place.

use super::options::OptimizeOptions;
use super::renumber;
use crate::analysis::{Analysis, CommandAccesses, Life, SubmatricesByMatrix, is_zeroing, lives};
use crate::computation::{Backprop, Command, Computation, MatrixId, Propagate, Submatrix, SubmatrixId};
use nnet3_base::error::Result;
use nnet3_component::Properties;
use nnet3_network::Nnet;

/// Merges in rounds, each with a fresh analysis, until a round merges no pair. A pair that was refused is tried again
/// only if a merge has changed one of its two matrices: the decision depends on these alone.
pub fn run(options: &OptimizeOptions, nnet: &Nnet, computation: &mut Computation) -> Result<()> {
    let mut changed = vec![true; computation.matrices.len()];
    // Merges rename sub-matrices and turn commands into no-ops. They change no other accesses.
    let accesses = CommandAccesses::new(nnet, computation);
    let mut merged = false;
    loop {
        changed = round(options, nnet, computation, &accesses, &changed)?;
        if !changed.contains(&true) {
            break;
        }
        merged = true;
    }
    if merged {
        renumber::remove_no_ops(computation);
        renumber::run(computation)?;
    }
    Ok(())
}

/// A read and a written sub-matrix that a command would let be the same.
fn candidate(
    options: &OptimizeOptions,
    nnet: &Nnet,
    command: &Command,
) -> Option<(SubmatrixId, SubmatrixId)> {
    match *command {
        Command::Copy { dest, src, .. } => options.remove_assignments.then_some((src, dest)),
        Command::Propagate(Propagate { component, input, output, .. }) => {
            let may = nnet.component(component).properties().contains(Properties::PROPAGATE_IN_PLACE);
            (options.propagate_in_place && may).then_some((input?, output))
        }
        Command::Backprop(Backprop { component, in_value, out_value, out_deriv, in_deriv, .. }) => {
            let may = nnet.component(component).properties().contains(Properties::BACKPROP_IN_PLACE);
            let values = [in_value, out_value];
            let apart = !values.contains(&Some(out_deriv)) && !values.contains(&in_deriv);
            (options.backprop_in_place && may).then_some((out_deriv, in_deriv?)).filter(|_| apart)
        }
        _ => None,
    }
}

/// One round for the candidates with a matrix that is marked. Returns which matrices have taken in another. Every variable
/// takes part in at most one merge, because the analysis describes the state before the first.
fn round(
    options: &OptimizeOptions,
    nnet: &Nnet,
    computation: &mut Computation,
    accesses: &CommandAccesses,
    marked: &[bool],
) -> Result<Vec<bool>> {
    let lives = lives(computation)?;
    let mut concerned = vec![false; computation.matrices.len()];
    let mut list: Vec<(usize, SubmatrixId, SubmatrixId)> = Vec::new();
    for (c, command) in computation.commands.iter().enumerate() {
        let Some((s1, s2)) = candidate(options, nnet, command) else {
            continue;
        };
        let (m1, m2) = (computation.matrix_of(s1).index(), computation.matrix_of(s2).index());
        if (marked[m1] || marked[m2]) && which_to_keep(options, computation, &lives, s1, s2).is_some() {
            list.push((c, s1, s2));
            (concerned[m1], concerned[m2]) = (true, true);
        }
    }
    let mut grown = vec![false; computation.matrices.len()];
    if list.is_empty() {
        return Ok(grown);
    }
    let analysis = Analysis::of_matrices(computation, accesses, &concerned, lives);
    let is_concerned = |s| concerned[computation.matrix_of(s).index()];
    let by_matrix = SubmatricesByMatrix::new(computation, is_concerned);
    let changed = vec![false; analysis.variables.count()];
    let mut merger = Merger { options, computation, analysis, by_matrix, changed };
    for (c, s1, s2) in list {
        if let Some((keep, discard)) = merger.choose(c, s1, s2) {
            grown[merger.computation.matrix_of(keep).index()] = true;
            merger.merge(c, keep, discard);
        }
    }
    Ok(grown)
}

/// Returns the sub-matrix to keep and the one to discard, if shapes and exchanges with the user let `s1` and `s2` be
/// one. Other merges never make a refused pair possible.
fn which_to_keep(
    options: &OptimizeOptions,
    computation: &Computation,
    lives: &[Life],
    s1: SubmatrixId,
    s2: SubmatrixId,
) -> Option<(SubmatrixId, SubmatrixId)> {
    let (m1, m2) = (computation.matrix_of(s1), computation.matrix_of(s2));
    let (life1, life2) = (&lives[m1.index()], &lives[m2.index()]);
    if m1 == m2 || (life1.is_input && life2.is_input) || (life1.is_output && life2.is_output) {
        return None;
    }
    let (whole1, whole2) = (computation.is_whole(s1), computation.is_whole(s2));
    let exchanged = life1.is_input || life1.is_output || life2.is_input || life2.is_output;
    if exchanged && !(whole1 && whole2) {
        return None;
    }
    let contiguous = |m| computation.matrix(m).contiguous;
    if options.allow_left_merge && whole2 && (whole1 || !contiguous(m2)) {
        Some((s1, s2))
    } else if options.allow_right_merge && whole1 && (whole2 || !contiguous(m1)) {
        Some((s2, s1))
    } else {
        None
    }
}

struct Merger<'a> {
    options: &'a OptimizeOptions,
    computation: &'a mut Computation,
    analysis: Analysis,
    /// Sub-matrices of each matrix, before the round.
    by_matrix: SubmatricesByMatrix,
    /// Variables that a merge of this round has touched.
    changed: Vec<bool>,
}

impl Merger<'_> {
    /// Returns the sub-matrix to keep and the one to discard, if `s1`, read by command `c`, and `s2`, written by it,
    /// can be one.
    fn choose(&self, c: usize, s1: SubmatrixId, s2: SubmatrixId) -> Option<(SubmatrixId, SubmatrixId)> {
        let Merger { computation, analysis, .. } = self;
        let untouched = |s| analysis.variables.of(s).all(|v| !self.changed[v]);
        if !untouched(s1) || !untouched(s2) {
            return None;
        }
        let chosen = which_to_keep(self.options, computation, &analysis.lives, s1, s2)?;
        self.lives_fit(c, s1, s2).then_some(chosen)
    }

    fn lives_fit(&self, c: usize, s1: SubmatrixId, s2: SubmatrixId) -> bool {
        let Merger { computation, analysis, .. } = self;
        if analysis.first_nontrivial_access(s2) != Some(c) {
            return false;
        }
        match computation.commands[c] {
            Command::Copy { alpha: 1.0, .. } => {
                analysis.last_write_access(computation, s1).is_none_or(|last| last < c)
                    && analysis
                        .last_access(s1)
                        .is_none_or(|last| last < analysis.data_invalidated(computation, c, s2))
            }
            _ => analysis.last_access(s1) == Some(c),
        }
    }

    /// Makes all of the discarded matrix be `keep`.
    fn merge(&mut self, c: usize, keep: SubmatrixId, discard: SubmatrixId) {
        for s in [keep, discard] {
            self.analysis.variables.of(s).for_each(|v| self.changed[v] = true);
        }
        let (kept, discarded) = (self.computation.matrix_of(keep), self.computation.matrix_of(discard));
        let base = *self.computation.submatrix(keep);
        for s in self.by_matrix.of(discarded) {
            let s = &mut self.computation.submatrices[s.index()];
            *s = Submatrix {
                matrix: kept,
                row_offset: s.row_offset + base.row_offset,
                col_offset: s.col_offset + base.col_offset,
                ..*s
            };
        }
        // A scaled copy remains, as scaling in place.
        if let Command::Copy { alpha: 1.0, .. } = self.computation.commands[c] {
            self.computation.commands[c] = Command::NoOp;
        }
        let contiguous = self.computation.matrix(discarded).contiguous;
        self.computation.matrices[kept.index()].contiguous |= contiguous;
        self.remove_sizing(kept, discarded);
    }

    /// One allocation and one deallocation remain.
    fn remove_sizing(&mut self, kept: MatrixId, discarded: MatrixId) {
        let lives = &self.analysis.lives;
        let commands = &mut self.computation.commands;
        let deallocate = lives[discarded.index()].deallocate.or(lives[kept.index()].deallocate);
        // The position at which the user supplies a matrix matters.
        let is_supplied = |m: MatrixId| {
            let allocate = lives[m.index()].allocate;
            allocate.is_some_and(|c| matches!(commands[c], Command::AcceptInput { .. }))
        };
        let unallocated = if is_supplied(discarded) { kept } else { discarded };
        let zeroing = self.analysis.first_matrix_access(unallocated);
        let zeroing = zeroing.filter(|&c| is_zeroing(&commands[c]));
        for c in [deallocate, lives[unallocated.index()].allocate, zeroing].into_iter().flatten() {
            commands[c] = Command::NoOp;
        }
    }
}
