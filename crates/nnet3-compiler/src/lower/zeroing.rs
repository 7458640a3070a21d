//! A pass that removes needless zeroing of two kinds. Elements that are set before they are read need no zeroing. A
//! derivative that receives a product need not be zeroed if the component can set it instead of adding to it.

use super::Lowering;
use super::dataflow::{Effect, Event, Rect, Region};
use super::op::{Mode, Op};
use crate::computation::{Backprop, Command, Computation, Propagate, SubmatrixId};
use nnet3_network::Nnet;

/// More parts than this are not worth it.
const MOST_PARTS: usize = 32;

/// The remaining parts of a zeroing.
struct Needed {
    parts: Vec<Rect>,
    /// Commands that must set their destination instead of adding to it.
    setters: Vec<usize>,
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    for (c, command) in computation.commands.iter().enumerate() {
        let Command::SetConst { dest, value: 0.0 } = *command else { continue };
        if !lowering.is_literal(c) {
            continue;
        }
        let matrix = computation.matrix_of(dest);
        let events = lowering.events.of(matrix.index());
        let later = events.partition_point(|event| event.command() <= c);
        let Some(Needed { parts, setters }) = needed(nnet, computation, dest, &events[later..]) else {
            continue;
        };
        setters.iter().for_each(|&setter| lowering.set_mode(setter, Mode::Sets));
        if parts == [Rect::of(computation, dest)] {
            continue;
        }
        lowering.remove(c);
        for rect in parts {
            let dest = lowering.part(&Region { matrix, rect });
            lowering.insert(c, Op::Command(Command::SetConst { dest, value: 0.0 }));
        }
    }
}

/// The parts of `zeroed` that later commands read as zeros. `events` are the later accesses to its matrix, in order. `None`
/// if that is not known, or too scattered.
fn needed(nnet: &Nnet, computation: &Computation, zeroed: SubmatrixId, events: &[Event]) -> Option<Needed> {
    let mut needed = Needed { parts: Vec::new(), setters: Vec::new() };
    // The parts that no command has accessed yet.
    let mut open = vec![Rect::of(computation, zeroed)];
    for event in events {
        let (part, looks) = match event.effect {
            Effect::Deallocates => return Some(needed),
            Effect::Allocates | Effect::SwapsWith(_) => return None,
            Effect::Sets(s) => (Rect::of(computation, s), false),
            Effect::Reads(s) => (Rect::of(computation, s), true),
            Effect::Changes(s) => {
                let part = Rect::of(computation, s);
                let still_zero: usize = open.iter().map(|o| o.common(&part).elements()).sum();
                let sets = still_zero == part.elements()
                    && sets_if_asked(nnet, &computation.commands[event.command()], s);
                if sets {
                    needed.setters.push(event.command());
                }
                (part, !sets)
            }
        };
        if open.iter().all(|o| o.common(&part).is_empty()) {
            continue;
        }
        if looks {
            needed.parts.extend(open.iter().map(|o| o.common(&part)).filter(|common| !common.is_empty()));
        }
        open = open.iter().flat_map(|o| o.without(&part)).collect();
        if open.is_empty() {
            return Some(needed);
        }
        if open.len() + needed.parts.len() > MOST_PARTS {
            return None;
        }
    }
    Some(needed)
}

/// True if this is a propagate or a backprop to `dest`, and its component can set it.
fn sets_if_asked(nnet: &Nnet, command: &Command, dest: SubmatrixId) -> bool {
    match *command {
        Command::Backprop(Backprop { component, in_deriv, in_value, out_value, out_deriv, .. }) => {
            in_deriv == Some(dest)
                && in_value != Some(dest)
                && out_value != Some(dest)
                && out_deriv != dest
                && nnet.component(component).sets_in_deriv()
        }
        Command::Propagate(Propagate { component, input, output, .. }) => {
            output == dest && input != Some(dest) && nnet.component(component).sets_output()
        }
        _ => false,
    }
}
