//! Low-rank estimates that a device updates itself. The results must have the defining properties.

use super::*;
use nnet3_matrix::low_rank::{CORRECT, Due, FINITE, FLAGS, LowRankUpdate, Observed, RESTART, SUSPECT};
use nnet3_matrix::{Accumulator, Matrix};

/// Σ_k left\[i, k\] right\[j, k\] of n × n matrices.
fn times_transposed(left: &[f64], right: &[f64], n: usize) -> Vec<f64> {
    let element = |i: usize, j: usize| (0..n).map(|k| left[i * n + k] * right[j * n + k]).sum();
    (0..n * n).map(|k| element(k / n, k % n)).collect()
}

fn shrinkage(d: &[f64], rho: f64, alpha: f64, dim: usize) -> Vec<f64> {
    let beta = rho * (1.0 + alpha) + alpha / dim as f64 * d.iter().sum::<f64>();
    d.iter().map(|d| 1.0 / (beta / d + 1.0)).collect()
}

/// A random matrix times its transpose, plus a multiple of the identity, in `f32`.
fn positive(case: &mut Case, n: usize, more: f64) -> Vec<f64> {
    let g: Vec<f64> = (0..n * n).map(|_| case.normal() as f64).collect();
    let mut out = times_transposed(&g, &g, n);
    (0..n).for_each(|i| out[i * n + i] += more);
    out.iter().map(|&x| x as f32 as f64).collect()
}

fn matrix(device: &Device, rows: usize, cols: usize, values: &[f64]) -> Matrix {
    Matrix::from_slice(device, rows, cols, &values.iter().map(|&x| x as f32).collect::<Vec<_>>())
}

/// A and the next state diagonalise the second moment, which the check computes once more.
pub(crate) fn low_rank_update(device: &Device) {
    let Some(low_rank) = device.low_rank() else { return };
    cases(device, |case, rows, cols| {
        let n = 1 + (rows + cols) % 23;
        let (dim, update_rows, eta, alpha) = (n + 5, 10 + rows, 0.3, 4.0);
        let d: Vec<f64> = (0..n).map(|_| 0.5 + case.normal().abs() as f64).collect();
        let rho = 0.25;
        let e = shrinkage(&d, rho, alpha, dim);
        let (l, k) = (positive(case, n, 1.0), positive(case, n, 1.0));
        let energy = 1e4 * n as f64;
        let mut state = Accumulator::from_vec([&d[..], &e, &[rho]].concat());
        let mut energies = Accumulator::from_vec(vec![energy, 7.0]);
        let moments = matrix(device, 2 * n, n, &[&l[..], &k].concat());
        let (mut a, mut flags) = (Matrix::zeros(device, n, n + 1), Matrix::zeros(device, 1, FLAGS));
        let update = LowRankUpdate { rows: update_rows, dim, eta, alpha };
        let mut run = |state: &mut Accumulator, moments: &Matrix| {
            let (a_there, flags_there) = (a.view_mut(), flags.view_mut());
            let (moments, energies) = (moments.view(), &mut energies);
            low_rank.low_rank_update(&mut [Due {
                a: a_there,
                flags: flags_there,
                state,
                moments,
                energies,
                update,
            }]);
            (a.to_vec(), flags.to_vec())
        };
        let (combination, found) = run(&mut state, &moments);
        assert_eq!(found[FINITE], 1.0);
        let next = state.values().into_owned();
        let (next_d, next_e, next_rho) = (&next[..n], &next[n..2 * n], next[2 * n]);
        for (found, expected) in next_e.iter().zip(shrinkage(next_d, next_rho, alpha, dim)) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        let (weight, keep) = (eta / update_rows as f64, 1.0 - eta);
        let inverse: Vec<f64> = e.iter().map(|e| 1.0 / e.sqrt()).collect();
        let z: Vec<f64> = (0..n * n)
            .map(|at| {
                let (i, j) = (at / n, at % n);
                let own = weight * weight * k[at] + weight * keep * l[at] * (d[i] + d[j] + 2.0 * rho);
                let diagonal = if i == j { (keep * (d[i] + rho)).powi(2) } else { 0.0 };
                inverse[i] * own * inverse[j] + diagonal
            })
            .collect();
        // With this energy, only the floor of d acts.
        let roots: f64 = dim as f64 * next_rho - next_rho * n as f64;
        let trace = weight * energy + keep * (dim as f64 * rho + d.iter().sum::<f64>());
        let sum_roots = trace - roots;
        let mut v = vec![0.0; n * n];
        for i in 0..n {
            let row: Vec<f64> = (0..n).map(|j| combination[i * (n + 1) + j] as f64 / inverse[j]).collect();
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            (0..n).for_each(|j| v[i * n + j] = row[j] / length);
            let carry = keep / weight * (d[i] + rho);
            let found = combination[i * (n + 1) + n] as f64;
            assert!((found - carry).abs() < 1e-5 * carry, "carry {found}, not {carry}");
        }
        let products = times_transposed(&v, &v, n);
        let rotated = times_transposed(&times_transposed(&v, &z, n), &v, n);
        let largest = (0..n).map(|i| rotated[i * n + i]).fold(0.0, f64::max);
        let mut found_roots = 0.0;
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            let one = if i == j { 1.0 } else { 0.0 };
            assert!((products[i * n + j] - one).abs() < 1e-4, "({i}, {j}): {}", products[i * n + j]);
            if i == j {
                found_roots += rotated[i * n + i].sqrt();
            } else {
                assert!(rotated[i * n + j].abs() < 1e-5 * largest, "({i}, {j}): {}", rotated[i * n + j]);
            }
        }
        assert!((found_roots - sum_roots).abs() < 1e-5 * trace, "{found_roots}, not {sum_roots}");

        let mut spoilt = [&l[..], &k].concat();
        spoilt[n * n] = f64::NAN;
        let (_, found) = run(&mut state, &matrix(device, 2 * n, n, &spoilt));
        assert_eq!((found[FINITE], found[SUSPECT]), (0.0, 0.0));
        assert_eq!(*state.values(), next, "the state stays");
    });
}

