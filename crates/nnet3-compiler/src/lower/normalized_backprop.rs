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
