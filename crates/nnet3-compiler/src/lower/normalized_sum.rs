//! A pass for a normalisation and the steps around it: a rectification before it, masks (dropout) after it, and the sum of the
//! result and a multiple of an earlier matrix or of its rows (a bypass). All become one operation, which reads each matrix
//! once, after the sums over rows. It writes the last result, and the output of the normalisation if an operation reads it.

use super::Lowering;
use super::dataflow::{Effect, Region, between, is_read_only_by, is_read_only_where};
use super::op::{Bypass, NormalizedSum, Op, Part};
use crate::computation::{Command, MatrixId, SubmatrixId};

/// Sums over fewer rows are rounded otherwise if the rectification is a part of them.
pub(super) const FEW_ROWS: usize = 64;

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let fused = Fused::of(lowering);
    let found: Vec<(usize, usize, NormalizedSum)> = (0..lowering.computation.commands.len())
        .filter_map(|command| sum_at(lowering, command, &fused))
        .collect();
    for (last, copy, sum) in found {
        sum.parts().for_each(|part| lowering.remove(part.command));
        lowering.remove(copy);
        lowering.replace(last, Op::NormalizedSum(sum));
    }
}

/// The commands that another pass has made parts of a [`super::NormalizedBackprop`].
struct Fused {
    normalize: Vec<usize>,
    relu: Vec<usize>,
}

impl Fused {
    fn of(lowering: &Lowering<'_>) -> Fused {
        let back = |op: &Op| if let Op::NormalizedBackprop(back) = op { Some(*back) } else { None };
        let all = || lowering.ops.iter().filter_map(back);
        Fused {
            normalize: all().map(|back| back.normalize.command).collect(),
            relu: all().map(|back| back.relu.command).collect(),
        }
    }
}

/// The operation that takes the place of the normalisation at this position, the position of its last command, and that of the
/// copy of its bypass (or again the last one).
fn sum_at(lowering: &Lowering<'_>, command: usize, fused: &Fused) -> Option<(usize, usize, NormalizedSum)> {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    let normalize = lowering.propagate_at(command)?;
    nnet.component(normalize.args.component).as_normalization()?;
    let input = normalize.args.input?;
    let values = normalize.args.output;
    let matrix = |s: SubmatrixId| computation.matrix_of(s);

    let next = lowering.after(command).and_then(|next| lowering.propagate_at(next));
    let masks = next.filter(|next| {
        nnet.component(next.args.component).as_masks().is_some() && next.args.input == Some(values)
    });
    let masks = masks.filter(|masks| matrix(masks.args.output) != matrix(values));
    let last = masks.unwrap_or(normalize);
    let sum = bypass_after(lowering, last).filter(|&(_, _, bypass)| {
        // A destination is read only where it is set in the same row.
        let other = source(&bypass.copy);
        let masked = masks.map(|masks| matrix(masks.args.output));
        let all: Vec<MatrixId> =
            [values, destination(&bypass.add), other].into_iter().map(matrix).chain(masked).collect();
        let apart = (0..all.len()).all(|k| !all[..k].contains(&all[k])) && !all[1..].contains(&matrix(input));
        let add = lowering.after(lowering.after(last.command).unwrap_or(0)).unwrap_or(0);
        let unused = masks.is_none_or(|masks| {
            let region = Region::of(computation, masks.args.output);
            is_read_only_by(computation, &lowering.events, &region, masks.command, add)
        });
        apart && unused && lasts(lowering, other, command, command, add)
    });
    let end = sum.map_or(last.command, |(_, add, _)| add);
    let dest = sum.map_or(last.args.output, |(_, _, bypass)| destination(&bypass.add));

    let relu = lowering.before(command).and_then(|before| lowering.propagate_at(before)).filter(|relu| {
        let rows = computation.submatrix(input).rows;
        let is_unused = |region: &Region| {
            let is_known = |c: usize| c == command || fused.relu.contains(&c);
            is_read_only_where(computation, &lowering.events, region, relu.command, is_known)
        };
        nnet.component(relu.args.component).rectifies()
            && relu.args.output == input
            && relu.args.input == Some(input)
            && rows > FEW_ROWS
            && is_unused(&Region::of(computation, input))
    });
    if relu.is_none() && masks.is_none() && sum.is_none() {
        return None;
    }
    let keeps_values = dest != values && {
        let is_known = |c: usize| {
            masks.is_some_and(|masks| masks.command == c) || c == end || fused.normalize.contains(&c)
        };
        !is_read_only_where(
            computation,
            &lowering.events,
            &Region::of(computation, values),
            command,
            is_known,
        )
    };
    let first = relu.unwrap_or(normalize);
    // Inputs must last until the end, also for single steps; memos without a backprop last for a command only.
    let in_place = |s: SubmatrixId| s == input || matrix(s) != matrix(input);
    let lasting = lasts(lowering, input, command, first.command, end)
        && (matrix(values) == matrix(input)
            || dest == values
            || lasts(lowering, values, command, command, end));
    let memos = [Some(normalize), masks].into_iter().flatten();
    let memos_last = end == command
        || memos.into_iter().all(|part| part.args.memo.is_some() || part.command == end)
        || lowering.no_memory_is_taken(command, end);
    let fits = in_place(values) && in_place(dest) && lasting && memos_last;
    let bypass = sum.map(|(_, _, bypass)| bypass);
    let copy = sum.map_or(end, |(copy, _, _)| copy);
    fits.then_some((end, copy, NormalizedSum { relu, normalize, masks, bypass, keeps_values, dest }))
}

/// The literal copy and addition after a propagate, if they add its output to a multiple of another matrix.
fn bypass_after(lowering: &Lowering<'_>, last: Part) -> Option<(usize, usize, Bypass)> {
    let copy_at = lowering.after(last.command)?;
    let add_at = lowering.after(copy_at)?;
    let (copy, add) = (lowering.command_at(copy_at)?, lowering.command_at(add_at)?);
    let (Command::Copy { dest: to, .. } | Command::CopyRows { dest: to, .. }) = copy else { return None };
    let Command::Add { dest, src, alpha: 1.0 } = add else { return None };
    (to == dest && src == last.args.output).then_some((copy_at, add_at, Bypass { copy, add }))
}

fn source(copy: &Command) -> SubmatrixId {
    match *copy {
        Command::Copy { src, .. } | Command::CopyRows { src, .. } => src,
        _ => unreachable!("a bypass copies a matrix or its rows"),
    }
}

fn destination(add: &Command) -> SubmatrixId {
    match *add {
        Command::Add { dest, .. } => dest,
        _ => unreachable!("the sum ends with an addition"),
    }
}

/// True if after the first of these commands none up to the last one changes the matrix or takes its memory, apart from the
/// normalisation, which may work in place.
fn lasts(lowering: &Lowering<'_>, s: SubmatrixId, normalize: usize, first: usize, last: usize) -> bool {
    let matrix = lowering.computation.matrix_of(s);
    let mut events = between(&lowering.events, matrix, first + 1..last + 1).iter();
    events.all(|event| {
        let command = &lowering.computation.commands[event.command()];
        let compresses = matches!(command, Command::Compress { .. } | Command::Decompress { .. });
        matches!(event.effect, Effect::Reads(_)) || compresses || event.command() == normalize
    })
}
