//! Models and features of random numbers, for tests.

use kaldi_io::{DenseMatrix, KaldiObject, SymmetricMatrix};

use crate::full::FullGmm;
use crate::gmm::DiagGmm;
use crate::model::AmDiagGmm;
use crate::random::Chance;
use crate::testing::{from_binary, from_text};

/// Numbers between −1 and 1.
fn matrix(rows: usize, cols: usize, random: &mut fastrand::Rng) -> DenseMatrix<f32> {
    DenseMatrix { rows, cols, data: (0..rows * cols).map(|_| 2.0 * random.f32() - 1.0).collect() }
}

pub fn features(frames: usize, dim: usize, seed: u64) -> DenseMatrix<f32> {
    matrix(frames, dim, &mut fastrand::Rng::with_seed(seed))
}

/// A mixture with weights that sum to 1.
pub fn mixture(components: usize, dim: usize, seed: u64) -> DiagGmm {
    let mut random = fastrand::Rng::with_seed(seed);
    let means = matrix(components, dim, &mut random);
    let mut inv_vars = matrix(components, dim, &mut random);
    inv_vars.data.iter_mut().for_each(|value| *value += 1.5);
    let weights: Vec<f32> = (0..components).map(|_| 0.2 + random.f32()).collect();
    let sum: f32 = weights.iter().sum();
    DiagGmm::new(weights.iter().map(|weight| weight / sum).collect(), means, inv_vars).unwrap()
}

/// A mixture with full covariances: Σ⁻¹ = 1 + A Aᵀ of a random matrix A.
pub fn full_mixture(components: usize, dim: usize, seed: u64) -> FullGmm {
    let diag = mixture(components, dim, seed);
    let mut random = fastrand::Rng::with_seed(seed + 1000);
    let covar = |_| {
        let a = matrix(dim, dim, &mut random);
        let product = |i: usize, j: usize| a.row(i).iter().zip(a.row(j)).map(|(x, y)| x * y).sum::<f32>();
        let triangle = (0..dim).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let data = triangle.map(|(i, j)| product(i, j) + if i == j { 1.0 } else { 0.0 }).collect();
        SymmetricMatrix { dim, data }
    };
    let covars = (0..components).map(covar).collect();
    FullGmm::new(diag.weights().to_vec(), diag.means_invvars().to_matrix(), covars).unwrap()
}

pub fn model(pdfs: u64, components: usize, dim: usize, seed: u64) -> AmDiagGmm {
    AmDiagGmm::new((0..pdfs).map(|pdf| mixture(components, dim, 100 * seed + pdf)).collect()).unwrap()
}

/// Random decisions of a seeded generator.
pub struct Dice(pub fastrand::Rng);

impl Chance for Dice {
    fn rand(&mut self) -> i32 {
        self.0.i32(0..=i32::MAX)
    }
    fn int(&mut self, first: i32, last: i32) -> i32 {
        self.0.i32(first..=last)
    }
    fn with_probability(&mut self, probability: f32) -> bool {
        self.0.f32() < probability
    }
    fn normals(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| crate::random::gauss(&mut || self.0.i32(0..=i32::MAX))).collect()
    }
}

/// The text and the binary form of an object. What is written of an object that was read is the same.
pub fn both_forms<T: KaldiObject>(object: &T) -> (String, Vec<u8>) {
    let write = |object: &T, binary| {
        let mut w = kaldi_io::KaldiWriter::in_memory(binary);
        object.write(&mut w).unwrap();
        w.into_bytes()
    };
    let (text, binary) = (String::from_utf8(write(object, false)).unwrap(), write(object, true));
    assert_eq!(String::from_utf8(write(&from_text(&text).unwrap(), false)).unwrap(), text);
    assert_eq!(write(&from_binary(&binary).unwrap(), true), binary);
    (text, binary)
}
