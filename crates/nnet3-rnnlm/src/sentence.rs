//! Log-probabilities of words one after the other (`RnnlmComputeState`).

use kaldi_io::DenseMatrix;
use kaldi_numerics::log_sums::log_sum_of_scores;
use nnet3_core::execute::Executor;
use nnet3_core::forward::{StepForward, StepState};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_matrix::{Gemm, Matrix};

use crate::error::{Error, Result};
use crate::training::check_network;

/// Options of the computation of probabilities.
#[derive(Debug, Clone)]
pub struct SentenceOptions {
    /// The word before the first one.
    pub bos_symbol: i32,
    /// The word after the last one.
    pub eos_symbol: i32,
    /// Divides by the sum over all words but 0. Otherwise scores are taken for log-probabilities, which they nearly are.
    pub normalize_probs: bool,
    pub optimize: OptimizeOptions,
}

/// A network and the embeddings of words.
pub struct SentenceModel {
    forward: StepForward,
    /// Words × dimension.
    embedding: Matrix,
    options: SentenceOptions,
}

/// The state of the model after some words.
#[derive(Debug, Clone)]
pub struct SentenceState {
    network: StepState,
    /// The vector that the network gives for the next word.
    predicted: Vec<f32>,
    /// ln Σ exp(score) over all words but 0; 0 if probabilities are not normalised.
    log_sum: f32,
}

impl SentenceModel {
    /// Compiles the network, which is on the host.
    ///
    /// # Errors
    /// The network has context or not the dimension of the embeddings; the symbols are no words.
    pub fn new(nnet: Nnet, embedding: &DenseMatrix<f32>, options: SentenceOptions) -> Result<SentenceModel> {
        check_network(&nnet, embedding.cols)?;
        for (name, symbol) in [("bos", options.bos_symbol), ("eos", options.eos_symbol)] {
            if symbol <= 0 || symbol as usize >= embedding.rows {
                let last = embedding.rows.saturating_sub(1);
                return Err(Error::options(format!(
                    "`{name}-symbol`={symbol}: expected a word from 1 to {last}"
                )));
            }
        }
        let device = nnet3_matrix::cpu();
        let forward = StepForward::new(nnet, &device, &options.optimize)?;
        let embedding = Matrix::from_slice(&device, embedding.rows, embedding.cols, &embedding.data);
        Ok(SentenceModel { forward, embedding, options })
    }

    pub fn options(&self) -> &SentenceOptions {
        &self.options
    }

    pub fn executor(&mut self) -> &mut Executor {
        self.forward.executor()
    }

    /// Returns the state after `<s>`.
    pub fn start(&mut self) -> Result<SentenceState> {
        self.forward.begin()?;
        let word = self.check(self.options.bos_symbol)?;
        self.advance(word)
    }

    /// Returns the state after one more word.
    ///
    /// # Errors
    /// There is no such word.
    pub fn after(&mut self, state: &SentenceState, word: i32) -> Result<SentenceState> {
        let word = self.check(word)?;
        self.forward.restore(&state.network)?;
        self.advance(word)
    }

    /// Returns the log-probability of a word.
    ///
    /// # Errors
    /// There is no such word.
    pub fn log_probability(&self, state: &SentenceState, word: i32) -> Result<f32> {
        let (word, dim) = (self.check(word)?, self.embedding.cols());
        let embedding = self.embedding.values();
        let row = &embedding[word * dim..(word + 1) * dim];
        let score: f32 = row.iter().zip(&state.predicted).map(|(a, b)| a * b).sum();
        Ok(score - state.log_sum)
    }

    /// Returns the log-probabilities of the words of a sentence and of its end.
    ///
    /// # Errors
    /// There is no such word.
    pub fn sentence(&mut self, words: &[i32]) -> Result<Vec<f32>> {
        let mut state = self.start()?;
        let mut out = Vec::with_capacity(words.len() + 1);
        for &word in words {
            out.push(self.log_probability(&state, word)?);
            state = self.after(&state, word)?;
        }
        out.push(self.log_probability(&state, self.options.eos_symbol)?);
        Ok(out)
    }

