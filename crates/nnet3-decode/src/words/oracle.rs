//! The path of a lattice with the fewest errors (oracle).
//!
//! The lattice, the edit transducer and the reference are composed as in Kaldi's `lattice-oracle`. The search for the
//! path has OpenFst's order, so that it finds the same one among paths with equally many errors.

use std::collections::BTreeSet;

use kaldi_fst::ops::{
    Side, compose_transducers, project, remove_epsilons, remove_labels, sort_arcs, topological_sort,
};
use kaldi_fst::{Arc, EPSILON, Fst, StateId};
use rustc_hash::FxHashSet;

use crate::edit_distance::Errors;
use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, Lattice, compact};
use crate::order;
use crate::path::chain;

/// The words of the path with the fewest errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Oracle {
    /// The words of the path, without wildcards.
    pub words: Vec<i32>,
    pub errors: Errors,
    /// Number of words of the reference without wildcards.
    pub num_words: usize,
}

/// Finds the path with the fewest word errors against a reference. Words in `wildcards` are ignored in both. Returns
/// `None` if there is no path.
pub fn oracle(lattice: &Lattice, reference: &[i32], wildcards: &[i32]) -> Result<Option<Oracle>> {
    lattice.start.ok_or(Error::Empty)?;
    let wildcards: FxHashSet<i32> = wildcards.iter().copied().collect();
    let heard = words_of(lattice, &wildcards)?;
    let mut expected = chain(reference.iter().map(|&word| free(word, word)).collect::<Vec<_>>().iter(), 0.0);
    remove_labels(&mut expected, Side::Input, &wildcards);
    remove_labels(&mut expected, Side::Output, &wildcards);
    let not_sorted = "one of the two is sorted";
    let mut edited = compose_transducers(&edits(&heard, &expected), &expected, true).expect(not_sorted);
    sort_arcs(&mut edited, Side::Input);
    let mut pairs = compose_transducers(&heard, &edited, true).expect(not_sorted);
    topological_sort(&mut pairs).map_err(|_| Error::Cyclic)?;
    let Some(path) = first_best(&pairs) else { return Ok(None) };
    let count = |kind: fn(&Arc) -> bool| path.iter().filter(|arc| kind(arc)).count();
    let errors = Errors {
        insertions: count(|arc| arc.ilabel != EPSILON && arc.olabel == EPSILON),
        deletions: count(|arc| arc.ilabel == EPSILON && arc.olabel != EPSILON),
        substitutions: count(|arc| ![EPSILON, arc.olabel].contains(&arc.ilabel) && arc.olabel != EPSILON),
    };
    let num_words = count(|arc| arc.olabel != EPSILON);
    let words: Vec<i32> = path.iter().map(|arc| arc.ilabel).filter(|&word| word != EPSILON).collect();
    Ok(Some(Oracle { words, errors, num_words }))
}

/// The path of a lattice that costs least of those with these words, which has one. `wildcards` may be anywhere on it.
pub fn path_with_words(lattice: &Lattice, words: &[i32], wildcards: &[i32]) -> Result<CompactLattice> {
    let mut lattice = compact(lattice);
    order::sort(&mut lattice)?;
    Ok(cheapest(&lattice, words, |word| word == EPSILON || wildcards.contains(&word)))
}

fn free(ilabel: i32, olabel: i32) -> Arc {
    Arc { ilabel, olabel, weight: 0.0, next: 0 }
}

/// The strings of words that count, at no cost.
fn words_of(lattice: &Lattice, wildcards: &FxHashSet<i32>) -> Result<Fst> {
    let mut words = Fst { start: lattice.start, ..Fst::default() };
    for (s, state) in lattice.numbered() {
        words.add_state();
        let arcs = state.arcs.iter().map(|arc| Arc { next: arc.next, ..free(arc.ilabel, arc.olabel) });
        words.state_mut(s).arcs = arcs.collect();
        words.state_mut(s).final_weight = if state.is_final() { 0.0 } else { f32::INFINITY };
    }
    project(&mut words, Side::Output);
    remove_labels(&mut words, Side::Input, wildcards);
    remove_labels(&mut words, Side::Output, wildcards);
    remove_epsilons(&mut words).map_err(|_| Error::Cyclic)?;
    sort_arcs(&mut words, Side::Input);
    Ok(words)
}

