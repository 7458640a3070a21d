//! Matrices of symbols.

use crate::computation::{Backprop, Command, Computation, MatrixId, Propagate, SubmatrixId};
use nnet3_component::summed::is_pooling;
use nnet3_network::Nnet;
use std::collections::BTreeSet;
use std::ops::Range;

/// Elements of a row that are always treated alike have one symbol: a number that stands for their values. Symbols are added
/// and scaled as values are, modulo 2^64.
pub type Symbol = u64;

/// A number that depends on both, and looks random.
pub fn mix(a: u64, b: u64) -> Symbol {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(0x2545_f491_4f6c_dd1d).rotate_left(27);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns the symbol for a multiplication by `alpha`.
pub fn factor(alpha: f32) -> Symbol {
    if alpha == 1.0 { 1 } else { mix(u64::from(alpha.to_bits()), 1) | 1 }
}

/// One storage: that of a matrix, or of several that pass it on by swaps.
struct Storage {
    /// First columns of the pieces, and at the end the number of columns.
    cuts: Vec<usize>,
    /// The symbols by row, then by piece; `None` if unwritten.
    symbols: Vec<Option<Symbol>>,
    has_memory: bool,
}

/// The symbols of all matrices.
pub struct Memory<'a> {
    computation: &'a Computation,
    /// The storage of each matrix.
    storage_of: Vec<usize>,
    storages: Vec<Storage>,
}

/// A sub-matrix in terms of symbols.
#[derive(Clone)]
pub struct Cells {
    id: SubmatrixId,
    storage: usize,
    first_row: usize,
    pub rows: usize,
    pieces: Range<usize>,
    /// First column of each piece, from the first column of the sub-matrix on.
    pub starts: Vec<usize>,
    stride: usize,
}

impl<'a> Memory<'a> {
    /// `computation` has all sub-matrices that operations name. Operations copy between `links`, besides the commands.
    pub fn new(
        nnet: &Nnet,
        computation: &'a Computation,
        links: &[(SubmatrixId, SubmatrixId)],
    ) -> Memory<'a> {
        let storage_of = storages(computation);
        let cuts = cuts(nnet, computation, &storage_of, links);
        let storages = cuts
            .into_iter()
            .zip(&computation.matrices)
            .map(|(cuts, matrix)| {
                let cuts: Vec<usize> = cuts.into_iter().collect();
                let symbols = vec![None; matrix.rows * cuts.len().saturating_sub(1)];
                Storage { cuts, symbols, has_memory: computation.is_looped() }
            })
            .collect();
        Memory { computation, storage_of, storages }
    }

    /// From now on the matrix has memory of unknown contents, or none.
    pub(crate) fn set_memory(&mut self, s: SubmatrixId, has_memory: bool) {
        let storage = &mut self.storages[self.storage_of[self.computation.matrix_of(s).index()]];
        storage.has_memory = has_memory;
        storage.symbols.fill(None);
    }

    pub fn cells(&self, id: SubmatrixId) -> Cells {
        let s = self.computation.submatrix(id);
        let storage = self.storage_of[s.matrix.index()];
        let cuts = &self.storages[storage].cuts;
        let position = |column: usize| cuts.partition_point(|&cut| cut < column);
        let pieces = position(s.col_offset)..position(s.col_offset + s.cols);
        let starts = cuts[pieces.clone()].iter().map(|&cut| cut - s.col_offset).collect();
        let stride = cuts.len() - 1;
        Cells { id, storage, first_row: s.row_offset, rows: s.rows, pieces, starts, stride }
    }

    fn position(&self, cells: &Cells, i: usize, k: usize) -> Result<usize, String> {
        match self.storages[cells.storage].has_memory {
            true => Ok((cells.first_row + i) * cells.stride + cells.pieces.start + k),
            false => Err(format!("{} has no memory", self.name(cells.id))),
        }
    }

    /// The symbol of piece `k` in row `i`; an error if it is unwritten.
    pub fn read(&self, cells: &Cells, i: usize, k: usize) -> Result<Symbol, String> {
        let found = self.storages[cells.storage].symbols[self.position(cells, i, k)?];
        found.ok_or_else(|| {
            format!("row {i}, column {} of {} has not been written", cells.starts[k], self.name(cells.id))
        })
    }

    pub fn write(&mut self, cells: &Cells, i: usize, k: usize, symbol: Symbol) -> Result<(), String> {
        let position = self.position(cells, i, k)?;
        self.storages[cells.storage].symbols[position] = Some(symbol);
        Ok(())
    }

    /// The contents become unknown.
    pub fn forget(&mut self, id: SubmatrixId) -> Result<(), String> {
        let cells = self.cells(id);
        for i in 0..cells.rows {
            for k in 0..cells.starts.len() {
                let position = self.position(&cells, i, k)?;
                self.storages[cells.storage].symbols[position] = None;
            }
        }
        Ok(())
    }

    pub fn add(&mut self, cells: &Cells, i: usize, k: usize, symbol: Symbol) -> Result<(), String> {
        let old = self.read(cells, i, k)?;
        self.write(cells, i, k, old.wrapping_add(symbol))
    }

    fn name(&self, id: SubmatrixId) -> String {
        crate::computation::print::submatrix(self.computation, id)
    }
}

