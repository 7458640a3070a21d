//! Matrix products: by BLAS, or by kernels of our own where those are faster.

#![allow(unsafe_code)]

use super::halves::{self, Cut, Wake};
use super::{bf16, packed, unpacked};
use crate::backend::{Gemm, Products};
use crate::cpu::CpuBackend;
use crate::cpu::access::{on_host, overlap};
use crate::cpu::arithmetic::Arithmetic;
use crate::cpu::{blas, whole};
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, VectorLevel};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks that c and the factors agree on their shapes, and that c lies apart from the factors. Returns rows and columns
/// of the product and the number of terms of its sums.
fn check(Gemm { c, a, b, .. }: &Gemm<'_>) -> (usize, usize, usize) {
    let ((m, k), (k_of_b, n)) = (a.shape(), b.shape());
    assert!(
        c.rows() == m && c.cols() == n && k == k_of_b,
        "product of {m} x {k} and {k_of_b} x {n} into {} x {}",
        c.rows(),
        c.cols()
    );
    [&c.as_view(), &a.matrix, &b.matrix].into_iter().for_each(on_host);
    for factor in [&a.matrix, &b.matrix] {
        assert!(!overlap(&c.as_view(), factor), "product overlaps a factor: {c:?}, {factor:?}");
    }
    (m, n, k)
}

/// Computes the product of m × k and k × n elements.
pub(in crate::cpu) fn gemm(arithmetic: Arithmetic, product: Gemm<'_>) {
    let (m, n, k) = check(&product);
    let Gemm { c, alpha, a, beta, .. } = product;
    if c.is_empty() {
        return;
    }
    if k == 0 || alpha == 0.0 {
        match beta {
            0.0 => whole::set(c, 0.0),
            1.0 => {}
            _ => whole::scale(c, beta),
        }
        return;
    }
    match halves::cut(m, n, k).filter(|_| !a.is_transposed() && is_alone()) {
        None => in_one(arithmetic, product),
        Some(cut) => in_halves(arithmetic, cut, product),
    }
}

/// A product in one piece. No factor is empty, and shapes fit.
pub(in crate::cpu) fn in_one(arithmetic: Arithmetic, product: Gemm<'_>) {
    let Gemm { c, a, b, .. } = product;
    let (m, n, (_, k)) = (c.rows(), c.cols(), a.shape());
    let transposed = [a, b].map(|factor| factor.is_transposed());
    if let Arithmetic::Halves(kernel) = arithmetic
        && bf16::pays(m, n, k)
    {
        return bf16::product(kernel, product);
    }
    if transposed == [false, true] && unpacked::pays(m, n, k) {
        return unpacked::product(product);
    }
    if is_alone() && packed::pays((m, n, k), transposed) {
        return packed::product(product);
    }
    blas::gemm(product)
}

fn in_halves(arithmetic: Arithmetic, cut: Cut, product: Gemm<'_>) {
    let Gemm { c, a, b, .. } = product;
    let half = |second: bool| {
        let part = |cut: usize, length: usize| if second { cut..length } else { 0..cut };
        let half = match cut {
            Cut::Row(row) => {
                let rows = part(row, c.rows());
                Gemm { c: c.row_range(rows.clone()), a: a.row_range(rows), ..product }
            }
            Cut::Column(column) => {
                let columns = part(column, c.cols());
                Gemm { c: c.col_range(columns.clone()), b: b.col_range(columns), ..product }
            }
        };
        in_one(arithmetic, half);
    };
    // SAFETY: the halves write different elements of c, which neither factor has; views of all these elements belong to this
    // thread, which waits for the other one.
    unsafe { halves::both(Wake::Yes, || half(false), || half(true)) }
}

fn is_alone() -> bool {
    THREADS.load(Ordering::Relaxed) == 1
}

