//! Lowering turns a computation's commands into the operations that the executor runs, for one device.
//!
//! At first there is one operation for each command, with the effect of the command. Then the passes, each in a file,
//! replace operations by cheaper ones with the same results. If a pass says so, its results differ in the rounding of
//! sums. Every deviation from the commands is decided here. Every pass reads the commands and [`dataflow`], the record
//! of their effects on matrices. It changes only operations that are still literal, so that no pass has to know another
//! one. [`check`] runs a list on symbols instead of numbers and compares.

mod accumulate;
mod blocks;
pub mod check;
mod common_derivative;
mod common_share;
mod cost;
mod dataflow;
mod filters;
mod literal;
mod neighbours;
mod normalized_backprop;
mod normalized_sum;
mod op;
mod output_rows;
mod picked_input;
mod precompute;
mod print;
mod row_sums;
mod step_updates;
mod sum_statistics;
#[cfg(test)]
pub(crate) mod tests;
mod zeroing;

pub use cost::Cost;
pub use op::{
    Affine, Backprop, Blocks, FilterProduct, InputDerivative, Mode, NormalizedBackprop, NormalizedSum, Op,
    Ordered, Part, PartBack, PickedBackprop, PickedPropagate, PickedTerm, Propagate, Share, Step,
    StepsUpdate, SumRows,
};

use crate::computation::{self, Computation, MatrixId, Submatrix, SubmatrixId};
use dataflow::{Events, Rect, Region, events};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::NodeId;
use nnet3_matrix::{Backend, RowLists};
use nnet3_network::Nnet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A pass over the operations.
struct Pass {
    name: &'static str,
    run: fn(&mut Lowering<'_>),
    /// True if it is for the host only: on a GPU, calls take the time, not elements.
    host_only: bool,
    /// True if it also applies to loops. These return to matrices that they have left.
    looped: bool,
}

const fn pass(name: &'static str, run: fn(&mut Lowering<'_>)) -> Pass {
    Pass { name, run, host_only: false, looped: false }
}

/// All passes, in order.
const PASSES: [Pass; 14] = [
    pass("accumulate", accumulate::run),
    pass("common-derivative", common_derivative::run),
    pass("zeroing", zeroing::run),
    pass("output-rows", output_rows::run),
    pass("row-sums", row_sums::run),
    pass("normalized-backprop", normalized_backprop::run),
    pass("normalized-sum", normalized_sum::run),
    pass("common-share", common_share::run),
    pass("step-updates", step_updates::run),
    Pass { host_only: true, ..pass("precompute", precompute::run) },
    Pass { host_only: true, ..pass("sum-statistics", sum_statistics::run) },
    Pass { host_only: true, ..pass("filter-forward", filters::run_forward) },
    Pass { host_only: true, ..pass("filter-backward", filters::run_backward) },
    Pass { host_only: true, looped: true, ..pass("blocks", blocks::run) },
];

/// The pass before these, for an input picked from a table.
const PICKED_INPUT: Pass = Pass { host_only: true, ..pass("picked-input", picked_input::run) };

/// The effect of one pass on the operations.
#[derive(Clone, Debug)]
pub struct Stage {
    pub name: &'static str,
    pub before: Cost,
    pub after: Cost,
    /// Time of the pass, without checking.
    pub time: Duration,
}

/// A pass is done.
pub type Observer<'a> = &'a mut dyn FnMut(Stage);

/// An observer of the passes.
#[derive(Default)]
pub struct Watch<'a> {
    /// If true, [`check`] examines the operations after each pass.
    pub check: bool,
    /// Is told of each pass that is done.
    pub observer: Option<Observer<'a>>,
    /// Total time of the observation.
    pub time: Duration,
}

/// Operations in the order in which they run.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    ops: Vec<Op>,
    /// For each operation, the command that it belongs to.
    commands: Vec<u32>,
    /// Parts of matrices that the computation has no sub-matrix for; numbered on from its own.
    parts: Vec<Submatrix>,
    row_lists: Vec<Arc<RowLists>>,
}

impl Lowered {
    /// Makes one operation for each command, with the effect of the command.
    pub fn literal(computation: &Computation) -> Lowered {
        let ops = literal::ops(computation);
        Lowered { commands: (0..ops.len() as u32).collect(), ops, ..Lowered::default() }
    }

