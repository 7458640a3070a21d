//! The n-grams of a language model that is an acceptor. It has a state for each history, an arc for each n-gram, and arcs
//! without a word to shorter histories. [`compile`](super::compile()) makes such acceptors, and published models have them
//! (`Gr.fst`).

use kaldi_fst::ops;
use kaldi_fst::store::{FlatOrNgrams, Names};
use kaldi_fst::{EPSILON, FlatFst, Fst, NgramFst, State, StateId};

use super::backoff::{BackoffModel, EMPTY, Vocabulary};
use crate::error::{Error, Result};

/// The word on arcs to shorter histories in graphs before the composition with a lexicon.
const BACKOFF: &str = "#0";
/// The mark of the beginning of a sentence among first words of histories.
const BEGINNING: i32 = 0;

impl BackoffModel {
    /// Returns the n-grams of an acceptor. `names` are those of its output labels. New words are added to the vocabulary.
    ///
    /// # Errors
    /// A label has no name, or the acceptor does not consist of n-grams.
    pub fn from_fst(fst: &FlatOrNgrams, names: &Names, vocabulary: &mut Vocabulary) -> Result<BackoffModel> {
        match fst {
            FlatOrNgrams::Ngrams(fst) => of_ngrams(fst, names, vocabulary),
            FlatOrNgrams::Flat(fst) => of_ngrams(&ops::ngrams(&acceptor(fst, names))?, names, vocabulary),
        }
    }
}

/// Returns the acceptor of words of a language model, with empty arcs to shorter histories.
fn acceptor(fst: &FlatFst, names: &Names) -> Fst {
    let state = |state: usize| {
        let mut arcs = fst.arcs[fst.arcs_of(state)].to_vec();
        for arc in &mut arcs {
            if names.get(arc.olabel) == Some(BACKOFF) {
                arc.olabel = EPSILON;
            }
            arc.ilabel = arc.olabel;
        }
        State { final_weight: fst.finals[state], arcs }
    };
    Fst { start: fst.start, states: (0..fst.num_states()).map(state).collect() }
}

fn of_ngrams(fst: &NgramFst, names: &Names, vocabulary: &mut Vocabulary) -> Result<BackoffModel> {
    let mut model = BackoffModel::default();
    let word = |label: i32, vocabulary: &mut Vocabulary| {
        let name = names.get(label).ok_or_else(|| {
            Error::mismatch(format!("the word {label} of the language model is not in the symbol table"))
        })?;
        vocabulary.number(name)
    };
    let mut history = Vec::new();
    for state in 0..fst.num_states() as StateId {
        history.clear();
        let mut at = state;
        while let Some((shorter, _)) = fst.backoff(at) {
            let first = fst.first_words[at as usize];
            history.push(if first == BEGINNING { vocabulary.begin } else { word(first, vocabulary)? });
            at = shorter;
        }
        let node = model.node_or_add(&history);
        if let Some((_, cost)) = fst.backoff(state) {
            model.entries[node as usize].backoff = -cost;
        }
        let end = Some(fst.final_cost(state)).filter(|cost| cost.is_finite());
        let end = end.map(|cost| (vocabulary.end, cost));
        let words = fst.words(state).iter().zip(fst.costs(state));
        for (&label, &cost) in words {
            let next = model.next_or_add(node, word(label, vocabulary)?);
            model.entries[next as usize].log_prob = -cost;
        }
        if let Some((word, cost)) = end {
            let next = model.next_or_add(node, word);
            model.entries[next as usize].log_prob = -cost;
        }
    }
    // The beginning is never predicted.
    if let Some(node) = model.next(EMPTY, vocabulary.begin) {
        model.entries[node as usize].log_prob = f32::NEG_INFINITY;
    }
    Ok(model)
}
