//! A pass for the way back through masks (dropout), a normalisation and a rectification. After the sums over rows, one operation
//! reads the derivative and the input of the normalisation, and writes the derivative before the rectification. The
//! derivatives between them are not written, and the output of the normalisation is not read. A multiple of the derivative
//! that goes to another matrix (that of a bypass) is written in the same pass.

use super::Lowering;
use super::dataflow::{Effect, Region, between, is_read_only_where};
use super::normalized_sum::FEW_ROWS;
use super::op::{NormalizedBackprop, Op, PartBack};
use crate::computation::{Command, SubmatrixId};

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let found: Vec<(Option<usize>, NormalizedBackprop)> =
        (0..lowering.computation.commands.len()).filter_map(|command| back_at(lowering, command)).collect();
    for (copy, back) in found {
        copy.into_iter().for_each(|command| lowering.remove(command));
        back.parts().for_each(|part| lowering.remove(part.command));
        lowering.replace(back.relu.command, Op::NormalizedBackprop(back));
    }
}

/// The operation that takes the place of the backprop of a rectification at this position and of those before it, and the
/// position of the copy.
fn back_at(lowering: &Lowering<'_>, command: usize) -> Option<(Option<usize>, NormalizedBackprop)> {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    let relu = lowering.backprop_at(command)?;
    let (input, in_deriv) = (relu.args.out_value?, relu.args.in_deriv?);
    let normalize = lowering.backprop_at(lowering.before(command)?)?;
    let normalizes = nnet.component(normalize.args.component).as_normalization().is_some();
    let rectifies = nnet.component(relu.args.component).rectifies();
    let chained = normalize.args.in_deriv == Some(relu.args.out_deriv);
    if !(normalizes && rectifies && chained && computation.submatrix(input).rows > FEW_ROWS) {
        return None;
    }
    let before = lowering.before(normalize.command).and_then(|before| lowering.backprop_at(before));
    let masks = before.filter(|masks| {
        nnet.component(masks.args.component).as_masks().is_some()
            && masks.args.in_deriv == Some(normalize.args.out_deriv)
    });
    let first = masks.unwrap_or(normalize);
    let deriv = first.args.out_deriv;
    let matrix = |s: SubmatrixId| computation.matrix_of(s);
    let copy = lowering.before(first.command).filter(|&copy| match lowering.command_at(copy) {
        Some(Command::Copy { dest, src, .. }) => {
            let others = [deriv, input, in_deriv].map(matrix);
            let later = between(&lowering.events, matrix(dest), copy + 1..command + 1);
            src == deriv && !others.contains(&matrix(dest)) && later.is_empty()
        }
        _ => false,
    });
    let start = copy.unwrap_or(first.command);
    let own = |c: usize| Some(c) == copy || c == first.command || c == normalize.command || c == command;
    // What is read must be there at the end.
    let events = |s: SubmatrixId| between(&lowering.events, matrix(s), start..command + 1).iter();
    let deriv_lasts = events(deriv).all(|event| {
        own(event.command()) && !matches!(event.effect, Effect::Deallocates | Effect::SwapsWith(_))
    });
    let input_lasts = events(input).all(|event| {
        let compression = matches!(
            computation.commands[event.command()],
            Command::Compress { .. } | Command::Decompress { .. }
        );
        compression || matches!(event.effect, Effect::Reads(_))
    });
    // Memos are there until the command that has them.
    let memos_last = lowering.no_memory_is_taken(first.command, command);
    let is_unused = |part: PartBack| {
        let Some(result) = part.args.in_deriv else { return false };
        let region = Region::of(computation, result);
        is_read_only_where(computation, &lowering.events, &region, part.command, own)
    };
    let unused = is_unused(normalize) && masks.is_none_or(is_unused);
    let apart = ![deriv, input].map(matrix).contains(&matrix(in_deriv));
    let copied = copy.and_then(|copy| lowering.command_at(copy));
    let back = NormalizedBackprop { copy: copied, masks, normalize, relu };
    (deriv_lasts && input_lasts && memos_last && unused && apart).then_some((copy, back))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::normalized_sum::tests::{MASKED, WITHOUT, config, sums};
    use super::super::tests::{compare, compare_changed};
    use super::super::{NormalizedBackprop, Op};
    use crate::execute::Program;

    /// Two such layers, one above the other.
    pub fn stacked(masks: &str) -> String {
        let above = "
            component name=b2 type=AffineComponent input-dim=8 output-dim=8
            component name=r2 type=RectifiedLinearComponent dim=8 self-repair-scale=1e-5
            component name=n2 type=BatchNormComponent dim=8 target-rms=0.5
            component name=d2 type=GeneralDropoutComponent dim=8 dropout-proportion=0.2
            component name=s2 type=NoOpComponent dim=8
            component-node name=b2 component=b2 input=Append(Offset(s, -3))
            component-node name=r2 component=r2 input=b2
            component-node name=n2 component=n2 input=r2
            component-node name=d2 component=d2 input=n2
            component-node name=s2 component=s2 input=Sum(Scale(0.66, s), d2)
            component-node name=c component=c input=s2";
        config(masks, "a").replace("component-node name=c component=c input=s", above)
    }

    fn backs(program: &Program) -> Vec<NormalizedBackprop> {
        let back = |op: &Op| if let Op::NormalizedBackprop(back) = op { Some(*back) } else { None };
        program.lowered().ops().iter().filter_map(back).collect()
    }

    #[test]
    fn a_layer_is_passed_back_at_once() {
        for masks in [MASKED, &MASKED.replace("=0.3", "=0")] {
            compare(&config(masks, "a"), 3, 40, |program| {
                let backs = backs(program);
                backs.len() == 1 && backs[0].masks.is_some() && backs[0].copy.is_some()
            });
        }
        compare(&config(WITHOUT, "a"), 3, 40, |program| {
            backs(program).len() == 1 && backs(program)[0].masks.is_none()
        });
        // The derivative goes to other rows of the bypass.
        compare(&config(MASKED, "Offset(a, -1)"), 3, 40, |program| backs(program).len() == 1);
        compare(&stacked(MASKED), 3, 40, |program| {
            backs(program).len() == 2 && sums(program).iter().all(|sum| sum.relu.is_some())
        });
    }

    #[test]
    fn few_rows_are_passed_back_step_by_step() {
        compare(&config(MASKED, "a"), 1, 40, |program| backs(program).is_empty());
    }

    /// In test mode the normalisation has fixed statistics.
    #[test]
    fn the_mode_may_change_after_compilation() {
        let is_fused = |program: &Program| backs(program).len() == 2;
        compare_changed(&stacked(MASKED), 3, 40, |nnet| nnet.set_batchnorm_test_mode(true), is_fused);
    }

    /// Statistics are summed by other primitives.
    #[test]
    fn wide_layers_have_the_same_statistics() {
        let wide = stacked(MASKED).replace("dim=8", "dim=72");
        assert!(wide.contains("output-dim=72"));
        compare(&wide, 5, 40, |program| backs(program).len() == 2);
    }
}
