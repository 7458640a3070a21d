//! Models of speaker vectors.

use super::both;
use super::trees::read_and_write;
use kaldi_io::KaldiObject;
use kaldi_speaker::logistic::{LogisticRegression, TrainOptions, train};
use kaldi_speaker::plda::{Length, Plda};
use kaldi_speaker::plda_dense::score_all_pairs;
use kaldi_speaker::plda_estimate::estimate;

const VECTORS: [[f32; 2]; 5] = [[1.0, 2.0], [2.0, 1.0], [0.0, -1.0], [-1.0, 0.5], [3.0, 3.0]];

/// Reads a model, smooths it and scores vectors.
pub fn read_plda(input: &[u8]) {
    if let Some(mut model) = read_and_write::<Plda>(input) {
        model.smooth(0.1);
        for length in [Length::Unchanged, Length::Expected, Length::Simple] {
            let _ = score_all_pairs(&model, &VECTORS, 0.1, length);
        }
    }
}

pub fn corpus_plda() -> Vec<Vec<u8>> {
    let speakers: Vec<Vec<Vec<f32>>> =
        [&VECTORS[..2], &VECTORS[2..]].iter().map(|own| own.iter().map(|x| x.to_vec()).collect()).collect();
    let model = estimate(&speakers, 2).expect("enough vectors").model;
    both(|w| model.write(w).expect("in memory"))
}

/// Reads a model and evaluates it.
pub fn read_logistic(input: &[u8]) {
    if let Some(mut model) = read_and_write::<LogisticRegression>(input) {
        let _ = model.log_posteriors(&VECTORS[0]);
        let _ = model.scale_priors(&[1.0, 2.0]);
    }
}

pub fn corpus_logistic() -> Vec<Vec<u8>> {
    let options = TrainOptions { max_steps: 3, normalizer: 0.01, mix_up: 3, power: 0.3 };
    let model = train(&VECTORS, &[0, 0, 1, 1, 1], &options).expect("enough vectors").model;
    both(|w| model.write(w).expect("in memory"))
}
