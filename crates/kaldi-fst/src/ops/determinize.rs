//! Determinization of acceptors over the tropical semiring (Mohri, "Finite-State Transducers in Language and Speech
//! Processing", 1997): a state of the result is a set of (input state, residual cost) pairs.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, StateId};

/// Costs that are left over are rounded to multiples of this, as by OpenFst, so that sets that differ by rounding only
/// are one.
const DELTA: f32 = 1.0 / 1024.0;

/// States with their residual costs, in the order of the states.
type Subset = Vec<(StateId, f32)>;

/// The acceptor with at most one arc of each label from each state, in the order of labels. Every state can be reached.
/// An error for arcs without labels, and as soon as there would be more than `limit` states.
pub fn determinize(fst: &Fst, limit: usize) -> Result<Fst> {
    let Some(start) = fst.start else { return Ok(Fst::default()) };
    fst.check_acceptor()?;
    let mut states = Subsets { limit, ..Subsets::default() };
    states.out.start = Some(states.find(vec![(start, 0.0)])?);
    while let Some((id, subset)) = states.waiting.pop_front() {
        let mut by_label: BTreeMap<i32, Subset> = BTreeMap::new();
        let mut final_weight = f32::INFINITY;
        for (state, owed) in subset {
            let data = fst.state(state);
            final_weight = final_weight.min(owed + data.final_weight);
            for arc in data.arcs.iter().filter(|arc| arc.weight != f32::INFINITY) {
                if arc.ilabel == EPSILON {
                    return Err(Error::Epsilon { state });
                }
                by_label.entry(arc.ilabel).or_default().push((arc.next, owed + arc.weight));
            }
        }
        let mut arcs = Vec::with_capacity(by_label.len());
        for (label, mut next) in by_label {
            let weight = normalize(&mut next);
            arcs.push(Arc::new(label, weight, states.find(next)?));
        }
        *states.out.state_mut(id) = crate::State { final_weight, arcs };
    }
    Ok(states.out)
}

/// Sorts the set, keeps the cheapest of equal states, and takes out the cost that all have in common.
fn normalize(subset: &mut Subset) -> f32 {
    subset.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    subset.dedup_by_key(|(state, _)| *state);
    let common = subset.iter().map(|(_, owed)| *owed).fold(f32::INFINITY, f32::min);
    for (_, owed) in subset {
        // Adding 0 makes one of the two zeros.
        *owed = ((*owed - common) / DELTA + 0.5).floor() * DELTA + 0.0;
    }
    common
}

#[derive(Default)]
struct Subsets {
    ids: HashMap<Vec<(StateId, u32)>, StateId>,
    waiting: VecDeque<(StateId, Subset)>,
    out: Fst,
    limit: usize,
}

impl Subsets {
    fn find(&mut self, subset: Subset) -> Result<StateId> {
        let key: Vec<_> = subset.iter().map(|(state, owed)| (*state, owed.to_bits())).collect();
        if let Some(&id) = self.ids.get(&key) {
            return Ok(id);
        }
        if self.out.states.len() >= self.limit {
            return Err(Error::TooManyStates { limit: self.limit });
        }
        let id = self.out.add_state();
        self.ids.insert(key, id);
        self.waiting.push_back((id, subset));
        Ok(id)
    }
}
