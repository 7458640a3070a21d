//! Goes over the arcs of a graph, with the pairs of phones that may have come before each state.

use std::rc::Rc;

use kaldi_fst::{EPSILON, FlatFst, StateId};
use kaldi_hmm::{TransitionId, TransitionModel};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{PhonePair, SeenContexts};
use crate::error::{Error, Result};

/// Visits of an arc, on average, after which a graph is given up. (Graphs take one or two.)
const VISITS_PER_ARC: usize = 1000;

/// The number of a set of pairs; 0 is the empty set.
type Set = u32;

/// Sets of pairs, each stored once.
struct Sets {
    members: Vec<Rc<[PhonePair]>>,
    numbers: FxHashMap<Rc<[PhonePair]>, Set>,
    unions: FxHashMap<(Set, Set), Set>,
}

impl Sets {
    fn new() -> Sets {
        let mut sets =
            Sets { members: Vec::new(), numbers: FxHashMap::default(), unions: FxHashMap::default() };
        sets.number(Vec::new());
        sets
    }

    fn number(&mut self, mut members: Vec<PhonePair>) -> Set {
        members.sort_unstable();
        members.dedup();
        let members: Rc<[PhonePair]> = members.into();
        if let Some(&number) = self.numbers.get(&members) {
            return number;
        }
        let number = self.members.len() as Set;
        self.members.push(Rc::clone(&members));
        self.numbers.insert(members, number);
        number
    }

    fn union(&mut self, a: Set, b: Set) -> Set {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        if let Some(&union) = self.unions.get(&(a, b)) {
            return union;
        }
        let both = [&self.members[a as usize][..], &self.members[b as usize][..]].concat();
        let union = self.number(both);
        self.unions.insert((a, b), union);
        union
    }
}

struct Walk<'a> {
    transitions: &'a TransitionModel,
    sets: Sets,
    /// The set behind an arc with a transition-id, by the set before it.
    behind: FxHashMap<(Set, TransitionId), Set>,
    /// The transition state of each HMM state.
    found: FxHashMap<PhonePair, Vec<Option<usize>>>,
}

impl Walk<'_> {
    /// Returns the pairs behind an arc that leaves an HMM state.
    fn step(&mut self, before: Set, id: TransitionId) -> Result<Set> {
        if let Some(&known) = self.behind.get(&(before, id)) {
            return Ok(known);
        }
        let state = *self.transitions.state(id);
        let phone = state.phone;
        let members = Rc::clone(&self.sets.members[before as usize]);
        let pairs: Vec<PhonePair> = if state.hmm_state == 0 {
            members.iter().map(|pair| PhonePair { left: pair.phone, phone }).collect()
        } else {
            members.iter().copied().filter(|pair| pair.phone == phone).collect()
        };
        if pairs.is_empty() {
            return Err(Error::mismatch(format!("transition-id {} lies outside of its phone", id.get())));
        }
        for &pair in &pairs {
            self.record(pair, state.hmm_state, self.transitions.state_index(id))?;
        }
        let behind = self.sets.number(pairs);
        self.behind.insert((before, id), behind);
        Ok(behind)
    }

    fn record(&mut self, pair: PhonePair, hmm_state: usize, index: usize) -> Result<()> {
        let states = self.found.entry(pair).or_default();
        if states.len() <= hmm_state {
            states.resize(hmm_state + 1, None);
        }
        match states[hmm_state] {
            Some(other) if other != index => {
                let all = self.transitions.states();
                let PhonePair { left, phone } = pair;
                Err(Error::mismatch(format!(
                    "phone {phone} after phone {left} has more than one pdf ({} and {}): the tree of this model has more context than the phone before, so it cannot be recovered",
                    all[other].forward_pdf, all[index].forward_pdf
                )))
            }
            _ => {
                states[hmm_state] = Some(index);
                Ok(())
            }
        }
    }
}

/// Returns the pairs of phones on all paths of a graph with self-loops. Input labels are transition-ids or symbols of
/// `disambiguation`.
///
/// # Errors
/// An input label is neither; or pdfs depend on more than the phone and the phone before it.
pub fn seen_contexts(
    graph: &FlatFst,
    disambiguation: &FxHashSet<i32>,
    transitions: &TransitionModel,
) -> Result<SeenContexts> {
    let mut seen = SeenContexts::default();
    let Some(start) = graph.start else { return Ok(seen) };
    let mut walk =
        Walk { transitions, sets: Sets::new(), behind: FxHashMap::default(), found: FxHashMap::default() };
    let mut at: Vec<Set> = vec![0; graph.num_states()];
    at[start as usize] = walk.sets.number(vec![PhonePair { left: 0, phone: 0 }]);
    let mut waiting: Vec<StateId> = vec![start];
    let mut is_waiting = vec![false; graph.num_states()];
    let mut visits_left = graph.arcs.len().saturating_mul(VISITS_PER_ARC);
    while let Some(state) = waiting.pop() {
        is_waiting[state as usize] = false;
        let before = at[state as usize];
        for arc in &graph.arcs[graph.arcs_of(state as usize)] {
            if visits_left == 0 {
                return Err(Error::mismatch("too many phones may come before the states of this graph"));
            }
            visits_left -= 1;
            let behind = if arc.ilabel == EPSILON || disambiguation.contains(&arc.ilabel) {
                before
            } else {
                let id = transitions.transition_id(arc.ilabel)?;
                if transitions.is_self_loop(id) { before } else { walk.step(before, id)? }
            };
            let old = at[arc.next as usize];
            let new = walk.sets.union(old, behind);
            if new != old {
                at[arc.next as usize] = new;
                if !std::mem::replace(&mut is_waiting[arc.next as usize], true) {
                    waiting.push(arc.next);
                }
            }
        }
    }
    for (state, _) in at.iter().enumerate().filter(|(_, set)| **set != 0) {
        for arc in &graph.arcs[graph.arcs_of(state)] {
            let id = transitions.transition_id(arc.ilabel).ok().filter(|&id| !transitions.is_self_loop(id));
            if let Some(state) = id.map(|id| transitions.state(id)).filter(|state| state.hmm_state == 0) {
                *seen.arcs.entry(state.phone).or_default() += 1;
            }
        }
    }
    for (pair, states) in walk.found {
        let emitting = super::fill::emitting_states(transitions, pair.phone);
        let states: Option<Vec<usize>> = emitting.iter().map(|&s| states.get(s).copied().flatten()).collect();
        if let Some(states) = states {
            seen.states.insert(pair, states);
        }
    }
    Ok(seen)
}
