//! A pass for the order of an output's rows. A computation works in an order of its own, and copies the rows of each output, and
//! those of its derivative, to and from the request's order. If the last component is affine (maybe with a log-softmax after
//! it), the pass puts the narrow input of that component into the request's order instead. The wide matrices then have it,
//! too, and are not copied. Sums over rows are rounded in another order.

use super::Lowering;
use super::dataflow::{Effect, Region, between, is_read_only_where, stays};
use super::op::{Backprop, Mode, Op, Ordered};
use crate::computation::{self, Command, IndexesId, MatrixId, SubmatrixId};
use nnet3_component::{Properties, Weights};
use std::ops::Range;

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let found: Vec<Found> =
        (0..lowering.computation.commands.len()).filter_map(|copy| output_at(lowering, copy)).collect();
    for Found { forward, backward } in found {
        apply_forward(lowering, &forward);
        apply_backward(lowering, &forward, &backward);
    }
}

/// A step and the position of its command.
#[derive(Clone, Copy)]
struct At<T> {
    command: usize,
    args: T,
}

/// The steps to an output. Row i of `output` is row `rows\[i\]` of what is copied.
struct Forward {
    affine: At<computation::Propagate>,
    /// The input of the affine component.
    input: SubmatrixId,
    log_softmax: Option<At<computation::Propagate>>,
    copy: usize,
    output: SubmatrixId,
    rows: IndexesId,
}

/// The steps back.
struct Backward {
    copy: usize,
    /// The copy of the derivative of the output.
    to: SubmatrixId,
    rows: IndexesId,
    log_softmax: Option<At<computation::Backprop>>,
    affine: At<computation::Backprop>,
    mode: Mode,
}

struct Found {
    forward: Forward,
    backward: Backward,
}

fn output_at(lowering: &Lowering<'_>, copy: usize) -> Option<Found> {
    let forward = forward_at(lowering, copy)?;
    let backward = backward_of(lowering, &forward)?;
    Some(Found { forward, backward })
}

/// The last command before this position that sets the whole matrix, if it is a literal propagate of it.
fn propagate_to(
    lowering: &Lowering<'_>,
    s: SubmatrixId,
    before: usize,
) -> Option<At<computation::Propagate>> {
    let events = between(&lowering.events, lowering.computation.matrix_of(s), 0..before);
    let last = events.iter().rev().find(|event| !matches!(event.effect, Effect::Reads(_)))?;
    let part = lowering.propagate_at(last.command())?;
    (part.args.output == s && last.effect == Effect::Sets(s))
        .then_some(At { command: part.command, args: part.args })
}

fn forward_at(lowering: &Lowering<'_>, copy: usize) -> Option<Forward> {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    let Command::CopyRows { dest, src, rows, alpha: 1.0 } = lowering.command_at(copy)? else { return None };
    if !(computation.is_whole(dest)
        && computation.is_whole(src)
        && is_permutation(&computation.indexes[rows.index()]))
    {
        return None;
    }
    let last = propagate_to(lowering, src, copy)?;
    let is_softmax = nnet.component(last.args.component).is_log_softmax();
    let log_softmax = is_softmax.then_some(last);
    let affine = match log_softmax {
        Some(softmax) => propagate_to(lowering, softmax.args.input?, softmax.command)?,
        None => last,
    };
    let component = nnet.component(affine.args.component);
    let needs_more = Properties::INPUT_CONTIGUOUS | Properties::PROPAGATE_ADDS | Properties::RANDOM;
    let Some((Weights::Plain(_), _)) = component.as_affine() else { return None };
    let input = affine.args.input?;
    let widths = [input, dest].map(|s| computation.submatrix(s).cols);
    let fits = !component.properties().intersects(needs_more)
        && component.properties().contains(Properties::BACKPROP_ADDS)
        && component.sets_in_deriv()
        && computation.is_whole(affine.args.output)
        && 2 * widths[0] <= widths[1]
        && !is_given(lowering, input)
        && stays(
            computation,
            &lowering.events,
            &Region::of(computation, input),
            affine.command + 1..copy + 1,
        );
    // No other command reads the product in its own order.
    let unread = log_softmax.is_none_or(|softmax| {
        let region = Region::of(computation, affine.args.output);
        is_read_only_where(computation, &lowering.events, &region, affine.command, |c| c == softmax.command)
    });
    (fits && unread && last.command < copy).then_some(Forward {
        affine,
        input,
        log_softmax,
        copy,
        output: dest,
        rows,
    })
}