/// Makes the edit transducer from words of the first FST to those of the second one: each deletion, insertion or
/// substitution costs 1.
fn edits(first: &Fst, second: &Fst) -> Fst {
    let words = |fst: &Fst| -> BTreeSet<i32> {
        fst.states
            .iter()
            .flat_map(|state| &state.arcs)
            .map(|arc| arc.ilabel)
            .filter(|&word| word != EPSILON)
            .collect()
    };
    let (from, to) = (words(first), words(second));
    let mut edits = Fst::default();
    edits.start = Some(edits.add_state());
    let state = edits.state_mut(0);
    state.final_weight = 0.0;
    let arcs = &mut state.arcs;
    let error = |ilabel, olabel| Arc { weight: 1.0, ..free(ilabel, olabel) };
    arcs.extend(from.iter().map(|&word| error(word, EPSILON)));
    arcs.extend(to.iter().map(|&word| error(EPSILON, word)));
    for &word in &from {
        arcs.extend(
            to.iter().map(|&other| if word == other { free(word, other) } else { error(word, other) }),
        );
    }
    sort_arcs(&mut edits, Side::Output);
    edits
}

/// Returns the arcs of the cheapest path of a topologically sorted FST; among equal ones the one that was found first.
fn first_best(fst: &Fst) -> Option<Vec<Arc>> {
    let mut costs = vec![f32::INFINITY; fst.states.len()];
    let mut before: Vec<Option<(StateId, usize)>> = vec![None; fst.states.len()];
    costs[fst.start? as usize] = 0.0;
    let (mut least, mut end) = (f32::INFINITY, None);
    for (s, state) in fst.numbered() {
        let cost = costs[s as usize];
        if cost + state.final_weight < least {
            (least, end) = (cost + state.final_weight, Some(s));
        }
        for (position, arc) in state.arcs.iter().enumerate() {
            let next = arc.next as usize;
            if cost + arc.weight < costs[next] {
                (costs[next], before[next]) = (cost + arc.weight, Some((s, position)));
            }
        }
    }
    let mut at = end?;
    let mut arcs = Vec::new();
    while let Some((state, position)) = before[at as usize] {
        arcs.push(fst.state(state).arcs[position]);
        at = state;
    }
    arcs.reverse();
    Some(arcs)
}

/// The path with these words that costs least, of a lattice that has one and is sorted topologically. Words that are
/// `skipped` may be anywhere.
fn cheapest(lattice: &CompactLattice, words: &[i32], skipped: impl Fn(i32) -> bool) -> CompactLattice {
    /// The cost of the best way to a place; the place before and the arc from there.
    #[derive(Clone, Copy)]
    struct Best(f64, Option<(StateId, usize, usize)>);
    let width = words.len() + 1;
    let mut best = vec![Best(f64::INFINITY, None); lattice.states.len() * width];
    if let Some(start) = lattice.start {
        best[start as usize * width].0 = 0.0;
    }
    let (mut least, mut end) = (f64::INFINITY, None);
    for (s, state) in lattice.numbered() {
        for said in 0..width {
            let cost = best[s as usize * width + said].0;
            if cost == f64::INFINITY {
                continue;
            }
            for (position, arc) in state.arcs.iter().enumerate() {
                let next = match arc.ilabel {
                    word if skipped(word) => said,
                    word if words.get(said) == Some(&word) => said + 1,
                    _ => continue,
                };
                let total = cost + arc.weight.weight.cost();
                let place = &mut best[arc.next as usize * width + next];
                if total < place.0 {
                    *place = Best(total, Some((s, said, position)));
                }
            }
        }
        let total = best[s as usize * width + words.len()].0 + state.final_weight.weight.cost();
        if total < least {
            (least, end) = (total, Some(s));
        }
    }
    let Some(last) = end else { return CompactLattice::default() };
    let (mut arcs, mut at) = (Vec::new(), (last, words.len()));
    while let Some((state, said, position)) = best[at.0 as usize * width + at.1].1 {
        arcs.push(&lattice.state(state).arcs[position]);
        at = (state, said);
    }
    chain(arcs.into_iter().rev(), lattice.state(last).final_weight.clone())
}
