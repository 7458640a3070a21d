//! The objective of recurrent language models (`ProcessRnnlmOutput` of `rnnlm/rnnlm-example-utils.cc`).
//!
//! l = output · embedding of a word. q(l) = exp(l) for l < 0, 1 + l otherwise. The objective of a position of weight w is
//! w (l(the word) + 1 - Σ q(l)), a lower bound of the weighted log-probability w (l(the word) - ln Σ exp(l)). The sum is over all
//! words but 0, or over a sample of words, each over the probability with which it got there. The derivative of q is
//! exp(min(l, 0)).

use nnet3_matrix::{Gemm, Map, Scratch, View, ViewMut, Workspace};

use crate::error::{Error, Result};
use crate::example::RnnlmExample;
use crate::tables::{places_in, rows_of};

/// Options of the objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectiveOptions {
    /// If the denominator a word is below this, its derivative is made smaller by the same factor; 0: never.
    pub den_term_limit: f32,
    /// Without sampling, matrices of scores have at most so many elements: rows are done in blocks.
    pub max_logprob_elements: i64,
}

impl Default for ObjectiveOptions {
    fn default() -> ObjectiveOptions {
        ObjectiveOptions { den_term_limit: -10.0, max_logprob_elements: 1_000_000_000 }
    }
}

impl ObjectiveOptions {
    /// # Errors
    /// An option is out of its range.
    pub fn check(&self) -> Result<()> {
        let limit = self.den_term_limit;
        if limit != 0.0 && (limit >= -0.5 || limit.is_nan()) {
            return Err(Error::options(format!(
                "`den-term-limit`={limit}: expected 0 or a number below -0.5"
            )));
        }
        if self.max_logprob_elements <= 0 {
            let found = self.max_logprob_elements;
            return Err(Error::options(format!("`max-logprob-elements`={found}: expected a number above 0")));
        }
        Ok(())
    }
}

/// Sums over the positions of a minibatch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Value {
    pub weight: f64,
    /// Σ w l(the word).
    pub numerator: f64,
    /// Σ w (1 - Σ q).
    pub denominator: f64,
    /// -Σ w ln Σ exp(l); 0 with sampling.
    pub exact: f64,
}

/// Places for derivatives.
pub struct Derivatives<'d> {
    /// The derivative by the output is written here.
    pub output: ViewMut<'d>,
    /// The derivative by the embeddings is added here.
    pub embedding: Option<ViewMut<'d>>,
}

/// Scores are limited to this absolute value where their exponentials are summed.
const LARGEST_SCORE: f32 = 80.0;

struct Evaluation<'a> {
    options: &'a ObjectiveOptions,
    workspace: &'a Workspace,
    example: &'a RnnlmExample,
    embedding: View<'a>,
    output: View<'a>,
    derivatives: Option<Derivatives<'a>>,
    value: Value,
    /// -Σ w Σ q, or with "1 -", of the rows so far.
    so_far: f64,
}

/// Evaluates the objective of a minibatch. `embedding` has a row for each of its words, `output` (rows × dimension) one for each
/// position.
///
/// # Errors
/// Shapes do not fit.
pub fn evaluate(
    options: &ObjectiveOptions,
    workspace: &Workspace,
    example: &RnnlmExample,
    (embedding, output): (View<'_>, View<'_>),
    derivatives: Option<Derivatives<'_>>,
) -> Result<Value> {
    let (words, rows) = (example.vocab_size as usize, example.output_words.len());
    if embedding.rows() != words || words < 2 {
        return Err(Error::data(format!(
            "the minibatch has {words} words, but the embedding matrix has {} rows",
            embedding.rows()
        )));
    }
    if (output.rows(), output.cols()) != (rows, embedding.cols()) {
        return Err(Error::data(format!(
            "the network's output has {} rows and {} columns, expected {rows} rows and {} columns",
            output.rows(),
            output.cols(),
            embedding.cols()
        )));
    }
    let value = Value { weight: example.weight(), ..Value::default() };
    let mut evaluation =
        Evaluation { options, workspace, example, embedding, output, derivatives, value, so_far: 0.0 };
    match example.is_sampled() {
        true => evaluation.sampled(),
        false => evaluation.all_words(),
    }
    Ok(evaluation.value)
}

