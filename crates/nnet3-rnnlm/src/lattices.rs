//! A recurrent language model as an automaton, for the paths of lattices (`KaldiRnnlmDeterministicFst`).
//!
//! States are the last words of histories. Of all histories with these last words the network has seen the one that came first.

use std::collections::HashMap;

use kaldi_fst::StateId;
use nnet3_decode::lm::deterministic::DeterministicLm;

use crate::error::{Error, Result};
use crate::sentence::{SentenceModel, SentenceState};

/// A state: what the network knows, or how to find out.
enum State {
    Known(SentenceState),
    /// The state before and the word after it, of the history that came first.
    Pending(StateId, i32),
}

/// States of a model, made when they are met. The network runs when a state is first asked for a probability.
pub struct RnnlmStates {
    model: SentenceModel,
    /// At most so many words, less one, tell states apart; `None`: all words.
    order: Option<usize>,
    numbers: HashMap<Vec<i32>, StateId>,
    histories: Vec<Vec<i32>>,
    states: Vec<State>,
    error: Option<Error>,
}

impl RnnlmStates {
    /// Makes an automaton whose states have at most max_ngram_order - 1 words; all words if it is not above 0.
    pub fn new(mut model: SentenceModel, max_ngram_order: i32) -> Result<RnnlmStates> {
        let start = State::Known(model.start()?);
        let begin = vec![model.options().bos_symbol];
        Ok(RnnlmStates {
            model,
            order: usize::try_from(max_ngram_order).ok().filter(|&order| order > 0),
            numbers: [(begin.clone(), 0)].into(),
            histories: vec![begin],
            states: vec![start],
            error: None,
        })
    }

    pub fn model(&mut self) -> &mut SentenceModel {
        &mut self.model
    }

    /// Forgets all states but the first one, and that something went wrong. An error if something did, such as a word that the
    /// model does not have.
    pub fn clear(&mut self) -> Result<()> {
        self.histories.truncate(1);
        self.states.truncate(1);
        self.numbers.retain(|_, number| *number == 0);
        self.error.take().map_or(Ok(()), Err)
    }

    /// Makes sure that the network has run for a state.
    fn run(&mut self, state: StateId) -> Result<&SentenceState> {
        // The state before has run, since it was asked for the probability of the word.
        if let State::Pending(before, word) = self.states[state as usize] {
            let State::Known(before) = &self.states[before as usize] else {
                return Err(Error::data("a state of the language model before its predecessor"));
            };
            self.states[state as usize] = State::Known(self.model.after(before, word)?);
        }
        match &self.states[state as usize] {
            State::Known(known) => Ok(known),
            State::Pending(..) => Err(Error::data("a state of the language model that does not run")),
        }
    }

    fn log_probability(&mut self, state: StateId, word: i32) -> Result<f32> {
        self.run(state)?;
        let State::Known(known) = &self.states[state as usize] else { return Ok(f32::NEG_INFINITY) };
        self.model.log_probability(known, word)
    }

    /// The cost of a word; infinite if something goes wrong.
    fn cost(&mut self, state: StateId, word: i32) -> f32 {
        if self.error.is_some() {
            return f32::INFINITY;
        }
        match self.log_probability(state, word) {
            Ok(log_probability) => -log_probability,
            Err(error) => {
                self.error = Some(error);
                f32::INFINITY
            }
        }
    }
}

impl DeterministicLm for RnnlmStates {
    fn start(&mut self) -> StateId {
        0
    }

    fn arc(&mut self, state: StateId, word: i32) -> Option<(f32, StateId)> {
        let cost = self.cost(state, word);
        if cost == f32::INFINITY {
            return None;
        }
        let history = self.histories[state as usize].iter().copied().chain([word]);
        let mut history: Vec<i32> = history.collect();
        if let Some(order) = self.order {
            history.drain(..(history.len() + 1).saturating_sub(order));
        }
        let next = *self.numbers.entry(history).or_insert_with_key(|history| {
            self.histories.push(history.clone());
            self.states.push(State::Pending(state, word));
            (self.states.len() - 1) as StateId
        });
        Some((cost, next))
    }

    fn final_cost(&mut self, state: StateId) -> f32 {
        let end = self.model.options().eos_symbol;
        self.cost(state, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::SentenceOptions;
    use crate::testing::{embedding, network};
    use nnet3_core::optimize::OptimizeOptions;

    fn model() -> SentenceModel {
        let optimize = OptimizeOptions::default();
        let options = SentenceOptions { bos_symbol: 1, eos_symbol: 2, normalize_probs: true, optimize };
        SentenceModel::new(network(), &embedding(), options).unwrap()
    }

    fn cost_of(lm: &mut RnnlmStates, words: &[i32]) -> f32 {
        let mut state = lm.start();
        let mut total = 0.0;
        for &word in words {
            let (cost, next) = lm.arc(state, word).unwrap();
            (total, state) = (total + cost, next);
        }
        total + lm.final_cost(state)
    }

    /// Without a limit each history is a state, and the cost of a path is that of its sentence.
    #[test]
    fn costs_are_those_of_sentences() {
        let mut lm = RnnlmStates::new(model(), 0).unwrap();
        for words in [&[3, 4, 5, 3][..], &[3, 4, 4], &[], &[5, 5, 5, 5, 5]] {
            let expected: f32 = model().sentence(words).unwrap().iter().map(|p| -p).sum();
            assert!((cost_of(&mut lm, words) - expected).abs() < 1e-4);
        }
    }

    /// With order 3 two words make a state; the first history that ends with them counts.
    #[test]
    fn the_first_history_counts() {
        let mut lm = RnnlmStates::new(model(), 3).unwrap();
        let first = cost_of(&mut lm, &[3, 4, 5]);
        assert!((first + model().sentence(&[3, 4, 5]).unwrap().iter().sum::<f32>()).abs() < 1e-4);
        // Both end with 4 5, and the end comes after the first of them.
        let end = |words: &[i32]| *model().sentence(words).unwrap().last().unwrap();
        let start = model().sentence(&[5, 4, 5]).unwrap()[..3].iter().sum::<f32>();
        let second = cost_of(&mut lm, &[5, 4, 5]);
        assert!((second + start + end(&[3, 4, 5])).abs() < 1e-4);
        lm.clear().unwrap();
        let second = cost_of(&mut lm, &[5, 4, 5]);
        assert!((second + start + end(&[5, 4, 5])).abs() < 1e-4);
    }

    #[test]
    fn words_that_the_model_does_not_have() {
        let mut lm = RnnlmStates::new(model(), 3).unwrap();
        assert!(lm.arc(0, 77).is_none());
        assert!(lm.arc(0, 3).is_none(), "all fails until the states are cleared");
        assert!(lm.clear().unwrap_err().to_string().contains("found 77"));
        assert!(lm.arc(0, 3).is_some());
    }
}
