//! The lexicon within a decoding graph: the phones along the paths from the start of the graph to the ends of words.
//!
//! A path of a graph has transition-ids as input labels, which give phones, and words as output labels. Phones tell where a
//! word ends (`word_boundary.int`). A word's label may come before its phones, among them, or behind them, as the graph was
//! determinized and may have a context of phones. It is the first label of the path. Since any word may come first, paths are
//! followed to the end of their first word only.

use std::collections::BTreeSet;

use kaldi_fst::{EPSILON, FlatFst, StateId};
use kaldi_hmm::TransitionModel;
use nnet3_decode::align::{PhoneType, WordBoundaries};
use rustc_hash::FxHashSet;

use crate::error::{Error, Result};
use crate::model_graph::ModelGraph;
use crate::phrases::is_disambiguation;

/// Steps along paths, for each arc of the graph and besides, after which a graph is given up. (A lexicon takes a few for each
/// arc.)
const STEPS_PER_ARC: usize = 1000;
const MOST_STEPS_BESIDES: usize = 1_000_000;

/// The pronunciations of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lexicon {
    /// Words and their phones, each pair once, in the order of words and phones.
    pub entries: Vec<(String, Vec<String>)>,
    /// Words with a name and without a pronunciation, in the order of their numbers. Symbols such as `<s>` and `#0` are no words.
    pub without: Vec<String>,
    /// The phone that `phones.txt` has no name for, if it does not fit the model: phones then have names that are made up.
    pub nameless: Option<i32>,
}

impl Lexicon {
    /// Reads the lexicon of the model in a folder, as published for vosk, or of the older form. Phones have the names of
    /// [`ModelGraph::phone_name`], without the suffixes `_B`, `_I`, `_E` and `_S` for places in a word unless `positions` is
    /// set.
    ///
    /// # Errors
    /// A file is missing or damaged; files do not fit each other; no phone is known to end words.
    pub fn read(folder: &str, positions: bool) -> Result<Lexicon> {
        Lexicon::of(&ModelGraph::read(folder)?, positions)
    }

    /// Returns the lexicon within a model's graph.
    ///
    /// # Errors
    /// A word has no name; the graph has an input label that is no transition-id, or too many paths.
    pub fn of(model: &ModelGraph, positions: bool) -> Result<Lexicon> {
        let found = pronunciations(
            &model.graph,
            &model.disambiguation,
            |label| model.is_backoff(label),
            &model.transitions,
            &model.boundaries,
        )
        .map_err(Error::of(&model.file))?;
        let phone = |phone: &i32| {
            let name = model.phone_name(*phone);
            if positions { name.to_owned() } else { without_position(name).to_owned() }
        };
        let mut spoken = BTreeSet::new();
        let mut entries = BTreeSet::new();
        for (label, phones) in &found {
            let word = model.word(*label);
            let name = model.words.get(word).ok_or(Error::UnknownWord(word))?;
            spoken.insert(name);
            entries.insert((name.to_owned(), phones.iter().map(phone).collect()));
        }
        let is_word = |name: &str| !["<s>", "</s>"].contains(&name) && !is_disambiguation(name);
        let without = model
            .words
            .iter()
            .filter(|(number, name)| *number != EPSILON && is_word(name) && !spoken.contains(name));
        let without = without.map(|(_, name)| name.to_owned()).collect();
        Ok(Lexicon { entries: entries.into_iter().collect(), without, nameless: model.nameless })
    }
}

/// A phone's name without its place in a word.
fn without_position(name: &str) -> &str {
    ["_B", "_I", "_E", "_S"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// A step of a path: a state, the next arc to take there, and the lengths of the path's lists before it.
struct Step {
    state: StateId,
    next: usize,
    phones: usize,
    label: i32,
    /// True if the phones of the word are complete.
    complete: bool,
}

/// Returns the first words of all paths from the start of a graph, as labels and phones, each pair once. Paths do not take
/// arcs whose label `is_backoff`: with it language models go to shorter histories.
///
/// # Errors
/// The graph has an input label that is neither a transition-id nor one of `disambiguation`, or too many paths.
pub fn pronunciations(
    graph: &FlatFst,
    disambiguation: &FxHashSet<i32>,
    is_backoff: impl Fn(i32) -> bool,
    transitions: &TransitionModel,
    boundaries: &WordBoundaries,
) -> std::result::Result<BTreeSet<(i32, Vec<i32>)>, String> {
    let mut found = BTreeSet::new();
    let Some(start) = graph.start else { return Ok(found) };
    let mut steps_left = MOST_STEPS_BESIDES.saturating_add(graph.arcs.len().saturating_mul(STEPS_PER_ARC));
    // States on the way to a word, by what was found before: paths that meet there go on alike.
    let mut silent: FxHashSet<StateId> = FxHashSet::from_iter([start]);
    let mut phones: Vec<i32> = Vec::new();
    let step = |state: StateId, phones: &[i32], label, complete| Step {
        state,
        next: graph.arcs_of(state as usize).start,
        phones: phones.len(),
        label,
        complete,
    };
    let mut path = vec![step(start, &phones, EPSILON, false)];
    let mut on_path: FxHashSet<StateId> = FxHashSet::default();
    while let Some(last) = path.last_mut() {
        phones.truncate(last.phones);
        if last.next == graph.arcs_of(last.state as usize).end {
            on_path.remove(&last.state);
            path.pop();
            continue;
        }
        let arc = graph.arcs[last.next];
        last.next += 1;
        steps_left -= 1;
        if steps_left == 0 {
            return Err(
                "there are too many paths from the start of the graph to the ends of words".to_owned()
            );
        }
        if arc.olabel != EPSILON && is_backoff(arc.olabel) {
            continue;
        }
        let label = if last.label == EPSILON { arc.olabel } else { last.label };
        let mut complete = last.complete;
        if arc.ilabel != EPSILON && !disambiguation.contains(&arc.ilabel) {
            let id = transitions
                .transition_id(arc.ilabel)
                .map_err(|_| format!("the label {} is no transition-id of the model", arc.ilabel))?;
            if transitions.is_self_loop(id) {
                continue;
            }
            if transitions.state(id).hmm_state == 0 {
                // The next word begins.
                if complete {
                    continue;
                }
                let phone = transitions.phone(id);
                match boundaries.kind(phone) {
                    Some(PhoneType::Nonword) => {}
                    Some(PhoneType::End | PhoneType::Singleton) => {
                        phones.push(phone);
                        complete = true;
                    }
                    _ => phones.push(phone),
                }
            }
        }
        if complete && label != EPSILON {
            found.insert((label, phones.clone()));
            continue;
        }
        if arc.next == last.state || on_path.contains(&arc.next) {
            continue;
        }
        // A label of the next word, which stands before its phones, is no label of a silence before it.
        if phones.is_empty() && label == EPSILON && !silent.insert(arc.next) {
            continue;
        }
        let state = last.state;
        on_path.insert(state);
        path.push(step(arc.next, &phones, label, complete));
    }
    Ok(found)
}
