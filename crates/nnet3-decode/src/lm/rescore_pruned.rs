//! Composition of a lattice with a language model, pruned during composition. States of the result are expanded in
//! the order of their estimated best path.
//!
//! The estimate for a state is the cost to it, plus the cost from its lattice state to the end, plus a correction. The
//! correction is the extra cost of the rest in the composed lattice, compared with the original one.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use kaldi_fst::{Arc, EPSILON, StateId, ops};

use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::lm::deterministic::DeterministicLm;
use crate::order;
use crate::weight::LatticeWeight;

/// Limits of the composition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrunedOptions {
    /// States with an estimate of more than this above the best path are not expanded.
    pub beam: f32,
    /// The number of arcs after which estimates are made anew for the first time.
    pub initial_arcs: usize,
    /// Growth of that number.
    pub growth: f32,
    /// No more arcs are added, if an end was reached.
    pub max_arcs: usize,
}

impl Default for PrunedOptions {
    fn default() -> PrunedOptions {
        PrunedOptions { beam: 6.0, initial_arcs: 100, growth: 1.5, max_arcs: 100_000 }
    }
}

/// The cost of each step down before the first end: such a search goes depth first.
const DEPTH_PENALTY: f32 = -1000.0;

/// Adds the costs of a language model to a lattice; keeps the paths that are within the beam. The lattice is sorted.
/// The result is empty if the model accepts no path of the lattice.
///
/// # Errors
/// The lattice is empty, has a cycle, or has no path.
pub fn compose_pruned(
    lattice: &mut CompactLattice,
    lm: &mut impl DeterministicLm,
    options: &PrunedOptions,
) -> Result<CompactLattice> {
    order::sort(lattice)?;
    let start = lattice.start.ok_or(Error::Empty)?;
    let originals = originals(lattice);
    if originals[start as usize].rest == f32::INFINITY {
        return Err(Error::NoPath);
    }
    let mut composition = Composition::new(lattice, &originals, lm, options);
    loop {
        composition.estimate();
        let limit = composition.next_limit();
        while composition.out.num_arcs < limit && composition.expand_next() {}
        let is_full = composition.out.num_arcs >= options.max_arcs && composition.has_end;
        if composition.queue.is_empty() || is_full {
            break;
        }
    }
    let mut out = composition.out.lattice;
    ops::connect(&mut out);
    Ok(out)
}

/// A state of the original lattice.
struct Original {
    /// The cost of the best way to an end.
    rest: f32,
    /// The ways on, best first: how much more each costs than the best one, and the arc. `None`: to end here.
    choices: Vec<(f32, Option<usize>)>,
}

fn originals(lattice: &CompactLattice) -> Vec<Original> {
    let mut originals: Vec<Original> = Vec::with_capacity(lattice.states.len());
    originals.resize_with(lattice.states.len(), || Original { rest: f32::INFINITY, choices: Vec::new() });
    for (s, state) in lattice.states.iter().enumerate().rev() {
        let cost = |weight: &LatticeWeight| weight.graph + weight.acoustic;
        let end = state.is_final().then(|| (cost(&state.final_weight.weight), None));
        let arcs = state.arcs.iter().enumerate().map(|(position, arc)| {
            (cost(&arc.weight.weight) + originals[arc.next as usize].rest, Some(position))
        });
        let mut choices: Vec<_> =
            end.into_iter().chain(arcs).filter(|choice| choice.0 < f32::INFINITY).collect();
        let rest = choices.iter().map(|choice| choice.0).fold(f32::INFINITY, f32::min);
        choices.iter_mut().for_each(|choice| choice.0 -= rest);
        choices.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        originals[s] = Original { rest, choices };
    }
    originals
}

/// A state of the result.
struct Composed {
    state: StateId,
    lm_state: StateId,
    /// The cost of the best way here.
    forward: f64,
    /// The cost of the best way from here, infinite until one was found.
    backward: f64,
    /// The number of arcs of the best way here, and the state before.
    depth: i32,
    before: Option<StateId>,
    /// An estimate of how much more the rest costs here than in the original lattice.
    delta: f32,
    /// The next choice of the original state.
    choice: usize,
}

#[derive(Default)]
struct Out {
    lattice: CompactLattice,
    num_arcs: usize,
}

/// A state with its estimate; the greatest is the cheapest, or of equals the first.
#[derive(PartialEq)]
struct Waiting(f32, StateId);

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

struct Composition<'c, L> {
    lattice: &'c CompactLattice,
    originals: &'c [Original],
    lm: &'c mut L,
    options: &'c PrunedOptions,
    /// The cost of the best path of the original lattice.
    best: f32,
    states: Vec<Composed>,
    numbers: HashMap<(StateId, StateId), StateId>,
    /// The states of the result for each state of the original lattice.
    by_original: Vec<Vec<StateId>>,
    out: Out,
    queue: BinaryHeap<Waiting>,
    cutoff: f32,
    depth_penalty: f32,
    has_end: bool,
}

