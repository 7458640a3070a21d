//! Derivatives that a backprop adds to a matrix of zeros, which is then added to another one: the backprop can add to that
//! one at once.

use super::events::{Event, Events, What};
use crate::component::Properties;
use crate::computation::{Backprop, Command, Computation, SubmatrixId};
use crate::nnet::Nnet;

/// A zeroing, a backprop and an addition of which the backprop alone is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addition {
    pub zeroing: usize,
    pub backprop: usize,
    pub addition: usize,
    /// What the backprop adds to.
    pub dest: SubmatrixId,
}

/// All of them.
pub(super) fn additions<'a>(
    nnet: &'a Nnet,
    computation: &'a Computation,
    events: &'a Events,
) -> impl Iterator<Item = Addition> + 'a {
    let sequences = events.iter().flat_map(|events| events.windows(4));
    sequences.filter_map(|sequence| addition(nnet, computation, events, sequence))
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
        && backprop.what == What::Changes(zeroed)
        && in_deriv == Some(zeroed)
        && src == zeroed
        && forgets(computation, events, after);
    if !fits {
        return None;
    }
    let (part, into) = (computation.submatrix(dest), computation.matrix_of(dest));
    let contiguous = part.cols == computation.matrix(into).cols;
    if !contiguous && nnet.component(component).properties().has(Properties::INPUT_CONTIGUOUS) {
        return None;
    }
    // What it is added to is there already, and nobody looks at it in between.
    let between = backprop.command()..addition.command();
    let untouched = !events.of(into.index()).iter().any(|event| between.contains(&event.command()));
    (into != computation.matrix_of(src) && untouched).then_some(Addition {
        zeroing: zeroing.command(),
        backprop: backprop.command(),
        addition: addition.command(),
        dest,
    })
}

/// Whether the contents of a matrix are lost at this event: it goes, or its storage becomes that of a matrix that is set
/// before anything else happens to it.
pub(super) fn forgets(computation: &Computation, events: &Events, event: Event) -> bool {
    match event.what {
        What::Deallocates => true,
        What::SwapsWith(other) => {
            let next = events.of(other.index()).iter().find(|next| next.command() > event.command());
            next.is_some_and(|next| match next.what {
                What::Sets(s) => computation.is_whole(s),
                _ => false,
            })
        }
        _ => false,
    }
}