/// The factor is that of rows and directions that the check makes itself. It has a bound, whatever roundings do, and NaN stays.
pub(crate) fn low_rank_factor(device: &Device) {
    let Some(low_rank) = device.low_rank() else { return };
    cases(device, |case, rows, cols| {
        let (rows, dim, n) = (rows + 1, cols + 2, 1 + (rows + cols) % (cols + 1).min(40));
        let mut side = |size: f64| {
            let x: Vec<f64> = (0..rows * dim).map(|_| size * case.normal() as f64).collect();
            let w: Vec<f64> =
                (0..n * dim).map(|_| 0.3 * case.normal() as f64 / (dim as f64).sqrt()).collect();
            let h: Vec<f64> = (0..rows * n)
                .map(|k| (0..dim).map(|c| x[k / n * dim + c] * w[k % n * dim + c]).sum())
                .collect();
            let l: Vec<f64> =
                (0..n * n).map(|k| (0..rows).map(|r| h[r * n + k / n] * h[r * n + k % n]).sum()).collect();
            let products: Vec<f64> =
                (0..n * n).map(|k| (0..dim).map(|c| w[k / n * dim + c] * w[k % n * dim + c]).sum()).collect();
            let left = (0..rows * dim)
                .map(|k| x[k] - (0..n).map(|i| h[k / dim * n + i] * w[i * dim + k % dim]).sum::<f64>());
            let square = |x: f64| x * x;
            let (before, after) = (x.iter().map(|&x| x * x).sum::<f64>(), left.map(square).sum::<f64>());
            (before, after, matrix(device, n, n, &products), matrix(device, n, n, &l))
        };
        let sides = [side(1.0), side(1e3)];
        let factor = |energies: [f64; 2], mores: [f64; 2], alpha: f64| {
            let mut sums = energies.map(|energy| Accumulator::from_vec(vec![energy, 3.0]));
            let mut factor = Matrix::zeros(device, 1, 1);
            let [a, b] = &mut sums;
            let of = |energies, k: usize| {
                let (_, _, products, l) = &sides[k];
                let (products, l) = (products.view(), l.view());
                Observed { energies, more: mores[k], products, l, dim, alpha }
            };
            low_rank.low_rank_factor(factor.view_mut(), [of(a, 0), of(b, 1)]);
            for ((sums, energy), more) in sums.iter().zip(energies).zip(mores) {
                let [found, other] = sums.values()[..] else { unreachable!("two sums") };
                assert!(found == energy + more || found.is_nan() && energy.is_nan(), "{found}");
                assert_eq!(other, 3.0);
            }
            factor.to_vec()[0] as f64
        };
        let [(before, after, ..), (before_b, after_b, ..)] = &sides;
        let expected = (before * before_b / (after * after_b)).sqrt();
        let found = factor([before - 0.25, *before_b], [0.25, 0.0], 1e-9);
        assert!((found - expected).abs() <= 1e-5 * expected, "{found}, not {expected}");
        // Less than nothing would be left: the floor is that of alpha, once for each side.
        let alpha = 4.0;
        let most = ((dim as f64 + alpha) / alpha).min(1e5f64.sqrt());
        let little = [before, before_b].map(|before| before * 1e-9);
        let found = factor(little, [0.0; 2], alpha);
        assert!(found <= most * most * (1.0 + 1e-6), "{found}, above {most} squared");
        assert_eq!(factor([0.0, 0.0], [0.0; 2], alpha), 1.0);
        assert!(factor([f64::NAN, *before_b], [0.0; 2], alpha).is_nan());
    });
}

