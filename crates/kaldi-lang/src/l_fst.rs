//! L: the transducer from phones to words, with optional silence between words.
//!
//! With one probability of silence there is a state in which words begin, and one before silence. If pronunciations say how
//! likely silence is around them, words begin in one of two states: after silence, and after no silence (Chen, Xu, Povey and
//! Khudanpur, "Pronunciation and silence probability modeling for ASR", 2015).

use kaldi_fst::state_table::StateTable;
use kaldi_fst::{Arc, Fst, State, StateId};
use kaldi_io::text::format_g;

use crate::lang::Pronunciation;
use crate::lexicon::SilenceModel;

/// Silence at the ends of utterances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SilenceAtEnds {
    /// The probability of silence at the beginning.
    pub begin: f64,
    /// The factor of the probability of the end after silence.
    pub end_silence: f64,
    /// The factor of the probability of the end after a word.
    pub end_other: f64,
}

/// Labels and probabilities that L needs.
#[derive(Debug, Clone, Copy)]
pub struct Maker<'a> {
    /// Words with their phones.
    pub pronunciations: &'a [Pronunciation],
    /// The phone of optional silence.
    pub silence: i32,
    /// The probability of silence behind words, and at the beginning.
    pub silence_probability: f64,
    /// Makes the form with silence by words, with these probabilities at the ends. Pronunciations without a model of silence
    /// have the general probability, and no corrections.
    pub by_words: Option<SilenceAtEnds>,
    /// The word of `#0`.
    pub backoff_word: i32,
}

/// An arc with its cost in double precision.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    from: StateId,
    to: StateId,
    phone: i32,
    word: i32,
    cost: f64,
}

/// The arcs and final states of an L.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    arcs: Vec<Line>,
    finals: Vec<(StateId, f64)>,
}

impl Lines {
    fn arc(&mut self, from: StateId, to: StateId, phone: i32, word: i32, cost: f64) {
        self.arcs.push(Line { from, to, phone, word, cost });
    }

    /// Returns the text for `fstcompile`: numbers for labels, costs with seven digits.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for &Line { from, to, phone, word, cost } in &self.arcs {
            text += &format!("{from} {to} {phone} {word} {}\n", format_g(cost, 7));
        }
        for &(state, cost) in &self.finals {
            text += &format!("{state} {}\n", format_g(cost, 7));
        }
        text
    }

    /// Returns the transducer of the text. States are numbered as a compiler of the text meets them.
    pub fn fst(&self) -> Fst {
        // As a reader of the text would round them.
        let weight = |cost: f64| format_g(cost, 7).parse().unwrap_or(cost as f32);
        let mut numbers: StateTable<StateId> = StateTable::default();
        let mut number = |state: StateId| numbers.number(state);
        let mut fst = Fst { start: None, states: Vec::new() };
        for line in &self.arcs {
            let (from, to) = (number(line.from), number(line.to));
            while fst.states.len() <= from.max(to) as usize {
                fst.states.push(State::default());
            }
            let arc = Arc { ilabel: line.phone, olabel: line.word, weight: weight(line.cost), next: to };
            fst.state_mut(from).arcs.push(arc);
        }
        for &(state, cost) in &self.finals {
            let state = number(state);
            while fst.states.len() <= state as usize {
                fst.states.push(State::default());
            }
            fst.state_mut(state).final_weight = weight(cost);
        }
        fst.start = (!fst.states.is_empty()).then_some(0);
        fst
    }
}

