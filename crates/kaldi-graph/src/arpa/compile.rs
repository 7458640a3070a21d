//! G: a state for each history that n-grams have, an arc for each n-gram, and arcs to shorter histories.

use kaldi_fst::ops::{self, Semiring};
use kaldi_fst::{Arc, EPSILON, Fst, StateId};
use kaldi_io::KaldiReader;
use rustc_hash::FxHashMap;

use super::read::{ArpaOptions, Event, Ngram, NgramConsumer, Words, Wrong, read_arpa};
use crate::error::{Error, Result};

/// A language model as an acceptor of word sequences, and remarks on its compilation.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    pub fst: Fst,
    /// Number of states before states with only a backoff arc were removed. `None` if they were not removed.
    pub states_before: Option<usize>,
}

/// Makes G from a file. With a disambiguation symbol, backoff arcs have this input. The symbols of begin and end then
/// have no arcs: the history of the begin is the start, and the end is a final cost. Without the symbol (0), backoff
/// arcs are empty, and begin and end are words.
pub fn compile(
    r: &mut KaldiReader,
    options: &mut ArpaOptions,
    disambiguation: i32,
    events: &mut dyn FnMut(Event),
) -> Result<Compiled> {
    let mut compiler = Compiler::new(options.begin, options.end, disambiguation, disambiguation == EPSILON);
    read_arpa(r, options, &mut compiler, events)?;
    let Compiler { mut fst, .. } = compiler;
    let mut states_before = None;
    if disambiguation != EPSILON {
        states_before = Some(fst.states.len());
        remove_states_that_back_off(&mut fst, disambiguation);
    }
    if fst.start.is_none() {
        let begin = i64::from(options.begin);
        let name = match &options.words {
            Words::Symbols(symbols, _) => symbols.name(begin).map(str::to_owned),
            Words::Numbers => None,
        };
        let name = name.unwrap_or_else(|| begin.to_string());
        return Err(Error::mismatch(format!(
            "Arpa file did not contain the beginning-of-sentence symbol {name}."
        )));
    }
    Ok(Compiled { fst, states_before })
}

/// Removes states from which one can only back off: they need no symbol for that, and then mostly no state.
fn remove_states_that_back_off(fst: &mut Fst, disambiguation: i32) {
    for state in &mut fst.states {
        if let ([arc], false) = (&mut state.arcs[..], state.final_weight != f32::INFINITY)
            && arc.ilabel == disambiguation
        {
            arc.ilabel = EPSILON;
        }
    }
    ops::remove_epsilons_locally(fst, Semiring::Tropical, Semiring::Tropical);
}

/// A history, as a node in the tree of all histories.
type Node = u32;
const EMPTY: Node = 0;

pub(super) struct Compiler {
    pub fst: Fst,
    begin: i32,
    end: i32,
    disambiguation: i32,
    /// Longer histories: by a history and the word behind it.
    longer: FxHashMap<(Node, i32), Node>,
    /// The state of each node; nodes without state are only on the way to others.
    states: Vec<Option<StateId>>,
    /// Last state of sentences, if the end is a word.
    end_state: Option<StateId>,
}

impl Compiler {
    /// With `ends_are_words` begin and end have arcs; otherwise they are the start and final costs.
    pub fn new(begin: i32, end: i32, disambiguation: i32, ends_are_words: bool) -> Compiler {
        let mut fst = Fst::default();
        let empty = fst.add_state();
        let end_state = ends_are_words.then(|| {
            let state = fst.add_state();
            fst.state_mut(state).final_weight = 0.0;
            state
        });
        Compiler {
            fst,
            begin,
            end,
            disambiguation,
            longer: FxHashMap::default(),
            states: vec![Some(empty)],
            end_state,
        }
    }

    /// The state of a history, if it has one.
    fn state(&self, history: &[i32]) -> Option<StateId> {
        let mut node = EMPTY;
        for &word in history {
            node = *self.longer.get(&(node, word))?;
        }
        self.states[node as usize]
    }

    /// The state of a history; a new one backs off to the longest history that it ends with.
    fn state_or_add(&mut self, history: &[i32], backoff: f32) -> StateId {
        let mut node = EMPTY;
        for &word in history {
            let states = &mut self.states;
            node = *self.longer.entry((node, word)).or_insert_with(|| {
                states.push(None);
                (states.len() - 1) as Node
            });
        }
        if let Some(state) = self.states[node as usize] {
            return state;
        }
        let state = self.fst.add_state();
        self.states[node as usize] = Some(state);
        let next = (1..=history.len()).find_map(|i| self.state(&history[i..])).unwrap_or_default();
        let arc = Arc { ilabel: self.disambiguation, olabel: EPSILON, weight: 0.0 - backoff, next };
        self.fst.state_mut(state).arcs.push(arc);
        state
    }
}

impl NgramConsumer for Compiler {
    fn header(&mut self, _: &[i32], _: &Words) {}

    fn ngram(&mut self, ngram: &Ngram, is_highest: bool) -> std::result::Result<(), Wrong> {
        let words = &ngram.words;
        let Some((&word, history)) = words.split_last() else { return Ok(()) };
        let Some(mut source) = self.state(history) else {
            return Err(Wrong::Skipped("no parent (n-1)-gram exists".to_owned()));
        };
        if word == self.disambiguation {
            return Err(Wrong::Error(format!(
                " <eps> or disambiguation symbol {word}found in the ARPA file. "
            )));
        }
        let mut weight = 0.0 - ngram.log_prob;
        let next = if word == self.end {
            let Some(end) = self.end_state else {
                self.fst.state_mut(source).final_weight = weight;
                return Ok(());
            };
            end
        } else {
            // The longest n-grams are no histories, so their targets lack the first word.
            self.state_or_add(&words[usize::from(is_highest)..], ngram.backoff)
        };
        if word == self.begin {
            if self.end_state.is_none() {
                self.fst.start = Some(next);
                return Ok(());
            }
            weight = 0.0;
            source = self.fst.add_state();
            self.fst.start = Some(source);
        }
        self.fst.state_mut(source).arcs.push(Arc::new(word, weight, next));
        Ok(())
    }
}
