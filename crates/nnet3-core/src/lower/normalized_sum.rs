//! A pass for the end of a layer with a bypass: a normalisation, maybe masks (dropout), and the sum of the result and a
//! multiple of an earlier matrix or of its rows. All become one operation, which reads each matrix once. The masked values
//! are not written.

use super::Lowering;
use super::blocks::is_silent;
use super::dataflow::{Effect, Region, between, is_read_only_by};
use super::op::{Mode, NormalizedSum, Op, Part, Propagate};
use crate::computation::{Command, MatrixId, SubmatrixId};

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let adds = 0..lowering.computation.commands.len();
    let found: Vec<(usize, usize, NormalizedSum)> =
        adds.filter_map(|add| sum_at(lowering, add).map(|(bypass, sum)| (add, bypass, sum))).collect();
    for (add, bypass, sum) in found {
        for command in [Some(sum.normalize.command), sum.masks.map(|part| part.command), Some(bypass)] {
            command.into_iter().for_each(|command| lowering.remove(command));
        }
        lowering.replace(add, Op::NormalizedSum(sum));
    }
}

/// The sum that ends with the addition at this position, and the position of its bypass.
fn sum_at(lowering: &Lowering<'_>, add: usize) -> Option<(usize, NormalizedSum)> {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    let Command::Add { dest, src: added, alpha: 1.0 } = computation.commands[add] else { return None };
    let bypass = before(lowering, add)?;
    let (to, other) = match computation.commands[bypass] {
        Command::Copy { dest, src, .. } | Command::CopyRows { dest, src, .. } => (dest, src),
        _ => return None,
    };
    let last = part_at(lowering, before(lowering, bypass)?)?;
    if to != dest || last.args.output != added || ![add, bypass].iter().all(|&c| lowering.is_literal(c)) {
        return None;
    }
    let (normalize, masks) = match nnet.component(last.args.component).as_masks() {
        Some(_) => (part_at(lowering, before(lowering, last.command)?)?, Some(last)),
        None => (last, None),
    };
    nnet.component(normalize.args.component).as_normalization()?;
    let src = normalize.args.input?;
    let chained = masks.is_none_or(|masks| masks.args.input == Some(normalize.args.output));
    // A destination is read only where it is set in the same row.
    let matrix = |s: SubmatrixId| computation.matrix_of(s);
    let (values, masked) = (matrix(normalize.args.output), masks.map(|masks| matrix(masks.args.output)));
    let all: Vec<MatrixId> = [values, matrix(dest), matrix(other)].into_iter().chain(masked).collect();
    let apart = (0..all.len()).all(|k| !all[..k].contains(&all[k])) && !all[1..].contains(&matrix(src));
    // Inputs must last until the addition, and nothing else may need the masked values.
    let lasts = |s: SubmatrixId| {
        let mut events = between(&lowering.events, matrix(s), normalize.command + 1..add + 1).iter();
        events.all(|event| {
            let compresses = matches!(computation.commands[event.command()], Command::Compress { .. });
            matches!(event.effect, Effect::Reads(_)) || compresses
        })
    };
    let last_until_then = [src, normalize.args.output, other].into_iter().all(lasts);
    let unused = masks.is_none_or(|masks| {
        let region = Region::of(computation, masks.args.output);
        is_read_only_by(computation, &lowering.events, &region, masks.command, add)
    });
    let (bypass_command, add_command) = (computation.commands[bypass], computation.commands[add]);
    let sum = NormalizedSum { normalize, masks, bypass: bypass_command, add: add_command, dest };
    (chained && apart && last_until_then && unused).then_some((bypass, sum))
}

/// The last command before this one that has an effect on values.
fn before(lowering: &Lowering<'_>, command: usize) -> Option<usize> {
    (0..command).rev().find(|&c| !is_passed(&lowering.computation.commands[c]))
}

/// True if the command does not keep operations before it from running after it. Matrices are never compressed here.
fn is_passed(command: &Command) -> bool {
    is_silent(command) || matches!(command, Command::Compress { .. })
}

/// The literal propagate at this position.
fn part_at(lowering: &Lowering<'_>, command: usize) -> Option<Part> {
    match lowering.ops[command] {
        Op::Propagate(Propagate { args, mode: Mode::Ordinary }) if lowering.is_literal(command) => {
            Some(Part { command, args })
        }
        _ => None,
    }
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

    fn sums(program: &Program) -> Vec<NormalizedSum> {
        let sum = |op: &Op| if let Op::NormalizedSum(sum) = op { Some(*sum) } else { None };
        program.lowered().ops().iter().filter_map(sum).collect()
    }

    #[test]
    fn a_layer_ends_in_one_pass() {
        let without = "dim-range-node name=d input-node=n dim=8 dim-offset=0";
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
        compare(&twice, 3, 40, |program| sums(program).is_empty());
    }
}