/// Inputs and results of an update: flags, A and the state.
struct Estimate {
    state: Accumulator,
    energies: Accumulator,
    moments: Matrix,
    a: Matrix,
    flags: Matrix,
    update: LowRankUpdate,
}

impl Estimate {
    /// Makes an estimate of rank n. Some of the rows behind its moments are as large as `largest`.
    fn new(device: &Device, case: &mut Case, n: usize, largest: f64) -> Estimate {
        let (dim, rho) = (2 * n + 3, 1e-3);
        let d: Vec<f64> = (0..n).map(|k| 0.5 / (1.0 + k as f64)).collect();
        let e = shrinkage(&d, rho, 4.0, dim);
        // Rows of J and H: few, so that the moments are singular.
        let (columns, l_and_k) = (n / 2 + 1, [1.0, largest]);
        let of = |case: &mut Case, size: f64| {
            let g: Vec<f64> = (0..n * columns).map(|_| size * case.normal() as f64).collect();
            let row = |i: usize| &g[i * columns..][..columns];
            let product = |(i, j): (usize, usize)| row(i).iter().zip(row(j)).map(|(x, y)| x * y).sum::<f64>();
            (0..n * n).map(|k| product((k / n, k % n))).collect::<Vec<f64>>()
        };
        let [l, k] = l_and_k.map(|size| of(case, size));
        Estimate {
            state: Accumulator::from_vec([&d[..], &e, &[rho]].concat()),
            energies: Accumulator::from_vec(vec![1e3 * largest, 0.0]),
            moments: matrix(device, 2 * n, n, &[l, k].concat()),
            a: Matrix::zeros(device, n, n + 1),
            flags: Matrix::zeros(device, 1, FLAGS),
            update: LowRankUpdate { rows: 50 + n, dim, eta: 0.3, alpha: 4.0 },
        }
    }

    fn due(&mut self) -> Due<'_> {
        Due {
            a: self.a.view_mut(),
            flags: self.flags.view_mut(),
            state: &mut self.state,
            moments: self.moments.view(),
            energies: &mut self.energies,
            update: self.update,
        }
    }

    fn bits(&self) -> (Vec<u32>, Vec<u32>, Vec<u64>) {
        let of = |m: &Matrix| m.to_vec().into_iter().map(f32::to_bits).collect();
        (of(&self.a), of(&self.flags), self.state.values().iter().map(|x| x.to_bits()).collect())
    }
}

/// Updates that are made together equal single updates. Moments of any condition have eigenvectors.
pub(crate) fn low_rank_updates_together(device: &Device) {
    let Some(low_rank) = device.low_rank() else { return };
    let shapes = [(1, 1.0), (2, 1e8), (20, 1.0), (92, 1e2), (7, 1e8), (33, 1e-8), (20, 1e5), (12, 1e12)];
    let estimates = || -> Vec<Estimate> {
        let mut case = Case::new(device, 5);
        shapes.iter().map(|&(n, largest)| Estimate::new(device, &mut case, n, largest)).collect()
    };
    let (mut together, mut single) = (estimates(), estimates());
    low_rank.low_rank_update(&mut together.iter_mut().map(Estimate::due).collect::<Vec<_>>());
    single.iter_mut().for_each(|one| low_rank.low_rank_update(&mut [one.due()]));
    for (((one, other), (n, largest)), before) in together.iter().zip(&single).zip(shapes).zip(estimates()) {
        let e = &before.state.values()[n..2 * n];
        assert_eq!(one.bits(), other.bits(), "rank {n}");
        assert_eq!(one.flags.to_vec()[FINITE], 1.0, "rank {n}, {largest}");
        // A times the roots of the e before has orthogonal rows.
        let a = one.a.to_vec();
        let rows: Vec<f64> =
            (0..n * n).map(|k| a[k / n * (n + 1) + k % n] as f64 * e[k % n].sqrt()).collect();
        let products = times_transposed(&rows, &rows, n);
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)).filter(|(i, j)| i != j) {
            let cosine = products[i * n + j] / (products[i * n + i] * products[j * n + j]).sqrt();
            assert!(cosine.abs() < 1e-5, "rank {n}, {largest}, rows {i} and {j}: {cosine}");
        }
    }
}

