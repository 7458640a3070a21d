//! Products in bf16 beside sums in double precision of rounded factors, with each kernel.

use super::pairs::PairSums;
use super::*;
use crate::backend::{Gemm, Transpose};
use crate::cpu::arithmetic::Arithmetic;
use crate::cpu::{CpuBackend, cpu, cpu_with_plain_bf16};
use crate::view::ViewMut;
use crate::{Arena, Element, Matrix, PanelProducts, Start, WeightForm};
use Transpose::{No, Yes};

/// The kernels of this processor.
fn kernels() -> Vec<Kernel> {
    let mut kernels = vec![Kernel::Plain];
    #[cfg(target_arch = "x86_64")]
    kernels.extend(Kernel::avx512());
    kernels
}

fn backend(kernel: Kernel) -> CpuBackend {
    CpuBackend { arithmetic: Arithmetic::Halves(kernel) }
}

/// Numbers from -0.5 to 0.5, always the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1 << 24) as f32 - 0.5
    }
    fn below(&mut self, n: usize) -> usize {
        ((self.next() + 0.5) * n as f32) as usize % n
    }
}

fn near(x: f32) -> f32 {
    if x.is_subnormal() { 0.0 * x } else { Element::Half.nearest(x) }
}

/// A matrix with a gap between its rows, in an arena that is large enough.
struct Gapped<'a> {
    view: ViewMut<'a>,
    values: Vec<f32>,
}

impl<'a> Gapped<'a> {
    fn new(
        arena: &'a Arena,
        used: &mut usize,
        (rows, cols, gap): (usize, usize, usize),
        values: Vec<f32>,
    ) -> Self {
        let view = arena.view(*used, rows, cols, cols + gap);
        *used += rows * (cols + gap);
        cpu().upload(view, &values);
        Gapped { view, values }
    }
    /// Element (i, j) of op(matrix).
    fn at(&self, transpose: Transpose, i: usize, j: usize) -> f32 {
        let (i, j) = if transpose == No { (i, j) } else { (j, i) };
        self.values[i * self.view.cols() + j]
    }
}

/// Compares a product with the sums of rounded factors, in double precision.
fn check(
    kernel: Kernel,
    (m, n, k): (usize, usize, usize),
    transposes: (Transpose, Transpose),
    numbers: &mut Numbers,
) {
    let (ta, tb) = transposes;
    let shape = |t, rows, cols| if t == No { (rows, cols) } else { (cols, rows) };
    let ((ra, ca), (rb, cb)) = (shape(ta, m, k), shape(tb, k, n));
    let gaps = [numbers.below(5), numbers.below(5), numbers.below(5)];
    let arena = Arena::new(&cpu(), ra * (ca + 5) + rb * (cb + 5) + m * (n + 5));
    let mut used = 0;
    let mut values = |count: usize| (0..count).map(|_| numbers.next()).collect::<Vec<_>>();
    let a = Gapped::new(&arena, &mut used, (ra, ca, gaps[0]), values(ra * ca));
    let b = Gapped::new(&arena, &mut used, (rb, cb, gaps[1]), values(rb * cb));
    let mut old = values(m * n);
    let (alpha, beta) = [(1.0, 0.0), (-0.6, 1.0), (1.0, 0.4)][numbers.below(3)];
    if beta == 0.0 {
        // None of the old values may reach the result.
        old.fill(f32::NAN);
    }
    let c = Gapped::new(&arena, &mut used, (m, n, gaps[2]), old);
    let (op_a, op_b) = (ta.of(a.view.as_view()), tb.of(b.view.as_view()));
    product(kernel, Gemm { c: c.view, alpha, a: op_a, b: op_b, beta });
    for (e, found) in cpu().download(c.view.as_view()).into_iter().enumerate() {
        let (i, j) = (e / n, e % n);
        let start = if beta == 0.0 { 0.0 } else { (beta * c.values[e]) as f64 };
        let (mut sum, mut size) = (start, 1.0);
        for l in 0..k {
            let term = alpha as f64 * near(a.at(ta, i, l)) as f64 * near(b.at(tb, l, j)) as f64;
            (sum, size) = (sum + term, size + term.abs());
        }
        let at = format!("{kernel}: {m} x {n} x {k}, {transposes:?}, {alpha} {beta}, at {i}, {j}");
        assert!((found as f64 - sum).abs() < 1e-6 * size, "{at}: {found} {sum}");
    }
}