    #[inline]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns the command that an operation belongs to.
    #[inline]
    pub fn command(&self, op: usize) -> usize {
        self.commands[op] as usize
    }

    /// For an [`Op::SumRows`] or [`Op::InputDerivative`] the lists of rows of its source, one for each row of its destination.
    pub fn row_lists(&self) -> &[Arc<RowLists>] {
        &self.row_lists
    }

    /// The operations that run at the turn of a command.
    pub fn at_turn(&self, command: usize) -> Range<usize> {
        let position = |command: usize| self.commands.partition_point(|&c| (c as usize) < command);
        position(command)..position(command + 1)
    }

    /// A sub-matrix of `computation` or one of these parts.
    #[inline]
    pub fn submatrix<'a>(&'a self, computation: &'a Computation, id: SubmatrixId) -> &'a Submatrix {
        submatrix(computation, &self.parts, id)
    }
}

fn submatrix<'a>(computation: &'a Computation, parts: &'a [Submatrix], id: SubmatrixId) -> &'a Submatrix {
    let own = &computation.submatrices;
    own.get(id.index()).unwrap_or_else(|| &parts[id.index() - own.len()])
}

/// Operations at work.
struct Lowering<'a> {
    nnet: &'a Nnet,
    computation: &'a Computation,
    device: &'a dyn Backend,
    events: Events,
    /// The operation at the position of each command; [`Op::Nothing`] if it was removed.
    ops: Vec<Op>,
    /// True if the operation is no longer the literal one of the command.
    changed: Vec<bool>,
    /// Operations that come before those at some positions; after each pass in the order of these.
    inserted: Vec<(usize, Op)>,
    parts: Vec<Submatrix>,
    /// A node whose input is picked from a table.
    picked: Option<NodeId>,
    row_lists: Vec<Arc<RowLists>>,
}

/// Makes the operations for a computation that the checker accepts, on `device`. Errors come only from
/// [`Watch::check`].
pub fn lower(
    nnet: &Nnet,
    computation: &Computation,
    device: &dyn Backend,
    watch: &mut Watch<'_>,
) -> Result<Lowered> {
    lower_for(nnet, computation, device, None, watch)
}

/// As [`lower`], for an input of this node whose rows are picked from a table. `None` if that makes no difference: other
/// commands than an affine component's read the input, or the device is not the host.
pub fn lower_picked(
    nnet: &Nnet,
    computation: &Computation,
    device: &dyn Backend,
    node: NodeId,
    watch: &mut Watch<'_>,
) -> Result<Option<Lowered>> {
    let lowered = lower_for(nnet, computation, device, Some(node), watch)?;
    let is_picked = lowered.ops.iter().any(|op| matches!(op, Op::PickedPropagate(_)));
    Ok(is_picked.then_some(lowered))
}

fn lower_for(
    nnet: &Nnet,
    computation: &Computation,
    device: &dyn Backend,
    picked: Option<NodeId>,
    watch: &mut Watch<'_>,
) -> Result<Lowered> {
    let looped = computation.is_looped();
    let mut lowering = Lowering {
        nnet,
        computation,
        device,
        events: if looped { Events::new(0, &[]) } else { events(nnet, computation) },
        ops: literal::ops(computation),
        changed: vec![false; computation.commands.len()],
        inserted: Vec::new(),
        parts: Vec::new(),
        picked,
        row_lists: Vec::new(),
    };
    let on_host = device.is_host();
    let passes = picked.map(|_| &PICKED_INPUT).into_iter().chain(&PASSES);
    for pass in passes.filter(|pass| (on_host || !pass.host_only) && (pass.looped || !looped)) {
        let watching = Instant::now();
        let before = watch.observer.as_ref().map(|_| lowering.cost()).unwrap_or_default();
        watch.time += watching.elapsed();
        let start = Instant::now();
        (pass.run)(&mut lowering);
        lowering.inserted.sort_by_key(|&(command, _)| command);
        let (time, watching) = (start.elapsed(), Instant::now());
        if let Some(observer) = &mut watch.observer {
            observer(Stage { name: pass.name, before, after: lowering.cost(), time });
        }
        if watch.check {
            let blame = |e: String| Error::computation(format!("after the pass {}: {e}", pass.name));
            check::check(nnet, computation, &lowering.list()).map_err(blame)?;
        }
        watch.time += watching.elapsed();
    }
    Ok(lowering.finish())
}

