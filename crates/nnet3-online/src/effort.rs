//! Bounds of the work at the end of a sentence, which grows with the lattice.

use kaldi_fst::Fst;
use nnet3_decode::{AnyLattice, prune};

use crate::error::Result;

/// Arcs of a lattice frame by frame for each arc of a lattice of words.
const RAW: usize = 50;
/// The share of the beam that is left after each attempt.
const NARROWER: f32 = 0.75;
/// Attempts, at most: the beam is then a thousandth.
const MOST: usize = 24;

/// Limits of arcs. A lattice with more is pruned with a narrower beam.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Arcs of a lattice of words. A lattice frame by frame may have 50 times as many.
    pub arcs: usize,
}

impl Effort {
    /// Prunes a lattice of words with the beam that it has.
    pub(crate) fn bound_words<W: AnyLattice>(self, lattice: &mut Fst<W>, beam: f32) -> Result<()> {
        bound(lattice, self.arcs, beam)
    }

    /// Prunes a lattice frame by frame with the beam that it has.
    pub(crate) fn bound_frames<W: AnyLattice>(self, lattice: &mut Fst<W>, beam: f32) -> Result<()> {
        bound(lattice, self.arcs.saturating_mul(RAW), beam)
    }
}

fn bound<W: AnyLattice>(lattice: &mut Fst<W>, most: usize, mut beam: f32) -> Result<()> {
    for _ in 0..MOST {
        if lattice.num_arcs() <= most {
            return Ok(());
        }
        beam *= NARROWER;
        prune::prune(lattice, beam)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kaldi_fst::{Algebra, Arc};
    use nnet3_decode::weight::LatticeWeight;
    use nnet3_decode::{Lattice, path};

    use super::*;

    /// A lattice of frames with arcs of the costs 0, 1, … in each.
    fn wide(frames: usize, arcs: u32) -> Lattice {
        let mut lattice = Lattice::default();
        let mut last = lattice.add_state();
        lattice.start = Some(last);
        for _ in 0..frames {
            let next = lattice.add_state();
            for cost in 0..arcs {
                let (label, weight) = (cost as i32 + 1, LatticeWeight { graph: cost as f32, acoustic: 0.0 });
                lattice.state_mut(last).arcs.push(Arc { ilabel: label, olabel: label, weight, next });
            }
            last = next;
        }
        lattice.state_mut(last).final_weight = LatticeWeight::one();
        lattice
    }

    #[test]
    fn large_lattices_lose_their_worst_paths_and_small_ones_nothing() {
        let effort = Effort { arcs: 60 };
        let mut small = wide(10, 6);
        effort.bound_words(&mut small, 8.0).unwrap();
        assert_eq!(small, wide(10, 6));
        let mut large = wide(10, 20);
        let best = path::best_path(&large);
        effort.bound_words(&mut large, 20.0).unwrap();
        let left = large.num_arcs();
        assert!((20..=60).contains(&left) && left.is_multiple_of(10), "{left}");
        assert_eq!(path::best_path(&large), best);
        let mut frames = wide(10, 20);
        effort.bound_frames(&mut frames, 20.0).unwrap();
        assert_eq!(frames.num_arcs(), 200);
    }
}
