//! Determinization of acceptors (Mohri, "Finite-State Transducers in Language and Speech Processing", 1997): a
//! state of the result is a set of (input state, residual weight) pairs.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::weight::Divisible;

/// Residuals are rounded to multiples of this, as by OpenFst, so that sets that differ by rounding only are one.
const DELTA: f32 = 1.0 / 1024.0;

/// States with their residual weights, in the order of the states.
type Subset<W> = Vec<(StateId, W)>;

/// The acceptor with at most one arc of each label from each state, in the order of labels. Every state can be reached.
/// An error for arcs without labels, and as soon as there would be more than `limit` states.
pub fn determinize<W: Divisible>(fst: &Fst<W>, limit: usize) -> Result<Fst<W>> {
    if let Some((state, _)) = fst
        .numbered()
        .find(|(_, state)| state.arcs.iter().any(|arc| arc.ilabel == EPSILON && !arc.weight.is_zero()))
    {
        return Err(Error::Epsilon { state });
    }
    determinize_rounded(fst, DELTA, limit)
}

/// Determinizes like [`determinize`], but treats arcs without label like arcs with one more label, as OpenFst does.
pub fn determinize_with_epsilons<W: Divisible>(fst: &Fst<W>, limit: usize) -> Result<Fst<W>> {
    determinize_rounded(fst, DELTA, limit)
}

/// Does the same as [`determinize_with_epsilons`]. Sets of states are equal if their residuals are, as multiples of `delta`.
///
/// # Errors
/// The FST is no acceptor, or the result has more than `limit` states.
pub fn determinize_rounded<W: Divisible>(fst: &Fst<W>, delta: f32, limit: usize) -> Result<Fst<W>> {
    let Some(start) = fst.start else { return Ok(Fst::default()) };
    fst.check_acceptor()?;
    let mut states = Subsets { ids: HashMap::new(), waiting: VecDeque::new(), out: Fst::default(), limit };
    states.out.start = Some(states.find(vec![(start, W::one())])?);
    while let Some((id, subset)) = states.waiting.pop_front() {
        let mut by_label: BTreeMap<i32, Subset<W>> = BTreeMap::new();
        let mut final_weight = W::zero();
        for (state, residual) in subset {
            let data = fst.state(state);
            final_weight = final_weight.plus(&residual.times(&data.final_weight));
            for arc in data.arcs.iter().filter(|arc| !arc.weight.is_zero()) {
                by_label.entry(arc.ilabel).or_default().push((arc.next, residual.times(&arc.weight)));
            }
        }
        let mut arcs = Vec::with_capacity(by_label.len());
        for (label, mut next) in by_label {
            let weight = normalize(&mut next, delta);
            arcs.push(Arc::new(label, weight, states.find(next)?));
        }
        *states.out.state_mut(id) = crate::State { final_weight, arcs };
    }
    Ok(states.out)
}

/// Sorts the set, keeps the best of equal states, and takes out the weight that all have in common.
fn normalize<W: Divisible>(subset: &mut Subset<W>, delta: f32) -> W {
    subset.sort_by_key(|(state, _)| *state);
    subset.dedup_by(|(later, other), (state, residual)| {
        let same = later == state;
        if same {
            *residual = residual.plus(other);
        }
        same
    });
    let common = subset.iter().fold(W::zero(), |sum, (_, residual)| sum.plus(residual));
    for (_, residual) in subset {
        *residual = residual.divide(&common).quantized(delta);
    }
    common
}

/// A set of states with the bits of the residuals.
type SubsetKey<W> = Vec<(StateId, <W as Divisible>::Bits)>;

struct Subsets<W: Divisible> {
    ids: HashMap<SubsetKey<W>, StateId>,
    waiting: VecDeque<(StateId, Subset<W>)>,
    out: Fst<W>,
    limit: usize,
}

impl<W: Divisible> Subsets<W> {
    fn find(&mut self, subset: Subset<W>) -> Result<StateId> {
        let key: SubsetKey<W> = subset.iter().map(|(state, residual)| (*state, residual.bits())).collect();
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
