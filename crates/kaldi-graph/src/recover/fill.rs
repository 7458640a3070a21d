//! A tree of all pairs of phones, from the pairs that a graph has.
//!
//! Two phones are similar as left neighbours if the pdfs of other phones after both are the same. Phones are similar in the
//! middle if they have the same pdfs after the same phones. The pdfs of a missing pair are those of the pair with the most
//! similar left neighbour. Or they are those of the most similar phone in the middle, if the model has this phone with
//! these pdfs.

use std::collections::BTreeMap;

use kaldi_fst::state_table::StateTable;
use kaldi_hmm::event_map::{EventMap, PDF_CLASS};
use kaldi_hmm::{ContextDependency, TransitionModel, TransitionState};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{PhonePair, SeenContexts};
use crate::error::{Error, Result};

/// A tree, and the pairs of phones whose pdfs are those of a similar pair.
#[derive(Debug, Clone, PartialEq)]
pub struct RecoveredTree {
    pub tree: ContextDependency,
    /// Sorted.
    pub guessed: Vec<PhonePair>,
}

/// The forward pdf and the self-loop's pdf of each emitting state of a phone.
type Pdfs = Vec<(i32, Option<i32>)>;
/// The number of such a list.
type Outcome = usize;

/// The states of a phone that have pdfs.
pub(super) fn emitting_states(transitions: &TransitionModel, phone: i32) -> Vec<usize> {
    let states = transitions.topology().entry(phone).unwrap_or_default();
    (0..states.len()).filter(|&s| states[s].forward_pdf_class.is_some()).collect()
}

impl SeenContexts {
    /// Makes a tree for windows of two phones.
    ///
    /// # Errors
    /// The model has no transition state for a state of a phone.
    pub fn tree(&self, transitions: &TransitionModel) -> Result<RecoveredTree> {
        let mut pairs = Pairs::new(self, transitions)?;
        let guessed = pairs.fill();
        let phones = pairs.phones[1..].iter().zip(&pairs.table);
        let to_pdf = EventMap::table(1, phones.map(|(&phone, row)| (phone, pairs.split(phone, row))));
        Ok(RecoveredTree { tree: ContextDependency::new(2, 1, to_pdf)?, guessed })
    }
}

/// A table of pairs: a row for each phone, a column for each phone before it.
struct Pairs<'a> {
    transitions: &'a TransitionModel,
    /// 0, and the phones of the model.
    phones: Vec<i32>,
    outcomes: Vec<Pdfs>,
    table: Vec<Vec<Option<Outcome>>>,
    /// Outcomes that the model has transition states for, by row.
    valid: Vec<FxHashSet<Outcome>>,
}

