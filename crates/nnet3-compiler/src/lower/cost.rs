//! Cost estimates of operations, for people.

use super::op::{Affine, Backprop, InputDerivative, Op, Ordered, Share, Step, StepsUpdate, SumRows};
use super::{FilterProduct, Lowered, PickedBackprop, PickedPropagate};
use crate::analysis::{AccessKind, submatrix_accesses};
use crate::computation::{Command, Computation, SubmatrixId};
use crate::flops;
use nnet3_base::index::ComponentId;
use nnet3_component::Weights;
use nnet3_network::Nnet;
use std::iter::Sum;
use std::ops::Add;

/// Sums over operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of operations with an effect. Jumps and exchanges with the user do not count.
    pub operations: usize,
    /// Read and written: each matrix that an operation names once for either; of matrices in a list of rows the listed rows.
    pub bytes: u64,
    /// The floating-point operations of matrix products.
    pub flops: u64,
}

impl Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost {
            operations: self.operations + other.operations,
            bytes: self.bytes + other.bytes,
            flops: self.flops + other.flops,
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), Add::add)
    }
}

impl Cost {
    /// Returns the cost of all operations.
    pub fn of(nnet: &Nnet, computation: &Computation, lowered: &Lowered) -> Cost {
        let extended = lowered.extended(computation);
        lowered.ops.iter().map(|op| Cost::of_op(nnet, &extended, lowered, op)).sum()
    }

    /// Returns the cost of one operation of a list; `computation` is [`Lowered::extended`].
    pub fn of_op(nnet: &Nnet, computation: &Computation, lowered: &Lowered, op: &Op) -> Cost {
        let bytes = |s: SubmatrixId| {
            let s = computation.submatrix(s);
            4 * (s.rows * s.cols) as u64
        };
        let out_dim = |component: ComponentId| nnet.component(component).output_dim();
        let product = |input: SubmatrixId, component| {
            let input = computation.submatrix(input);
            2 * (input.rows * input.cols * out_dim(component)) as u64
        };
        let one = |bytes, flops| Cost { operations: 1, bytes, flops };
        match op {
            Op::Nothing | Op::Goto { .. } => Cost::default(),
            op if op.waits() => Cost::default(),
            Op::Command(command) => of_command(nnet, computation, command),
            Op::Propagate(propagate) => of_command(nnet, computation, &Command::Propagate(propagate.args)),
            Op::Backprop(backprop) => {
                let cost = of_command(nnet, computation, &Command::Backprop(backprop.args));
                Cost { flops: of_filters(nnet, computation, backprop).unwrap_or(cost.flops), ..cost }
            }
            &Op::Affine(Affine { component, input, output, adds, .. }) => {
                let times = if adds { 2 } else { 1 };
                one(bytes(input) + times * bytes(output), product(input, component))
            }
            &Op::InputDerivative(InputDerivative {
                ref columns, out_deriv, in_deriv, rows, adds, ..
            }) => {
                let deriv = computation.submatrix(out_deriv);
                let times = if adds { 2 } else { 1 } + if rows.is_some() { 2 } else { 0 };
                let flops = 2 * (deriv.rows * deriv.cols * columns.len()) as u64;
                one(bytes(out_deriv) + times * bytes(in_deriv), flops)
            }
            Op::Filter(FilterProduct { component, filter, sources, output }) => {
                let dim = computation.submatrix(sources[0]).cols;
                let flops = 2 * (filter.products() * dim * out_dim(*component)) as u64;
                one(sources.iter().map(|&source| bytes(source)).sum::<u64>() + bytes(*output), flops)
            }
            // The number of rows of the table is not known here.
            Op::PickedPropagate(PickedPropagate { component, terms, output, .. }) => {
                let elements: usize = terms.iter().map(|term| term.rows.len() * term.columns.len()).sum();
                one(2 * bytes(*output), 2 * (elements * out_dim(*component)) as u64)
            }
            Op::PickedBackprop(PickedBackprop { args, .. }) => {
                one(2 * bytes(args.out_deriv), of_command(nnet, computation, &Command::Backprop(*args)).flops)
            }
            Op::Step(Step { args, .. }) => of_command(nnet, computation, &Command::Backprop(*args)),
            Op::StepsUpdate(StepsUpdate { collected: true, .. }) => one(0, 0),
            Op::StepsUpdate(StepsUpdate { args, collected: false }) => {
                of_command(nnet, computation, &Command::Backprop(*args))
            }
            &Op::Share(Share { component, source, .. }) => {
                let share = 4 * (computation.submatrix(source).rows * out_dim(component)) as u64;
                one(bytes(source) + share, product(source, component))
            }
            &Op::CopyShare { dest, .. } => one(2 * bytes(dest), 0),
            &Op::SumRows(SumRows { dest, lists, adds, .. }) => {
                let rows = lowered.row_lists[lists].iter().map(<[i32]>::len).sum::<usize>();
                let read = 4 * (rows * computation.submatrix(dest).cols) as u64;
                one(read + if adds { 2 } else { 1 } * bytes(dest), 0)
            }
            Op::NormalizedSum(sum) => {
                let first = sum.relu.unwrap_or(sum.normalize).args;
                let values = if sum.keeps_values { bytes(sum.normalize.args.output) } else { 0 };
                // The other term has as many rows as are read.
                let other = if sum.bypass.is_some() { bytes(sum.dest) } else { 0 };
                one(2 * first.input.map_or(0, bytes) + values + other + bytes(sum.dest), 0)
            }
            Op::NormalizedBackprop(back) => {
                let copied = match back.copy {
                    Some(Command::Copy { dest, .. }) => bytes(dest),
                    _ => 0,
                };
                one(5 * bytes(back.out_deriv()) + copied, 0)
            }
            Op::Ordered(ordered) => {
                let copied = |s: Option<SubmatrixId>| s.map_or(Cost::default(), |s| one(2 * bytes(s), 0));
                let of = |command| of_command(nnet, computation, &command);
                let sum = match *ordered {
                    Ordered::Propagate { affine, log_softmax, input, .. } => {
                        let softmax =
                            log_softmax.map_or(Cost::default(), |args| of(Command::Propagate(args)));
                        of(Command::Propagate(affine)) + softmax + copied(Some(input))
                    }
                    Ordered::LogSoftmaxBackprop { args, .. } => of(Command::Backprop(args)),
                    Ordered::AffineBackprop { args, input, .. } => {
                        of(Command::Backprop(args)) + copied(Some(input))
                    }
                };
                Cost { operations: 1, ..sum }
            }
            Op::Blocks(blocks) => {
                let costs = blocks.commands.iter().map(|command| of_command(nnet, computation, command));
                let sum: Cost = costs.sum();
                Cost { operations: 1, ..sum }
            }
        }
    }
}