impl Evaluation<'_> {
    fn all_words(&mut self) {
        let (rows, words) = (self.output.rows(), self.embedding.rows());
        let most = usize::try_from(self.options.max_logprob_elements).unwrap_or(usize::MAX);
        let block = if rows.saturating_mul(words) < most { rows } else { (most / words).clamp(1, rows) };
        // Word 0 is never said.
        let embedding = self.embedding.row_range(1..words);
        for first in (0..rows).step_by(block) {
            let end = rows.min(first + block);
            let backend = self.workspace.device();
            let output = self.output.row_range(first..end);
            let mut scores = self.workspace.take(end - first, words - 1);
            let scores = scores.view_mut();
            backend.gemm(Gemm::set(scores, output, embedding.transposed()));
            let weights = &self.example.output_weights[first..end];
            let places = places(self.example.output_words[first..end].iter().map(|word| word - 1));
            self.value.numerator += self.numerator(scores.as_view(), &places, weights);
            self.value.exact -= self.log_sums(scores.as_view(), weights);
            let weights = column(self.workspace, weights);
            let sums = self.sums_of_q(scores, None, weights.view());
            let weight: f64 = self.example.output_weights[first..end].iter().map(|&w| f64::from(w)).sum();
            self.so_far += weight - sums;
            let scale = self.scale();
            if let Some(Derivatives { output: deriv, embedding: embedding_deriv }) = &self.derivatives {
                backend.scale(scores, scale);
                backend.add_elements(scores, -1.0, &vec![1.0; places.len()], &places);
                backend.scale_rows(scores, weights.view());
                backend.gemm(Gemm::set(deriv.row_range(first..end), scores, embedding).times(-1.0));
                if let Some(embedding_deriv) = embedding_deriv {
                    let deriv = embedding_deriv.row_range(1..words);
                    backend.gemm(Gemm::add(deriv, scores.transposed(), output).times(-1.0));
                }
            }
        }
        self.value.denominator = self.so_far;
    }

    fn sampled(&mut self) {
        let (rows, count) = (self.example.rows_of_group(), self.example.num_samples as usize);
        let (words, dim) = (self.embedding.rows(), self.embedding.cols());
        for (group, first) in (0..self.output.rows()).step_by(rows).enumerate() {
            let backend = self.workspace.device();
            let output = self.output.row_range(first..first + rows);
            let sample = &self.example.sampled_words[group * count..(group + 1) * count];
            let mut embedding = self.workspace.take(count, dim);
            backend.copy_rows(embedding.view_mut(), 1.0, self.embedding, &rows_of(sample));
            let mut scores = self.workspace.take(rows, count);
            let scores = scores.view_mut();
            backend.gemm(Gemm::set(scores, output, embedding.view().transposed()));
            let weights = &self.example.output_weights[first..first + rows];
            let places = places(self.example.output_words[first..first + rows].iter().copied());
            self.value.numerator += self.numerator(scores.as_view(), &places, weights);
            let weights = column(self.workspace, weights);
            let mut inverse = self.workspace.take(1, count);
            backend.upload(
                inverse.view_mut(),
                &self.example.sample_inv_probs[group * count..(group + 1) * count],
            );
            self.so_far -= self.sums_of_q(scores, Some(inverse.view()), weights.view());
            let scale = self.scale();
            if let Some(Derivatives { output: deriv, embedding: embedding_deriv }) = &self.derivatives {
                backend.scale_cols(scores, inverse.view());
                backend.scale(scores, scale);
                backend.add_elements(scores, -1.0, &vec![1.0; places.len()], &places);
                backend.scale_rows(scores, weights.view());
                let scores = scores.as_view();
                let deriv = deriv.row_range(first..first + rows);
                backend.gemm(Gemm::set(deriv, scores, embedding.view()).times(-1.0));
                if let Some(embedding_deriv) = embedding_deriv {
                    let mut of_sample = self.workspace.take(count, dim);
                    backend.gemm(Gemm::set(of_sample.view_mut(), scores.transposed(), output).times(-1.0));
                    backend.add_rows(*embedding_deriv, 1.0, of_sample.view(), &places_in(sample, words));
                }
            }
        }
        self.value.denominator = self.so_far + self.value.weight;
    }

    /// Σ w l over the places of the words.
    fn numerator(&self, scores: View<'_>, places: &[[u32; 2]], weights: &[f32]) -> f64 {
        let mut found = vec![0.0; places.len()];
        self.workspace.device().fetch_elements(&mut found, scores, places);
        found.iter().zip(weights).map(|(&l, &w)| f64::from(l) * f64::from(w)).sum()
    }

    /// Σ w ln Σ exp(l) over the rows.
    fn log_sums(&self, scores: View<'_>, weights: &[f32]) -> f64 {
        let backend = self.workspace.device();
        let mut exponentials = self.workspace.take(scores.rows(), scores.cols());
        backend.exp_within(exponentials.view_mut(), scores, LARGEST_SCORE);
        let mut sums = self.workspace.take(scores.rows(), 1);
        backend.row_sums(sums.view_mut(), 1.0, exponentials.view(), 0.0);
        let sums = backend.download(sums.view());
        sums.iter().zip(weights).map(|(&sum, &w)| f64::from(sum).ln() * f64::from(w)).sum()
    }

    /// Replaces scores by the derivatives of q. Returns Σ w Σ q · inverse, where `inverse` has a number for each column.
    fn sums_of_q(&self, scores: ViewMut<'_>, inverse: Option<View<'_>>, weights: View<'_>) -> f64 {
        let backend = self.workspace.device();
        // q(l) = exp(min(l, 0)) + max(l, 0)
        let mut q = self.workspace.take(scores.rows(), scores.cols());
        let q = q.view_mut();
        backend.map(q, scores.as_view(), Map::Floor(0.0));
        backend.map(scores, scores.as_view(), Map::Ceiling(0.0));
        backend.map(scores, scores.as_view(), Map::Exp);
        backend.add(q, 1.0, scores.as_view());
        if let Some(inverse) = inverse {
            backend.scale_cols(q, inverse);
        }
        let mut sums = self.workspace.take(scores.rows(), 1);
        backend.row_sums(sums.view_mut(), 1.0, q.as_view(), 0.0);
        backend.dot(sums.view(), weights)
    }

    /// The factor of the denominator's derivative: below 1 if the limit is exceeded.
    fn scale(&self) -> f32 {
        let (limit, average) = (f64::from(self.options.den_term_limit), self.so_far / self.value.weight);
        if limit != 0.0 && self.value.weight > 0.0 && average < limit {
            (limit / average) as f32
        } else {
            1.0
        }
    }
}

fn column<'w>(workspace: &'w Workspace, values: &[f32]) -> Scratch<'w> {
    let mut column = workspace.take(values.len(), 1);
    workspace.device().upload(column.view_mut(), values);
    column
}

/// The elements of the words to predict, one a row.
fn places(words: impl Iterator<Item = i32>) -> Vec<[u32; 2]> {
    (0..).zip(words).map(|(row, word)| [row, word as u32]).collect()
}

#[cfg(test)]
mod tests;
