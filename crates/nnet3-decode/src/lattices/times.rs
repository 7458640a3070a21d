//! The times of states.

use kaldi_fst::Fst;

use crate::error::{Error, Result};
use crate::lattice::AnyLattice;

/// Returns the number of frames to each reachable state, and the length of the whole lattice. The lattice must be
/// sorted. All paths to a state must have the same number of frames, and so must all final paths. If the lattice is cut
/// short or no state is final, the longest path gives the length.
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
