//! A compiled computation: matrices, sub-matrices of them, and the commands that act on these.
//!
//! Matrix 0 and sub-matrix 0 are empty (0 × 0) and never used by a command. Commands refer to sub-matrices; those that
//! allocate, free, exchange or transfer need one that covers its whole matrix.

pub mod command;
mod memos;
pub mod print;
mod store;

pub use command::{Backprop, Command, Compression, Propagate};
pub use memos::PendingMemos;

use nnet3_base::id_type;
use nnet3_base::index::{Cindex, Index};
use nnet3_component::PrecomputedIndexes;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

id_type!(
    /// Position in [`Computation::matrices`].
    MatrixId
);
id_type!(
    /// Position in [`Computation::submatrices`].
    SubmatrixId
);
id_type!(
    /// Position in [`Computation::indexes`].
    IndexesId
);
id_type!(
    /// Position in [`Computation::multi_indexes`].
    MultiIndexesId
);
id_type!(
    /// Position in [`Computation::ranges`].
    RangesId
);
id_type!(
    /// Position in [`Computation::precomputed`]; 0 is the null entry.
    PrecomputedId
);
id_type!(
    /// Names the memo that a propagate leaves for its backprop; counted from 1.
    MemoId
);

/// The shape of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixInfo {
    pub rows: usize,
    pub cols: usize,
    /// Rows must follow each other without gaps.
    pub contiguous: bool,
}

impl MatrixInfo {
    pub fn bytes(&self) -> usize {
        4 * self.rows * self.cols
    }
}

/// The cindexes that the rows of a matrix stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MatrixDebugInfo {
    pub is_deriv: bool,
    pub cindexes: Vec<Cindex>,
}

/// A rectangle of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submatrix {
    pub matrix: MatrixId,
    pub row_offset: usize,
    pub rows: usize,
    pub col_offset: usize,
    pub cols: usize,
}

/// Hashes the fields that differ most often.
impl Hash for Submatrix {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ((self.matrix.0 as u64) << 32 | self.row_offset as u32 as u64).hash(state);
        ((self.rows as u64) << 32 | self.col_offset as u32 as u64).hash(state);
    }
}

/// Precomputed indexes of a non-simple component, and the index lists that they came from. The lists are kept only if a
/// shortcut compilation may have to expand them.
#[derive(Clone, Default)]
pub struct Precomputed {
    pub data: Option<Arc<dyn PrecomputedIndexes>>,
    pub input_indexes: Vec<Index>,
    pub output_indexes: Vec<Index>,
}

impl fmt::Debug for Precomputed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.data)
    }
}

/// A row of a sub-matrix; `None` in a list means "no row".
pub type RowOf = Option<(SubmatrixId, u32)>;

/// The compiled form of a request. See the module's conventions.
#[derive(Clone, Debug, Default)]
pub struct Computation {
    pub matrices: Vec<MatrixInfo>,
    /// Empty, or one for each matrix.
    pub debug_info: Vec<MatrixDebugInfo>,
    pub submatrices: Vec<Submatrix>,
    /// Entry 0 is null.
    pub precomputed: Vec<Precomputed>,
    /// Row numbers of a source, -1 for none. Programs share them.
    pub indexes: Vec<Arc<Vec<i32>>>,
    pub multi_indexes: Vec<Vec<RowOf>>,
    /// First and one-past-last row of a source; (-1, -1) for none.
    pub ranges: Vec<Vec<(i32, i32)>>,
    pub commands: Vec<Command>,
    pub need_model_derivative: bool,
}

impl Computation {
    /// Makes a computation that has the empty matrix and the empty sub-matrix only.
    pub fn new() -> Computation {
        Computation {
            matrices: vec![MatrixInfo { rows: 0, cols: 0, contiguous: false }],
            submatrices: vec![Submatrix {
                matrix: MatrixId(0),
                row_offset: 0,
                rows: 0,
                col_offset: 0,
                cols: 0,
            }],
            precomputed: vec![Precomputed::default()],
            ..Default::default()
        }
    }

    /// Appends a matrix and the sub-matrix that covers it. Both sizes are > 0.
    pub fn new_matrix(&mut self, rows: usize, cols: usize, contiguous: bool) -> SubmatrixId {
        assert!(rows > 0 && cols > 0);
        let matrix = MatrixId::from(self.matrices.len());
        self.matrices.push(MatrixInfo { rows, cols, contiguous });
        self.push_submatrix(Submatrix { matrix, row_offset: 0, rows, col_offset: 0, cols })
    }

