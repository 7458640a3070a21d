//! A pass for statistics of single frames that only a pooling reads: the matrix between extraction and pooling holds
//! sums over the pooling's windows instead (see [`crate::component::summed`]). Sums are rounded in another order.

use super::Lowering;
use super::dataflow::{Effect, Event, Events, forgets};
use super::op::Mode;
use crate::component::summed::can_sum;
use crate::computation::{Backprop, Command, Computation, PrecomputedId, Propagate, SubmatrixId};
use crate::index::ComponentId;
use crate::nnet::Nnet;

/// Two commands, one after the other: an extraction and a pooling, or backward a pooling and an extraction. The first
/// writes a matrix that only the second reads; the pooling's backprop may also read its counts, which are as always.
#[derive(Clone, Copy, Debug)]
struct Pair {
    commands: [usize; 2],
    /// The windows of the pooling.
    windows: PrecomputedId,
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let (nnet, computation, events) = (lowering.nnet, lowering.computation, &lowering.events);
    let pairs: Vec<Pair> =
        (0..events.count()).filter_map(|matrix| pair(nnet, computation, events, matrix)).collect();
    for Pair { commands, windows } in pairs {
        for c in commands {
            lowering.set_mode(c, Mode::Summed { windows });
        }
    }
}

fn pair(nnet: &Nnet, computation: &Computation, events: &Events, matrix: usize) -> Option<Pair> {
    let commands = &computation.commands;
    let command = |event: &Event| &commands[event.command()];
    let of_matrix = events.of(matrix);
    let writer = of_matrix.iter().position(|event| matches!(event.effect, Effect::Changes(_)))?;
    let [zeroing, first, second, later @ ..] = of_matrix.get(writer.checked_sub(1)?..)? else { return None };
    let Command::SetConst { dest: between, value: 0.0 } = *command(zeroing) else { return None };
    let alone = computation.is_whole(between)
        && first.effect == Effect::Changes(between)
        && second.effect == Effect::Reads(between);
    if !alone {
        return None;
    }
    let found = couple(command(first), command(second), between)?;
    let counts_only = |event: &Event| match event.effect {
        Effect::Reads(_) => found.forward && reads_input_only(command(event), found.pooling, between),
        _ => forgets(computation, events, *event),
    };
    let part = |component, indexes: Option<PrecomputedId>| {
        let indexes = indexes.and_then(|id| computation.precomputed[id.index()].data.as_deref());
        (nnet.component(component), indexes)
    };
    let frames = computation.submatrix(found.frames).rows;
    let fits = later.iter().all(counts_only)
        && can_sum(part(found.extraction, found.groups), part(found.pooling, Some(found.windows)), frames);
    fits.then_some(Pair { commands: [first.command(), second.command()], windows: found.windows })
}

/// Components of two commands, the extraction's before the pooling's if `forward`.
struct Couple {
    forward: bool,
    extraction: ComponentId,
    groups: Option<PrecomputedId>,
    pooling: ComponentId,
    windows: PrecomputedId,
    /// The extraction's input, or its derivative.
    frames: SubmatrixId,
}

/// The writer and the reader of `between`.
fn couple(writer: &Command, reader: &Command, between: SubmatrixId) -> Option<Couple> {
    match (writer, reader) {
        (
            &Command::Propagate(Propagate {
                component: extraction,
                precomputed: groups,
                input: Some(frames),
                ..
            }),
            &Command::Propagate(Propagate { component: pooling, precomputed: Some(windows), .. }),
        ) => Some(Couple { forward: true, extraction, groups, pooling, windows, frames }),
        (
            &Command::Backprop(Backprop { component: pooling, precomputed: Some(windows), in_deriv, .. }),
            &Command::Backprop(Backprop {
                component: extraction,
                precomputed: groups,
                out_deriv,
                in_deriv: Some(frames),
                ..
            }),
        ) if in_deriv == Some(between) && out_deriv == between => {
            Some(Couple { forward: false, extraction, groups, pooling, windows, frames })
        }
        _ => None,
    }
}

/// True if this is the component's backprop, and reads `value` only as its input.
fn reads_input_only(command: &Command, of: ComponentId, value: SubmatrixId) -> bool {
    match *command {
        Command::Backprop(Backprop { component, in_value, out_value, out_deriv, .. }) => {
            component == of && in_value == Some(value) && out_value != Some(value) && out_deriv != value
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{compare, count};
    use super::super::{Backprop, Mode, Op, Propagate};
    use crate::execute::Program;

    /// Statistics of 4 columns, pooled in a window that starts at each multiple of 20.
    fn config(extraction: &str, pooling: &str, pooled: usize, more: &str) -> String {
        format!(
            "input-node name=input dim=4
            component name=a type=AffineComponent input-dim=4 output-dim=4
            component name=e type=StatisticsExtractionComponent input-dim=4 {extraction}
            component name=p type=StatisticsPoolingComponent left-context=0 {pooling}
            component name=b type=AffineComponent input-dim={pooled} output-dim=4
            component-node name=a component=a input=input
            component-node name=e component=e input=a
            component-node name=p component=p input=e
            component-node name=b component=b input=Round(p, 20)
            {more}"
        )
    }

    const OUTPUT: &str = "output-node name=output input=b";

    /// Number of operations that write or read summed matrices.
    fn summing(program: &Program) -> usize {
        count(program.lowered(), |op| {
            matches!(
                op,
                Op::Propagate(Propagate { mode: Mode::Summed { .. }, .. })
                    | Op::Backprop(Backprop { mode: Mode::Summed { .. }, .. })
            )
        })
    }

    /// Windows that touch, of more frames than are summed at a time, and with frames between them that are in none.
    #[test]
    fn sums_are_those_of_single_frames() {
        let touching = config("", "input-dim=9 right-context=19 output-stddevs=true", 8, OUTPUT);
        compare(&touching, 3, 40, |program| summing(program) == 4);
        let (pooling, half) =
            ("input-dim=9 right-context=11 num-log-count-features=2", "Sum(b, Scale(0.5, a))");
        let apart = config("", pooling, 10, &format!("output-node name=output input={half}"));
        compare(&apart, 2, 80, |program| summing(program) == 4);
        let means = config("include-variance=false", "input-dim=5 right-context=14", 4, OUTPUT);
        compare(&means, 2, 70, |program| summing(program) == 4);
        let long = config("", "input-dim=9 right-context=199 output-stddevs=true", 8, OUTPUT);
        compare(&long.replace("Round(p, 20)", "Round(p, 200)"), 2, 200, |program| summing(program) == 4);
    }

    /// Windows with common frames, groups of frames, and other readers.
    #[test]
    fn others_stay_as_they_are() {
        let overlapping = config("", "input-dim=9 right-context=29", 8, OUTPUT);
        compare(&overlapping, 2, 80, |program| summing(program) == 0);
        let groups = config("output-period=2", "input-dim=9 input-period=2 right-context=18", 8, OUTPUT);
        compare(&groups, 2, 80, |program| summing(program) == 0);
        let more = "component name=c type=AffineComponent input-dim=9 output-dim=4
            component-node name=c component=c input=e
            output-node name=output input=Sum(b, c)";
        let read_elsewhere = config("", "input-dim=9 right-context=19", 8, more);
        compare(&read_elsewhere, 2, 80, |program| summing(program) == 0);
    }
}