/// Operations of a backprop's products, if it uses a filter, which only the host has.
fn of_filters(nnet: &Nnet, computation: &Computation, backprop: &Backprop) -> Option<u64> {
    let (args, taps) = (&backprop.args, backprop.taps?);
    let Some((Weights::Plain(linear), _)) = nnet.component(args.component).as_affine() else { return None };
    let filter = taps.filter(&*nnet3_matrix::cpu(), computation.submatrix(args.out_deriv).rows, linear)?;
    let plain = 2 * (computation.submatrix(args.out_deriv).rows * linear.rows() * linear.cols()) as u64;
    let filtered = 2 * (filter.products() * linear.rows() * linear.cols() / taps.count) as u64;
    let derivs = if taps.summed { filtered } else { plain };
    let update = args.update_model && computation.need_model_derivative;
    Some(u64::from(args.in_deriv.is_some()) * derivs + u64::from(update) * filtered)
}

fn of_command(nnet: &Nnet, computation: &Computation, command: &Command) -> Cost {
    let flops = flops::of_command(nnet, computation, command);
    Cost { operations: 1, bytes: bytes_touched(nnet, computation, command), flops }
}

/// Returns the bytes of the named matrices: once for each matrix that is read, and once for each that is written. In a
/// matrix with a list of rows, only the listed rows count.
fn bytes_touched(nnet: &Nnet, computation: &Computation, command: &Command) -> u64 {
    let row_bytes = |cols: usize| 4 * cols as u64;
    let listed = match *command {
        Command::CopyRowsMulti { dest: s, rows, .. }
        | Command::CopyToRowsMulti { src: s, rows }
        | Command::AddRowsMulti { dest: s, rows, .. }
        | Command::AddToRowsMulti { src: s, rows, .. } => Some((s, rows)),
        _ => None,
    };
    if let Some((s, rows)) = listed {
        let s = computation.submatrix(s);
        let present = computation.multi_indexes[rows.index()].iter().flatten().count() as u64;
        let added = matches!(command, Command::AddRowsMulti { .. } | Command::AddToRowsMulti { .. });
        return row_bytes(s.cols) * present * if added { 3 } else { 2 };
    }
    let mut accesses = Vec::new();
    submatrix_accesses(nnet, computation, command, &mut accesses);
    let times = |kind| if kind == AccessKind::ReadWrite { 2 } else { 1 };
    let bytes = |s| {
        let s = computation.submatrix(s);
        row_bytes(s.cols) * s.rows as u64
    };
    accesses.into_iter().map(|(s, kind)| times(kind) * bytes(s)).sum()
}
