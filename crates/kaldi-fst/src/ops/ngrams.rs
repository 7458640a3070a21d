//! N-gram models as acceptors with back-off arcs, and in the form that has their histories as a tree.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::ngrams::{FirstSteps, NgramFst};

impl From<&NgramFst> for Fst {
    /// The arc to the shorter history comes first, then the words in ascending order.
    fn from(ngrams: &NgramFst) -> Fst {
        let state = |s: StateId| {
            let backoff = ngrams.backoff(s).map(|(next, weight)| Arc::new(EPSILON, weight, next));
            let words = ngrams.words(s).iter().zip(ngrams.costs(s));
            let words = words.map(|(&word, &weight)| Arc::new(word, weight, ngrams.next(s, word)));
            State { final_weight: ngrams.final_cost(s), arcs: backoff.into_iter().chain(words).collect() }
        };
        Fst { start: ngrams.start(), states: (0..ngrams.num_states() as StateId).map(state).collect() }
    }
}

/// A history: its latest word comes first. The beginning of a sentence is the word 0.
type History = Vec<i32>;

/// Makes the tree of histories of a backoff acceptor. In it each state, except that of the empty history, must have one
/// arc without label, to the longest shorter history. An arc with a word must lead to the longest history that ends
/// with this word.
///
/// The error names the first state that does not fit.
pub fn ngrams(fst: &Fst) -> Result<NgramFst> {
    fst.check_acceptor()?;
    let start = fst.start.ok_or(Error::Empty)?;
    let model = Model::of(fst, start)?;
    let histories = model.histories(fst, start)?;
    let order = model.order(&histories)?;
    let out = model.arrange(fst, start, &histories, &order);
    let mut numbers = vec![0; order.len()];
    order.iter().enumerate().for_each(|(number, &s)| numbers[s as usize] = number as StateId);
    for (s, state) in fst.numbered() {
        for arc in state.arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
            let expected = order[out.next(numbers[s as usize], arc.ilabel) as usize];
            if arc.next != expected {
                return Err(not_ngram(
                    s,
                    format!(
                        "word {} leads to state {}, but state {expected} has the longest history that fits",
                        arc.ilabel, arc.next
                    ),
                ));
            }
        }
    }
    Ok(out)
}

fn not_ngram(state: StateId, problem: impl Into<String>) -> Error {
    Error::NotNgram { state, problem: problem.into() }
}

/// Back-off arcs and the lengths of histories.
struct Model {
    /// The shorter history and the cost of going there; `None` for the empty history.
    backoff: Vec<Option<(StateId, f32)>>,
    /// The number of words of each history.
    lengths: Vec<usize>,
}

