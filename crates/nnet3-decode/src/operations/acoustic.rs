//! New acoustic costs for lattices (`RescoreCompactLattice` of `lat/lattice-functions.cc`).

use crate::decoder::Decodable;
use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::order;
use crate::times::state_times;

/// Results of adding acoustic costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rescored {
    Done,
    /// The lattice has no states.
    Empty,
    /// The lattice has `lattice` frames; the last ones have no log-likelihoods.
    TooShort {
        lattice: usize,
        frames: usize,
    },
}

/// Subtracts from acoustic costs the log-likelihood of every transition-id at its frame. The lattice becomes sorted.
/// Fails if it has a cycle, paths of different lengths, or transition-ids above `last`.
pub fn add_acoustic_costs(
    lattice: &mut CompactLattice,
    last: usize,
    decodable: &impl Decodable,
) -> Result<Rescored> {
    if lattice.start.is_none() {
        return Ok(Rescored::Empty);
    }
    let weights = lattice
        .states
        .iter()
        .flat_map(|state| state.arcs.iter().map(|arc| &arc.weight).chain([&state.final_weight]));
    if let Some(&found) =
        weights.flat_map(|weight| &weight.string).find(|&&id| !(1..=last as i64).contains(&id.into()))
    {
        return Err(Error::TransitionId { found, last });
    }
    order::sort(lattice)?;
    let (times, length) = state_times(lattice)?;
    let frames = decodable.num_frames();
    if length > frames {
        return Ok(Rescored::TooShort { lattice: length, frames });
    }
    let cost = |first: usize, ids: &[i32]| -> f32 {
        ids.iter().enumerate().fold(0.0, |cost, (t, &id)| cost - decodable.frame(first + t)(id))
    };
    for (state, time) in lattice.states.iter_mut().zip(times) {
        let Some(time) = time else { continue };
        for arc in &mut state.arcs {
            arc.weight.weight.acoustic += cost(time, &arc.weight.string);
        }
        if state.is_final() {
            state.final_weight.weight.acoustic += cost(time, &state.final_weight.string);
        }
    }
    Ok(Rescored::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::MatrixDecodable;
    use crate::lattice::{compact, linear};
    use crate::path;
    use crate::weight::LatticeWeight;
    use kaldi_io::DenseMatrix;

    #[test]
    fn costs_of_all_frames() {
        let lattice = linear(&[1, 1, 2], &[7], LatticeWeight::new(1.0, 2.0));
        let loglikes = DenseMatrix::from_rows(&[[-1.0f32, 9.0], [-2.0, 9.0], [9.0, -4.0]]);
        let decodable = MatrixDecodable::new(&loglikes, &[0, 0, 1], 1.0).unwrap();
        let mut rescored = compact(&lattice);
        assert_eq!(add_acoustic_costs(&mut rescored, 2, &decodable).unwrap(), Rescored::Done);
        let best = path::read_linear(&crate::lattice::expand(&rescored)).unwrap();
        assert_eq!(best.weight, LatticeWeight::new(1.0, 9.0));
        let short = loglikes.block(0, 2, 0, 2);
        let decodable = MatrixDecodable::new(&short, &[0, 0, 1], 1.0).unwrap();
        let mut same = compact(&lattice);
        let outcome = add_acoustic_costs(&mut same, 2, &decodable).unwrap();
        assert_eq!(outcome, Rescored::TooShort { lattice: 3, frames: 2 });
        let outcome = add_acoustic_costs(&mut CompactLattice::default(), 2, &decodable).unwrap();
        assert_eq!(outcome, Rescored::Empty);
        let error = add_acoustic_costs(&mut same, 1, &decodable).unwrap_err();
        assert!(error.to_string().contains("transition-id 2"), "{error}");
    }
}
