//! Language models as the second half of a graph that is composed while it is searched: acceptors of words, or transducers
//! from numbers of words to words.

use std::collections::{BTreeMap, BTreeSet};

use kaldi_fst::{Arc, EPSILON, FlatFst, NgramFst, StateId};

/// Arcs have no negative labels, and lead to states that there are.
#[derive(Debug, Clone)]
pub enum Grammar {
    Ngrams(NgramFst),
    Fst(SortedFst),
}

/// Any FST: the arcs without input labels first, then those with, in ascending order.
#[derive(Debug, Clone)]
pub struct SortedFst {
    fst: FlatFst,
    /// The labels of all arcs.
    labels: Vec<i32>,
    costs: Vec<f32>,
}

impl From<FlatFst> for Grammar {
    fn from(mut fst: FlatFst) -> Grammar {
        for s in 0..fst.num_states() {
            let range = fst.arcs_of(s);
            fst.arcs[range].sort_by_key(|arc| arc.ilabel);
        }
        let labels = fst.arcs.iter().map(|arc| arc.ilabel).collect();
        let costs = fst.arcs.iter().map(|arc| arc.weight).collect();
        Grammar::Fst(SortedFst { fst, labels, costs })
    }
}

impl SortedFst {
    /// The positions of the arcs with input labels.
    fn labelled(&self, state: StateId) -> std::ops::Range<usize> {
        let range = self.fst.arcs_of(state as usize);
        range.start + self.labels[range.clone()].partition_point(|&label| label == EPSILON)..range.end
    }
}

impl Grammar {
    pub fn start(&self) -> Option<StateId> {
        match self {
            Grammar::Ngrams(fst) => fst.start(),
            Grammar::Fst(fst) => fst.fst.start,
        }
    }

    /// Infinite if the state is not final.
    pub fn final_cost(&self, state: StateId) -> f32 {
        match self {
            Grammar::Ngrams(fst) => fst.final_cost(state),
            Grammar::Fst(fst) => fst.fst.finals[state as usize],
        }
    }

    /// The arcs without input labels.
    pub fn epsilons(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let (one, many) = match self {
            Grammar::Ngrams(fst) => {
                let arc = |(next, weight)| Arc { ilabel: EPSILON, olabel: EPSILON, weight, next };
                (fst.backoff(state).map(arc), &[][..])
            }
            Grammar::Fst(fst) => {
                let begin = fst.fst.arcs_of(state as usize).start;
                (None, &fst.fst.arcs[begin..fst.labelled(state).start])
            }
        };
        one.into_iter().chain(many.iter().copied())
    }

    pub(crate) fn has_epsilons(&self, state: StateId) -> bool {
        self.epsilons(state).next().is_some()
    }

    /// The input labels of the other arcs, in ascending order, and the costs of those arcs.
    pub(crate) fn labels_and_costs(&self, state: StateId) -> (&[i32], &[f32]) {
        match self {
            Grammar::Ngrams(fst) => (fst.words(state), fst.costs(state)),
            Grammar::Fst(fst) => {
                let range = fst.labelled(state);
                (&fst.labels[range.clone()], &fst.costs[range])
            }
        }
    }

    /// Returns the first word for which `is_known` is false.
    pub fn unknown_word(&self, is_known: impl Fn(i32) -> bool) -> Option<i32> {
        let is_unknown = |word: &i32| *word != EPSILON && !is_known(*word);
        match self {
            Grammar::Ngrams(fst) => {
                (0..fst.num_states() as StateId).flat_map(|state| fst.words(state)).copied().find(is_unknown)
            }
            Grammar::Fst(fst) => fst.fst.arcs.iter().map(|arc| arc.olabel).find(is_unknown),
        }
    }

    /// Returns the input label of each of these words. A word without an arc has its own number if the grammar is an
    /// acceptor; else it is left out.
    pub(crate) fn input_labels(&self, words: &BTreeSet<i32>) -> BTreeMap<i32, i32> {
        let own = || words.iter().map(|&word| (word, word)).collect();
        let Grammar::Fst(fst) = self else { return own() };
        if fst.fst.arcs.iter().all(|arc| arc.ilabel == arc.olabel) {
            return own();
        }
        let with_label = fst.fst.arcs.iter().filter(|arc| words.contains(&arc.olabel));
        with_label.map(|arc| (arc.olabel, arc.ilabel)).collect()
    }

    /// One of these arcs.
    pub fn arc(&self, state: StateId, i: usize) -> Arc {
        match self {
            Grammar::Ngrams(fst) => {
                let word = fst.words(state)[i];
                Arc { ilabel: word, olabel: word, weight: fst.costs(state)[i], next: fst.next(state, word) }
            }
            Grammar::Fst(fst) => fst.fst.arcs[fst.labelled(state).start + i],
        }
    }
}