/// The storage of each matrix. In a loop each has its own.
fn storages(computation: &Computation) -> Vec<usize> {
    let mut of: Vec<usize> = (0..computation.matrices.len()).collect();
    if !computation.is_looped() {
        for command in &computation.commands {
            if let Command::Swap { first, second } = *command {
                let [a, b] = [first, second].map(|s| of[computation.matrix_of(s).index()]);
                of.iter_mut().filter(|storage| **storage == a).for_each(|storage| *storage = b);
            }
        }
    }
    of
}

/// For each storage, where columns have to be told apart: at the ends of sub-matrices, and where copies bring such ends
/// to.
fn cuts(
    nnet: &Nnet,
    computation: &Computation,
    storage_of: &[usize],
    further: &[(SubmatrixId, SubmatrixId)],
) -> Vec<BTreeSet<usize>> {
    let mut cuts = vec![BTreeSet::new(); computation.matrices.len()];
    let of = |m: MatrixId| storage_of[m.index()];
    for s in &computation.submatrices {
        cuts[of(s.matrix)].extend([s.col_offset, s.col_offset + s.cols]);
    }
    let mut links = BTreeSet::new();
    let mut counts = Vec::new();
    let mut link = |a: SubmatrixId, b: SubmatrixId| {
        let [a, b] = [a, b].map(|s| computation.submatrix(s));
        let ends = [(of(a.matrix), a.col_offset), (of(b.matrix), b.col_offset)];
        if ends[0] != ends[1] {
            links.insert((ends, a.cols));
        }
    };
    further.iter().for_each(|&(a, b)| link(a, b));
    for command in &computation.commands {
        let mut cut_counts = |s: Option<SubmatrixId>| counts.extend(s);
        match *command {
            Command::Copy { dest, src, .. }
            | Command::Add { dest, src, .. }
            | Command::CopyRows { dest, src, .. }
            | Command::AddRows { dest, src, .. }
            | Command::AddRowRanges { dest, src, .. } => link(src, dest),
            Command::Swap { first, second } => link(second, first),
            Command::CopyRowsMulti { dest: s, rows, .. }
            | Command::AddRowsMulti { dest: s, rows, .. }
            | Command::CopyToRowsMulti { src: s, rows }
            | Command::AddToRowsMulti { src: s, rows, .. } => {
                computation.for_each_source(rows, |other| link(other, s))
            }
            // The first column of statistics has the counts.
            Command::Propagate(Propagate { component, input, .. })
                if is_pooling(nnet.component(component)) =>
            {
                cut_counts(input);
            }
            Command::Backprop(Backprop { component, in_value, in_deriv, .. })
                if is_pooling(nnet.component(component)) =>
            {
                cut_counts(in_value);
                cut_counts(in_deriv);
            }
            _ => {}
        }
    }
    for s in counts.into_iter().map(|s| computation.submatrix(s)) {
        cuts[of(s.matrix)].insert(s.col_offset + 1);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &([a, b], cols) in &links {
            for ((from, start), (to, to_start)) in [(a, b), (b, a)] {
                let inside = cuts[from].range(start..start + cols).map(|cut| cut - start + to_start);
                let brought: Vec<usize> = inside.collect();
                for cut in brought {
                    changed |= cuts[to].insert(cut);
                }
            }
        }
    }
    cuts
}