    fn check(&self, word: i32) -> Result<usize> {
        let index = usize::try_from(word).ok().filter(|&word| word > 0 && word < self.embedding.rows());
        index.ok_or_else(|| {
            Error::data(format!("expected words from 1 to {}, found {word}", self.embedding.rows() - 1))
        })
    }

    fn advance(&mut self, word: usize) -> Result<SentenceState> {
        let dim = self.embedding.cols();
        let predicted = self.forward.advance(&self.embedding.values()[word * dim..(word + 1) * dim])?;
        let log_sum = if self.options.normalize_probs { self.log_sum(&predicted) } else { 0.0 };
        Ok(SentenceState { network: self.forward.state()?, predicted, log_sum })
    }

    fn log_sum(&self, predicted: &[f32]) -> f32 {
        let (words, dim) = (self.embedding.rows(), self.embedding.cols());
        let predicted = Matrix::from_slice(self.embedding.device(), 1, dim, predicted);
        let mut scores = Matrix::from_vec(1, words - 1, vec![0.0; words - 1]);
        let embedding = self.embedding.view().row_range(1..words);
        self.embedding.device().gemm(Gemm::set(scores.view_mut(), predicted.view(), embedding.transposed()));
        log_sum_of_scores(&scores.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{DIM, WORDS, embedding, network};

    fn model(normalize_probs: bool) -> SentenceModel {
        let options = SentenceOptions {
            bos_symbol: 1,
            eos_symbol: 2,
            normalize_probs,
            optimize: OptimizeOptions::default(),
        };
        SentenceModel::new(network(), &embedding(), options).unwrap()
    }

    /// Normalised probabilities of all words sum to one after any words, and differ from scores by a constant.
    #[test]
    fn probabilities_sum_to_one() {
        let (mut normalised, mut plain) = (model(true), model(false));
        let (mut a, mut b) = (normalised.start().unwrap(), plain.start().unwrap());
        for word in [3, 5, 4] {
            (a, b) = (normalised.after(&a, word).unwrap(), plain.after(&b, word).unwrap());
            let logs = |model: &SentenceModel, state: &SentenceState| -> Vec<f64> {
                (1..WORDS as i32).map(|w| model.log_probability(state, w).unwrap().into()).collect()
            };
            let (a, b) = (logs(&normalised, &a), logs(&plain, &b));
            assert!((a.iter().map(|p| p.exp()).sum::<f64>() - 1.0).abs() < 1e-5);
            let log_sum = b.iter().map(|p| p.exp()).sum::<f64>().ln();
            assert!(a.iter().zip(&b).all(|(a, b)| (b - a - log_sum).abs() < 1e-5));
        }
    }

    /// A sentence is the same whether its states came one after the other or after others.
    #[test]
    fn states_are_independent() {
        let mut model = model(true);
        let sentences = [&[3, 4, 5][..], &[3, 5], &[]];
        let expected: Vec<Vec<f32>> = sentences.iter().map(|words| model.sentence(words).unwrap()).collect();
        assert_eq!(expected.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3, 1]);
        let start = model.start().unwrap();
        let three = model.after(&start, 3).unwrap();
        let others = [4, 5].map(|word| model.after(&three, word).unwrap());
        assert_eq!(model.log_probability(&others[1], 2).unwrap(), expected[1][2]);
        assert_eq!(model.log_probability(&others[0], 5).unwrap(), expected[0][2]);
        assert_eq!(model.log_probability(&start, 2).unwrap(), expected[2][0]);
        assert_eq!(expected[0][0], expected[1][0]);
    }

    #[test]
    fn wrong_words() {
        let mut model = model(false);
        let start = model.start().unwrap();
        for word in [0, -1, WORDS as i32] {
            let error = model.after(&start, word).unwrap_err().to_string();
            assert!(error.contains(&format!("found {word}")), "{error}");
            assert!(model.log_probability(&start, word).is_err());
        }
        let options = SentenceOptions { bos_symbol: WORDS as i32, ..model.options.clone() };
        let error = SentenceModel::new(network(), &embedding(), options).err().expect("an error").to_string();
        assert!(error.contains("`bos-symbol`=6"), "{error}");
        let narrow = DenseMatrix::new(WORDS, DIM - 1);
        assert!(SentenceModel::new(network(), &narrow, model.options.clone()).is_err());
    }
}
