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

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{compare, compare_changed, count};
    use super::super::{NormalizedSum, Op};
    use crate::computation::Command;
    use crate::execute::Program;

    /// Two layers with a bypass. `masks` is the second component after normalisation, `bypass` the other term.
    pub fn config(masks: &str, bypass: &str) -> String {
        format!(
            "input-node name=input dim=4
            component name=a type=AffineComponent input-dim=4 output-dim=8
            component name=b type=AffineComponent input-dim=8 output-dim=8
            component name=r type=RectifiedLinearComponent dim=8
            component name=n type=BatchNormComponent dim=8
            component name=s type=NoOpComponent dim=8
            component name=c type=AffineComponent input-dim=8 output-dim=4
            component-node name=a component=a input=input
            component-node name=b component=b input=a
            component-node name=r component=r input=b
            component-node name=n component=n input=r
            {masks}
            component-node name=s component=s input=Sum(Scale(0.66, {bypass}), d)
            component-node name=c component=c input=s
            output-node name=output input=c"
        )
    }

    pub const MASKED: &str =
        "component name=d type=GeneralDropoutComponent dim=8 dropout-proportion=0.3 continuous=true
        component-node name=d component=d input=n";

    pub const WITHOUT: &str = "dim-range-node name=d input-node=n dim=8 dim-offset=0";

    pub fn sums(program: &Program) -> Vec<NormalizedSum> {
        let sum = |op: &Op| if let Op::NormalizedSum(sum) = op { Some(*sum) } else { None };
        program.lowered().ops().iter().filter_map(sum).collect()
    }

    #[test]
    fn a_layer_ends_in_one_pass() {
        let without = WITHOUT;
        let off = MASKED.replace("=0.3", "=0");
        for masks in [MASKED, &off] {
            compare(&config(masks, "a"), 3, 40, |program| {
                let rest = count(program.lowered(), |op| matches!(op, Op::Command(Command::Add { .. })));
                sums(program).len() == 1
                    && sums(program)[0].masks.is_some()
                    && rest + 1 >= sums(program).len()
            });
        }
        compare(&config(without, "a"), 3, 40, |program| {
            sums(program).len() == 1 && sums(program)[0].masks.is_none()
        });
        // Other rows of the bypass.
        compare(&config(MASKED, "Offset(a, -1)"), 3, 40, |program| sums(program).len() == 1);
    }

    /// In test mode the normalisation has fixed statistics.
    #[test]
    fn the_mode_may_change_after_compilation() {
        let config = config(MASKED, "a");
        let is_fused = |program: &Program| sums(program).len() == 1;
        compare_changed(&config, 3, 40, |nnet| nnet.set_batchnorm_test_mode(true), is_fused);
    }

    #[test]
    fn masked_values_that_are_read_elsewhere_are_written() {
        let twice = config(MASKED, "a").replace("input=s\n", "input=Sum(s, Offset(d, 1))\n");
        compare(&twice, 3, 40, |program| {
            sums(program).len() == 1 && sums(program)[0].bypass.is_none() && sums(program)[0].masks.is_some()
        });
    }

    /// Only the result is written, unless another operation reads values before it.
    #[test]
    fn values_that_nothing_reads_are_not_written() {
        let flags = |program: &Program| {
            let sums = sums(program);
            (sums.len() == 1).then(|| (sums[0].relu.is_some(), sums[0].keeps_values))
        };
        compare(&config(MASKED, "a"), 3, 40, |program| flags(program) == Some((true, false)));
        let elsewhere = config(MASKED, "a").replace("input=s\n", "input=Sum(s, Offset(r, 1))\n");
        compare(&elsewhere, 3, 40, |program| flags(program) == Some((false, true)));
        let elsewhere = config(MASKED, "a").replace("input=s\n", "input=Sum(s, n)\n");
        compare(&elsewhere, 3, 40, |program| flags(program) == Some((true, true)));
        // Sums over few rows stay as they are.
        compare(&config(MASKED, "a"), 1, 40, |program| flags(program) == Some((false, true)));
    }

    #[test]
    fn parts_of_it_are_enough() {
        let plain = config(WITHOUT, "a").replace("Sum(Scale(0.66, a), d)", "d");
        compare(&plain, 3, 40, |program| {
            let sums = sums(program);
            sums.len() == 1 && sums[0].relu.is_some() && sums[0].masks.is_none() && sums[0].bypass.is_none()
        });
        let masked = config(MASKED, "a").replace("Sum(Scale(0.66, a), d)", "d");
        compare(&masked, 3, 40, |program| {
            let sums = sums(program);
            sums.len() == 1 && sums[0].relu.is_some() && sums[0].masks.is_some() && sums[0].bypass.is_none()
        });
    }
}
