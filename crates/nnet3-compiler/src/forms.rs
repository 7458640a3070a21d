//! The form in which a computation keeps each matrix: floats, or halves on a device that asks for them
//! ([`nnet3_matrix::backend::Abilities::between_layers`]).
//!
//! Halves are for values and derivatives between layers. Floats stay:
//! - inputs, outputs and their derivatives, which the user exchanges;
//! - all that a component reads or writes that needs floats ([`nnet3_component::Component::needs_floats`]): states of
//!   recurrences, and sums;
//! - all that a component reads or writes that runs several times, as in a recurrence: products of a few rows at a time take
//!   long anyway, and the parameters would have to be rounded each time;
//! - matrices whose rows are found by their place in the arena, which counts floats;
//! - all matrices of a loop, since its states return.
//!
//! Memos, parameters, statistics and scratch memory are no matrices of a computation and are floats always. Matrices that hand
//! their memory on by swaps have one form.

use crate::computation::{Backprop, Command, Computation, MatrixId, Propagate, SubmatrixId};
use nnet3_base::index::ComponentId;
use nnet3_matrix::Element;
use nnet3_network::Nnet;
use std::collections::HashMap;

/// Returns the form of each matrix, if `between_layers` is the device's.
pub(crate) fn forms(nnet: &Nnet, computation: &Computation, between_layers: Element) -> Vec<Element> {
    let count = computation.matrices.len();
    if between_layers == Element::Float || computation.is_looped() {
        return vec![Element::Float; count];
    }
    let mut runs = HashMap::new();
    for command in &computation.commands {
        if let Command::Propagate(Propagate { component, .. }) = command {
            *runs.entry(*component).or_insert(0) += 1;
        }
    }
    let needs_floats = |component: ComponentId| {
        nnet.component(component).needs_floats() || runs.get(&component).is_some_and(|&runs| runs > 1)
    };
    let mut floats = vec![false; count];
    for command in &computation.commands {
        let mut keep = |s| floats[computation.matrix_of(s).index()] = true;
        keep_floats(computation, command, needs_floats, &mut keep);
    }
    // A chain of swaps may pass through the same matrix several times.
    while let Some((first, second)) = swaps(computation).find(|(a, b)| floats[a.index()] != floats[b.index()])
    {
        (floats[first.index()], floats[second.index()]) = (true, true);
    }
    floats.into_iter().map(|floats| if floats { Element::Float } else { between_layers }).collect()
}

fn swaps(computation: &Computation) -> impl Iterator<Item = (MatrixId, MatrixId)> {
    computation.commands.iter().filter_map(|command| match *command {
        Command::Swap { first, second } => {
            Some((computation.matrix_of(first), computation.matrix_of(second)))
        }
        _ => None,
    })
}

/// Calls `keep` with the sub-matrices whose matrices must be floats because of this command.
fn keep_floats(
    computation: &Computation,
    command: &Command,
    needs_floats: impl Fn(ComponentId) -> bool,
    keep: &mut impl FnMut(SubmatrixId),
) {
    match *command {
        Command::AcceptInput { matrix, .. } | Command::ProvideOutput { matrix, .. } => keep(matrix),
        Command::CopyRowsMulti { rows, .. }
        | Command::CopyToRowsMulti { rows, .. }
        | Command::AddRowsMulti { rows, .. }
        | Command::AddToRowsMulti { rows, .. } => {
            let list = &computation.multi_indexes[rows.index()];
            list.iter().flatten().for_each(|&(s, _)| keep(s));
        }
        Command::Propagate(Propagate { component, input, output, .. }) if needs_floats(component) => {
            input.into_iter().chain([output]).for_each(keep)
        }
        Command::Backprop(Backprop { component, in_value, out_value, out_deriv, in_deriv, .. })
            if needs_floats(component) =>
        {
            [in_value, out_value, Some(out_deriv), in_deriv].into_iter().flatten().for_each(keep)
        }
        _ => {}
    }
}
