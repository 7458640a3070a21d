//! The times of states.

use kaldi_fst::Fst;

use crate::error::{Error, Result};
use crate::lattice::AnyLattice;

/// How many frames lead to each state that can be reached, and how many the whole lattice has. The lattice must be
/// sorted. All ways to a state, and all ways to an end, must have equally many; of lattices that are cut short, or have
/// none of their states final, the longest counts.
pub fn state_times<W: AnyLattice>(lattice: &Fst<W>) -> Result<(Vec<Option<usize>>, usize)> {
    let mut times = vec![None; lattice.states.len()];
    let Some(start) = lattice.start else { return Ok((times, 0)) };
    times[start as usize] = Some(0);
    let mut length = None;
    for (s, state) in lattice.numbered() {
        let Some(time) = times[s as usize] else { continue };
        for arc in &state.arcs {
            let then = time + W::frames(arc);
            let known = *times[arc.next as usize].get_or_insert(then);
            if known != then {
                return Err(Error::UnequalTimes { state: arc.next, first: known, second: then });
            }
        }
        if state.is_final() {
            let end = time + state.final_weight.final_frames();
            let known = *length.get_or_insert(end);
            if known != end {
                return Err(Error::UnequalLengths { first: known, second: end });
            }
        }
    }
    let longest = times.iter().flatten().copied().max().unwrap_or(0);
    Ok((times, length.unwrap_or(longest)))
}
