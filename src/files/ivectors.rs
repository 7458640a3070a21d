//! Averages over utterances, for the log lines of programs that estimate i-vectors online.

use kaldi_cli::log::{num, ratio};
use kaldi_io::DenseMatrix;

use crate::messages;

/// Sums over utterances, each of which counts as its weight.
#[derive(Default)]
pub struct Averages {
    weight: f64,
    improvement: f64,
    length: f64,
    final_length: f64,
}

impl Averages {
    /// Adds an utterance with the improvement of its objective for each frame, and a row for each i-vector. Returns the length
    /// of the last i-vector.
    pub fn add(&mut self, weight: f64, improvement: f64, ivectors: &DenseMatrix<f32>) -> f64 {
        let length = |i: usize| ivectors.row(i).iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let last = length(ivectors.rows - 1);
        self.weight += weight;
        self.improvement += weight * improvement;
        self.length += weight * (0..ivectors.rows).map(length).sum::<f64>() / ivectors.rows as f64;
        self.final_length += weight * last;
        last
    }

    /// Logs the averages for i-vectors of dimension `dim`.
    pub fn report(&self, dim: usize) {
        let frames = num(self.weight);
        let mean = |sum: f64| ratio(sum, self.weight);
        messages::log(&format!(
            "Average objective-function improvement was {} per frame, over {frames} frames (weighted).",
            mean(self.improvement)
        ));
        messages::log(&format!(
            "Average iVector length was {} and at utterance-end was {}, over {frames} frames (weighted);  expected length \
             is {}",
            mean(self.length),
            mean(self.final_length),
            num((dim as f64).sqrt())
        ));
    }
}
