//! Difference of lattices: the paths with word sequences that the other lattice does not have.

use kaldi_fst::ops::{self, Side};
use kaldi_fst::state_table::unfold;
use kaldi_fst::{Arc, EPSILON, Fst, StateId};

use crate::compose::Composed;
use crate::error::{Error, Result};
use crate::lattice::Lattice;
use crate::weight::LatticeWeight;

/// Sequences of words of a lattice at no cost: an acceptor with at most one arc for each word from each state.
fn words_of(lattice: &Lattice) -> Result<Fst> {
    let mut words = Fst { start: lattice.start, ..Fst::default() };
    for (s, state) in lattice.numbered() {
        words.add_state();
        words.state_mut(s).final_weight = if state.is_final() { 0.0 } else { f32::INFINITY };
        words.state_mut(s).arcs = state
            .arcs
            .iter()
            .map(|arc| Arc { ilabel: arc.olabel, olabel: arc.olabel, weight: 0.0, next: arc.next })
            .collect();
    }
    ops::project(&mut words, Side::Output);
    ops::remove_epsilons(&mut words).map_err(|_| Error::Cyclic)?;
    ops::determinize(&words, usize::MAX).map_err(|error| Error::Data(error.to_string()))
}

/// Returns the paths of the first lattice with word sequences that occur on no path of the second. Empty if there are
/// no such paths.
///
/// # Errors
/// The second lattice has a cycle without words.
pub fn difference(first: &Lattice, second: &Lattice) -> Result<Lattice> {
    let words = words_of(second)?;
    let Some(start) = first.start else { return Ok(Lattice::default()) };
    // A state of the result: a state of the first lattice, and the state that the words reach in the second, if any.
    let mut out =
        unfold((start, words.start), |(s, at): (StateId, Option<StateId>), out: &mut Composed<_>| {
            let state = first.state(s);
            for arc in &state.arcs {
                let then = match (arc.olabel, at) {
                    (EPSILON, at) => at,
                    (_, None) => None,
                    (word, Some(at)) => {
                        words.state(at).arcs.iter().find(|arc| arc.ilabel == word).map(|arc| arc.next)
                    }
                };
                out.add((arc.ilabel, arc.olabel), arc.weight, (arc.next, then));
            }
            let ends_in_both = at.is_some_and(|at| words.state(at).is_final());
            if ends_in_both { LatticeWeight::ZERO } else { state.final_weight }
        });
    ops::connect(&mut out);
    Ok(out)
}
