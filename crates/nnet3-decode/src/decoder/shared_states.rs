//! States that are numbered and expanded when a search comes to them, shared by searches on several threads.
//!
//! Readers take no lock: a state or its arcs, once there, never change. The numbers depend on the order in which threads
//! come to states, so a search must not depend on them.

use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use hashbrown::HashTable;
use kaldi_fst::{Arc, StateId};
use kaldi_io::mapped;
use rustc_hash::FxBuildHasher;

use crate::error::{Error, Result};

/// States of a block. The blocks of one list do not move.
const BLOCK: usize = 1 << 11;
/// Most blocks of a list.
const BLOCKS: usize = 1 << 13;

type Block<T> = OnceLock<Box<[OnceLock<T>]>>;

/// A list that grows while others read it.
#[derive(Debug)]
struct SharedList<T> {
    blocks: Box<[Block<T>]>,
}

impl<T> SharedList<T> {
    fn new() -> SharedList<T> {
        SharedList { blocks: (0..BLOCKS).map(|_| OnceLock::new()).collect() }
    }

    #[inline]
    fn get(&self, at: usize) -> Option<&T> {
        self.blocks.get(at / BLOCK)?.get()?[at % BLOCK].get()
    }

    /// Prefetches an element.
    #[inline]
    fn expect(&self, at: usize) {
        if let Some(block) = self.blocks.get(at / BLOCK).and_then(OnceLock::get) {
            mapped::expect(&block[at % BLOCK]);
        }
    }

    /// Sets an element, unless it is there already. False if the list cannot have so many.
    fn set(&self, at: usize, value: T) -> bool {
        let Some(block) = self.blocks.get(at / BLOCK) else { return false };
        let block = block.get_or_init(|| (0..BLOCK).map(|_| OnceLock::new()).collect());
        block[at % BLOCK].get_or_init(|| value);
        true
    }
}

/// The arcs of a state: those that consume no frame come first.
#[derive(Debug)]
pub(super) struct StateArcs {
    arcs: Box<[Arc]>,
    emitting: u32,
}

impl StateArcs {
    /// The arcs that consume no frame.
    #[inline]
    pub fn epsilons(&self) -> &[Arc] {
        &self.arcs[..self.emitting as usize]
    }

    /// Prefetches the arcs that consume a frame.
    #[inline]
    pub fn expect(&self) {
        if let Some(arc) = self.emitting().first() {
            mapped::expect(arc);
        }
    }

    /// The arcs that consume a frame.
    #[inline]
    pub fn emitting(&self) -> &[Arc] {
        &self.arcs[self.emitting as usize..]
    }
}

/// An arc to a state that may have no number yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArcTo<K> {
    pub ilabel: i32,
    pub olabel: i32,
    pub weight: f32,
    pub to: K,
}

#[derive(Debug)]
struct State<K> {
    key: K,
    arcs: OnceLock<StateArcs>,
}

/// The numbers of states by hash of their keys. With a number is half of the hash, so that the key is seldom looked at.
type Numbers = HashTable<(u32, StateId)>;

/// States with keys of type `K`, as far as searches have come to them.
#[derive(Debug)]
pub(super) struct SharedStates<K> {
    states: SharedList<State<K>>,
    numbers: Mutex<Numbers>,
    count: AtomicU32,
    /// Bytes of arcs, about.
    arc_bytes: AtomicUsize,
}

