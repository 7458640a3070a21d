//! The commands. Kaldi's argument numbers exist only in `store.rs`, where files are read and written.

use super::{IndexesId, MemoId, MultiIndexesId, PrecomputedId, RangesId, SubmatrixId};
use nnet3_base::index::{ComponentId, NodeId};

/// Form of a matrix that is kept compressed between the forward and the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Int8,
    Uint8,
    Int16,
    Uint16,
}

impl Compression {
    pub fn bytes(self) -> usize {
        match self {
            Compression::Int8 | Compression::Uint8 => 1,
            Compression::Int16 | Compression::Uint16 => 2,
        }
    }
    pub fn name(self) -> &'static str {
        match self {
            Compression::Int8 => "int8",
            Compression::Uint8 => "uint8",
            Compression::Int16 => "int16",
            Compression::Uint16 => "uint16",
        }
    }
}

/// A component's function: sets `output`, or adds to it, depending on the component's properties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagate {
    pub component: ComponentId,
    pub precomputed: Option<PrecomputedId>,
    /// `None` for components that need no input.
    pub input: Option<SubmatrixId>,
    pub output: SubmatrixId,
    /// Is kept for the backprop with the same number.
    pub memo: Option<MemoId>,
    pub store_stats: bool,
}

/// A component's derivatives: sets or adds to `in_deriv`, and changes parameters or statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backprop {
    pub component: ComponentId,
    pub precomputed: Option<PrecomputedId>,
    pub in_value: Option<SubmatrixId>,
    pub out_value: Option<SubmatrixId>,
    pub out_deriv: SubmatrixId,
    pub in_deriv: Option<SubmatrixId>,
    pub memo: Option<MemoId>,
    /// False if another, consolidated command updates the parameters.
    pub update_model: bool,
}

/// One command. "Whole" sub-matrices cover their matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// The matrix exists from here on, with undefined contents. Whole.
    Allocate {
        matrix: SubmatrixId,
    },
    /// The matrix is gone. Whole.
    Deallocate {
        matrix: SubmatrixId,
    },
    /// Exchanges the storage of two matrices of one shape, normally an unallocated one and an allocated one. Whole.
    Swap {
        first: SubmatrixId,
        second: SubmatrixId,
    },
    /// dest = value.
    SetConst {
        dest: SubmatrixId,
        value: f32,
    },
    Propagate(Propagate),
    Backprop(Backprop),
    /// dest = alpha · src; dest = src is allowed for alpha ≠ 1.
    Copy {
        dest: SubmatrixId,
        src: SubmatrixId,
        alpha: f32,
    },
    /// dest += alpha · src.
    Add {
        dest: SubmatrixId,
        src: SubmatrixId,
        alpha: f32,
    },
    /// dest.row(i) = alpha · src.row(rows\[i\]); -1: zero.
    CopyRows {
        dest: SubmatrixId,
        src: SubmatrixId,
        rows: IndexesId,
        alpha: f32,
    },
    /// dest.row(i) += alpha · src.row(rows\[i\]); -1: adds no row.
    AddRows {
        dest: SubmatrixId,
        src: SubmatrixId,
        rows: IndexesId,
        alpha: f32,
    },
    /// dest.row(i) = alpha · row rows\[i\] of any sub-matrix; none: zero.
    CopyRowsMulti {
        dest: SubmatrixId,
        rows: MultiIndexesId,
        alpha: f32,
    },
    /// Row rows\[i\] of any sub-matrix = src.row(i); without a target the row is skipped.
    CopyToRowsMulti {
        src: SubmatrixId,
        rows: MultiIndexesId,
    },
    /// dest.row(i) += alpha · row rows\[i\] of any sub-matrix.
    AddRowsMulti {
        dest: SubmatrixId,
        rows: MultiIndexesId,
        alpha: f32,
    },
    /// Row rows\[i\] of any sub-matrix += alpha · src.row(i).
    AddToRowsMulti {
        src: SubmatrixId,
        rows: MultiIndexesId,
        alpha: f32,
    },
    /// dest.row(i) += alpha · Σ src.row(j) for j in ranges\[i\].
    AddRowRanges {
        dest: SubmatrixId,
        src: SubmatrixId,
        ranges: RangesId,
        alpha: f32,
    },
    /// The matrix may be kept in a compact form until [`Command::Decompress`]. Whole.
    Compress {
        matrix: SubmatrixId,
        kind: Compression,
        truncate: bool,
        range: f32,
    },
    Decompress {
        matrix: SubmatrixId,
    },
    /// The user supplies the matrix: an input's value or an output's derivative. Whole.
    AcceptInput {
        matrix: SubmatrixId,
        node: NodeId,
    },
    /// The user may fetch the matrix: an output's value or an input's derivative. Whole.
    ProvideOutput {
        matrix: SubmatrixId,
        node: NodeId,
    },
    NoOp,
    /// Kept by every pass: marks splice points of looped computations.
    NoOpPermanent,
    /// Separates segments, and forward from backward.
    Marker,
    /// Target of a goto.
    Label,
    /// Continues after the label at this position. This can be the last command only.
    Goto {
        target: usize,
    },
}

impl Command {
    /// Calls `f` for every sub-matrix named by the command itself (not those in lists of rows).
    pub(crate) fn for_each_submatrix(&mut self, mut f: impl FnMut(&mut SubmatrixId)) {
        match self {
            Command::Allocate { matrix }
            | Command::Deallocate { matrix }
            | Command::Compress { matrix, .. }
            | Command::Decompress { matrix }
            | Command::AcceptInput { matrix, .. }
            | Command::ProvideOutput { matrix, .. } => f(matrix),
            Command::Swap { first, second } => {
                f(first);
                f(second);
            }
            Command::SetConst { dest, .. }
            | Command::CopyRowsMulti { dest, .. }
            | Command::AddRowsMulti { dest, .. } => f(dest),
            Command::CopyToRowsMulti { src, .. } | Command::AddToRowsMulti { src, .. } => f(src),
            Command::Propagate(Propagate { input, output, .. }) => {
                input.iter_mut().for_each(&mut f);
                f(output);
            }
            Command::Backprop(Backprop { in_value, out_value, out_deriv, in_deriv, .. }) => {
                in_value.iter_mut().for_each(&mut f);
                out_value.iter_mut().for_each(&mut f);
                f(out_deriv);
                in_deriv.iter_mut().for_each(&mut f);
            }
            Command::Copy { dest, src, .. }
            | Command::Add { dest, src, .. }
            | Command::CopyRows { dest, src, .. }
            | Command::AddRows { dest, src, .. }
            | Command::AddRowRanges { dest, src, .. } => {
                f(dest);
                f(src);
            }
            Command::NoOp
            | Command::NoOpPermanent
            | Command::Marker
            | Command::Label
            | Command::Goto { .. } => {}
        }
    }

    /// The sub-matrices named by the command itself.
    pub fn submatrices(&self) -> Vec<SubmatrixId> {
        let mut out = Vec::new();
        let mut copy = *self;
        copy.for_each_submatrix(|s| out.push(*s));
        out
    }
}
