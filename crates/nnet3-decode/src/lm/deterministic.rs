//! Language models as automata with one arc for each word from each state.

use kaldi_fst::state_table::StateTable;
use kaldi_fst::{EPSILON, Fst, StateId};

use super::ConstArpa;
use crate::error::{Error, Result};

/// A language model with states that are made on demand.
pub trait DeterministicLm {
    /// The first state.
    fn start(&mut self) -> StateId;

    /// The cost of a word and the state after it; `None` if the model has not the word.
    fn arc(&mut self, state: StateId, word: i32) -> Option<(f32, StateId)>;

    /// The cost of ending in a state, infinite if that is impossible.
    fn final_cost(&mut self, state: StateId) -> f32;
}

/// A backoff FST: arcs without input label are taken only if a state has no arc with the word.
#[derive(Debug, Clone)]
pub struct BackOffFst {
    /// Arcs are sorted by input label.
    fst: Fst,
    start: StateId,
}

impl BackOffFst {
    /// # Errors
    /// [`Error::EmptyGraph`] if the FST is empty, [`Error::BackOffCycle`] if arcs without input label form a cycle.
    pub fn new(mut fst: Fst) -> Result<BackOffFst> {
        let start = fst.start.ok_or(Error::EmptyGraph)?;
        for state in &mut fst.states {
            state.arcs.sort_by_key(|arc| arc.ilabel);
        }
        let lm = BackOffFst { fst, start };
        let most = lm.fst.states.len();
        // Each state is on one chain of arcs to back off; the marks keep the search linear.
        let mut settled = vec![false; most];
        for first in 0..most as StateId {
            let (mut chain, mut at) = (Vec::new(), Some(first));
            while let Some(state) = at.filter(|&state| !settled[state as usize]) {
                if chain.len() > most {
                    return Err(Error::BackOffCycle { state: first, label: EPSILON });
                }
                chain.push(state);
                at = lm.back_off(state).map(|(_, next)| next);
            }
            chain.into_iter().for_each(|state| settled[state as usize] = true);
        }
        Ok(lm)
    }

    fn back_off(&self, state: StateId) -> Option<(f32, StateId)> {
        let first = self.fst.state(state).arcs.first().filter(|arc| arc.ilabel == EPSILON);
        first.map(|arc| (arc.weight, arc.next))
    }
}

impl DeterministicLm for BackOffFst {
    fn start(&mut self) -> StateId {
        self.start
    }

    fn arc(&mut self, mut state: StateId, word: i32) -> Option<(f32, StateId)> {
        let mut cost = 0.0;
        loop {
            let arcs = &self.fst.state(state).arcs;
            let position = arcs.partition_point(|arc| arc.ilabel < word);
            if let Some(arc) = arcs.get(position).filter(|arc| arc.ilabel == word) {
                return Some((cost + arc.weight, arc.next));
            }
            let (more, next) = self.back_off(state)?;
            cost += more;
            state = next;
        }
    }

    fn final_cost(&mut self, mut state: StateId) -> f32 {
        let mut cost = 0.0;
        loop {
            let end = self.fst.state(state).final_weight;
            match self.back_off(state) {
                Some((more, next)) if end == f32::INFINITY => {
                    cost += more;
                    state = next;
                }
                _ => return cost + end,
            }
        }
    }
}

/// A [`ConstArpa`]: states are the histories that the model tells apart.
#[derive(Debug, Clone)]
pub struct ConstArpaStates {
    lm: ConstArpa,
    histories: StateTable<Vec<i32>>,
}

impl ConstArpaStates {
    pub fn new(lm: ConstArpa) -> ConstArpaStates {
        let histories = StateTable::starting_with(vec![lm.begin()]);
        ConstArpaStates { lm, histories }
    }
}

impl DeterministicLm for ConstArpaStates {
    fn start(&mut self) -> StateId {
        0
    }

    fn arc(&mut self, state: StateId, word: i32) -> Option<(f32, StateId)> {
        let history = self.histories.key(state);
        let log_prob = self.lm.log_prob(history, word);
        if log_prob == f32::NEG_INFINITY {
            return None;
        }
        let next = self.lm.next_history(history, word);
        Some((-log_prob, self.histories.number(next)))
    }

    fn final_cost(&mut self, state: StateId) -> f32 {
        -self.lm.log_prob(self.histories.key(state), self.lm.end())
    }
}

/// `scale` times the costs of `added` minus those of `subtracted`: states are pairs.
pub struct Replacement<A, B> {
    subtracted: A,
    added: B,
    scale: f32,
    pairs: StateTable<(StateId, StateId)>,
}

impl<A: DeterministicLm, B: DeterministicLm> Replacement<A, B> {
    pub fn new(mut subtracted: A, mut added: B, scale: f32) -> Replacement<A, B> {
        let pairs = StateTable::starting_with((subtracted.start(), added.start()));
        Replacement { subtracted, added, scale, pairs }
    }

    fn cost(&self, subtracted: f32, added: f32) -> f32 {
        -self.scale * subtracted + self.scale * added
    }
}

impl<A: DeterministicLm, B: DeterministicLm> DeterministicLm for Replacement<A, B> {
    fn start(&mut self) -> StateId {
        0
    }

    fn arc(&mut self, state: StateId, word: i32) -> Option<(f32, StateId)> {
        let (a, b) = *self.pairs.key(state);
        let (subtracted, a) = self.subtracted.arc(a, word)?;
        let (added, b) = self.added.arc(b, word)?;
        Some((self.cost(subtracted, added), self.pairs.number((a, b))))
    }

    fn final_cost(&mut self, state: StateId) -> f32 {
        let (a, b) = *self.pairs.key(state);
        let (subtracted, added) = (self.subtracted.final_cost(a), self.added.final_cost(b));
        if subtracted == f32::INFINITY || added == f32::INFINITY {
            return f32::INFINITY;
        }
        self.cost(subtracted, added)
    }
}

impl<T: DeterministicLm + ?Sized> DeterministicLm for &mut T {
    fn start(&mut self) -> StateId {
        (**self).start()
    }

    fn arc(&mut self, state: StateId, word: i32) -> Option<(f32, StateId)> {
        (**self).arc(state, word)
    }

    fn final_cost(&mut self, state: StateId) -> f32 {
        (**self).final_cost(state)
    }
}

impl<T: DeterministicLm + ?Sized> DeterministicLm for Box<T> {
    fn start(&mut self) -> StateId {
        (**self).start()
    }

    fn arc(&mut self, state: StateId, word: i32) -> Option<(f32, StateId)> {
        (**self).arc(state, word)
    }

    fn final_cost(&mut self, state: StateId) -> f32 {
        (**self).final_cost(state)
    }
}
