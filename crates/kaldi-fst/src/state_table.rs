//! States with keys: numbers in the order of discovery, and a queue of the states that wait to be expanded.
//!
//! Composition, determinization and their kin make an FST whose states stand for keys: pairs of states, a state with
//! labels still to be written, sets of states. They begin with one key. They take a waiting state, find the keys that its
//! arcs lead to, and go on until no state waits.

use std::convert::Infallible;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::fst::{Arc, Fst, State, StateId};
use crate::weight::Algebra;

/// The order in which waiting states are taken. The numbers of states, and so the bytes of files, depend on it.
pub trait Order: Default {
    /// Adds a state. States are added in the order of their numbers, each once.
    fn add(&mut self, state: StateId);

    /// Takes the state that is next, of the `found` states that were added so far.
    fn take(&mut self, found: usize) -> Option<StateId>;
}

/// The state that has waited longest is next, as in OpenFst: a breadth-first search.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstInFirstOut {
    next: StateId,
}

impl Order for FirstInFirstOut {
    fn add(&mut self, _: StateId) {}

    fn take(&mut self, found: usize) -> Option<StateId> {
        let state = Some(self.next).filter(|&state| (state as usize) < found);
        self.next += StateId::from(state.is_some());
        state
    }
}

/// The state that was found last is next, as in most of Kaldi's own operations.
#[derive(Debug, Clone, Default)]
pub struct LastInFirstOut(Vec<StateId>);

impl Order for LastInFirstOut {
    fn add(&mut self, state: StateId) {
        self.0.push(state);
    }

    fn take(&mut self, _: usize) -> Option<StateId> {
        self.0.pop()
    }
}

/// Numbers of keys from 0 in the order of discovery, and the queue of those that wait.
///
/// Equal keys have one number. Each number waits once, from the discovery of its key until [`take`](Self::take) returns it.
#[derive(Debug, Clone)]
pub struct StateTable<K, O = FirstInFirstOut> {
    numbers: FxHashMap<K, StateId>,
    keys: Vec<K>,
    waiting: O,
}

impl<K, O: Order> Default for StateTable<K, O> {
    fn default() -> StateTable<K, O> {
        StateTable { numbers: FxHashMap::default(), keys: Vec::new(), waiting: O::default() }
    }
}

impl<K: Clone + Eq + Hash, O: Order> StateTable<K, O> {
    /// A table of one key, which has number 0 and waits.
    pub fn starting_with(key: K) -> StateTable<K, O> {
        let mut table = StateTable::default();
        table.number(key);
        table
    }

    /// Returns the number of a key. A new key gets the next number, and waits.
    pub fn number(&mut self, key: K) -> StateId {
        *self.numbers.entry(key).or_insert_with_key(|key| {
            let state = self.keys.len() as StateId;
            self.keys.push(key.clone());
            self.waiting.add(state);
            state
        })
    }

    /// Takes a waiting state: its number and key.
    pub fn take(&mut self) -> Option<(StateId, K)> {
        let state = self.waiting.take(self.keys.len())?;
        Some((state, self.keys[state as usize].clone()))
    }

    /// Returns the key of a number, which must be one of the table.
    pub fn key(&self, state: StateId) -> &K {
        &self.keys[state as usize]
    }

    /// Returns how many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys by their numbers.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The keys by their numbers.
    pub fn into_keys(self) -> Vec<K> {
        self.keys
    }
}

/// A state that is being expanded: its number, its arcs so far, and the table in which its arcs' targets get numbers.
#[derive(Debug)]
pub struct Expanded<K, W, O = FirstInFirstOut> {
    table: StateTable<K, O>,
    state: StateId,
    arcs: Vec<Arc<W>>,
}

impl<K: Clone + Eq + Hash, W, O: Order> Expanded<K, W, O> {
    /// The number of the state that is being expanded.
    pub fn state(&self) -> StateId {
        self.state
    }

    /// Returns how many states were found so far.
    pub fn num_states(&self) -> usize {
        self.table.len()
    }

    /// Returns the number of the state with a key, which is new or known.
    pub fn number(&mut self, key: K) -> StateId {
        self.table.number(key)
    }

    /// Adds an arc whose target has a [`number`](Self::number).
    pub fn push(&mut self, arc: Arc<W>) {
        self.arcs.push(arc);
    }

    /// Adds an arc with both labels to the state with a key.
    #[inline]
    pub fn add(&mut self, (ilabel, olabel): (i32, i32), weight: W, key: K) {
        let next = self.table.number(key);
        self.arcs.push(Arc { ilabel, olabel, weight, next });
    }
}

