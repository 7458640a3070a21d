//! Natural gradient with estimates that the device updates itself, compared with the host's.

use nnet3_core::component::Context;
use nnet3_core::component::preconditioners::NaturalGradientSettings;
use nnet3_core::natural_gradient::NaturalGradient;
use nnet3_core::random::Random;
use nnet3_matrix::{Device, Matrix, Workspace, cpu};

/// Rows with a spectrum that falls off, and a mean.
fn rows(random: &Random, n: usize, dim: usize) -> Vec<f32> {
    let mix = Random::new(7).normal_vec(dim * dim, 0.0, 1.0);
    let mut out = vec![0.0; n * dim];
    for row in out.chunks_exact_mut(dim) {
        for k in 0..dim {
            let amount = random.normal() / (1.0 + k as f32);
            row.iter_mut().zip(&mix[k * dim..]).for_each(|(o, m)| *o += amount * m);
        }
        row[0] += 0.5;
    }
    out
}

/// The preconditioned rows of each minibatch, factor included.
fn preconditioned(device: &Device, rank: usize, minibatches: &[(usize, usize, Vec<f32>)]) -> Vec<Vec<f32>> {
    let workspace = Workspace::new(device);
    let random = Random::new(1);
    let context = Context { backend: &**device, workspace: &workspace, random: &random };
    let mut natural = NaturalGradient::new(NaturalGradientSettings {
        rank,
        update_period: 2,
        num_samples_history: 500.0,
        num_minibatches_history: 0.0,
        alpha: 4.0,
    });
    let run = |(n, dim, x): &(usize, usize, Vec<f32>)| {
        let mut x = Matrix::from_slice(device, *n, *dim, x);
        let factor = natural.precondition(context, x.view_mut());
        x.to_vec().into_iter().map(|v| v * factor).collect()
    };
    minibatches.iter().map(run).collect()
}

fn compare(rank: usize, minibatches: &[(usize, usize, Vec<f32>)], tolerance: f64) {
    let expected = preconditioned(&cpu(), rank, minibatches);
    let found = preconditioned(&nnet3_cuda_twin::device(), rank, minibatches);
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let size = norm(&mut expected.iter().map(|&v| v as f64));
        let error = norm(&mut found.iter().zip(expected).map(|(f, e)| (f - e) as f64));
        assert!(error <= tolerance * size, "rank {rank}, minibatch {k}: {error} of {size}");
    }
}

#[test]
fn follows_the_host() {
    let random = Random::new(3);
    for (rank, n, dim) in [(4, 60, 12), (4, 9, 12), (20, 150, 41), (1, 30, 2), (7, 30, 50)] {
        let minibatches: Vec<_> = (0..30).map(|_| (n, dim, rows(&random, n, dim))).collect();
        compare(rank, &minibatches, 1e-5);
    }
}

/// Rows of one direction, of none, and not finite ones: orthogonality is lost and made again.
#[test]
fn degenerate_rows() {
    let random = Random::new(5);
    let (n, dim) = (3, 24);
    let minibatch = |k: usize| match k % 4 {
        0 => vec![0.0; n * dim],
        1 => vec![1.0; n * dim],
        2 => rows(&random, n, dim),
        _ => (0..n * dim).map(|k| if k % dim == 2 { 1e-6 } else { 0.0 }).collect(),
    };
    let mut minibatches: Vec<_> = (0..30).map(|k| (n, dim, minibatch(k))).collect();
    minibatches[17].2[5] = f32::NAN;
    let found = preconditioned(&nnet3_cuda_twin::device(), 10, &minibatches);
    for (k, ((_, _, x), found)) in minibatches.iter().zip(&found).enumerate() {
        let norm = |values: &[f32]| values.iter().map(|&v| (v as f64).powi(2)).sum::<f64>().sqrt();
        let (before, after) = (norm(x), norm(found));
        let kept = (before - after).abs() <= 1e-4 * before;
        assert!(kept || k == 17 && after.is_nan(), "minibatch {k}: {before} {after}");
    }
}
