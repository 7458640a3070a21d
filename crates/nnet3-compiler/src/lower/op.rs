//! The operations that the executor runs, one after the other.

use crate::computation::{self, Command, IndexesId, MatrixId, PrecomputedId, SubmatrixId};
use nnet3_base::index::{ComponentId, NodeId};
use nnet3_component::winograd::{Filter, Taps};
use std::ops::Range;
use std::sync::Arc;

/// One operation. Its sub-matrices are those of the computation and, from the number of these on, the parts of
/// [`super::Lowered`].
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// No-op. The plan fixes the sizes of matrices, so commands that allocate, free, compress or label become this.
    Nothing,
    /// Does the same as the command, which exchanges, sets, copies or adds matrices or rows, or is a marker. A marker
    /// belongs to the exchange before or after it.
    Command(Command),
    /// Goes on with the operation at this position.
    Goto {
        target: usize,
    },
    Propagate(Propagate),
    Backprop(Backprop),
    Affine(Affine),
    InputDerivative(InputDerivative),
    Filter(FilterProduct),
    PickedPropagate(PickedPropagate),
    PickedBackprop(PickedBackprop),
    Step(Step),
    StepsUpdate(StepsUpdate),
    Share(Share),
    /// dest = these rows of a share.
    CopyShare {
        share: usize,
        rows: Range<usize>,
        dest: SubmatrixId,
        /// True if this is the last use of the share.
        last: bool,
    },
    Blocks(Blocks),
    SumRows(SumRows),
    NormalizedSum(NormalizedSum),
    NormalizedBackprop(NormalizedBackprop),
    Ordered(Ordered),
}

/// The way in which a component's value or derivative reaches its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Sets or adds, depending on the component's properties.
    Ordinary,
    /// Sets it, although the component otherwise adds to it.
    Sets,
    /// The matrix between an extraction of statistics and their pooling holds sums over these windows, not the statistics of
    /// frames (see [`nnet3_component::summed`]). Destinations are set.
    Summed { windows: PrecomputedId },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagate {
    pub args: computation::Propagate,
    pub mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backprop {
    pub args: computation::Backprop,
    pub mode: Mode,
    /// The structure of an affine component's input, if it is one matrix at several times.
    pub taps: Option<Taps>,
}

/// output = input · linearᵀ + bias, or output += input · linearᵀ, with some columns of an affine component's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Affine {
    pub component: ComponentId,
    /// The columns of the component's input that `input` has; it has no others.
    pub columns: Range<usize>,
    pub input: SubmatrixId,
    pub output: SubmatrixId,
    /// If true, the product is added to the output, which already contains the bias.
    pub adds: bool,
}

/// in_deriv = out_deriv · linear, or in_deriv += out_deriv · linear, with some columns of an affine component's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct InputDerivative {
    pub component: ComponentId,
    /// The columns of the component's input that `in_deriv` has; it has no others.
    pub columns: Range<usize>,
    pub out_deriv: SubmatrixId,
    pub in_deriv: SubmatrixId,
    /// Number of the lists in [`super::Lowered::row_lists`]: for each row of `in_deriv` the row of the product. Without it the
    /// order is the same.
    pub rows: Option<usize>,
    pub adds: bool,
}

/// The propagate of an affine component that reads its input from `sources`: the rows of one matrix at several times.
/// No command copies them side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterProduct {
    pub component: ComponentId,
    pub filter: Filter,
    pub sources: Vec<SubmatrixId>,
    pub output: SubmatrixId,
}

/// Columns of an affine component's input that are rows of the input of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct PickedTerm {
    pub columns: Range<usize>,
    /// For each row, the row of the node's input; -1 for zeros.
    pub rows: Vec<i32>,
}

/// The propagate of an affine component whose input is made of rows of a node's input. These are picked from a table; the executor has the
/// table and the numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct PickedPropagate {
    pub component: ComponentId,
    pub node: NodeId,
    /// Together they have the columns of the component's input, in order.
    pub terms: Arc<[PickedTerm]>,
    pub output: SubmatrixId,
}

/// The backprop of such a component. The executor keeps the derivative of the table; that of the node's input is not
/// written.
#[derive(Clone, Debug, PartialEq)]
pub struct PickedBackprop {
    pub args: computation::Backprop,
    pub node: NodeId,
    pub terms: Arc<[PickedTerm]>,
}

/// A backprop of some of the rows of a later update (see [`nnet3_component::Stepwise`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    pub args: computation::Backprop,
    /// The position of the update's command.
    pub update: usize,
    /// In the first step of the update to run, the number of the update's rows.
    pub begins: Option<usize>,
    /// True if it also collects the update.
    pub collects: bool,
}

/// The update after its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepsUpdate {
    pub args: computation::Backprop,
    /// True if the steps have collected it; it reads no matrices then.
    pub collected: bool,
}

/// Takes memory for a share of products to come, and works it out: source · linearᵀ + bias, with these columns of an affine
/// component's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    pub share: usize,
    pub component: ComponentId,
    pub columns: Range<usize>,
    pub source: SubmatrixId,
}

