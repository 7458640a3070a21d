//! Compares with the dense form of `oracle`, and checks invariants.

use super::oracle::Dense;
use super::*;
use nalgebra::DMatrix;
use nnet3_base::random::Random;
use nnet3_matrix::{Gemm, Matrix, Workspace};

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

fn with_context(test: impl FnOnce(Context<'_>)) {
    let device = nnet3_matrix::cpu();
    let workspace = Workspace::new(&device);
    test(Context { backend: &*device, workspace: &workspace, random: &Random::new(1) });
}

fn directions(estimate: &Estimate) -> Vec<f32> {
    nnet3_matrix::cpu().download(estimate.w())
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|v| v * v).sum::<f64>().sqrt()
}

/// Runs both over `minibatches` and returns the worst relative error.
fn worst_error(rank: usize, n: usize, dim: usize, period: usize, minibatches: usize) -> f64 {
    let random = Random::new(3);
    let mut worst: f64 = 0.0;
    with_context(|context| {
        let mut tested = NaturalGradient::new(NaturalGradientSettings::new(rank, period, 500.0, 4.0));
        let mut oracle = Dense::new(rank, dim, period, 500.0, 4.0);
        for minibatch in 0..minibatches {
            let x = rows(&random, n, dim);
            let frozen = minibatch % 5 == 3;
            tested.freeze(frozen);
            let expected =
                oracle.precondition(&DMatrix::from_row_iterator(n, dim, x.iter().map(|&v| v as f64)), frozen);
            let mut x = Matrix::from_vec(n, dim, x);
            let scale = tested.precondition(context, x.view_mut());
            let found = x.to_vec();
            let wanted = |k: usize| expected[(k / dim, k % dim)];
            let error = norm(found.iter().enumerate().map(|(k, &v)| (v * scale) as f64 - wanted(k)));
            worst = worst.max(error / norm(expected.iter().copied()));
        }
    });
    worst
}

#[test]
fn equals_the_dense_form() {
    for (rank, n, dim, period) in [(4, 60, 12, 1), (4, 9, 12, 4), (20, 150, 41, 4), (1, 30, 2, 2)] {
        let error = worst_error(rank, n, dim, period, 40);
        assert!(error < 3e-6, "rank {rank}, {n} x {dim}: {error}");
    }
}

/// Observing only Xᵀ X must give the same result.
#[test]
fn products_tell_as_much_as_rows() {
    let (n, dim) = (150, 40);
    let random = Random::new(3);
    with_context(|context| {
        let mut by_rows = NaturalGradient::new(NaturalGradientSettings::new(20, 4, 500.0, 4.0));
        let mut by_products = by_rows.clone();
        for minibatch in 0..30 {
            let mut x = Matrix::from_vec(n, dim, rows(&random, n, dim));
            let seen = by_products.observe_products(context, x.view());
            let mut found = x.clone();
            let mut h = Matrix::zeros(x.device(), n, 20);
            context.backend.gemm(Gemm::set(h.view_mut(), x.view(), seen.w().transposed()));
            context.backend.gemm(Gemm::add(found.view_mut(), h.view(), seen.w()).times(-1.0));
            context.backend.scale(found.view_mut(), seen.factor);
            by_products.learn(context, seen);

            let factor = by_rows.precondition(context, x.view_mut());
            context.backend.scale(x.view_mut(), factor);
            let size = x.dot(&x).sqrt();
            context.backend.add(found.view_mut(), -1.0, x.view());
            let error = found.dot(&found).sqrt();
            assert!(error < 1e-5 * size, "minibatch {minibatch}: {error:e} of {size:e}");
        }
    });
}

/// Rows in one direction that the estimate knows: almost no squared norm remains.
#[test]
fn the_factor_is_right_where_little_is_left() {
    let (n, dim) = (60, 24);
    let random = Random::new(2);
    with_context(|context| {
        let mut ways = [(); 3].map(|_| NaturalGradient::new(NaturalGradientSettings::new(4, 1, 500.0, 0.0)));
        for minibatch in 0..12 {
            let sizes = random.normal_vec(n, 0.0, 1.0);
            let data = sizes.iter().flat_map(|size| (0..dim).map(move |k| size * (k as f32).sin())).collect();
            let mut x = Matrix::from_vec(n, dim, data);
            let whole = || std::iter::once(Piece { x: PieceRows::Dense(x.view()), columns: 0..dim });
            let seen = [ways[0].observe(context, whole()), ways[1].observe_products(context, x.view())];
            let found = seen.each_ref().map(|seen| seen.factor);
            seen.into_iter().zip(&mut ways).for_each(|(seen, way)| way.learn(context, seen));
            let expected = ways[2].precondition(context, x.view_mut());
            for found in found {
                assert!((found - expected).abs() < 1e-2 * expected, "{minibatch}: {found}, not {expected}");
            }
            assert!(minibatch < 5 || expected > 100.0, "{expected}");
        }
    });
}

