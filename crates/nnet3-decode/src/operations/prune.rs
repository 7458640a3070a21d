//! Pruning by a beam or by the number of arcs at each frame.

use kaldi_fst::{Fst, ops};

use crate::error::Result;
use crate::lattice::AnyLattice;
use crate::order;
use crate::path::costs_to_end;
use crate::times::state_times;

/// Removes arcs and ends that are on no path within `beam` of the best one, and then unused states. Sorts the lattice.
/// Returns false if the lattice becomes empty.
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

/// Counts, for each frame of a sorted lattice, the arcs that span it and the final weights with frames.
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

/// Keeps at most `most` arcs at each frame: those with the best paths through them. Costs of equal arcs are decided by the
/// order of states. The lattice is sorted, and states that no path uses are removed.
pub fn limit_depth<W: AnyLattice>(lattice: &mut Fst<W>, most: usize) -> Result<()> {
    order::sort(lattice)?;
    let Some(start) = lattice.start else { return Ok(()) };
    let (times, length) = state_times(lattice)?;
    let rest = costs_to_end(lattice);
    let mut costs = vec![f64::INFINITY; lattice.states.len()];
    costs[start as usize] = 0.0;
    /// An arc, and the cost of the best path through it.
    struct Crossing {
        state: usize,
        position: usize,
        cost: f64,
    }
    let mut frames: Vec<Vec<Crossing>> = Vec::new();
    frames.resize_with(length, Vec::new);
    for (state, data) in lattice.states.iter().enumerate() {
        let Some(time) = times[state] else { continue };
        for (position, arc) in data.arcs.iter().enumerate() {
            let then = costs[state] + arc.weight.costs().cost();
            let next = &mut costs[arc.next as usize];
            *next = next.min(then);
            let cost = then + rest[arc.next as usize];
            let end = (time + W::frames(arc)).min(length);
            for frame in &mut frames[time.min(end)..end] {
                frame.push(Crossing { state, position, cost });
            }
        }
    }
    let mut removed: Vec<Vec<bool>> =
        lattice.states.iter().map(|state| vec![false; state.arcs.len()]).collect();
    for frame in &mut frames {
        if frame.len() > most {
            frame.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            frame[most..].iter().for_each(|arc| removed[arc.state][arc.position] = true);
        }
    }
    for (state, removed) in lattice.states.iter_mut().zip(removed) {
        let mut removed = removed.into_iter();
        state.arcs.retain(|_| !removed.next().unwrap_or(false));
    }
    ops::connect(lattice);
    Ok(())
}

fn count(depths: &mut [i32], from: usize, frames: usize) {
    let end = (from + frames).min(depths.len());
    depths[from.min(end)..end].iter_mut().for_each(|depth| *depth += 1);
}
