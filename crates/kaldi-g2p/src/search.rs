//! The search for the graphones of a word: a lattice of (letters consumed, history) states.
//!
//! States of the same number of letters compete. A state stays if its best path is within the beam of the best one.
//! Probabilities of a lattice are relative to the best path into each state, so long words do not underflow.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::graphone::Inventory;
use crate::nbest::{Lattice, PhoneArc};
use crate::ngrams::{END, FIRST, Ngrams, ROOT};

/// The largest number of graphones without letters between two letters.
pub const MOST_INSERTIONS: usize = 2;

#[derive(Debug, Clone, Copy)]
struct State {
    history: u32,
    /// Logarithm of the probability of the best path.
    best: f32,
}

#[derive(Debug, Clone, Copy)]
struct Arc {
    from: u32,
    to: u32,
    token: u32,
    log_prob: f32,
}

/// States with the same number of letters, and of insertions behind the last letter.
#[derive(Debug, Default)]
struct Place {
    states: Vec<u32>,
    by_history: FxHashMap<u32, u32>,
    best: Option<f32>,
}

pub struct Limits {
    /// Largest distance from the best state, in natural logarithms.
    pub beam: f32,
    /// Largest number of states with the same number of letters.
    pub most_states: usize,
}

struct Search<'m> {
    inventory: &'m Inventory,
    ngrams: &'m Ngrams,
    limits: &'m Limits,
    /// Places of each number of letters: `layers` of them.
    places: Vec<Place>,
    layers: usize,
    states: Vec<State>,
    arcs: Vec<Arc>,
    seen: Vec<u32>,
    round: u32,
}

/// A range of tokens with the place to which they lead.
type Step = (Range<u32>, usize);

/// Returns the lattice of a word; `None` if no sequence of graphones has its letters.
pub fn lattice<'m>(
    inventory: &'m Inventory,
    ngrams: &'m Ngrams,
    letters: &[u32],
    limits: &'m Limits,
) -> Option<Lattice<'m>> {
    let insertions = inventory.with_letters(&[]).map(tokens);
    let layers = if insertions.is_some() { MOST_INSERTIONS + 1 } else { 1 };
    let mut search = Search {
        inventory,
        ngrams,
        limits,
        places: (0..(letters.len() + 1) * layers).map(|_| Place::default()).collect(),
        layers,
        states: Vec::new(),
        arcs: Vec::new(),
        seen: vec![0; inventory.len() + FIRST as usize],
        round: 0,
    };
    search.reach(0, ngrams.start(), 0.0);
    let mut order = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    for place in 0..search.places.len() {
        let (position, layer) = (place / layers, place % layers);
        steps.clear();
        if let Some(range) = &insertions
            && layer < MOST_INSERTIONS
        {
            steps.push((range.clone(), place + 1));
        }
        for length in 1..=inventory.most_letters.min(letters.len() - position) {
            if let Some(range) = inventory.with_letters(&letters[position..position + length]) {
                steps.push((tokens(range), (position + length) * layers));
            }
        }
        for state in search.survivors(place) {
            order.push(state);
            search.expand(state, &steps);
        }
    }
    search.finish(&order, letters.len() * layers)
}

fn tokens(graphones: Range<u32>) -> Range<u32> {
    graphones.start + FIRST..graphones.end + FIRST
}

impl<'m> Search<'m> {
    /// The least score that a state of the place needs.
    fn least(&self, place: usize) -> f32 {
        self.places[place].best.map_or(f32::NEG_INFINITY, |best| best - self.limits.beam)
    }

    /// Returns the state, unless its score is outside the beam.
    fn reach(&mut self, place: usize, history: u32, score: f32) -> Option<u32> {
        if score < self.least(place) || score == f32::NEG_INFINITY {
            return None;
        }
        let (states, place) = (&mut self.states, &mut self.places[place]);
        let state = *place.by_history.entry(history).or_insert_with(|| {
            states.push(State { history, best: f32::NEG_INFINITY });
            place.states.push(states.len() as u32 - 1);
            states.len() as u32 - 1
        });
        let best = &mut states[state as usize].best;
        *best = best.max(score);
        place.best = Some(place.best.map_or(score, |best| best.max(score)));
        Some(state)
    }