impl<K: Copy + Eq + Hash> SharedStates<K> {
    pub fn new() -> SharedStates<K> {
        SharedStates {
            states: SharedList::new(),
            numbers: Mutex::default(),
            count: AtomicU32::new(0),
            arc_bytes: AtomicUsize::new(0),
        }
    }

    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }

    /// Memory of the states, in bytes, about.
    pub fn bytes(&self) -> usize {
        self.len() * (size_of::<OnceLock<State<K>>>() + 2 * size_of::<(u32, StateId)>())
            + self.arc_bytes.load(Ordering::Relaxed)
    }

    fn numbers(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of a state, and gives it one if it has none.
    pub fn number(&self, key: K) -> Result<StateId> {
        self.number_with(&mut self.numbers(), key)
    }

    fn number_with(&self, numbers: &mut Numbers, key: K) -> Result<StateId> {
        let half = (hash(&key) >> 32) as u32;
        let is_same = |&(other, state): &(u32, StateId)| other == half && self.key(state) == Some(key);
        if let Some(&(_, state)) = numbers.find(spread(half), is_same) {
            return Ok(state);
        }
        let state = self.count.load(Ordering::Relaxed);
        if !self.states.set(state as usize, State { key, arcs: OnceLock::new() }) {
            return Err(Error::BrokenGraph(format!("more than {} states are reached", BLOCK * BLOCKS)));
        }
        self.count.store(state + 1, Ordering::Relaxed);
        numbers.insert_unique(spread(half), (half, state), |&(half, _)| spread(half));
        Ok(state)
    }

    /// The key of a state.
    #[inline]
    pub fn key(&self, state: StateId) -> Option<K> {
        self.states.get(state as usize).map(|state| state.key)
    }

    /// The arcs of a state; `None` if it has not been expanded.
    #[inline]
    pub fn arcs(&self, state: StateId) -> Option<&StateArcs> {
        self.states.get(state as usize)?.arcs.get()
    }

    /// Prefetches the key of a state.
    #[inline]
    pub fn expect(&self, state: StateId) {
        self.states.expect(state as usize);
    }

    /// Sets the arcs of a state, unless another thread was faster. Empties both lists.
    pub fn expand(
        &self,
        state: StateId,
        epsilons: &mut Vec<ArcTo<K>>,
        emitting: &mut Vec<ArcTo<K>>,
    ) -> Result<()> {
        let first_emitting = epsilons.len() as u32;
        let mut arcs = Vec::with_capacity(epsilons.len() + emitting.len());
        let mut numbers = self.numbers();
        for ArcTo { ilabel, olabel, weight, to } in epsilons.drain(..).chain(emitting.drain(..)) {
            arcs.push(Arc { ilabel, olabel, weight, next: self.number_with(&mut numbers, to)? });
        }
        drop(numbers);
        self.arc_bytes.fetch_add(arcs.len() * size_of::<Arc>(), Ordering::Relaxed);
        if let Some(state) = self.states.get(state as usize) {
            state.arcs.get_or_init(|| StateArcs { arcs: arcs.into(), emitting: first_emitting });
        }
        Ok(())
    }
}

/// The hash that the table is given. (It takes the place of an entry from the low bits, and marks from the high ones.)
#[inline]
fn spread(half: u32) -> u64 {
    u64::from(half) << 32 | u64::from(half)
}

/// A number that depends on the key alone.
#[inline]
pub(super) fn hash<K: Hash>(key: &K) -> u64 {
    FxBuildHasher.hash_one(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arc(to: u32) -> ArcTo<u32> {
        ArcTo { ilabel: to as i32, olabel: 0, weight: 0.5, to }
    }

    /// Threads expand the same states in different orders: each key has one number, and each state its own arcs.
    #[test]
    #[allow(clippy::disallowed_methods)] // A test may panic if there is no thread.
    fn threads_share_states() {
        let states = SharedStates::new();
        let keys = 3 * BLOCK as u32;
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let states = &states;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    let mut order: Vec<u32> = (0..keys).collect();
                    random.shuffle(&mut order);
                    for key in order {
                        let state = states.number(key).unwrap();
                        assert_eq!(states.key(state), Some(key));
                        let epsilons = &mut vec![arc((key + 1) % keys)];
                        states.expand(state, epsilons, &mut vec![arc(key), arc(key / 2)]).unwrap();
                    }
                });
            }
        });
        assert_eq!(states.len(), keys as usize);
        for key in 0..keys {
            let arcs = states.arcs(states.number(key).unwrap()).unwrap();
            let targets =
                |arcs: &[Arc]| -> Vec<u32> { arcs.iter().map(|arc| states.key(arc.next).unwrap()).collect() };
            assert_eq!(targets(arcs.epsilons()), [(key + 1) % keys]);
            assert_eq!(targets(arcs.emitting()), [key, key / 2]);
        }
        assert!(states.bytes() > keys as usize * 48);
        assert!(states.key(keys).is_none() && states.arcs(keys).is_none());
    }

    #[test]
    fn a_list_has_an_end() {
        let list = SharedList::new();
        assert!(list.set(BLOCK, 1) && list.set(BLOCK, 2));
        assert_eq!((list.get(BLOCK), list.get(0), list.get(BLOCK * BLOCKS)), (Some(&1), None, None));
        assert!(!list.set(BLOCK * BLOCKS, 3));
    }
}
