//! Posterior probabilities of the arcs of a lattice, by the forward-backward algorithm.

use std::collections::BTreeMap;

use kaldi_fst::{EPSILON, Fst};
use kaldi_io::Posterior;
use kaldi_numerics::log_sums::log_add;

use crate::error::{Error, Result};
use crate::lattice::{AnyLattice, CompactLattice, Lattice};
use crate::order;
use crate::times::state_times;

/// The log-likelihoods of all ways to each state, and of all ways from it to an end; the lattice must be sorted.
pub struct ForwardBackward {
    pub forward: Vec<f64>,
    pub backward: Vec<f64>,
    /// The log-likelihood of all paths.
    pub total: f64,
}

pub fn forward_backward<W: AnyLattice>(lattice: &Fst<W>) -> Result<ForwardBackward> {
    let start = lattice.start.ok_or(Error::Empty)?;
    let count = lattice.states.len();
    let mut forward = vec![f64::NEG_INFINITY; count];
    forward[start as usize] = 0.0;
    for (s, state) in lattice.numbered() {
        let here = forward[s as usize];
        for arc in &state.arcs {
            let next = &mut forward[arc.next as usize];
            *next = log_add(*next, here - arc.weight.costs().cost());
        }
    }
    let mut backward = vec![f64::NEG_INFINITY; count];
    for s in (0..count).rev() {
        let state = &lattice.states[s];
        let ways = state.arcs.iter().map(|arc| backward[arc.next as usize] - arc.weight.costs().cost());
        backward[s] = ways.fold(-state.final_weight.costs().cost(), log_add);
    }
    let total = backward[start as usize];
    if total == f64::NEG_INFINITY {
        Err(Error::NoPath)
    } else {
        Ok(ForwardBackward { forward, backward, total })
    }
}

/// Posteriors of a lattice for each frame.
pub struct Frames {
    /// Transition-ids with their probabilities, in the order of the ids.
    pub posterior: Posterior,
    /// The log-likelihood of all paths.
    pub log_like: f64,
    /// The expected acoustic log-likelihood.
    pub acoustic: f64,
}

/// Probabilities of transition-ids in each frame. The lattice is sorted.
pub fn transition_posteriors(lattice: &mut Lattice) -> Result<Frames> {
    order::sort(lattice)?;
    let (times, length) = state_times(lattice)?;
    let sums = forward_backward(lattice)?;
    let mut frames: Vec<BTreeMap<i32, f64>> = vec![BTreeMap::new(); length];
    let mut acoustic = 0.0;
    for (s, state) in lattice.numbered() {
        let (Some(time), here) = (times[s as usize], sums.forward[s as usize]) else { continue };
        for arc in &state.arcs {
            let path = here - arc.weight.cost() + sums.backward[arc.next as usize];
            let probability = (path - sums.total).exp();
            acoustic -= f64::from(arc.weight.acoustic) * probability;
            if arc.ilabel != EPSILON && probability > 0.0 {
                *frames[time].entry(arc.ilabel).or_default() += probability;
            }
        }
        if state.is_final() {
            let probability = (here - state.final_weight.cost() - sums.total).exp();
            acoustic -= f64::from(state.final_weight.acoustic) * probability;
        }
    }
    let posterior = frames.into_iter().map(|frame| frame.into_iter().map(|(id, p)| (id, p as f32)).collect());
    Ok(Frames { posterior: posterior.collect(), log_like: sums.total, acoustic })
}

/// An arc of a compact lattice with its probability.
#[derive(Debug, Clone, PartialEq)]
pub struct ArcPosterior<'l> {
    /// The first frame.
    pub start: usize,
    pub word: i32,
    pub ids: &'l [i32],
    pub posterior: f32,
}

/// Returns the arcs of a sorted lattice with a probability above `least`, in the order of states.
///
/// # Errors
/// The lattice is empty, has no path, or paths of different length to a state.
pub fn arc_posteriors(lattice: &CompactLattice, least: f32) -> Result<Vec<ArcPosterior<'_>>> {
    let (times, _) = state_times(lattice)?;
    let sums = forward_backward(lattice)?;
    let mut arcs = Vec::new();
    for (s, state) in lattice.numbered() {
        let Some(start) = times[s as usize] else { continue };
        for arc in &state.arcs {
            let path = sums.forward[s as usize] - arc.weight.weight.cost() + sums.backward[arc.next as usize];
            let posterior = (path - sums.total).exp() as f32;
            if posterior > least {
                arcs.push(ArcPosterior { start, word: arc.ilabel, ids: &arc.weight.string, posterior });
            }
        }
    }
    Ok(arcs)
}