impl Model {
    fn of(fst: &Fst, start: StateId) -> Result<Model> {
        let mut backoff = Vec::with_capacity(fst.states.len());
        for (s, state) in fst.numbered() {
            let mut without = state.arcs.iter().filter(|arc| arc.ilabel == EPSILON);
            let first = without.next().map(|arc| (arc.next, arc.weight));
            if without.next().is_some() {
                return Err(not_ngram(s, "two of its arcs have no label"));
            }
            backoff.push(first);
        }
        let mut lengths: Vec<Option<usize>> = vec![None; backoff.len()];
        let mut empty = None;
        // The chain of backoff arcs from the start ends in the empty history.
        for s in std::iter::once(start).chain(0..backoff.len() as StateId) {
            let mut chain = vec![s];
            let known = loop {
                let last = chain[chain.len() - 1];
                match (lengths[last as usize], backoff[last as usize]) {
                    (Some(length), _) => break length,
                    (None, None) if *empty.get_or_insert(last) == last => break 0,
                    (None, None) => {
                        return Err(not_ngram(last, "no arc without label leads to a shorter history"));
                    }
                    _ if chain.len() > backoff.len() => {
                        return Err(not_ngram(s, "arcs without label form a cycle"));
                    }
                    (None, Some((next, _))) => chain.push(next),
                }
            };
            for (further, &s) in chain.iter().rev().enumerate() {
                lengths[s as usize] = Some(known + further);
            }
        }
        let lengths = lengths.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Model { backoff, lengths })
    }

    fn histories(&self, fst: &Fst, start: StateId) -> Result<Vec<History>> {
        let mut entered: Vec<Option<(StateId, i32)>> = vec![None; self.lengths.len()];
        for (s, state) in fst.numbered() {
            for arc in state.arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
                entered[arc.next as usize].get_or_insert((s, arc.ilabel));
            }
        }
        let mut by_length: Vec<StateId> = (0..self.lengths.len() as StateId).collect();
        by_length.sort_by_key(|&s| self.lengths[s as usize]);
        let mut histories: Vec<History> = vec![History::new(); by_length.len()];
        for s in by_length {
            let Some((shorter, _)) = self.backoff[s as usize] else { continue };
            let length = self.lengths[s as usize];
            let history = match entered[s as usize] {
                Some((source, word)) => {
                    let mut before = source;
                    while self.lengths[before as usize] >= length
                        && let Some((shorter, _)) = self.backoff[before as usize]
                    {
                        before = shorter;
                    }
                    [&[word], histories[before as usize].as_slice()].concat()
                }
                None if s == start => vec![BEGIN],
                None => return Err(not_ngram(s, "no word leads to it")),
            };
            if history.len() != length || history[..length - 1] != histories[shorter as usize] {
                let known = &histories[shorter as usize];
                return Err(not_ngram(
                    s,
                    format!(
                        "the words before it, from the latest back, are {history:?}, and those of its shorter history {known:?}"
                    ),
                ));
            }
            histories[s as usize] = history;
        }
        Ok(histories)
    }

    /// States level by level, in the order of their words from the latest back.
    fn order(&self, histories: &[History]) -> Result<Vec<StateId>> {
        let mut order: Vec<StateId> = (0..histories.len() as StateId).collect();
        let key = |&s: &StateId| (self.lengths[s as usize], &histories[s as usize]);
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        match order.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
            Some(same) => Err(not_ngram(same[1], format!("state {} has the same history", same[0]))),
            None => Ok(order),
        }
    }

    fn arrange(&self, fst: &Fst, start: StateId, histories: &[History], order: &[StateId]) -> NgramFst {
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(number, &s)| numbers[s as usize] = number as StateId);
        let backoff = |&s: &StateId| self.backoff[s as usize].unwrap_or((s, 0.0));
        let shorter: Vec<StateId> = order.iter().map(|s| numbers[backoff(s).0 as usize]).collect();
        let mut children = vec![0; order.len()];
        shorter.iter().skip(1).for_each(|&parent| children[parent as usize] += 1);
        let mut out = NgramFst {
            start: Some(numbers[start as usize]),
            first_children: sums(1, &children),
            first_words: order.iter().map(|&s| histories[s as usize].last().copied().unwrap_or(0)).collect(),
            backoff: order.iter().map(|s| backoff(s).1).collect(),
            finals: order.iter().map(|&s| fst.state(s).final_weight).collect(),
            shorter,
            first_futures: Vec::new(),
            words: Vec::new(),
            costs: Vec::new(),
            first_steps: FirstSteps::default(),
        };
        // Files have one more element of each.
        out.first_words.push(0);
        out.backoff.push(0.0);
        let mut counts = Vec::with_capacity(order.len());
        for &s in order {
            // The cheapest of several arcs with a word counts.
            let mut words: BTreeMap<i32, f32> = BTreeMap::new();
            for arc in fst.state(s).arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
                words.entry(arc.ilabel).and_modify(|cost| *cost = cost.min(arc.weight)).or_insert(arc.weight);
            }
            counts.push(words.len() as u32);
            out.words.extend(words.keys());
            out.costs.extend(words.values());
        }
        out.first_futures = sums(0, &counts);
        out
    }
}

/// The word of a history that begins a sentence.
const BEGIN: i32 = 0;

/// The sums of the first counts, from none to all, behind a first value.
fn sums(first: u32, counts: &[u32]) -> Vec<u32> {
    let mut sums = vec![first];
    for (i, count) in counts.iter().enumerate() {
        sums.push(sums[i] + count);
    }
    sums
}