impl<'a> Pairs<'a> {
    fn new(seen: &SeenContexts, transitions: &'a TransitionModel) -> Result<Pairs<'a>> {
        let phones: Vec<i32> =
            [0].into_iter().chain(transitions.topology().phones().iter().copied()).collect();
        let (rows, columns) = (phones.len() - 1, phones.len());
        let place: FxHashMap<i32, usize> =
            phones.iter().enumerate().map(|(place, &phone)| (phone, place)).collect();
        let mut outcomes: StateTable<Pdfs> = StateTable::default();
        let mut number = |pdfs: Pdfs| outcomes.number(pdfs) as Outcome;
        let mut table = vec![vec![None; columns]; rows];
        for (pair, states) in &seen.states {
            let pdfs = states.iter().map(|&state| pdfs_of(&transitions.states()[state])).collect();
            if let (Some(&left), Some(&row)) = (place.get(&pair.left), place.get(&pair.phone)) {
                table[row - 1][left] = Some(number(pdfs));
            }
        }
        // A phone that the graph lacks and that no other is similar to: its first pdfs.
        let first: Vec<Outcome> = phones[1..]
            .iter()
            .map(|&phone| first_pdfs(transitions, phone).map(&mut number))
            .collect::<Result<_>>()?;
        let outcomes = outcomes.into_keys();
        let mut valid = vec![FxHashSet::default(); rows];
        for (row, valid) in valid.iter_mut().enumerate() {
            let has = |outcome: &Outcome| has_states(transitions, phones[row + 1], &outcomes[*outcome]);
            valid.extend((0..outcomes.len()).filter(has));
            valid.insert(first[row]);
        }
        Ok(Pairs { transitions, phones, outcomes, table, valid })
    }

    /// Fills the gaps of the table; returns the pairs that were missing.
    fn fill(&mut self) -> Vec<PhonePair> {
        let similar_columns = self.similar_columns();
        let similar_rows = self.similar_rows();
        let mut guesses = Vec::new();
        for (row, entries) in self.table.iter().enumerate() {
            let mut counts: FxHashMap<Outcome, usize> = FxHashMap::default();
            entries.iter().flatten().for_each(|&outcome| *counts.entry(outcome).or_default() += 1);
            for left in (0..entries.len()).filter(|&left| entries[left].is_none()) {
                let by_column = (0..entries.len())
                    .filter_map(|other| Some((similar_columns[left][other], entries[other]?)));
                let by_row = (0..self.table.len())
                    .filter_map(|other| Some((similar_rows[row][other], self.table[other][left]?)))
                    .filter(|(_, outcome)| self.valid[row].contains(outcome));
                let best = by_column.chain(by_row).max_by(|a, b| {
                    let count = |outcome: Outcome| counts.get(&outcome).copied().unwrap_or(0);
                    // The smaller number decides at last, so that results do not depend on the order.
                    a.0.total_cmp(&b.0).then(count(a.1).cmp(&count(b.1))).then(b.1.cmp(&a.1))
                });
                let least = self.valid[row].iter().min().copied();
                guesses.push((row, left, best.map(|(_, outcome)| outcome).or(least)));
            }
        }
        let mut guessed = Vec::new();
        for (row, left, outcome) in guesses {
            self.table[row][left] = outcome;
            guessed.push(PhonePair { left: self.phones[left], phone: self.phones[row + 1] });
        }
        guessed.sort_unstable();
        guessed
    }

    /// Similarity of two neighbours, from 0 to 1: the share of phones with the same pdfs behind both.
    fn similar_columns(&self) -> Vec<Vec<f64>> {
        let columns = self.phones.len();
        let column =
            |left: usize| -> Vec<Option<Outcome>> { self.table.iter().map(|row| row[left]).collect() };
        similarities(&(0..columns).map(column).collect::<Vec<_>>())
    }

    fn similar_rows(&self) -> Vec<Vec<f64>> {
        similarities(&self.table)
    }

    /// The part of the tree for a phone: neighbours with the same pdfs share a leaf, and the most frequent pdfs come last.
    fn split(&self, phone: i32, row: &[Option<Outcome>]) -> EventMap {
        let mut lefts: BTreeMap<Outcome, Vec<i32>> = BTreeMap::new();
        for (&left, outcome) in self.phones.iter().zip(row) {
            if let Some(outcome) = outcome {
                lefts.entry(*outcome).or_default().push(left);
            }
        }
        let mut groups: Vec<(Outcome, Vec<i32>)> = lefts.into_iter().collect();
        groups.sort_by_key(|(outcome, lefts)| (lefts.len(), *outcome));
        let mut groups = groups.into_iter().rev();
        let Some((outcome, _)) = groups.next() else { return EventMap::table(PDF_CLASS, []) };
        groups.fold(self.leaves(phone, outcome), |rest, (outcome, lefts)| EventMap::Split {
            key: 0,
            yes_set: lefts,
            yes: Box::new(self.leaves(phone, outcome)),
            no: Box::new(rest),
        })
    }

    /// The pdfs of the classes of a phone.
    fn leaves(&self, phone: i32, outcome: Outcome) -> EventMap {
        let entry = self.transitions.topology().entry(phone).unwrap_or_default();
        let mut classes: BTreeMap<i32, i32> = BTreeMap::new();
        let emitting = entry.iter().filter_map(|state| Some((state, state.forward_pdf_class?)));
        for ((state, forward), &(pdf, self_loop)) in emitting.zip(&self.outcomes[outcome]) {
            classes.insert(forward, pdf);
            if let (Some(class), Some(pdf)) = (state.self_loop_pdf_class, self_loop) {
                classes.insert(class, pdf);
            }
        }
        EventMap::table(PDF_CLASS, classes.into_iter().map(|(class, pdf)| (class, EventMap::Constant(pdf))))
    }
}

/// Similarity of each pair of lists: places where both have the same, by places where both have something and one more.
fn similarities(lists: &[Vec<Option<Outcome>>]) -> Vec<Vec<f64>> {
    let mut similar = vec![vec![0.0; lists.len()]; lists.len()];
    for (a, first) in lists.iter().enumerate() {
        for (b, second) in lists.iter().enumerate().take(a) {
            let both = first.iter().zip(second).filter_map(|(x, y)| Some((*x)? == (*y)?));
            let (mut same, mut all) = (0, 0);
            for is_same in both {
                all += 1;
                same += usize::from(is_same);
            }
            similar[a][b] = f64::from(same as u32) / (f64::from(all as u32) + 1.0);
            similar[b][a] = similar[a][b];
        }
    }
    similar
}

fn pdfs_of(state: &TransitionState) -> (i32, Option<i32>) {
    (state.forward_pdf, state.self_loop_pdf)
}

fn first_pdfs(transitions: &TransitionModel, phone: i32) -> Result<Pdfs> {
    let first = |hmm_state: usize| {
        let mut states = transitions.states().iter();
        let found = states.find(|state| state.phone == phone && state.hmm_state == hmm_state);
        found.map(pdfs_of).ok_or_else(|| {
            Error::mismatch(format!(
                "the model has no transition state for state {hmm_state} of phone {phone}"
            ))
        })
    };
    emitting_states(transitions, phone).into_iter().map(first).collect()
}

/// True if the model has these pdfs for the states of a phone.
fn has_states(transitions: &TransitionModel, phone: i32, pdfs: &Pdfs) -> bool {
    let emitting = emitting_states(transitions, phone);
    emitting.len() == pdfs.len()
        && emitting.into_iter().zip(pdfs).all(|(hmm_state, &(forward_pdf, self_loop_pdf))| {
            let state = TransitionState { phone, hmm_state, forward_pdf, self_loop_pdf };
            transitions.states().binary_search(&state).is_ok()
        })
}