/// c = aᵀ · a.
pub(in crate::cpu) fn gram(c: ViewMut<'_>, a: View<'_>) {
    let product = Gemm::set(c, a.transposed(), a);
    let (n, _, k) = check(&product);
    if n < 2 || k == 0 || (is_alone() && packed::pays((n, n, k), [true, false])) {
        return gemm(Arithmetic::Floats, product);
    }
    blas::gram(c, a);
}

/// c = a · b by BLAS, for any setting of other products; for comparisons.
pub fn library_product(c: ViewMut<'_>, a: View<'_>, b: View<'_>) {
    let product = Gemm::set(c, a, b);
    check(&product);
    blas::gemm(product)
}

/// True if OpenBLAS for AVX-512 has a special kernel for products as small as this one. That kernel sums all terms in
/// one pass.
pub(in crate::cpu) fn is_small(m: usize, n: usize, k: usize) -> bool {
    m * n * k <= 1_000_000
}

/// True if a product of two matrices must be rounded as by OpenBLAS's kernels for AVX-512, although OpenBLAS does not
/// use them. If large terms cancel, as in the derivatives of standard deviations of single frames, only roundings
/// remain. So they should not depend on the kernels that OpenBLAS uses.
pub(in crate::cpu) fn has_own_roundings(m: usize, n: usize, k: usize) -> bool {
    m.min(n) > 1 && is_small(m, n, k) && simd::vector_level() >= VectorLevel::Avx2 && !blas::is_wide()
}

static THREADS: AtomicUsize = AtomicUsize::new(1);

/// Sets the number of threads for one product; the default is 1. Only OpenBLAS uses more.
pub fn set_num_threads(threads: usize) {
    THREADS.store(threads.max(1), Ordering::Relaxed);
    blas::set_num_threads(threads.max(1))
}

impl Products for CpuBackend {
    fn gemm(&self, product: Gemm<'_>) {
        gemm(self.arithmetic, product)
    }
    /// In floats: such products are statistics.
    fn gram(&self, c: ViewMut<'_>, a: View<'_>) {
        gram(c, a)
    }
}

#[cfg(test)]
pub(in crate::cpu) mod tests {
    use super::*;
    use crate::backend::Transpose;
    use crate::{Arena, cpu::cpu};

    /// Compares m × n products of k terms, of matrices with gaps between their rows, with sums in double precision.
    pub fn check(
        (m, n, k): (usize, usize, usize),
        (transpose_a, transpose_b): (Transpose, Transpose),
        product: impl Fn(Gemm<'_>),
    ) {
        let mut state = 5u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as f32 / (1 << 24) as f32
        };
        let arena = Arena::new(&cpu(), (m + 1) * (k + 1) + (n + 3) * (k + 3) + 3 * m * (n + 2));
        let mut used = 0;
        let mut matrix = |rows: usize, cols: usize, gap: usize| {
            let view = arena.view(used, rows, cols, cols + gap);
            used += rows * (cols + gap);
            let values: Vec<f32> = (0..rows * cols).map(|_| random() - 0.4).collect();
            cpu().upload(view, &values);
            (view, values)
        };
        let mut factor = |rows, cols, transpose, gap| {
            let (height, width) = if transpose == Transpose::Yes { (cols, rows) } else { (rows, cols) };
            let (view, values) = matrix(height, width, gap);
            let at = move |i: usize, j: usize| {
                values[if transpose == Transpose::Yes { j * width + i } else { i * width + j }]
            };
            (view, at)
        };
        let (a, a_at) = factor(m, k, transpose_a, 1);
        let (b, b_at) = factor(k, n, transpose_b, 3);
        for (alpha, beta) in [(1.0, 0.0), (-0.6, 1.0), (1.0, 0.4)] {
            let (c, mut old) = matrix(m, n, 2);
            if beta == 0.0 {
                // None of the old values may reach the result.
                old.fill(f32::NAN);
                cpu().upload(c, &old);
            }
            let (a, b) = (transpose_a.of(a.as_view()), transpose_b.of(b.as_view()));
            product(Gemm { c, alpha, a, b, beta });
            for (e, found) in cpu().download(c.as_view()).into_iter().enumerate() {
                let (i, j) = (e / n, e % n);
                let start = if beta == 0.0 { 0.0 } else { (beta * old[e]) as f64 };
                let terms = (0..k).map(|l| (alpha * a_at(i, l) * b_at(l, j)) as f64);
                let (sum, size) = terms.fold((start, 1.0), |(sum, size), x| (sum + x, size + x.abs()));
                assert!((found as f64 - sum).abs() < 1e-6 * size, "{m} x {n} x {k}, {i}, {j}: {found} {sum}");
            }
        }
    }

