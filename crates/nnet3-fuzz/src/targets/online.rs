//! Files for estimating i-vectors, and states of speakers.

use super::both;
use super::trees::read_and_write;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::OnlineCmvnState;
use kaldi_io::{DenseMatrix, KaldiObject, PackedMatrix};
use kaldi_online::ivector::{AdaptationState, IvectorExtractor, IvectorStats, IvectorTerms};
use std::num::NonZero;

pub fn read_extractor(input: &[u8]) {
    if let Some(extractor) = read_and_write::<IvectorExtractor>(input) {
        IvectorTerms::new(&extractor, NonZero::<usize>::MIN);
    }
}

pub fn corpus_extractors() -> Vec<Vec<u8>> {
    let extractor = IvectorExtractor {
        weights: vec![0.25, 0.75],
        projections: vec![DenseMatrix::from_rows(&[[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]); 2],
        inverse_covariances: vec![PackedMatrix { dim: 2, data: vec![1.0, 0.5, 2.0] }; 2],
        prior_offset: 10.0,
    };
    both(|w| extractor.write(w).expect("in memory"))
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
    let new = AdaptationState { cmvn: cmvn.clone(), stats: IvectorStats::new(3, 10.0, 100.0) };
    (cmvn.speaker, cmvn.frozen) = (Some(stats.clone()), Some(stats));
    let known = AdaptationState { cmvn, stats: new.stats.clone() };
    [new, known].iter().flat_map(|state| both(|w| state.write(w).expect("in memory"))).collect()
}