/// Commands that set, copy to and add to parts of one matrix from others. All commands run for some rows of the matrix,
/// then for the next ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    pub matrix: MatrixId,
    /// Rows at a time.
    pub rows: usize,
    pub commands: Vec<Command>,
}

/// Each row of dest = alpha times the sum of the rows of src in its list; added if `adds`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumRows {
    pub dest: SubmatrixId,
    pub src: SubmatrixId,
    pub alpha: f32,
    /// Number of the lists in [`super::Lowered::row_lists`].
    pub lists: usize,
    pub adds: bool,
}

/// Maybe a rectification, a normalisation, maybe masks, and maybe the sum of the result and another matrix (a bypass), in one
/// pass. Only the last result is written, and that of the normalisation if an operation needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalizedSum {
    /// Works in place.
    pub relu: Option<Part>,
    pub normalize: Part,
    pub masks: Option<Part>,
    pub bypass: Option<Bypass>,
    /// True if the output of the normalisation, which is not the last result, is written.
    pub keeps_values: bool,
    /// The last result.
    pub dest: SubmatrixId,
}

/// A sum with another matrix, as a part of a [`NormalizedSum`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bypass {
    /// Sets the sum to a multiple of the other matrix or of its rows.
    pub copy: Command,
    /// Adds the output of the masks, or of the normalisation.
    pub add: Command,
}

/// The way back through masks, a normalisation and a rectification, in one pass after sums over rows. The derivatives between them
/// are not written. The input of the normalisation is read, before or after its rectification, and not its output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalizedBackprop {
    /// Sets another matrix to a multiple of the derivative: that of a bypass.
    pub copy: Option<Command>,
    pub masks: Option<PartBack>,
    pub normalize: PartBack,
    pub relu: PartBack,
}

/// Steps of an output in the order of its rows in the request: the narrow input of its affine component is put into that order, not the
/// wide output. `rows` are the numbers of rows of the output before, in the request's order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ordered {
    /// The propagates, and the copy of rows to the output.
    Propagate {
        affine: computation::Propagate,
        log_softmax: Option<computation::Propagate>,
        copy: Command,
        /// The place of the input in the request's order.
        input: SubmatrixId,
    },
    /// The backprop of the log-softmax, with the output in place of `args.out_value`.
    LogSoftmaxBackprop {
        /// Would bring the derivative into the order of the computation.
        copy: Command,
        args: computation::Backprop,
        output: SubmatrixId,
        rows: IndexesId,
    },
    /// The backprop of the affine component. Its derivative is that of the copy's source, or is in the request's order already.
    AffineBackprop {
        copy: Option<Command>,
        args: computation::Backprop,
        rows: IndexesId,
        /// The numbers of rows in the request's order, in the order of the computation.
        back: IndexesId,
        /// The places of the input and of its derivative in the request's order.
        input: SubmatrixId,
        in_deriv: Option<SubmatrixId>,
    },
}

/// A propagate as a part of another operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The position of the command, which has the memo.
    pub command: usize,
    pub args: computation::Propagate,
}

/// A backprop as a part of another operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartBack {
    /// The position of the command, which has the memo.
    pub command: usize,
    pub args: computation::Backprop,
}

impl NormalizedSum {
    /// The propagates, in order.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.relu.into_iter().chain([self.normalize]).chain(self.masks)
    }
}

impl NormalizedBackprop {
    /// The backprops, in order.
    pub fn parts(&self) -> impl Iterator<Item = PartBack> {
        self.masks.into_iter().chain([self.normalize, self.relu])
    }

    /// The derivative that is read.
    pub fn out_deriv(&self) -> SubmatrixId {
        self.masks.unwrap_or(self.normalize).args.out_deriv
    }
}

impl Op {
    /// True if it belongs to an exchange with the user.
    pub fn waits(&self) -> bool {
        self.is_exchange() || *self == Op::Command(Command::Marker)
    }

    /// True if its work may differ in the next run: statistics are stored only sometimes, and updates depend on
    /// learning rates and on earlier statistics.
    pub fn varies(&self) -> bool {
        match self {
            Op::Propagate(propagate) => propagate.args.store_stats,
            Op::Backprop(Backprop { args, .. }) | Op::PickedBackprop(PickedBackprop { args, .. }) => {
                args.update_model
            }
            Op::NormalizedSum(sum) => sum.parts().any(|part| part.args.store_stats),
            Op::NormalizedBackprop(back) => back.relu.args.update_model,
            Op::Step(_) | Op::StepsUpdate(_) => true,
            Op::Ordered(Ordered::LogSoftmaxBackprop { args, .. } | Ordered::AffineBackprop { args, .. }) => {
                args.update_model
            }
            _ => false,
        }
    }

    /// True if the user supplies or fetches a matrix.
    pub fn is_exchange(&self) -> bool {
        matches!(self, Op::Command(Command::AcceptInput { .. } | Command::ProvideOutput { .. }))
    }
}