const TRANSPOSES: [(Transpose, Transpose); 4] = [(No, No), (No, Yes), (Yes, No), (Yes, Yes)];

#[test]
fn agrees_with_sums_of_rounded_factors_in_double_precision() {
    let mut numbers = Numbers(7);
    for kernel in kernels() {
        for transposes in TRANSPOSES {
            for size in 1..=40 {
                let others = [1 + numbers.below(40), 1 + numbers.below(40)];
                check(kernel, (size, others[0], others[1]), transposes, &mut numbers);
                check(kernel, (others[0], size, others[1]), transposes, &mut numbers);
                check(kernel, (others[0], others[1], size), transposes, &mut numbers);
            }
            // More rows, terms or columns than a block has.
            for shape in [(70, 49, 1031), (275, 20, 530), (20, 1103, 515), (65, 64, 512)] {
                check(kernel, shape, transposes, &mut numbers);
            }
        }
    }
}

/// All numbers at and beside the ties of some exponents, and special ones.
#[test]
fn kernels_round_alike_and_to_the_nearest() {
    let mut values = vec![0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, f32::MIN_POSITIVE];
    values.extend([1e-39, -1e-45, f32::MIN_POSITIVE / 2.0, 3.3895314e38, 3.3961775e38]);
    for high in [0x3f80u32, 0x3f81, 0xbf80, 0x0080, 0x0100, 0x7f7f, 0x4234] {
        values.extend([0u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff].map(|low| f32::from_bits(high << 16 | low)));
    }
    values.resize(values.len().next_multiple_of(32), 1.0);
    for terms in values.as_chunks::<32>().0 {
        let expected = <pairs::Plain as PairSums>::adjacent(terms);
        for (i, pair) in expected.0.into_iter().enumerate() {
            for (x, half) in [(terms[2 * i], pair & 0xffff), (terms[2 * i + 1], pair >> 16)] {
                assert_eq!(half << 16, near(x).to_bits(), "{x:e}");
            }
        }
        for kernel in kernels() {
            let weights = Matrix::from_vec(1, 32, terms.to_vec());
            let found = round_weights(kernel, crate::cpu::access::source(weights.view()));
            let found: Vec<u32> = found.lines.iter().map(|line| line.0[0]).collect();
            assert_eq!(found, expected.0, "{kernel}");
        }
    }
}

/// Products of factors of which some are not finite, or very small.
#[test]
fn keeps_what_is_not_finite() {
    let (m, n, k) = (19, 37, 45);
    for kernel in kernels() {
        for (value, other) in [
            (f32::NAN, 1.0),
            (f32::INFINITY, 1.0),
            (f32::NEG_INFINITY, 2.0),
            (f32::INFINITY, 0.0),
            (f32::INFINITY, f32::NEG_INFINITY),
            (3.0e38, 3.0e38),
            (1e-39, 1e-39),
            (1e-39, 1e10),
        ] {
            for (ta, tb) in TRANSPOSES {
                let (mut a, mut b) = (vec![0.5; m * k], vec![0.25; k * n]);
                // The last of an odd number of terms has no partner.
                for (i, l) in [(3, k - 1), (7, 4)] {
                    a[if ta == No { i * k + l } else { l * m + i }] = value;
                }
                let l = k - 1;
                b[if tb == No { l * n + 35 } else { 35 * k + l }] = other;
                let shape = |t, rows, cols| if t == No { (rows, cols) } else { (cols, rows) };
                let ((ra, ca), (rb, cb)) = (shape(ta, m, k), shape(tb, k, n));
                let (a, b) = (Matrix::from_vec(ra, ca, a), Matrix::from_vec(rb, cb, b));
                let (mut found, mut expected) = (Matrix::zeros(&cpu(), m, n), Matrix::zeros(&cpu(), m, n));
                let (a, b) = (ta.of(a.view()), tb.of(b.view()));
                product(kernel, Gemm::set(found.view_mut(), a, b));
                cpu().gemm(Gemm::set(expected.view_mut(), a, b));
                for (e, (x, y)) in found.to_vec().into_iter().zip(expected.to_vec()).enumerate() {
                    let same = x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() < 0.01 * y.abs();
                    assert!(
                        same,
                        "{kernel}, {value:e} {other:e}, {ta:?} {tb:?}, {}, {}: {x} {y}",
                        e / n,
                        e % n
                    );
                }
            }
        }
    }
}