/// Makes the FST of all states that are found from a start. `expand` is called once for each state: it adds the arcs of the
/// state with this key, and returns its final weight.
pub fn unfold<K: Clone + Eq + Hash, W: Algebra, O: Order>(
    start: K,
    mut expand: impl FnMut(K, &mut Expanded<K, W, O>) -> W,
) -> Fst<W> {
    let Ok(fst) = try_unfold(start, |key, out| Ok::<W, Infallible>(expand(key, out)));
    fst
}

/// Does the same as [`unfold`], until `expand` fails.
pub fn try_unfold<K: Clone + Eq + Hash, W: Algebra, O: Order, E>(
    start: K,
    mut expand: impl FnMut(K, &mut Expanded<K, W, O>) -> Result<W, E>,
) -> Result<Fst<W>, E> {
    let mut out = Expanded { table: StateTable::starting_with(start), state: 0, arcs: Vec::new() };
    let mut states: Vec<State<W>> = Vec::new();
    while let Some((state, key)) = out.table.take() {
        out.state = state;
        let final_weight = expand(key, &mut out)?;
        // As many as there are: the vector would keep room for more.
        let made = State { final_weight, arcs: out.arcs.drain(..).collect() };
        if states.len() <= state as usize {
            states.resize_with(state as usize, State::default);
            states.push(made);
        } else {
            states[state as usize] = made;
        }
    }
    Ok(Fst { start: Some(0), states })
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Two keys that a key leads to, often known ones.
    fn next(key: u32) -> [u32; 2] {
        [key * 7 % 50, (key * key + 3) % 50]
    }

    /// Numbers by a search through a list, and a queue of its own.
    fn slow(start: u32, take: fn(&mut VecDeque<u32>) -> Option<u32>) -> Fst {
        let mut keys = vec![start];
        let mut waiting = VecDeque::from([start]);
        let mut arcs = Vec::new();
        while let Some(key) = take(&mut waiting) {
            for (label, next) in (1..).zip(next(key)) {
                if !keys.contains(&next) {
                    keys.push(next);
                    waiting.push_back(next);
                }
                arcs.push((key, label, next));
            }
        }
        let number = |key: u32| keys.iter().position(|&known| known == key).unwrap() as StateId;
        let mut fst = Fst { start: Some(0), ..Fst::default() };
        fst.states.resize_with(keys.len(), Default::default);
        keys.iter().for_each(|&key| fst.state_mut(number(key)).final_weight = key as f32);
        for (key, label, next) in arcs {
            fst.state_mut(number(key)).arcs.push(Arc::new(label, 0.5, number(next)));
        }
        fst
    }

    fn unfolded<O: Order>(start: u32) -> Fst {
        unfold(start, |key, out: &mut Expanded<u32, f32, O>| {
            for (label, next) in (1..).zip(next(key)) {
                out.add((label, label), 0.5, next);
            }
            key as f32
        })
    }

    #[test]
    fn states_are_those_of_a_search_through_lists() {
        for start in 0..50 {
            assert_eq!(unfolded::<FirstInFirstOut>(start), slow(start, VecDeque::pop_front), "{start}");
            assert_eq!(unfolded::<LastInFirstOut>(start), slow(start, VecDeque::pop_back), "{start}");
        }
        assert_ne!(unfolded::<FirstInFirstOut>(2), unfolded::<LastInFirstOut>(2));
    }

    #[test]
    fn equal_keys_have_one_number_and_wait_once() {
        let mut table: StateTable<&str> = StateTable::starting_with("a");
        assert_eq!(
            [table.number("b"), table.number("a"), table.number("b"), table.number("c")],
            [1, 0, 1, 2]
        );
        assert_eq!((table.take(), table.take(), table.number("a")), (Some((0, "a")), Some((1, "b")), 0));
        assert_eq!((table.take(), table.take()), (Some((2, "c")), None));
        // A key that is found after the queue was empty waits, too.
        assert_eq!((table.number("d"), table.take(), table.len()), (3, Some((3, "d")), 4));
        assert_eq!((*table.key(1), table.into_keys()), ("b", vec!["a", "b", "c", "d"]));
    }

    #[test]
    fn the_first_failure_ends_the_search() {
        let failed = try_unfold(0, |key: u32, out: &mut Expanded<u32, f32>| {
            out.add((1, 1), 0.0, key + 1);
            if out.num_states() > 10 { Err(out.state()) } else { Ok(0.0) }
        });
        assert_eq!(failed, Err(9));
    }
}
