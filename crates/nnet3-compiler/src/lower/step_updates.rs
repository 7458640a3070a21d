//! A pass for a recurrent component that updates its parameters once, by the rows of all steps. What steps and update need before is
//! worked out once, in the first step. On the host, steps collect the update while they compute derivatives of the same rows; sums
//! are rounded in another order. (On a GPU, the sums of each step would be kernels of their own.)

use super::Lowering;
use super::dataflow::{Region, stays};
use super::op::{Op, PartBack, Step, StepsUpdate};
use crate::computation::{self, SubmatrixId};
use std::ops::Range;

/// An update with steps that have all its rows.
struct Found {
    update: usize,
    /// Positions, in order.
    steps: Vec<usize>,
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let commands = 0..lowering.computation.commands.len();
    let found: Vec<Found> = commands.filter_map(|command| steps_of(lowering, command)).collect();
    let collects = lowering.device.is_host();
    for Found { update, steps } in found {
        let Some(PartBack { args: all, .. }) = lowering.backprop_at(update) else { continue };
        let rows = lowering.computation.submatrix(all.out_deriv).rows;
        for (i, &step) in steps.iter().enumerate() {
            let Some(PartBack { args, .. }) = lowering.backprop_at(step) else { continue };
            lowering
                .replace(step, Op::Step(Step { args, update, begins: (i == 0).then_some(rows), collects }));
        }
        lowering.replace(update, Op::StepsUpdate(StepsUpdate { args: all, collected: collects }));
    }
}

/// The steps of an update, if there is one at this position.
fn steps_of(lowering: &Lowering<'_>, update: usize) -> Option<Found> {
    let computation = lowering.computation;
    let all = lowering.backprop_at(update)?.args;
    let whole = all.update_model && all.in_deriv.is_none() && reads_rows_only(&all);
    if !whole || !lowering.nnet.component(all.component).is_stepwise() {
        return None;
    }
    let (input, deriv) = (Region::of(computation, all.in_value?), Region::of(computation, all.out_deriv));
    let mut rows = Vec::new();
    let mut steps = Vec::new();
    for command in 0..update {
        let Some(PartBack { args, .. }) = lowering.backprop_at(command) else { continue };
        if args.component != all.component {
            continue;
        }
        let own = args.in_value.and_then(|value| rows_within(lowering, value, &input));
        let Some(own) = own.filter(|own| {
            !args.update_model
                && reads_rows_only(&args)
                && rows_within(lowering, args.out_deriv, &deriv).as_ref() == Some(own)
        }) else {
            continue;
        };
        // The update would have read what the step reads.
        let lasts = |all: &Region| {
            let start = all.rect.rows.start;
            let area = all.with_rows(start + own.start..start + own.end);
            stays(computation, &lowering.events, &area, command..update)
        };
        if !lasts(&input) || !lasts(&deriv) {
            return None;
        }
        rows.push(own);
        steps.push(command);
    }
    rows.sort_by_key(|rows| rows.start);
    let count = input.rect.rows.len();
    let end = rows.iter().try_fold(0, |end, rows| (rows.start == end).then_some(rows.end));
    (end == Some(count) && deriv.rect.rows.len() == count).then_some(Found { update, steps })
}

/// True if the rows of the input and of the output's derivative are all that a backprop reads.
fn reads_rows_only(args: &computation::Backprop) -> bool {
    args.precomputed.is_none() && args.memo.is_none() && args.out_value.is_none()
}

/// The rows of a sub-matrix, counted from the first of a region with the same columns that has them all.
fn rows_within(lowering: &Lowering<'_>, part: SubmatrixId, all: &Region) -> Option<Range<usize>> {
    let Region { matrix, rect } = Region::of(lowering.computation, part);
    let (rows, of) = (rect.rows, &all.rect.rows);
    let inside =
        matrix == all.matrix && rect.cols == all.rect.cols && of.start <= rows.start && rows.end <= of.end;
    inside.then(|| rows.start - of.start..rows.end - of.start)
}