fn backward_of(lowering: &Lowering<'_>, forward: &Forward) -> Option<Backward> {
    let computation = lowering.computation;
    let commands = &computation.commands;
    // The derivative that the user gives for this output.
    let node = commands.iter().find_map(|command| match *command {
        Command::ProvideOutput { matrix, node } if matrix == forward.output => Some(node),
        _ => None,
    })?;
    let given = (forward.copy..commands.len()).find_map(|c| match commands[c] {
        Command::AcceptInput { matrix, node: n } if n == node => Some((c, matrix)),
        _ => None,
    });
    let (accepted, from) = given?;
    let copies = (accepted..commands.len()).find_map(|c| match commands[c] {
        Command::CopyRows { dest, src, rows, alpha: 1.0 } if src == from && lowering.is_literal(c) => {
            Some((c, dest, rows))
        }
        _ => None,
    });
    let (copy, to, rows) = copies?;
    let (there, back) = (&computation.indexes[forward.rows.index()], &computation.indexes[rows.index()]);
    let inverse =
        there.len() == back.len() && there.iter().enumerate().all(|(i, &j)| back[j as usize] == i as i32);
    if !(inverse && computation.is_whole(to) && computation.is_whole(from)) {
        return None;
    }
    let matrix = |s: SubmatrixId| computation.matrix_of(s);
    let reader = |s: SubmatrixId, after: usize| {
        let events = between(&lowering.events, matrix(s), after + 1..usize::MAX);
        events.iter().map(|event| event.command()).find(|&c| matches!(commands[c], Command::Backprop(_)))
    };
    let (log_softmax, affine_at, deriv) = match forward.log_softmax {
        None => (None, reader(to, copy)?, to),
        Some(softmax) => {
            let back = lowering.backprop_at(reader(to, copy)?)?;
            let deriv = back.args.in_deriv?;
            let fits = back.args.component == softmax.args.component
                && back.args.out_deriv == to
                && back.args.out_value == Some(softmax.args.output)
                && computation.is_whole(deriv);
            let args = fits.then_some(back.args)?;
            (Some(At { command: back.command, args }), reader(deriv, back.command)?, deriv)
        }
    };
    // Zeroing may have made it set its result.
    let Op::Backprop(Backprop { args, mode: mode @ (Mode::Ordinary | Mode::Sets), taps: None }) =
        lowering.ops[affine_at]
    else {
        return None;
    };
    let literal = Command::Backprop(args) == commands[affine_at];
    let in_deriv_fits =
        args.in_deriv.is_none_or(|s| computation.is_whole(s) && is_uncut(lowering, matrix(s)));
    let fits = literal
        && args.component == forward.affine.args.component
        && args.in_value == Some(forward.input)
        && args.out_deriv == deriv
        && in_deriv_fits;
    let affine = At { command: affine_at, args };
    let events = &lowering.events;
    let only = |s: SubmatrixId, writer: usize, readers: &[usize]| {
        let region = Region::of(computation, s);
        is_read_only_where(computation, events, &region, writer, |c| readers.contains(&c))
    };
    // The input must be there when it is put in order again, and the places for that must be free.
    let input = Region::of(computation, forward.input);
    let input_stays = stays(computation, events, &input, forward.affine.command + 1..affine_at + 1);
    let quiet = |s: SubmatrixId, range: Range<usize>, own: &[usize]| {
        between(events, matrix(s), range).iter().all(|event| own.contains(&event.command()))
    };
    let places = match log_softmax {
        None => {
            only(forward.affine.args.output, forward.affine.command, &[forward.copy])
                && only(to, copy, &[affine_at])
                && quiet(to, copy..affine_at + 1, &[copy, affine_at])
                && only_passed(lowering, copy, affine_at)
                && is_uncut(lowering, matrix(forward.affine.args.output))
                && is_uncut(lowering, matrix(to))
        }
        Some(softmax) => {
            let output = forward.log_softmax.map(|softmax| softmax.args.output)?;
            let written = forward.log_softmax.map(|softmax| softmax.command)?;
            let handed_on = |event: &super::dataflow::Event| event.effect == Effect::SwapsWith(matrix(deriv));
            only(output, written, &[forward.copy, softmax.command])
                && only(to, copy, &[softmax.command])
                && only(deriv, softmax.command, &[affine_at])
                && quiet(deriv, softmax.command..affine_at + 1, &[softmax.command, affine_at])
                && between(events, matrix(from), copy + 1..softmax.command + 1).iter().all(handed_on)
                && provided_until(lowering, forward, affine_at)
                && is_uncut(lowering, matrix(forward.output))
        }
    };
    let backward = Backward { copy, to, rows, log_softmax, affine, mode };
    (fits && input_stays && places && copy < affine_at).then_some(backward)
}