    /// Appends a part of `base` with these ranges relative to it. It must be inside and not empty.
    pub fn new_submatrix(
        &mut self,
        base: SubmatrixId,
        rows: Range<usize>,
        cols: Range<usize>,
    ) -> SubmatrixId {
        let b = self.submatrices[base.index()];
        assert!(!rows.is_empty() && !cols.is_empty() && rows.end <= b.rows && cols.end <= b.cols);
        self.push_submatrix(Submatrix {
            matrix: b.matrix,
            row_offset: b.row_offset + rows.start,
            rows: rows.len(),
            col_offset: b.col_offset + cols.start,
            cols: cols.len(),
        })
    }

    fn push_submatrix(&mut self, submatrix: Submatrix) -> SubmatrixId {
        self.submatrices.push(submatrix);
        SubmatrixId::from(self.submatrices.len() - 1)
    }

    pub(crate) fn new_indexes(&mut self, indexes: Vec<i32>) -> IndexesId {
        self.indexes.push(Arc::new(indexes));
        IndexesId::from(self.indexes.len() - 1)
    }
    pub fn new_multi_indexes(&mut self, indexes: Vec<RowOf>) -> MultiIndexesId {
        self.multi_indexes.push(indexes);
        MultiIndexesId::from(self.multi_indexes.len() - 1)
    }
    pub(crate) fn new_ranges(&mut self, ranges: Vec<(i32, i32)>) -> RangesId {
        self.ranges.push(ranges);
        RangesId::from(self.ranges.len() - 1)
    }

    /// Calls `f` for each sub-matrix in a list of rows, once (unless they alternate).
    pub(crate) fn for_each_source(&self, rows: MultiIndexesId, mut f: impl FnMut(SubmatrixId)) {
        let mut last = None;
        for &(s, _) in self.multi_indexes[rows.index()].iter().flatten() {
            if last.replace(s) != Some(s) {
                f(s);
            }
        }
    }

    #[inline]
    pub fn submatrix(&self, id: SubmatrixId) -> &Submatrix {
        &self.submatrices[id.index()]
    }
    #[inline]
    pub fn matrix(&self, id: MatrixId) -> &MatrixInfo {
        &self.matrices[id.index()]
    }
    /// The matrix that a sub-matrix is part of.
    #[inline]
    pub fn matrix_of(&self, id: SubmatrixId) -> MatrixId {
        self.submatrix(id).matrix
    }

    /// True if the sub-matrix covers its whole matrix.
    #[inline]
    pub fn is_whole(&self, id: SubmatrixId) -> bool {
        let s = self.submatrix(id);
        let m = self.matrix(s.matrix);
        s.row_offset == 0 && s.col_offset == 0 && s.rows == m.rows && s.cols == m.cols
    }

    /// For each matrix a sub-matrix that covers it, if there is one.
    pub fn whole_submatrices(&self) -> Vec<Option<SubmatrixId>> {
        let mut whole = vec![None; self.matrices.len()];
        for i in 1..self.submatrices.len() {
            let id = SubmatrixId::from(i);
            let slot = &mut whole[self.matrix_of(id).index()];
            if slot.is_none() && self.is_whole(id) {
                *slot = Some(id);
            }
        }
        whole
    }

    /// True if the computation ends by jumping back.
    pub(crate) fn is_looped(&self) -> bool {
        matches!(self.commands.last(), Some(Command::Goto { .. }))
    }

    /// The largest sum of the sizes of matrices allocated at one time, in bytes: the reference's measure (memory
    /// compression counts as if it were done).
    pub fn peak_bytes(&self) -> usize {
        let (mut now, mut peak) = (0i64, 0i64);
        let size = |s: SubmatrixId| self.matrix(self.matrix_of(s)).bytes() as i64;
        let saved = |s: SubmatrixId, kind: Compression| size(s) - size(s) / 4 * kind.bytes() as i64;
        for command in &self.commands {
            now += match *command {
                Command::Allocate { matrix } | Command::AcceptInput { matrix, .. } => size(matrix),
                Command::Deallocate { matrix } => -size(matrix),
                Command::Compress { matrix, kind, .. } => -saved(matrix, kind),
                Command::Decompress { matrix } => {
                    let kind = self.commands.iter().find_map(|c| match c {
                        Command::Compress { matrix: m, kind, .. } if *m == matrix => Some(*kind),
                        _ => None,
                    });
                    kind.map_or(0, |kind| saved(matrix, kind))
                }
                _ => 0,
            };
            peak = peak.max(now);
        }
        peak as usize
    }
}