impl Maker<'_> {
    /// Makes L. `disambiguation` has the symbols `#0`, `#1` … and that of silence, which is the last; `None` makes the L of
    /// training graphs.
    pub fn lines(&self, disambiguation: Option<&[i32]>) -> Lines {
        match self.by_words {
            None => self.plain(disambiguation),
            Some(ends) => self.with_silence_by_words(ends, disambiguation),
        }
    }

    fn inputs(&self, pronunciation: &Pronunciation, disambiguation: Option<&[i32]>) -> Vec<i32> {
        let symbol = disambiguation.filter(|_| pronunciation.number > 0).map(|ids| ids[pronunciation.number]);
        pronunciation.phones.iter().copied().chain(symbol).collect()
    }

    fn plain(&self, disambiguation: Option<&[i32]>) -> Lines {
        const START: StateId = 0;
        const LOOP: StateId = 1;
        const SILENCE: StateId = 2;
        const AFTER_SILENCE: StateId = 3;
        let mut lines = Lines::default();
        let (without, with) = (-(1.0 - self.silence_probability).ln(), -self.silence_probability.ln());
        lines.arc(START, LOOP, 0, 0, without);
        lines.arc(START, SILENCE, 0, 0, with);
        match disambiguation {
            Some(ids) => {
                lines.arc(SILENCE, AFTER_SILENCE, self.silence, 0, 0.0);
                lines.arc(AFTER_SILENCE, LOOP, ids[ids.len() - 1], 0, 0.0);
            }
            None => lines.arc(SILENCE, LOOP, self.silence, 0, 0.0),
        }
        let mut state = AFTER_SILENCE + 1;
        for pronunciation in self.pronunciations {
            let inputs = self.inputs(pronunciation, disambiguation);
            let Some((&last, before)) = inputs.split_last() else { continue };
            let (mut from, mut word, mut cost) = (LOOP, pronunciation.word, -pronunciation.probability.ln());
            for &phone in before {
                lines.arc(from, state, phone, word, cost);
                (from, word, cost, state) = (state, 0, 0.0, state + 1);
            }
            lines.arc(from, LOOP, last, word, cost + without);
            lines.arc(from, SILENCE, last, word, cost + with);
        }
        if let Some(ids) = disambiguation {
            // Language models' way to shorter histories, wherever a word may begin.
            lines.arc(LOOP, LOOP, ids[0], self.backoff_word, 0.0);
        }
        lines.finals.push((LOOP, 0.0));
        lines
    }

    fn with_silence_by_words(&self, ends: SilenceAtEnds, disambiguation: Option<&[i32]>) -> Lines {
        const START: StateId = 0;
        const OTHER: StateId = 1;
        const SILENCE: StateId = 2;
        let none = SilenceModel { after: self.silence_probability, before_silence: 1.0, before_other: 1.0 };
        let symbol = disambiguation.map_or(0, |ids| ids[ids.len() - 1]);
        let mut lines = Lines::default();
        lines.arc(START, OTHER, symbol, 0, -(1.0 - ends.begin).ln());
        lines.arc(START, SILENCE, self.silence, 0, -ends.begin.ln());
        let mut state = SILENCE + 1;
        for pronunciation in self.pronunciations {
            let model = pronunciation.silence.unwrap_or(none);
            let inputs = self.inputs(pronunciation, disambiguation);
            let Some((&first, others)) = inputs.split_first() else { continue };
            let (cost, word) = (-pronunciation.probability.ln(), pronunciation.word);
            lines.arc(OTHER, state, first, word, cost - model.before_other.ln());
            lines.arc(SILENCE, state, first, word, cost - model.before_silence.ln());
            for &phone in others {
                lines.arc(state, state + 1, phone, 0, 0.0);
                state += 1;
            }
            lines.arc(state, OTHER, symbol, 0, -(1.0 - model.after).ln());
            lines.arc(state, SILENCE, self.silence, 0, -model.after.ln());
            state += 1;
        }
        if let Some(ids) = disambiguation {
            [OTHER, SILENCE].into_iter().for_each(|at| lines.arc(at, at, ids[0], self.backoff_word, 0.0));
        }
        lines.finals.extend([(SILENCE, -ends.end_silence.ln()), (OTHER, -ends.end_other.ln())]);
        lines
    }
}
