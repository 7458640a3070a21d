//! Gaussian models and the statistics that they are estimated from.

use super::trees::read_and_write;
use super::{both, reader};
use kaldi_gmm::basis::{Basis, BasisStats};
use kaldi_gmm::flags::Parts;
use kaldi_gmm::fmllr::FmllrStats;
use kaldi_gmm::full_update::FullUpdateOptions;
use kaldi_gmm::mllt::MlltStats;
use kaldi_gmm::update::{UpdateOptions, UpdateReport, update};
use kaldi_gmm::{AmDiagGmm, DiagGmm, FullGmm, FullGmmStats, GmmStats, Scorer};
use kaldi_io::KaldiObject;

fn gmm(mean: f32) -> DiagGmm {
    DiagGmm::single(&[mean, mean * mean], &[1.0, 0.5]).expect("a Gaussian")
}

fn model() -> AmDiagGmm {
    AmDiagGmm::new([0.5, -2.0, 4.0].map(gmm).to_vec()).expect("a model")
}

pub fn read_mixtures(input: &[u8]) {
    read_and_write::<AmDiagGmm>(input);
}

pub fn corpus_mixtures() -> Vec<Vec<u8>> {
    both(|w| model().write(w).expect("in memory"))
}

/// Updates a model of one Gaussian with the statistics, if they are of one.
pub fn read_stats(input: &[u8]) {
    let Some(stats) = read_and_write::<GmmStats>(input) else { return };
    let options = UpdateOptions {
        min_gaussian_weight: 1e-5,
        min_gaussian_occupancy: 1.0,
        min_variance: 0.001,
        remove_low_count_gaussians: true,
    };
    let mut report = UpdateReport::default();
    let _ = update(&mut gmm(0.5), &stats, stats.parts(), &options, &mut report, &mut |_| ());
}

pub fn corpus_stats() -> Vec<Vec<u8>> {
    let mut corpus = Vec::new();
    for parts in ["mvwt", "m", "t"] {
        let mut stats: GmmStats = GmmStats::new(1, 2, Parts::parse(parts).expect("letters"));
        [[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]].iter().for_each(|frame| stats.add(frame, &[1.0]));
        corpus.extend(both(|w| stats.write(w).expect("in memory")));
    }
    corpus
}

pub fn read_mllt(input: &[u8]) {
    if let Some(stats) = read_and_write::<MlltStats>(input)
        && stats.dim() < 8
    {
        let _ = stats.estimate(&mut |_, _| ());
    }
}

pub fn corpus_mllt() -> Vec<Vec<u8>> {
    let mut stats = MlltStats::new(2);
    for frame in [[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]] {
        stats.add(&gmm(0.5), &frame, &[1.0], 0.0, &mut || 0);
    }
    both(|w| stats.write(w).expect("in memory"))
}

fn basis_stats() -> BasisStats {
    let mut speaker = FmllrStats::new(2);
    for frame in [[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]] {
        speaker.add(&gmm(0.5), &frame, &[1.0]);
    }
    let mut stats = BasisStats::new(2);
    stats.add(&mut speaker);
    stats
}

pub fn read_basis_stats(input: &[u8]) {
    let Some(stats) = read_and_write::<BasisStats>(input) else { return };
    let _ = Basis::train(&model(), &stats);
}

pub fn corpus_basis_stats() -> Vec<Vec<u8>> {
    both(|w| basis_stats().write(w).expect("in memory"))
}

pub fn read_basis(input: &[u8]) {
    read_and_write::<Basis>(input);
}

pub fn corpus_basis() -> Vec<Vec<u8>> {
    let (basis, _) = Basis::train(&model(), &basis_stats()).expect("statistics with data");
    both(|w| basis.write(w).expect("in memory"))
}

fn full_gmm() -> FullGmm {
    FullGmm::from_diag(&gmm(0.5)).expect("a Gaussian")
}

/// Computes likelihoods by the mixture, and turns it into one with diagonal covariances.
pub fn read_full_mixture(input: &[u8]) {
    let Some(mixture) = read_and_write::<FullGmm>(input) else { return };
    let _ = Scorer::from(&mixture).log_likelihoods(&vec![0.5; 2 * mixture.dim()]);
    let _ = mixture.to_diag();
}

pub fn corpus_full_mixtures() -> Vec<Vec<u8>> {
    let mut two = full_gmm();
    two.append(&full_gmm()).expect("the same dimension");
    let mut corpus = both(|w| full_gmm().write(w).expect("in memory"));
    corpus.extend(both(|w| two.write(w).expect("in memory")));
    corpus
}

/// Updates a mixture of one Gaussian with the statistics, if they are of one. (What is written may differ in the last digits:
/// the square of the sum is subtracted.)
pub fn read_full_stats(input: &[u8]) {
    let Ok(stats) = FullGmmStats::read(&mut reader(input)) else { return };
    let mut w = kaldi_io::KaldiWriter::in_memory(true);
    stats.write(&mut w).expect("in memory");
    let options = FullUpdateOptions {
        min_gaussian_weight: 1e-5,
        min_gaussian_occupancy: 1.0,
        variance_floor: 0.001,
        max_condition: 1e4,
        remove_low_count_gaussians: true,
    };
    let _ = full_gmm().update(&stats, stats.parts(), &options, &mut |_| ());
}

pub fn corpus_full_stats() -> Vec<Vec<u8>> {
    let mut corpus = Vec::new();
    for parts in ["mvw", "m", "t"] {
        let mut stats = FullGmmStats::new(1, 2, Parts::parse(parts).expect("letters"));
        [[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]].iter().for_each(|frame| stats.add(frame, &[1.0]));
        corpus.extend(both(|w| stats.write(w).expect("in memory")));
    }
    corpus
}