    /// Sums of 16 lanes, which are added up by neighbours, or of one term after the other. The order was found by
    /// trials with OpenBLAS 0.3.21 on a processor with AVX-512.
    #[test]
    fn small_products_round_as_with_kernels_for_avx512() {
        use Transpose::{No, Yes};
        if simd::vector_level() < VectorLevel::Avx2 {
            return;
        }
        let by_lanes = |terms: &mut dyn Iterator<Item = (f32, f32)>| {
            let mut lanes = vec![0.0f32; 16];
            terms.enumerate().for_each(|(l, (a, b))| lanes[l % 16] = a.mul_add(b, lanes[l % 16]));
            while lanes.len() > 1 {
                lanes = lanes.chunks(2).map(|two| two[0] + two[1]).collect();
            }
            lanes[0]
        };
        let in_order =
            |terms: &mut dyn Iterator<Item = (f32, f32)>| terms.fold(0.0f32, |sum, (a, b)| a.mul_add(b, sum));
        let values = |count: usize, factor: f32| -> Vec<f32> {
            (0..count).map(|i| (i as f32 * factor).sin()).collect()
        };
        for (m, n, k) in
            [(48, 16, 60), (5, 7, 33), (2, 30, 400), (34, 36, 40), (9, 17, 31), (3, 2, 5), (140, 17, 300)]
        {
            for (ta, tb) in [(No, No), (No, Yes), (Yes, No)] {
                let shape = |t, rows, cols| if t == No { (rows, cols) } else { (cols, rows) };
                let ((ra, ca), (rb, cb)) = (shape(ta, m, k), shape(tb, k, n));
                let (a, b, c) = (values(m * k, 0.7), values(k * n, 0.3), values(m * n, 1.1));
                let matrix =
                    |rows, cols, values: &[f32]| crate::Matrix::from_vec(rows, cols, values.to_vec());
                let (of_a, of_b, mut of_c) = (matrix(ra, ca, &a), matrix(rb, cb, &b), matrix(m, n, &c));
                let (op_a, op_b) = (ta.of(of_a.view()), tb.of(of_b.view()));
                if (ta, tb) == (No, Yes) && m * n <= 1200 && k >= 32 {
                    unpacked::product(Gemm::add(of_c.view_mut(), op_a, op_b));
                } else {
                    packed::product(Gemm::add(of_c.view_mut(), op_a, op_b));
                }
                for (e, found) in of_c.to_vec().into_iter().enumerate() {
                    let (i, j) = (e / n, e % n);
                    let a_at = |l: usize| if ta == No { a[i * k + l] } else { a[l * m + i] };
                    let b_at = |l: usize| if tb == No { b[l * n + j] } else { b[j * k + l] };
                    let mut terms = (0..k).map(|l| (a_at(l), b_at(l)));
                    let sum = match (ta, tb) {
                        (No, Yes) if m * n <= 1200 && k >= 32 => by_lanes(&mut terms),
                        _ => in_order(&mut terms),
                    };
                    assert_eq!(found, sum + c[e], "{m} x {n} x {k}, {ta:?} {tb:?}, {i}, {j}");
                }
                if has_own_roundings(m, n, k) {
                    let mut again = matrix(m, n, &c);
                    gemm(Arithmetic::Floats, Gemm::add(again.view_mut(), op_a, op_b));
                    assert_eq!(again.to_vec(), of_c.to_vec(), "{m} x {n} x {k}, {ta:?} {tb:?}");
                }
            }
        }
    }
}