/// The lines of the suite's comparison for weights that were rounded beforehand.
#[test]
fn weights_that_stay() {
    let mut numbers = Numbers(3);
    for kernel in kernels() {
        let device = backend(kernel);
        for (rows, outputs, terms) in
            [(1, 5, 3), (3, 48, 64), (9, 75, 33), (37, 64, 40), (150, 131, 1030), (2, 16, 7)]
        {
            let mut values = |count: usize| (0..count).map(|_| numbers.next()).collect::<Vec<_>>();
            let (w, x, bias) = (values(outputs * 2 * terms), values((rows + 3) * terms), values(outputs));
            let panels = device.arrange(Matrix::from_vec(outputs, 2 * terms, w.clone()), WeightForm::Float);
            assert!(!panels.view().has_numbers());
            let of_x = Matrix::from_vec(rows + 3, terms, x.clone());
            let of_bias = Matrix::from_vec(1, outputs, bias.clone());
            let taps = [of_x.view().row_range(0..rows), of_x.view().row_range(3..rows + 3)];
            // Both taps, and the second one alone, whose weights may begin with the second of a pair.
            for first in [0, 1] {
                let mut out = Matrix::from_vec(rows, outputs, vec![f32::NAN; rows * outputs]);
                let weights = panels.view().term_range(first * terms..2 * terms);
                let start = || Start::Row(of_bias.view());
                device.multiply(out.view_mut(), start(), &mut taps[first..].iter().copied(), weights);
                for (e, found) in out.to_vec().into_iter().enumerate() {
                    let (i, o) = (e / outputs, e % outputs);
                    let (mut sum, mut size) = (bias[o] as f64, 1.0);
                    for t in first * terms..2 * terms {
                        let x = x[(i + 3 * (t / terms)) * terms + t % terms];
                        let term = near(x) as f64 * near(w[o * 2 * terms + t]) as f64;
                        (sum, size) = (sum + term, size + term.abs());
                    }
                    assert!((found as f64 - sum).abs() < 1e-6 * size, "{kernel}: {i} {o}: {found} {sum}");
                }
                // An element does not depend on the number of rows.
                for i in [0, rows / 2, rows - 1] {
                    let mut one = Matrix::zeros(&cpu(), 1, outputs);
                    let mut of_row = taps[first..].iter().map(|tap| tap.row_range(i..i + 1));
                    device.multiply(one.view_mut(), start(), &mut of_row, weights);
                    assert_eq!(
                        one.to_vec(),
                        out.to_vec()[i * outputs..(i + 1) * outputs],
                        "{kernel}: row {i}"
                    );
                }
            }
        }
        let not_finite = device.arrange(Matrix::from_vec(1, 2, vec![1.0, f32::NAN]), WeightForm::Float);
        assert!(not_finite.view().has_numbers(), "zeros beside other weights would make NaN of them");
    }
}

#[test]
fn small_products_and_statistics_are_those_of_floats() {
    let mut numbers = Numbers(5);
    let device = cpu_with_plain_bf16();
    let mut random =
        |rows, cols| Matrix::from_vec(rows, cols, (0..rows * cols).map(|_| numbers.next()).collect());
    let both = |f: &dyn Fn(&crate::Device, ViewMut<'_>), rows: usize, cols: usize| {
        [cpu(), device.clone()].map(|device| {
            let mut c = Matrix::zeros(&cpu(), rows, cols);
            f(&device, c.view_mut());
            c.to_vec()
        })
    };
    let (a, b, w) = (random(15, 300), random(300, 80), random(160, 300));
    let [floats, halves] = both(&|device, c| device.gemm(Gemm::set(c, a.view(), b.view())), 15, 80);
    assert_eq!(floats, halves, "few rows");
    let [floats, halves] = both(&|device, c| device.gram(c, w.view()), 300, 300);
    assert_eq!(floats, halves, "a gram matrix");
    let floats_again = device.in_floats().expect("bf16 has floats beside it");
    let [floats, halves] = both(&|device, c| device.gemm(Gemm::set(c, w.view(), b.view())), 160, 80);
    assert_ne!(floats, halves, "a large product");
    let mut c = Matrix::zeros(&cpu(), 160, 80);
    floats_again.gemm(Gemm::set(c.view_mut(), w.view(), b.view()));
    assert_eq!(c.to_vec(), floats);
    assert!(cpu().in_floats().is_none());
}