    /// The states of a place to go on from, the best first.
    fn survivors(&mut self, place: usize) -> Vec<u32> {
        let least = self.least(place / self.layers * self.layers).max(self.least(place));
        let mut states = std::mem::take(&mut self.places[place].states);
        let best = |state: &u32| self.states[*state as usize].best;
        states.retain(|state| best(state) >= least);
        states.sort_by(|a, b| best(b).total_cmp(&best(a)));
        states.truncate(self.limits.most_states);
        states
    }

    /// Adds the arcs of a state: for each token the n-gram with the longest history.
    fn expand(&mut self, state: u32, steps: &[Step]) {
        let State { mut history, best } = self.states[state as usize];
        let ngrams = self.ngrams;
        self.round += 1;
        let mut weight = 0.0;
        loop {
            let children = ngrams.children(history);
            for (range, place) in steps {
                let tokens = &ngrams.tokens[children.clone()];
                let first = tokens.partition_point(|token| *token < range.start);
                for child in children.start + first..children.end {
                    let token = ngrams.tokens[child];
                    if token >= range.end {
                        break;
                    }
                    if self.seen[token as usize] == self.round {
                        continue;
                    }
                    self.seen[token as usize] = self.round;
                    let log_prob = weight + ngrams.log_probs[child];
                    if let Some(to) = self.reach(*place, ngrams.histories[child], best + log_prob) {
                        self.arcs.push(Arc { from: state, to, token, log_prob });
                    }
                }
            }
            if history == ROOT {
                break;
            }
            weight += ngrams.backoffs[history as usize];
            history = ngrams.suffixes[history as usize];
            // Shorter histories only give less.
            let may_go_on = steps.iter().any(|(_, place)| best + weight >= self.least(*place));
            if !may_go_on {
                break;
            }
        }
    }

    /// Makes the lattice of phones. `order` are the expanded states.
    fn finish(self, order: &[u32], last_place: usize) -> Option<Lattice<'m>> {
        let mut numbers = vec![u32::MAX; self.states.len()];
        for (number, &state) in (0..).zip(order) {
            numbers[state as usize] = number;
        }
        let ends: Vec<u32> =
            self.places[last_place..].iter().flat_map(|place| place.by_history.values()).copied().collect();
        let mut finals = vec![f64::NEG_INFINITY; order.len()];
        let mut total = f64::NEG_INFINITY;
        for state in ends {
            let State { history, best } = self.states[state as usize];
            if let Some(end) = finals.get_mut(numbers[state as usize] as usize) {
                *end = f64::from(best + self.ngrams.score(history, END).0);
                total = total.max(*end);
            }
        }
        if total == f64::NEG_INFINITY {
            return None;
        }
        let mut lattice = Lattice::default();
        lattice.finals.extend(finals.iter().map(|end| end - total));
        // Arcs are in the order of the states that they leave.
        let mut arcs = self.arcs.iter().peekable();
        for &state in order {
            lattice.first_arcs.push(lattice.arcs.len() as u32);
            while let Some(arc) = arcs.next_if(|arc| arc.from == state) {
                let to = numbers[arc.to as usize];
                if to == u32::MAX {
                    continue;
                }
                let [first, second] = [arc.from, arc.to].map(|state| self.states[state as usize].best);
                let weight = f64::from(first) + f64::from(arc.log_prob) - f64::from(second);
                let phones = &self.inventory.graphone(arc.token - FIRST).phones[..];
                lattice.arcs.push(PhoneArc { phones, to, weight });
            }
        }
        lattice.first_arcs.push(lattice.arcs.len() as u32);
        Some(lattice)
    }
}