impl<'c, L: DeterministicLm> Composition<'c, L> {
    fn new(
        lattice: &'c CompactLattice,
        originals: &'c [Original],
        lm: &'c mut L,
        options: &'c PrunedOptions,
    ) -> Composition<'c, L> {
        let start = lattice.start.unwrap_or(0);
        let mut composition = Composition {
            lattice,
            originals,
            options,
            best: originals[start as usize].rest,
            states: Vec::new(),
            numbers: HashMap::new(),
            by_original: vec![Vec::new(); lattice.states.len()],
            out: Out::default(),
            queue: BinaryHeap::new(),
            cutoff: f32::INFINITY,
            depth_penalty: DEPTH_PENALTY,
            has_end: false,
            lm,
        };
        let lm_start = composition.lm.start();
        let first = Composed {
            state: start,
            lm_state: lm_start,
            forward: 0.0,
            backward: f64::INFINITY,
            depth: 0,
            before: None,
            delta: 0.0,
            choice: 0,
        };
        composition.out.lattice.start = Some(composition.add(first));
        composition
    }

    fn add(&mut self, composed: Composed) -> StateId {
        let number = self.out.lattice.add_state();
        self.numbers.insert((composed.state, composed.lm_state), number);
        self.by_original[composed.state as usize].push(number);
        self.states.push(composed);
        number
    }

    /// The number of arcs at which estimates are made anew.
    fn next_limit(&self) -> usize {
        let arcs = self.out.num_arcs;
        if arcs == 0 {
            return self.options.initial_arcs;
        }
        let limit = ((arcs as f32 * self.options.growth) as usize).max(arcs + 1);
        if self.has_end { limit.min(self.options.max_arcs) } else { limit }
    }

    /// Puts a state into the queue, if it has a choice left within the cutoff.
    fn push(&mut self, number: StateId) {
        let composed = &self.states[number as usize];
        let original = &self.originals[composed.state as usize];
        let Some(&(excess, _)) = original.choices.get(composed.choice) else { return };
        let expected =
            composed.forward + f64::from(original.rest) + f64::from(composed.delta) + f64::from(excess);
        let priority = (expected - f64::from(self.best)) as f32;
        if priority < self.cutoff {
            self.queue.push(Waiting(priority, number));
        }
    }

    /// Carries out the next choice of the first state of the queue. False if the queue is empty.
    fn expand_next(&mut self) -> bool {
        let Some(Waiting(_, number)) = self.queue.pop() else { return false };
        let composed = &mut self.states[number as usize];
        let original = &self.originals[composed.state as usize];
        let choice = original.choices[composed.choice].1;
        composed.choice += 1;
        self.push(number);
        match choice {
            None => self.end(number),
            Some(position) => self.follow(number, position),
        }
        true
    }

    fn end(&mut self, number: StateId) {
        let composed = &self.states[number as usize];
        let cost = self.lm.final_cost(composed.lm_state);
        if cost == f32::INFINITY {
            return;
        }
        let mut end = self.lattice.state(composed.state).final_weight.clone();
        end.weight.graph += cost;
        self.out.lattice.state_mut(number).final_weight = end;
        if !self.has_end {
            self.has_end = true;
            self.depth_penalty = 0.0;
            self.estimate();
        }
    }

    fn follow(&mut self, number: StateId, position: usize) {
        let composed = &self.states[number as usize];
        let arc = &self.lattice.state(composed.state).arcs[position];
        let (cost, lm_state) = match arc.ilabel {
            EPSILON => (0.0, composed.lm_state),
            word => match self.lm.arc(composed.lm_state, word) {
                Some(found) => found,
                None => return,
            },
        };
        let mut weight = arc.weight.clone();
        weight.weight.graph += cost;
        let depth = composed.depth + 1;
        let next = match self.numbers.get(&(arc.next, lm_state)) {
            Some(&next) => next,
            None => {
                let created = Composed {
                    state: arc.next,
                    lm_state,
                    forward: composed.forward + weight.weight.cost(),
                    backward: f64::INFINITY,
                    depth,
                    before: Some(number),
                    delta: composed.delta + depth as f32 * self.depth_penalty,
                    choice: 0,
                };
                let next = self.add(created);
                self.push(next);
                next
            }
        };
        self.out.lattice.state_mut(number).arcs.push(Arc::new(arc.ilabel, weight, next));
        self.out.num_arcs += 1;
    }

    /// Works out costs and estimates of all states anew, and fills the queue.
    fn estimate(&mut self) {
        let order: Vec<StateId> = self.by_original.iter().flatten().copied().collect();
        for composed in &mut self.states {
            (composed.forward, composed.backward) = (f64::INFINITY, f64::INFINITY);
        }
        self.states[0].forward = 0.0;
        for &number in &order {
            let Composed { forward, depth, .. } = self.states[number as usize];
            for arc in &self.out.lattice.state(number).arcs {
                let then = forward + arc.weight.weight.cost();
                let next = &mut self.states[arc.next as usize];
                if then < next.forward {
                    (next.forward, next.depth, next.before) = (then, depth + 1, Some(number));
                }
            }
        }
        for &number in order.iter().rev() {
            let state = self.out.lattice.state(number);
            let ways = state
                .arcs
                .iter()
                .map(|arc| arc.weight.weight.cost() + self.states[arc.next as usize].backward);
            let end = state.final_weight.weight.cost();
            self.states[number as usize].backward = ways.fold(end, f64::min);
        }
        let reached = self.states[0].backward;
        self.cutoff = (reached - f64::from(self.best)) as f32 + self.options.beam;
        for &number in &order {
            let Composed { state, backward, depth, before, .. } = self.states[number as usize];
            let rest = f64::from(self.originals[state as usize].rest);
            self.states[number as usize].delta = match before {
                _ if backward < f64::INFINITY => (backward - rest) as f32 + depth as f32 * self.depth_penalty,
                Some(before) => self.states[before as usize].delta + self.depth_penalty,
                None => 0.0,
            };
        }
        self.queue.clear();
        for number in 0..self.states.len() as StateId {
            self.push(number);
        }
    }
}
