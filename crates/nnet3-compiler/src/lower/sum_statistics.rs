//! A pass for statistics of single frames that only a pooling reads: the matrix between extraction and pooling holds
//! sums over the pooling's windows instead (see [`nnet3_component::summed`]). Sums are rounded in another order.

use super::Lowering;
use super::dataflow::{Effect, Event, Events, forgets};
use super::op::Mode;
use crate::computation::{Backprop, Command, Computation, PrecomputedId, Propagate, SubmatrixId};
use nnet3_base::index::ComponentId;
use nnet3_component::summed::can_sum;
use nnet3_network::Nnet;

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
