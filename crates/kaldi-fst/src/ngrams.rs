//! N-gram language models as acceptors, with one state for each history and an arc without label to the shorter
//! history. The file type is `ngram` of OpenFst (Sorensen and Allauzen, "Unary data structures for language models",
//! 2011).
//!
//! Files store the tree of histories as bits. Here arrays store the shorter history of a state, its first child, and
//! its first word.

use std::sync::OnceLock;

use crate::fst::StateId;

/// Children of state 0 are listed by word if at least one in so many words has one.
const MOST_GAPS: usize = 16;

/// A language model, in the tropical semiring. State 0 is the empty history. Words are labels above 0.
///
/// The children of a state are the histories that are longer by one word further back. Their numbers have no gaps and
/// follow the order of those words.
#[derive(Debug, Clone, PartialEq)]
pub struct NgramFst {
    pub start: Option<StateId>,
    /// The history of each state without its first word; 0 for state 0.
    pub shorter: Vec<StateId>,
    /// The first child of each state. A last entry is the end of the last state's children.
    pub first_children: Vec<StateId>,
    /// The first word of each history; it counts for all states but 0.
    pub first_words: Vec<i32>,
    /// The cost of going to the shorter history.
    pub backoff: Vec<f32>,
    /// The cost of ending in each state; infinite if it is not final.
    pub finals: Vec<f32>,
    /// First word of each state, and behind that the number of all words.
    pub first_futures: Vec<u32>,
    /// In ascending order for each state.
    pub words: Vec<i32>,
    pub costs: Vec<f32>,
    pub first_steps: FirstSteps,
}

/// The children of state 0 by their words, listed when they are first needed. They do not say what the model is, so all
/// are equal.
#[derive(Debug, Clone, Default)]
pub struct FirstSteps(OnceLock<Box<[StateId]>>);

impl PartialEq for FirstSteps {
    fn eq(&self, _: &FirstSteps) -> bool {
        true
    }
}

impl NgramFst {
    pub fn start(&self) -> Option<StateId> {
        self.start
    }

    pub fn num_states(&self) -> usize {
        self.finals.len()
    }

    pub fn final_cost(&self, state: StateId) -> f32 {
        self.finals[state as usize]
    }

    /// The shorter history and the cost of going there.
    pub fn backoff(&self, state: StateId) -> Option<(StateId, f32)> {
        let s = state as usize;
        (s != 0).then(|| (self.shorter[s], self.backoff[s]))
    }

    fn futures(&self, state: StateId) -> std::ops::Range<usize> {
        let s = state as usize;
        self.first_futures[s] as usize..self.first_futures[s + 1] as usize
    }

    /// The words on the arcs of a state, in ascending order.
    pub fn words(&self, state: StateId) -> &[i32] {
        &self.words[self.futures(state)]
    }

    /// The costs of those words.
    pub fn costs(&self, state: StateId) -> &[f32] {
        &self.costs[self.futures(state)]
    }

    /// Returns the target of an arc with a word: the longest history that ends with the word, preceded by words of the
    /// state's history.
    pub fn next(&self, state: StateId, word: i32) -> StateId {
        let Some(mut node) = self.child_of_root(word) else { return 0 };
        // The words of the history from the latest one back are those on the way from the root to the state.
        let mut depth = 0;
        let mut at = state;
        while at != 0 {
            at = self.shorter[at as usize];
            depth += 1;
        }
        for back in (0..depth).rev() {
            let ancestor = (0..back).fold(state, |at, _| self.shorter[at as usize]);
            match self.child(node, self.first_words[ancestor as usize]) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }

    /// The child of state 0 with this word. (There may be several hundred thousand.)
    fn child_of_root(&self, word: i32) -> Option<StateId> {
        let [begin, end] = [self.first_children[0], self.first_children[1]];
        let words = &self.first_words[begin as usize..end as usize];
        let number = words.last().map_or(0, |&last| last as usize + 1);
        if number > MOST_GAPS * words.len() {
            return self.child(0, word);
        }
        let children = self.first_steps.0.get_or_init(|| {
            let mut children = vec![0; number];
            for (&word, child) in words.iter().zip(begin..) {
                children[word as usize] = child;
            }
            children.into()
        });
        children.get(word as usize).copied().filter(|&child| child != 0)
    }

    fn child(&self, state: StateId, word: i32) -> Option<StateId> {
        let s = state as usize;
        let (begin, end) = (self.first_children[s], self.first_children[s + 1]);
        let children = &self.first_words[begin as usize..end as usize];
        children.binary_search(&word).ok().map(|i| begin + i as StateId)
    }
}