impl Lowering<'_> {
    /// True if the operation at the position of a command is the literal one.
    fn is_literal(&self, command: usize) -> bool {
        !self.changed[command]
    }

    fn replace(&mut self, command: usize, op: Op) {
        self.ops[command] = op;
        self.changed[command] = true;
    }

    fn remove(&mut self, command: usize) {
        self.replace(command, Op::Nothing);
    }

    /// Inserts an operation before the one at a position, after others inserted there.
    fn insert(&mut self, command: usize, op: Op) {
        self.inserted.push((command, op));
    }

    /// A sub-matrix for a part of a matrix.
    fn part(&mut self, region: &Region) -> SubmatrixId {
        let Region { matrix, rect: Rect { rows, cols } } = region;
        self.parts.push(Submatrix {
            matrix: *matrix,
            row_offset: rows.start,
            rows: rows.len(),
            col_offset: cols.start,
            cols: cols.len(),
        });
        SubmatrixId::from(self.computation.submatrices.len() + self.parts.len() - 1)
    }

    /// Reduces the propagate of an affine component to the contribution of some columns of its input.
    fn add_rest(&mut self, command: usize, columns: &Range<usize>) {
        let Op::Propagate(Propagate { args, .. }) = self.ops[command] else { return };
        let computation::Propagate { component, input: Some(input), output, .. } = args else { return };
        let input = self.part(&Region::of(self.computation, input).columns(columns));
        let columns = columns.clone();
        self.replace(command, Op::Affine(Affine { component, columns, input, output, adds: true }));
    }

    fn set_mode(&mut self, command: usize, new: Mode) {
        if let Op::Propagate(Propagate { mode, .. }) | Op::Backprop(Backprop { mode, .. }) =
            &mut self.ops[command]
        {
            *mode = new;
            self.changed[command] = true;
        }
    }

    fn matrix_of(&self, s: SubmatrixId) -> MatrixId {
        submatrix(self.computation, &self.parts, s).matrix
    }

    /// The operations in order, each with its position.
    fn in_order(&self) -> impl Iterator<Item = (usize, &Op)> {
        let mut inserted = self.inserted.iter().peekable();
        self.ops.iter().enumerate().flat_map(move |(c, op)| {
            let before =
                std::iter::from_fn(|| inserted.next_if(|&&(at, _)| at == c)).map(|(at, op)| (*at, op));
            before.chain([(c, op)]).collect::<Vec<_>>()
        })
    }

    /// The operations in their present order, no-ops included.
    fn list(&self) -> Lowered {
        let (commands, ops) = self.in_order().map(|(c, op)| (c as u32, op.clone())).unzip();
        Lowered { ops, commands, parts: self.parts.clone(), row_lists: self.row_lists.clone() }
    }

    fn cost(&self) -> Cost {
        Cost::of(self.nnet, self.computation, &self.list())
    }

    /// Returns the operations without no-ops, except those that separate one exchange with the user from the next.
    fn finish(self) -> Lowered {
        let Lowering { ops, inserted, parts, row_lists, computation, .. } = self;
        let count = ops.len() + inserted.len();
        let (mut list, mut commands) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut inserted = inserted.into_iter().peekable();
        let mut parted = false;
        for (c, op) in ops.into_iter().enumerate() {
            while let Some((_, op)) = inserted.next_if(|&(at, _)| at == c) {
                if op != Op::Nothing {
                    list.push(op);
                    commands.push(c as u32);
                    parted = false;
                }
            }
            match op {
                Op::Nothing => parted = true,
                op => {
                    if parted && op.waits() && list.last().is_some_and(Op::waits) {
                        list.push(Op::Nothing);
                        commands.push(c as u32 - 1);
                    }
                    list.push(op);
                    commands.push(c as u32);
                    parted = false;
                }
            }
        }
        if parted && list.last().is_some_and(Op::waits) {
            list.push(Op::Nothing);
            commands.push(computation.commands.len() as u32 - 1);
        }
        let position = |command: usize| commands.partition_point(|&c| (c as usize) < command);
        for op in &mut list {
            if let Op::Goto { target } = op {
                *target = position(*target);
            }
        }
        Lowered { ops: list, commands, parts, row_lists }
    }
}