#[test]
fn the_way_is_that_of_the_least_work() {
    with_context(|context| {
        let chosen = |rank, rows, dim, others| {
            NaturalGradient::new(NaturalGradientSettings::with_rank(rank, 4))
                .preconditioning(context, rows, dim, others)
        };
        assert_eq!([chosen(64, 1280, 128, 121), chosen(80, 100, 8, 8)], [Preconditioning::Products; 2]);
        // A large gradient; few rows; one column.
        assert_eq!(
            [chosen(64, 600, 128, 2000), chosen(64, 60, 128, 121), chosen(64, 1280, 1, 121)],
            [Preconditioning::Rows; 3]
        );
        // Many columns; a low rank.
        assert_eq!([chosen(80, 3584, 1024, 200), chosen(20, 1280, 385, 128)], [Preconditioning::Gradient; 2]);
    });
}

/// The minibatch and the sides of layers in docs/gpu.md, and of others: by hand, in rows of a side.
#[test]
fn the_way_of_a_device_moves_least() {
    use on_device::Side;
    let less = |rows, dims: [usize; 2], rank| correction_moves_less(rows, dims.map(|dim| Side { dim, rank }));
    // An affine layer after a bottleneck; an LSTM's gates.
    assert!(less(5376, [257, 1024], 20) && less(832, [641, 2048], 80));
    // 7 N · 1024 elements less of rows on both sides, 6 · 1024² + 14 · 20 · 1024 more of the gradient: from N = 459 on.
    assert_eq!([440, 480].map(|rows| less(rows, [1024; 2], 20)), [false, true]);
    // Few rows for a large gradient.
    assert!(!less(60, [1025, 3000], 80));
}

#[test]
fn rank_is_reduced_to_the_dimension() {
    with_context(|context| {
        let mut tested = NaturalGradient::new(NaturalGradientSettings::new(40, 1, 2000.0, 4.0));
        let mut x = Matrix::from_vec(50, 6, rows(&Random::new(1), 50, 6));
        tested.precondition(context, x.view_mut());
        assert_eq!(tested.settings.rank, 5);
        let mut single = Matrix::from_vec(3, 1, vec![1.0, 2.0, 3.0]);
        assert_eq!(NaturalGradient::new(Default::default()).precondition(context, single.view_mut()), 1.0);
        assert_eq!(single.to_vec(), [1.0, 2.0, 3.0]);
    });
}

/// The invariants must hold for any data: norm kept, ρ and d floored, rows of Q orthonormal.
#[test]
fn invariants_hold_for_degenerate_rows() {
    let random = Random::new(5);
    with_context(|context| {
        let mut tested = NaturalGradient::new(NaturalGradientSettings::new(10, 2, 2000.0, 4.0));
        for minibatch in 0..30 {
            let (n, dim) = (3, 24);
            let x = match minibatch % 4 {
                0 => vec![0.0; n * dim],
                1 => vec![1.0; n * dim],
                2 => rows(&random, n, dim),
                _ => (0..n * dim).map(|k| if k % dim == 2 { 1e-6 } else { 0.0 }).collect(),
            };
            let mut x = Matrix::from_vec(n, dim, x);
            let before = x.dot(&x);
            let scale = tested.precondition(context, x.view_mut());
            let after = x.dot(&x).sqrt() * scale as f64;
            assert!((before.sqrt() - after).abs() <= 1e-4 * before.sqrt(), "minibatch {minibatch}");

            let estimate = tested.estimate.as_ref().unwrap();
            let largest = estimate.d.iter().copied().fold(0.0, f64::max);
            assert!(
                estimate.rho >= 1e-10 && estimate.d.iter().all(|&d| d >= 1e-10 && d > 0.9 * 5e-4 * largest)
            );
            let mut shrinkage = [0.0; 10];
            factors::shrinkage(&estimate.d, estimate.rho, 4.0, dim, &mut shrinkage);
            let w = DMatrix::from_row_iterator(10, dim, directions(estimate).iter().map(|&v| v as f64));
            let products = &w * w.transpose();
            for (i, j) in (0..100).map(|k| (k / 10, k % 10)) {
                let product = products[(i, j)] / (shrinkage[i] * shrinkage[j]).sqrt();
                let wanted = if i == j { 1.0 } else { 0.0 };
                assert!((product - wanted).abs() < 1e-2, "minibatch {minibatch}: {i},{j}: {product}");
            }
        }
    });
}

#[test]
fn rows_that_are_not_finite_leave_the_estimate() {
    with_context(|context| {
        let mut tested = NaturalGradient::new(NaturalGradientSettings::new(3, 1, 2000.0, 4.0));
        let good = rows(&Random::new(1), 20, 8);
        tested.precondition(context, Matrix::from_vec(20, 8, good.clone()).view_mut());
        let before = directions(tested.estimate.as_ref().unwrap());
        let mut bad = good;
        bad[5] = f32::NAN;
        assert!(tested.precondition(context, Matrix::from_vec(20, 8, bad).view_mut()).is_nan());
        assert_eq!(directions(tested.estimate.as_ref().unwrap()), before);
    });
}

#[test]
fn settings_out_of_range_are_named() {
    assert_eq!(NaturalGradientSettings::default().defect(), None);
    assert!(NaturalGradientSettings::new(0, 1, 2000.0, 4.0).defect().unwrap().contains("rank 0"));
    assert!(NaturalGradientSettings::new(1, 1, 1e7, 4.0).defect().unwrap().contains("num-samples-history"));
    assert!(NaturalGradientSettings::new(1, 1, 2000.0, -1.0).defect().unwrap().contains("alpha -1"));
}
