//! Files of language models for sampling (`SamplingLm::Read` and `Write` of `rnnlm/sampling-lm.cc`).

use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, read_vector, write_vector};

use super::{SamplingLm, State, States};

/// The largest order that a file may have.
const LARGEST_ORDER: i32 = 99;

impl KaldiObject for SamplingLm {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<SamplingLm> {
        r.expect_token("<SamplingLm>")?;
        r.expect_token("<Order>")?;
        let order = r.read_i32()?;
        if !(1..=LARGEST_ORDER).contains(&order) {
            return Err(r.error(format!("expected an order from 1 to {LARGEST_ORDER}, found {order}")));
        }
        r.expect_token("<VocabSize>")?;
        let size = r.read_i32()?;
        let unigrams: Vec<f32> = read_vector(r)?;
        if usize::try_from(size) != Ok(unigrams.len()) || unigrams.is_empty() {
            return Err(r.error(format!("<VocabSize> says {size}, but there are {} words", unigrams.len())));
        }
        let wrong = |p: &f32| !p.is_finite() || *p < 0.0;
        if let Some(word) = unigrams.iter().position(wrong) {
            return Err(r.error(format!("word {word} has the probability {}", unigrams[word])));
        }
        let mut lm = SamplingLm { unigrams, states: Vec::new() };
        for order in 2..=order {
            r.expect_token("<StatesOfOrder>")?;
            let found = r.read_i32()?;
            if found != order {
                return Err(r.error(format!("expected the states of order {order}, found those of {found}")));
            }
            r.expect_token("<NumStates>")?;
            let count = r.read_i32().and_then(|count| r.check_count(count, "states"))?;
            let mut states = States::new();
            for _ in 0..count {
                let (history, state) = read_state(r, size)?;
                if history.len() != order as usize - 1 {
                    return Err(r.error(format!("history {history:?} among those of {} words", order - 1)));
                }
                if states.contains_key(&history) {
                    return Err(r.error(format!("history {history:?} appears twice")));
                }
                states.insert(history, state);
            }
            lm.states.push(states);
        }
        r.expect_token("</SamplingLm>")?;
        Ok(lm)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<SamplingLm>")?;
        w.write_token("<Order>")?;
        w.write_i32(w.count(self.order())?)?;
        w.write_token("<VocabSize>")?;
        w.write_i32(w.count(self.vocab_size())?)?;
        write_vector(w, &self.unigrams)?;
        for (order, states) in (2..).zip(&self.states) {
            w.write_token("<StatesOfOrder>")?;
            w.write_i32(order)?;
            w.write_token("<NumStates>")?;
            w.write_i32(w.count(states.len())?)?;
            for (history, state) in states {
                w.write_i32_vector(history)?;
                w.write_f32(state.backoff)?;
                w.write_i32(w.count(state.words.len())?)?;
                for &(word, probability) in &state.words {
                    w.write_i32(word)?;
                    w.write_f32(probability)?;
                }
                w.newline_in_text()?;
            }
        }
        w.write_token("</SamplingLm>")
    }
}

fn read_state(r: &mut KaldiReader, vocab_size: i32) -> kaldi_io::Result<(Vec<i32>, State)> {
    let history = r.read_i32_vector()?;
    let backoff = r.read_f32()?;
    let count = r.read_i32().and_then(|count| r.check_count(count, "words"))?;
    let mut words = Vec::new();
    for _ in 0..count {
        words.push((r.read_i32()?, r.read_f32()?));
    }
    let is_word = |word: i32| word > 0 && word < vocab_size;
    if let Some(word) = history.iter().find(|&&word| !is_word(word)) {
        return Err(r.error(format!("word {word} in history {history:?}: expected 1 to {}", vocab_size - 1)));
    }
    if !backoff.is_finite() || backoff < 0.0 {
        return Err(r.error(format!("history {history:?} has the backoff probability {backoff}")));
    }
    if let Some((word, p)) = words.iter().find(|(word, p)| !is_word(*word) || !p.is_finite()) {
        return Err(r.error(format!("word {word} with probability {p} after history {history:?}")));
    }
    if !words.is_sorted_by(|a, b| a.0 < b.0) {
        return Err(r.error(format!("the words after history {history:?} are not in order")));
    }
    Ok((history, State { backoff, words }))
}
