//! Leaving out what costs too much, and how many paths there are at each time.

use kaldi_fst::{Fst, ops};

use crate::error::Result;
use crate::lattice::AnyLattice;
use crate::order;
use crate::path::costs_to_end;
use crate::times::state_times;

/// Removes arcs and ends through which no path costs at most `beam` more than the best, and then the states that no path
/// uses. The lattice is sorted. False if nothing is left.
pub fn prune<W: AnyLattice>(lattice: &mut Fst<W>, beam: f32) -> Result<bool> {
    order::sort(lattice)?;
    let Some(start) = lattice.start else { return Ok(false) };
    let rest = costs_to_end(lattice);
    let cutoff = rest[start as usize] + f64::from(beam);
    let mut costs = vec![f64::INFINITY; lattice.states.len()];
    costs[start as usize] = 0.0;
    for (s, state) in lattice.states.iter_mut().enumerate() {
        let cost = costs[s];
        state.arcs.retain(|arc| {
            let then = cost + arc.weight.costs().cost();
            let next = &mut costs[arc.next as usize];
            *next = next.min(then);
            then + rest[arc.next as usize] <= cutoff
        });
        if state.is_final() && cost + state.final_weight.costs().cost() > cutoff {
            state.final_weight = W::zero();
        }
    }
    ops::connect(lattice);
    Ok(!lattice.states.is_empty())
}

/// How many arcs, and how many ends that take time, there are at each frame of a sorted lattice.
pub fn depth_per_frame<W: AnyLattice>(lattice: &Fst<W>) -> Result<Vec<i32>> {
    let (times, length) = state_times(lattice)?;
    let mut depths = vec![0; length];
    for (state, time) in lattice.states.iter().zip(times) {
        let Some(time) = time else { continue };
        for arc in &state.arcs {
            count(&mut depths, time, W::frames(arc));
        }
        count(&mut depths, time, state.final_weight.final_frames());
    }
    Ok(depths)
}

fn count(depths: &mut [i32], from: usize, frames: usize) {
    let end = (from + frames).min(depths.len());
    depths[from.min(end)..end].iter_mut().for_each(|depth| *depth += 1);
}
