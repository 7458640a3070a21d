//! The host's versions of primitives whose results, single numbers, stay on a device.

use super::access::{destination, source};
use super::reduce;
use crate::backend::{Band, Count, Factor};
use crate::memory::Accumulator;
use crate::norm_limits::{factor_of_all, factors_of_each};
use crate::view::{View, ViewMut};

pub(super) fn accumulate_dot(sums: &mut Accumulator, index: usize, alpha: f64, a: View<'_>, b: View<'_>) {
    sums.values_mut()[index] += alpha * reduce::dot(a, b);
}

pub(super) fn accumulate_row(sums: &mut Accumulator, first: usize, alpha: f64, row: View<'_>) {
    assert_eq!(row.rows(), 1, "rows");
    let sums = &mut sums.values_mut()[first..first + row.cols()];
    sums.iter_mut().zip(source(row).row(0)).for_each(|(sum, &x)| *sum += alpha * x as f64);
}

pub(super) fn limit_norms(
    factors: ViewMut<'_>,
    sums: &mut Accumulator,
    first: usize,
    limits: &mut Accumulator,
    scale: f64,
) {
    let count = limits.len() - 1;
    assert_eq!((factors.rows(), factors.cols()), (1, count + 1), "a factor for each limit");
    let (sums, limits) = (sums.values(), limits.values());
    let squares = &sums[first..first + count];
    let (all, finite) = factor_of_all(squares, &limits, scale.abs());
    let mut out = destination(factors);
    let out = out.row(0);
    out[count] = if finite { 1.0 } else { 0.0 };
    for (out, factor) in out.iter_mut().zip(factors_of_each(squares, &limits, scale.abs())) {
        *out = if finite { (factor * all * scale) as f32 } else { 0.0 };
    }
}

pub(super) fn compare_averages(
    dst: ViewMut<'_>,
    sums: &mut Accumulator,
    first: usize,
    blocks: usize,
    count: Count<'_>,
    band: Band,
) {
    let n = dst.cols();
    assert_eq!(dst.rows(), 1, "rows");
    let count = match count {
        Count::Known(count) => count,
        Count::OneMore(counts, index) => (1.0 + counts.values()[index]) as f32 as f64,
        Count::Sum(counts, index) => match counts.values()[index] {
            count if count > 0.0 => count,
            _ => return destination(dst).row(0).fill(0.0),
        },
    };
    let sums = &sums.values_mut()[first..first + blocks * n];
    let mut dst = destination(dst);
    for (j, out) in dst.row(0).iter_mut().enumerate() {
        let sum: f64 = sums.iter().skip(j).step_by(n).sum();
        let average = sum / blocks as f64 / count;
        *out = match average {
            _ if average <= band.low => 1.0,
            _ if average > band.high => -1.0,
            _ => 0.0,
        };
    }
}

pub(super) fn root_of_ratio(dst: ViewMut<'_>, sums: &mut Accumulator, first: usize) {
    assert_eq!((dst.rows(), dst.cols()), (1, 1), "one number");
    let [above, below] = [first, first + 1].map(|k| sums.values()[k]);
    destination(dst).row(0)[0] = if above == 0.0 { 1.0 } else { (above / below).sqrt() as f32 };
}

pub(super) fn orthogonal_step(factors: ViewMut<'_>, sums: &mut Accumulator, first: usize, dim: usize) {
    assert_eq!((factors.rows(), factors.cols()), (1, 2), "two numbers");
    let [square, products_square] = [first, first + 1].map(|k| sums.values()[k]);
    let step = crate::orthogonal_step::orthogonal_step(square, products_square, dim);
    destination(factors).row(0).copy_from_slice(&[step.keep as f32, step.take as f32]);
}

pub(super) fn proportion_above(
    dst: ViewMut<'_>,
    sums: &mut Accumulator,
    index: usize,
    count: f32,
    most: f32,
) {
    assert_eq!((dst.rows(), dst.cols()), (1, 2), "two numbers");
    let proportion = sums.values()[index] as f32 / count;
    let above = if proportion > most { 1.0 } else { 0.0 };
    destination(dst).row(0).copy_from_slice(&[proportion, above]);
}

pub(super) fn ratio_of_sums(
    dst: ViewMut<'_>,
    factor: Factor<'_>,
    sums: &mut Accumulator,
    [above, below]: [usize; 2],
    otherwise: f32,
) {
    assert_eq!((dst.rows(), dst.cols()), (1, 1), "one number");
    let factor = factor.times as f64 * source(factor.element).row(0)[0] as f64;
    let [above, below] = [above, below].map(|k| sums.values()[k]);
    let none = factor == 0.0 || below == 0.0;
    destination(dst).row(0)[0] = if none { otherwise } else { (factor * above / below) as f32 };
}
