//! The most probable phone sequences of a lattice, each summed over all its paths.
//!
//! First the weights become probabilities: those of the arcs and the end of a state sum to 1. A beginning of a sequence has the states
//! that it leads to, each with the sum of its paths. Their sum is the probability of all sequences with this beginning, and
//! continuations never have more. So a search that always goes on from the most probable beginning finds the sequences in the order
//! of their probabilities.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

/// An acyclic lattice. States are in topological order, the start is 0.
#[derive(Debug, Default)]
pub struct Lattice<'m> {
    pub arcs: Vec<PhoneArc<'m>>,
    /// The first arc of each state, and the number of arcs.
    pub first_arcs: Vec<u32>,
    /// Natural logarithms of the weights of the ends at each state.
    pub finals: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
pub struct PhoneArc<'m> {
    pub phones: &'m [u32],
    pub to: u32,
    /// Natural logarithm.
    pub weight: f64,
}

#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Largest number of sequences.
    pub count: usize,
    /// Least probability of a sequence.
    pub min_probability: f64,
    /// Sequences are enough if their probabilities sum to this.
    pub mass: f64,
    /// States with a smaller share of the probability of their beginning are dropped.
    pub cut: f64,
}

/// So many beginnings are looked at before the search takes the best ending of each.
const MOST_STEPS: usize = 20_000;

/// A state, and phones that are still to be said before it.
type Key<'m> = (u32, &'m [u32]);
/// States with their shares of the probability of a beginning.
type States<'m> = Vec<(Key<'m>, f64)>;

enum Work<'m> {
    /// A beginning with the states behind it.
    Beginning(States<'m>),
    /// A whole sequence.
    Whole,
}

struct Item<'m> {
    /// Natural logarithm of the probability.
    log_mass: f64,
    /// Earlier items win among equal ones.
    serial: Reverse<usize>,
    prefix: u32,
    work: Work<'m>,
}

impl Ord for Item<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.log_mass.total_cmp(&other.log_mass).then(self.serial.cmp(&other.serial))
    }
}

impl PartialOrd for Item<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Item<'_> {}

/// The prefix of the empty beginning.
const EMPTY: u32 = u32::MAX;

/// Returns sequences with at least one phone, with their shares of the probability of all these; the best come first.
pub fn best(mut lattice: Lattice, wanted: &Wanted) -> Vec<(Vec<u32>, f64)> {
    if !lattice.push() {
        return Vec::new();
    }
    let mut search =
        Search { lattice: &lattice, cut: wanted.cut, heap: BinaryHeap::new(), prefixes: Vec::new() };
    let empty = search.go_on(EMPTY, 0.0, vec![((0, &[]), 1.0)]);
    let log_total = (1.0 - empty).ln();
    let (mut found, mut mass, mut steps) = (Vec::new(), 0.0, 0);
    while let Some(item) = search.heap.pop() {
        let probability = (item.log_mass - log_total).exp().min(1.0);
        let is_enough = probability < wanted.min_probability || mass >= wanted.mass;
        if found.len() >= wanted.count || (is_enough && !found.is_empty()) {
            break;
        }
        match item.work {
            Work::Whole => {
                found.push((search.phones(item.prefix), probability));
                mass += probability;
            }
            Work::Beginning(states) => {
                steps += 1;
                if steps > MOST_STEPS {
                    search.heap.clear();
                }
                let whole = search.go_on(item.prefix, item.log_mass, states);
                search.add(item.log_mass + whole.ln(), item.prefix, Work::Whole);
            }
        }
    }
    found
}

impl<'m> Lattice<'m> {
    fn arcs_of(&self, state: usize) -> Range<usize> {
        self.first_arcs[state] as usize..self.first_arcs[state + 1] as usize
    }

    /// Turns weights into probabilities. Returns false if no path leads to an end.
    fn push(&mut self) -> bool {
        let mut onward = vec![f64::NEG_INFINITY; self.finals.len()];
        for state in (0..onward.len()).rev() {
            let range = self.arcs_of(state);
            for arc in &mut self.arcs[range.clone()] {
                arc.weight += onward[arc.to as usize];
            }
            let ways = self.arcs[range.clone()].iter().map(|arc| arc.weight);
            let most = ways.clone().fold(self.finals[state], f64::max);
            if most == f64::NEG_INFINITY {
                continue;
            }
            let sum: f64 =
                ways.map(|way| (way - most).exp()).sum::<f64>() + (self.finals[state] - most).exp();
            onward[state] = most + sum.ln();
            self.arcs[range].iter_mut().for_each(|arc| arc.weight = (arc.weight - onward[state]).exp());
            self.finals[state] = (self.finals[state] - onward[state]).exp();
        }
        onward.first().is_some_and(|start| *start > f64::NEG_INFINITY)
    }
}

struct Search<'l, 'm> {
    lattice: &'l Lattice<'m>,
    cut: f64,
    heap: BinaryHeap<Item<'m>>,
    /// Beginnings: the one before and a phone.
    prefixes: Vec<(u32, u32)>,
}

impl<'m> Search<'_, 'm> {
    fn add(&mut self, log_mass: f64, prefix: u32, work: Work<'m>) {
        if log_mass > f64::NEG_INFINITY {
            let serial = Reverse(self.prefixes.len() * 2 + usize::from(matches!(work, Work::Whole)));
            self.heap.push(Item { log_mass, serial, prefix, work });
        }
    }

    fn phones(&self, mut prefix: u32) -> Vec<u32> {
        let mut phones = Vec::new();
        while prefix != EMPTY {
            let (before, phone) = self.prefixes[prefix as usize];
            phones.push(phone);
            prefix = before;
        }
        phones.reverse();
        phones
    }

    /// Adds all beginnings with one more phone. Returns the share of the sequence that ends here.
    fn go_on(&mut self, prefix: u32, log_mass: f64, states: States<'m>) -> f64 {
        let lattice = self.lattice;
        let mut pending: BTreeMap<Key<'m>, f64> = states.into_iter().collect();
        let mut next: BTreeMap<u32, BTreeMap<Key<'m>, f64>> = BTreeMap::new();
        let mut whole = 0.0;
        while let Some(((state, rest), share)) = pending.pop_first() {
            if let [phone, rest @ ..] = rest {
                *next.entry(*phone).or_default().entry((state, rest)).or_default() += share;
                continue;
            }
            whole += share * lattice.finals[state as usize];
            for arc in &lattice.arcs[lattice.arcs_of(state as usize)] {
                let (share, to) = (share * arc.weight, arc.to);
                if share <= self.cut {
                    continue;
                }
                match arc.phones {
                    [] => *pending.entry((to, &[])).or_default() += share,
                    [phone, rest @ ..] => {
                        *next.entry(*phone).or_default().entry((to, rest)).or_default() += share
                    }
                }
            }
        }
        for (phone, states) in next {
            let mass: f64 = states.values().sum();
            self.prefixes.push((prefix, phone));
            let states = states.into_iter().map(|(key, share)| (key, share / mass)).collect();
            self.add(log_mass + mass.ln(), self.prefixes.len() as u32 - 1, Work::Beginning(states));
        }
        whole
    }
}