/// True if these numbers of rows are all rows, each once.
fn is_permutation(rows: &[i32]) -> bool {
    let mut seen = vec![false; rows.len()];
    rows.iter().all(|&row| {
        let place = usize::try_from(row).ok().and_then(|row| seen.get_mut(row));
        place.is_some_and(|seen| !std::mem::replace(seen, true))
    })
}

/// True if the user gives this matrix.
fn is_given(lowering: &Lowering<'_>, s: SubmatrixId) -> bool {
    let computation = lowering.computation;
    let gives = |command: &Command| match *command {
        Command::AcceptInput { matrix, .. } => computation.matrix_of(matrix) == computation.matrix_of(s),
        _ => false,
    };
    computation.commands.iter().any(gives)
}

/// True if all sub-matrices of a matrix have all of its columns.
fn is_uncut(lowering: &Lowering<'_>, matrix: MatrixId) -> bool {
    let cols = lowering.computation.matrix(matrix).cols;
    lowering.computation.submatrices.iter().all(|s| s.matrix != matrix || s.cols == cols)
}

/// True if between these commands others set constants at most.
fn only_passed(lowering: &Lowering<'_>, first: usize, last: usize) -> bool {
    let mut next = lowering.after(first);
    while let Some(c) = next.filter(|&c| c < last) {
        if !matches!(lowering.computation.commands[c], Command::SetConst { .. }) {
            return false;
        }
        next = lowering.after(c);
    }
    next == Some(last)
}

/// True if after the copy to the output no command up to the last one accesses it, except that the user gets it.
fn provided_until(lowering: &Lowering<'_>, forward: &Forward, last: usize) -> bool {
    let computation = lowering.computation;
    let matrix = computation.matrix_of(forward.output);
    between(&lowering.events, matrix, forward.copy + 1..last + 1)
        .iter()
        .all(|event| matches!(computation.commands[event.command()], Command::ProvideOutput { .. }))
}

/// Two places in a wide matrix, side by side, for the input and for its derivative.
fn places(lowering: &mut Lowering<'_>, within: SubmatrixId, input: SubmatrixId) -> [SubmatrixId; 2] {
    let width = lowering.computation.submatrix(input).cols;
    let whole = Region::of(lowering.computation, within);
    [0..width, width..2 * width].map(|columns| lowering.part(&whole.columns(&columns)))
}

fn apply_forward(lowering: &mut Lowering<'_>, forward: &Forward) {
    let within = match forward.log_softmax {
        Some(_) => forward.output,
        None => forward.affine.args.output,
    };
    let [input, _] = places(lowering, within, forward.input);
    let copy = lowering.computation.commands[forward.copy];
    let (affine, log_softmax) = (forward.affine.args, forward.log_softmax.map(|softmax| softmax.args));
    lowering.remove(forward.affine.command);
    forward.log_softmax.into_iter().for_each(|softmax| lowering.remove(softmax.command));
    lowering.replace(forward.copy, Op::Ordered(Ordered::Propagate { affine, log_softmax, copy, input }));
}

fn apply_backward(lowering: &mut Lowering<'_>, forward: &Forward, backward: &Backward) {
    let copy = lowering.computation.commands[backward.copy];
    let (rows, back, args) = (forward.rows, backward.rows, backward.affine.args);
    let within = if backward.log_softmax.is_some() { forward.output } else { backward.to };
    let [input, deriv] = places(lowering, within, forward.input);
    let in_deriv = args.in_deriv.map(|_| deriv);
    let ordered = |copy| Op::Ordered(Ordered::AffineBackprop { copy, args, rows, back, input, in_deriv });
    match backward.log_softmax {
        None => lowering.replace(backward.copy, ordered(Some(copy))),
        Some(softmax) => {
            lowering.remove(backward.copy);
            let (args, output) = (softmax.args, forward.output);
            let op = Ordered::LogSoftmaxBackprop { copy, args, output, rows };
            lowering.replace(softmax.command, Op::Ordered(op));
            lowering.insert(backward.affine.command, ordered(None));
        }
    }
    // Then the derivative of the input goes back to the order of the computation.
    let result = args.in_deriv.map(|dest| match backward.mode {
        Mode::Sets => Command::CopyRows { dest, src: deriv, rows: back, alpha: 1.0 },
        _ => Command::AddRows { dest, src: deriv, rows: back, alpha: 1.0 },
    });
    lowering.replace(backward.affine.command, result.map_or(Op::Nothing, Op::Command));
}
