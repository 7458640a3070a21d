//! The path of a lattice with the fewest errors.

use kaldi_fst::{EPSILON, StateId};

use crate::edit_distance::Errors;
use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, Lattice, compact};
use crate::order;

/// The words of the path with the fewest errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Oracle {
    /// The words of the path, without those that do not count.
    pub words: Vec<i32>,
    pub errors: Errors,
    /// How many words of the reference count.
    pub num_words: usize,
    /// The path.
    pub path: CompactLattice,
}

#[derive(Clone, Copy)]
struct Best {
    errors: Errors,
    /// The place before: state, words of the reference. The arc between them, if there is one.
    before: Option<(StateId, usize, Option<usize>)>,
}

/// Finds the path whose words have the fewest errors against a reference. `wildcards` are words that do not count, neither
/// here nor there. No path: `None`.
pub fn oracle(lattice: &Lattice, reference: &[i32], wildcards: &[i32]) -> Result<Option<Oracle>> {
    let mut lattice = lattice.clone();
    order::sort(&mut lattice)?;
    let start = lattice.start.ok_or(Error::Empty)?;
    let counts = |word: i32| word != EPSILON && !wildcards.contains(&word);
    let reference: Vec<i32> = reference.iter().copied().filter(|&word| counts(word)).collect();
    let width = reference.len() + 1;
    let mut best: Vec<Option<Best>> = vec![None; lattice.states.len() * width];
    let offer = |best: &mut Vec<Option<Best>>, state: StateId, words: usize, new: Best| {
        let place = &mut best[state as usize * width + words];
        if place.is_none_or(|known| new.errors.total() < known.errors.total()) {
            *place = Some(new);
        }
    };
    offer(&mut best, start, 0, Best { errors: Errors::default(), before: None });
    let mut end: Option<(Errors, StateId)> = None;
    for (s, state) in lattice.numbered() {
        for r in 0..width {
            let Some(Best { errors, .. }) = best[s as usize * width + r] else { continue };
            if r < reference.len() {
                let errors = Errors { deletions: errors.deletions + 1, ..errors };
                offer(&mut best, s, r + 1, Best { errors, before: Some((s, r, None)) });
            }
            for (position, arc) in state.arcs.iter().enumerate() {
                let before = Some((s, r, Some(position)));
                if !counts(arc.olabel) {
                    offer(&mut best, arc.next, r, Best { errors, before });
                    continue;
                }
                if let Some(word) = reference.get(r) {
                    let substitutions = errors.substitutions + usize::from(*word != arc.olabel);
                    let errors = Errors { substitutions, ..errors };
                    offer(&mut best, arc.next, r + 1, Best { errors, before });
                }
                let errors = Errors { insertions: errors.insertions + 1, ..errors };
                offer(&mut best, arc.next, r, Best { errors, before });
            }
        }
        if let (true, Some(last)) = (state.is_final(), best[s as usize * width + reference.len()])
            && end.is_none_or(|(errors, _)| last.errors.total() < errors.total())
        {
            end = Some((last.errors, s));
        }
    }
    let Some((errors, last)) = end else { return Ok(None) };
    let mut arcs = Vec::new();
    let mut at = (last, reference.len());
    while let Some((state, words, position)) = best[at.0 as usize * width + at.1].and_then(|best| best.before)
    {
        arcs.extend(position.map(|position| lattice.state(state).arcs[position]));
        at = (state, words);
    }
    arcs.reverse();
    let words = arcs.iter().map(|arc| arc.olabel).filter(|&word| counts(word)).collect();
    let path = compact(&crate::path::chain(arcs.iter(), lattice.state(last).final_weight));
    Ok(Some(Oracle { words, errors, num_words: reference.len(), path }))
}
