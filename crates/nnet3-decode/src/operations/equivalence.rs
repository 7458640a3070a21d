//! A comparison of lattices by paths at random.

use std::collections::HashMap;

use kaldi_fst::{Algebra, EPSILON, StateId, ops};

use crate::error::Result;
use crate::lattice::Lattice;
use crate::order;
use crate::path::random_path;
use crate::weight::LatticeWeight;

/// The weight of the best path of a sorted lattice with these transition-ids and words; [`LatticeWeight::ZERO`] if there is
/// none.
pub fn weight_of(lattice: &Lattice, ids: &[i32], words: &[i32]) -> LatticeWeight {
    let Some(start) = lattice.start else { return LatticeWeight::ZERO };
    // States with the number of transition-ids and of words so far. Arcs lead to higher states, so each place is complete
    // when its state comes.
    let mut places: Vec<HashMap<(usize, usize), LatticeWeight>> = vec![HashMap::new(); lattice.states.len()];
    places[start as usize].insert((0, 0), LatticeWeight::ONE);
    let mut best = LatticeWeight::ZERO;
    for s in 0..lattice.states.len() {
        let here = std::mem::take(&mut places[s]);
        let state = lattice.state(s as StateId);
        for ((i, j), weight) in here {
            if (i, j) == (ids.len(), words.len()) {
                best = best.plus(&weight.times(&state.final_weight));
            }
            for arc in &state.arcs {
                let after = |at: usize, labels: &[i32], label: i32| match label {
                    EPSILON => Some(at),
                    _ => (labels.get(at) == Some(&label)).then_some(at + 1),
                };
                let (Some(i), Some(j)) = (after(i, ids, arc.ilabel), after(j, words, arc.olabel)) else {
                    continue;
                };
                let then = weight.times(&arc.weight);
                let known = places[arc.next as usize].entry((i, j)).or_insert(LatticeWeight::ZERO);
                *known = known.plus(&then);
            }
        }
    }
    best
}

/// True if `num_paths` random paths, from one or the other lattice, have costs in both that differ by at most `delta`.
/// Two lattices without paths are equivalent. `choose` returns a number below its argument.
///
/// # Errors
/// A lattice has a cycle.
pub fn are_equivalent(
    mut first: Lattice,
    mut second: Lattice,
    num_paths: usize,
    delta: f32,
    mut choose: impl FnMut(usize) -> usize,
) -> Result<bool> {
    for lattice in [&mut first, &mut second] {
        ops::connect(lattice);
        order::sort(lattice)?;
    }
    if first.start.is_none() || second.start.is_none() {
        return Ok(first.start == second.start);
    }
    for _ in 0..num_paths {
        let source = if choose(2) == 0 { &first } else { &second };
        let path = random_path(source, &mut choose)?;
        let labels = |label: fn(&crate::LatticeArc) -> i32| -> Vec<i32> {
            let arcs = path.states.iter().flat_map(|state| &state.arcs);
            arcs.map(label).filter(|&label| label != EPSILON).collect()
        };
        let (ids, words) = (labels(|arc| arc.ilabel), labels(|arc| arc.olabel));
        let [a, b] = [&first, &second].map(|lattice| weight_of(lattice, &ids, &words));
        if a.is_zero() != b.is_zero() || !a.approx_equal(&b, delta) {
            return Ok(false);
        }
    }
    Ok(true)
}
