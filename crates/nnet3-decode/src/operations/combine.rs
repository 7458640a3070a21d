//! Several lattices of an utterance as one.

use kaldi_fst::{Arc, EPSILON, Fst, StateId, Weight};

use crate::error::Result;
use crate::lattice::CompactLattice;
use crate::order;
use crate::posterior::forward_backward;

/// Adds the paths of a second FST to those of the first. Makes a new start with two arcs without labels only if arcs
/// lead to the first start.
pub fn unite<W: Weight>(first: &mut Fst<W>, second: Fst<W>) {
    let Some(other_start) = second.start else { return };
    let Some(mut start) = first.start else {
        *first = second;
        return;
    };
    let offset = first.states.len() as StateId;
    let added = second.states.into_iter().map(|mut state| {
        state.arcs.iter_mut().for_each(|arc| arc.next += offset);
        state
    });
    let is_entered = first.states.iter().flat_map(|state| &state.arcs).any(|arc| arc.next == start);
    first.states.extend(added);
    if is_entered {
        let new = first.add_state();
        first.state_mut(new).arcs.push(Arc::new(EPSILON, W::one(), start));
        first.start = Some(new);
        start = new;
    }
    first.state_mut(start).arcs.push(Arc::new(EPSILON, W::one(), other_start + offset));
}

/// Sorts a lattice, and shifts the graph costs of its ends so that the probabilities of all paths sum to `weight`.
///
/// # Errors
/// The lattice is empty, has a cycle, or has no path.
pub fn normalize(lattice: &mut CompactLattice, weight: f32) -> Result<()> {
    order::sort(lattice)?;
    let total = forward_backward(lattice)?.total as f32 - weight.ln();
    for state in lattice.states.iter_mut().filter(|state| state.is_final()) {
        state.final_weight.weight.graph += total;
    }
    Ok(())
}

/// Weights of `count` lattices that sum to 1, from a user's weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    pub weights: Vec<f32>,
    /// A sum that was not 1.
    pub renormalized: Option<f32>,
    /// True if the user's weights were negative or of the wrong number, so that all weights are equal.
    pub ignored: bool,
}

impl Weights {
    /// Equal weights, if none are given.
    pub fn new(given: &[f32], count: usize) -> Weights {
        let equal = || vec![1.0 / count as f32; count];
        if given.is_empty() {
            return Weights { weights: equal(), renormalized: None, ignored: false };
        }
        let sum: f32 = given.iter().sum();
        let usable = given.iter().all(|&weight| weight >= 0.0) && sum > 0.0 && sum.is_finite();
        if given.len() != count || !usable {
            return Weights { weights: equal(), renormalized: None, ignored: true };
        }
        let renormalized = Some(sum).filter(|sum| (sum - 1.0).abs() > 0.001);
        Weights { weights: given.iter().map(|weight| weight / sum).collect(), renormalized, ignored: false }
    }
}
