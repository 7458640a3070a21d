//! A pass for derivatives that a backprop adds to a zeroed matrix which is then added to another matrix. The backprop
//! adds to that other matrix directly. The order of rounding differs.

use super::Lowering;
use super::dataflow::{Effect, Event, Events, forgets};
use super::op::Op;
use crate::computation::{Backprop, Command, Computation, SubmatrixId};
use nnet3_component::Properties;
use nnet3_network::Nnet;

/// A zeroing, a backprop and an addition that can be replaced by the backprop alone.
#[derive(Clone, Copy, Debug)]
struct Addition {
    zeroing: usize,
    backprop: usize,
    addition: usize,
    /// The destination of the addition.
    dest: SubmatrixId,
}

pub(super) fn run(lowering: &mut Lowering<'_>) {
    let (nnet, computation) = (lowering.nnet, lowering.computation);
    let sequences = lowering.events.iter().flat_map(|events| events.windows(4));
    let found: Vec<Addition> =
        sequences.filter_map(|sequence| addition(nnet, computation, &lowering.events, sequence)).collect();
    for Addition { zeroing, backprop, addition, dest } in found {
        if ![zeroing, backprop, addition].into_iter().all(|command| lowering.is_literal(command)) {
            continue;
        }
        let mut op = lowering.ops[backprop].clone();
        if let Op::Backprop(backprop) = &mut op {
            backprop.args.in_deriv = Some(dest);
        }
        lowering.replace(backprop, op);
        lowering.remove(zeroing);
        lowering.remove(addition);
    }
}

fn addition(nnet: &Nnet, computation: &Computation, events: &Events, sequence: &[Event]) -> Option<Addition> {
    let [zeroing, backprop, addition, after] = *sequence else { return None };
    let commands = &computation.commands;
    let Command::SetConst { dest: zeroed, value: 0.0 } = commands[zeroing.command()] else { return None };
    let Command::Backprop(Backprop { component, in_deriv, .. }) = commands[backprop.command()] else {
        return None;
    };
    let Command::Add { dest, src, alpha: 1.0 } = commands[addition.command()] else { return None };
    let fits = computation.is_whole(zeroed)
        && backprop.effect == Effect::Changes(zeroed)
        && in_deriv == Some(zeroed)
        && src == zeroed
        && forgets(computation, events, after);
    if !fits {
        return None;
    }
    let (part, into) = (computation.submatrix(dest), computation.matrix_of(dest));
    let contiguous = part.cols == computation.matrix(into).cols;
    if !contiguous && nnet.component(component).properties().contains(Properties::INPUT_CONTIGUOUS) {
        return None;
    }
    // The destination must be complete already, and no command may access it in between.
    let between = backprop.command()..addition.command();
    let untouched = !events.of(into.index()).iter().any(|event| between.contains(&event.command()));
    (into != computation.matrix_of(src) && untouched).then_some(Addition {
        zeroing: zeroing.command(),
        backprop: backprop.command(),
        addition: addition.command(),
        dest,
    })
}