/// (I + C) makes rows with these products orthogonal, with squared norms e. If that is impossible, Gram–Schmidt does
/// it.
pub(crate) fn low_rank_correction(device: &Device) {
    let Some(low_rank) = device.low_rank() else { return };
    cases(device, |case, rows, cols| {
        let (n, width) = (1 + (rows + cols) % 19, 30);
        let d: Vec<f64> = (0..n).map(|_| 0.5 + case.normal().abs() as f64).collect();
        let e = shrinkage(&d, 0.25, 4.0, width);
        let mut state = Accumulator::from_vec([&d[..], &e, &[0.25]].concat());
        let mut flags = Matrix::zeros(device, 1, FLAGS);
        let mut correct = |flags: &mut Matrix, products: &[f64]| {
            let mut c = Matrix::zeros(device, n, n);
            let products = matrix(device, n, n, products);
            low_rank.low_rank_correction(c.view_mut(), flags.view_mut(), &mut state, products.view(), true);
            (c.to_vec(), flags.to_vec())
        };
        let scaled =
            |m: &[f64]| -> Vec<f64> { (0..n * n).map(|k| m[k] * (e[k / n] * e[k % n]).sqrt()).collect() };
        let finite = |flags: &mut Matrix| {
            let mut values = [0.0; FLAGS];
            values[FINITE] = 1.0;
            *flags = Matrix::from_slice(device, 1, FLAGS, &values);
        };
        finite(&mut flags);
        let products = scaled(&positive(case, n, 2.0));
        let (c, found) = correct(&mut flags, &products);
        assert_eq!((found[CORRECT], found[RESTART]), (1.0, 0.0));
        let whole: Vec<f64> =
            (0..n * n).map(|k| c[k] as f64 + if k / n == k % n { 1.0 } else { 0.0 }).collect();
        let now = times_transposed(&times_transposed(&whole, &products, n), &whole, n);
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            let one = if i == j { 1.0 } else { 0.0 };
            let found = now[i * n + j] / (e[i] * e[j]).sqrt();
            assert!((found - one).abs() < 1e-3, "({i}, {j}): {found}");
        }

        let identity: Vec<f64> = (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect();
        let (c, found) = correct(&mut flags, &scaled(&identity));
        assert_eq!((found[CORRECT], found[RESTART]), (0.0, 0.0));
        assert!(c.iter().all(|&c| c == 0.0));

        // Two equal rows, and one of zeros, have no Cholesky factor.
        let mut w: Vec<f32> = (0..n * width).map(|_| case.normal()).collect();
        if n > 2 {
            let first = w[..width].to_vec();
            w[width..2 * width].copy_from_slice(&first);
            w[2 * width..3 * width].fill(0.0);
        } else {
            w.fill(0.0);
        }
        let mut rows = Matrix::from_slice(device, n, width, &w);
        let products: Vec<f64> = (0..n * n)
            .map(|k| (0..width).map(|c| w[k / n * width + c] as f64 * w[k % n * width + c] as f64).sum())
            .collect();
        let (_, found) = correct(&mut flags, &products);
        assert_eq!((found[CORRECT], found[RESTART]), (0.0, 1.0));
        low_rank.low_rank_restart(rows.view_mut(), flags.view(), &mut state);
        let w = rows.to_vec();
        for (i, j) in (0..n * n).map(|k| (k / n, k % n)) {
            let product: f64 = (0..width).map(|c| w[i * width + c] as f64 * w[j * width + c] as f64).sum();
            let wanted = if i == j { e[i] } else { 0.0 };
            assert!((product - wanted).abs() < 1e-4, "({i}, {j}): {product}, not {wanted}");
        }
    });
}
