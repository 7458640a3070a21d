//! Files for estimating i-vectors, and states of speakers.

use super::both;
use super::trees::read_and_write;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::OnlineCmvnState;
use kaldi_io::{DenseMatrix, KaldiObject, PackedMatrix, Posterior};
use kaldi_ivector::accumulate::{AccumulateOptions, Accumulator};
use kaldi_ivector::update::{UpdateOptions, update};
use kaldi_ivector::{ExtractorStats, IvectorExtractor, IvectorTerms, OnlineStats, Weights};
use kaldi_online::ivector::AdaptationState;
use std::num::NonZero;

pub fn read_extractor(input: &[u8]) {
    if let Some(extractor) = read_and_write::<IvectorExtractor>(input) {
        IvectorTerms::new(&extractor, NonZero::<usize>::MIN);
        if let Ok(mut accumulator) = Accumulator::new(extractor, accumulate_options()) {
            let _ = accumulator.add("u", &features(), &posterior(), &mut || 7);
            let _ = accumulator.finish(&mut || 7);
        }
    }
}

fn accumulate_options() -> AccumulateOptions {
    AccumulateOptions {
        update_variances: true,
        compute_objective: true,
        samples_for_weights: 3,
        threads: NonZero::<usize>::MIN,
    }
}

fn features() -> DenseMatrix<f32> {
    DenseMatrix::from_rows(&[[1.0f32, 2.0], [0.5, -1.0], [2.0, 0.0], [3.0, 1.0]])
}

fn posterior() -> Posterior {
    vec![vec![(0, 1.0)], vec![(1, 0.5), (0, 0.5)], vec![], vec![(1, 1.0)]]
}

/// An extractor of two Gaussians with features of two dimensions and i-vectors of three.
fn extractor(weights: Weights) -> IvectorExtractor {
    IvectorExtractor {
        weights,
        projections: vec![DenseMatrix::from_rows(&[[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]); 2],
        inverse_covariances: vec![PackedMatrix { dim: 2, data: vec![1.0, 0.5, 2.0] }; 2],
        prior_offset: 10.0,
    }
}

fn both_kinds() -> [IvectorExtractor; 2] {
    let regression = DenseMatrix::from_rows(&[[0.5, 0.0, 0.1], [-0.5, 0.2, 0.0]]);
    [extractor(Weights::Fixed(vec![0.25, 0.75])), extractor(Weights::Regression(regression))]
}

pub fn corpus_extractors() -> Vec<Vec<u8>> {
    both_kinds().iter().flat_map(|extractor| both(|w| extractor.write(w).expect("in memory"))).collect()
}

/// Reads statistics, adds them to themselves and updates extractors with them.
pub fn read_extractor_stats(input: &[u8]) {
    if let Some(mut stats) = read_and_write::<ExtractorStats>(input) {
        if stats.read_and_add(&mut super::reader(input)).is_err() {
            return; // the sums are not finite
        }
        let threads = NonZero::<usize>::MIN;
        let options =
            UpdateOptions { variance_floor_factor: 0.1, min_count: 1.0, diagonalize: true, threads };
        for mut extractor in both_kinds() {
            let _ = update(&mut extractor, &stats, &options, &mut |_| ());
        }
    }
}

pub fn corpus_extractor_stats() -> Vec<Vec<u8>> {
    let stats = both_kinds().map(|extractor| {
        let mut accumulator = Accumulator::new(extractor, accumulate_options()).expect("a model");
        for _ in 0..4 {
            accumulator.add("u", &features(), &posterior(), &mut || 7).expect("an utterance");
        }
        accumulator.finish(&mut || 7).expect("statistics").0
    });
    stats.iter().flat_map(|stats| both(|w| stats.write(w).expect("in memory"))).collect()
}

pub fn read_state(input: &[u8]) {
    if let Some(mut state) = read_and_write::<AdaptationState>(input) {
        state.cmvn.limit(2.0);
        let mut ivector = vec![0.0; state.stats.ivector_dim()];
        state.stats.estimate(15, &mut ivector);
        state.stats.improvement(&ivector);
        state.stats.scale(0.5);
    }
}

pub fn corpus_states() -> Vec<Vec<u8>> {
    let mut stats = CmvnStats::new(2);
    stats.add(&DenseMatrix::from_rows(&[[1.0, 2.0], [3.0, 0.5]]), None).expect("of one dimension");
    let mut cmvn = OnlineCmvnState::new(stats.clone());
    let new = AdaptationState { cmvn: cmvn.clone(), stats: OnlineStats::new(3, 10.0, 100.0) };
    (cmvn.speaker, cmvn.frozen) = (Some(stats.clone()), Some(stats));
    let known = AdaptationState { cmvn, stats: new.stats.clone() };
    [new, known].iter().flat_map(|state| both(|w| state.write(w).expect("in memory"))).collect()
}
