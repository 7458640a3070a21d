//! The index of a lattice, and the index of many (`kwsbin/lattice-to-kws-index.cc`, `kwsbin/kws-index-union.cc`).
//!
//! A path of an index is a factor: its words are input labels. The last arc has a number that tells factors of the same words
//! apart as input, and the utterance as output.

use kaldi_fst::ops::{self, Determinized, Empty, SubsetRules};
use kaldi_fst::state_table::LastInFirstOut;
use kaldi_fst::subsets::Same;
use kaldi_fst::{Algebra, Arc, EPSILON, Fst, State, StateId};
use nnet3_decode::times::state_times;
use nnet3_decode::{CompactLattice, order};

use crate::error::{Error, Result};
use crate::factors::{FactorWeight, factors};
use crate::weight::HitWeight;

/// Weights that are equal but for this are one.
const DELTA: f32 = 1.0 / 1024.0;

/// An index, as it is in files.
pub type Index = Fst<HitWeight>;

/// Options of indices of lattices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexOptions {
    /// Longer silences (in frames of the lattice) do not lie within a keyword.
    pub longest_silence: usize,
    /// Most states of an optimized index for each state of the lattice; no limit if it is not above 0.
    pub max_states_scale: f32,
    /// An index with more states is written as far as it was made; otherwise it is not optimized.
    pub allow_partial: bool,
}

/// The index of a lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct Indexed {
    pub index: Index,
    /// The limit of states, if the optimization had to stop there.
    pub stopped_at: Option<usize>,
}

/// Makes the index of a lattice, whose costs are scaled and whose arcs are words. `utterance` is its number in the index, which is
/// above 0.
pub fn index_lattice(lattice: &CompactLattice, utterance: i32, options: IndexOptions) -> Result<Indexed> {
    if utterance <= 0 {
        return Err(Error::data(format!("expected a number of the utterance above 0, found {utterance}")));
    }
    let limit = (options.max_states_scale > 0.0)
        .then_some((options.max_states_scale * lattice.states.len() as f32) as usize);
    let mut lattice = lattice.clone();
    // States that no path uses have no times.
    ops::connect(&mut lattice);
    order::sort(&mut lattice)?;
    let (times, _) = state_times(&lattice)?;
    let times: Vec<usize> = times.into_iter().map(Option::unwrap_or_default).collect();
    let all = factors(&lattice, &times, utterance, options.longest_silence)?;
    let rules = SubsetRules { same: Same::Near(DELTA), empty: Empty::Passed, most_states: usize::MAX };
    let mut plain = told_apart(&ops::determinize_pairs::<_, LastInFirstOut>(&all, rules).fst);
    ops::connect(&mut plain);
    if plain.start.is_none() {
        // Without words there is nothing to find.
        return Ok(Indexed { index: plain, stopped_at: None });
    }
    let (mut index, complete) = optimized(&plain, limit);
    if !complete && !options.allow_partial {
        index = plain;
        minimize(&mut index)?;
    } else {
        minimize(&mut index)?;
    }
    Ok(Indexed { index, stopped_at: limit.filter(|_| !complete) })
}

/// As far as it has at most so many states; and whether that is all of it.
fn optimized(index: &Index, most_states: Option<usize>) -> (Index, bool) {
    let most_states = most_states.unwrap_or(usize::MAX);
    let rules = SubsetRules { same: Same::Near(DELTA), empty: Empty::Counts, most_states };
    let Determinized { fst, complete } = ops::determinize_pairs::<_, LastInFirstOut>(index, rules);
    (fst, complete)
}

/// Joins states from which the same can be done. An error if there are cycles.
fn minimize(index: &mut Index) -> Result<()> {
    for state in &mut index.states {
        state.arcs.sort_by_key(|arc| (arc.ilabel, arc.olabel));
    }
    Ok(ops::minimize_pairs(index, DELTA)?)
}

/// Leaves words alone on arcs within factors, and numbers the ends of factors by their states.
fn told_apart(merged: &Fst<FactorWeight>) -> Index {
    let hit = |weight: &FactorWeight| {
        HitWeight::new(-weight.log_probability as f32, weight.begin as f32, weight.end as f32)
    };
    let state = |(s, state): (StateId, &State<FactorWeight>)| {
        let arc = |arc: &Arc<FactorWeight>| {
            let ends = merged.state(arc.next).is_final();
            let (ilabel, olabel) = if ends { (s as i32, arc.olabel) } else { (arc.ilabel, EPSILON) };
            Arc { ilabel, olabel, weight: hit(&arc.weight), next: arc.next }
        };
        State {
            final_weight: if state.is_final() { hit(&state.final_weight) } else { HitWeight::zero() },
            arcs: state.arcs.iter().map(arc).collect(),
        }
    };
    Fst { start: merged.start, states: merged.numbered().map(state).collect() }
}

/// The union of indices: an arc without labels leads to each. With `most_states` below the number that an optimization needs, the
/// plain union is returned, and false.
pub fn union_of_indices(indices: impl IntoIterator<Item = Index>) -> Index {
    let mut union = Fst { start: Some(0), states: vec![State::default()] };
    for index in indices {
        let Some(start) = index.start else { continue };
        let first = union.states.len() as StateId;
        for mut state in index.states {
            state.arcs.iter_mut().for_each(|arc| arc.next += first);
            union.states.push(state);
        }
        let enter = Arc { ilabel: EPSILON, olabel: EPSILON, weight: HitWeight::one(), next: first + start };
        union.states[0].arcs.push(enter);
    }
    union
}

/// Makes an index small. False, with the index as it was but for its weights' places, if more than `most_states` would be needed. An
/// error if the index has a cycle.
pub fn optimize(index: &Index, most_states: Option<usize>) -> Result<(Index, bool)> {
    ops::topological_order(index)?;
    let (mut small, complete) = optimized(index, most_states);
    if !complete {
        small = index.clone();
    }
    minimize(&mut small)?;
    Ok((small, complete))
}
