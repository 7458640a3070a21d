//! Whole matrices: setting, copying, scaling, adding, transposing.

use super::CpuBackend;
use super::access::{Pair, Rows, RowsMut, flattened, pair, same_shape, split};
use super::elementwise::{combine, map_with};
use super::halves::{by_rows, part};
use super::nontemporal::{CopyRows, is_large};
use crate::backend::WholeMatrices;
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd, Vector};
use std::ops::Range;

pub(super) fn set(dst: ViewMut<'_>, value: f32) {
    combine(dst, [], move |_, []| value)
}

pub(super) fn scale(dst: ViewMut<'_>, factor: f32) {
    combine(dst, [], move |old, []| old * factor)
}

/// Side of the squares in which a transposing copy goes, so that both sides' cache lines are used up while at hand.
const BLOCK: usize = 16;

struct CopyTransposed<'a> {
    dst: RowsMut<'a>,
    src: Rows<'a>,
}

impl CopyTransposed<'_> {
    #[inline(always)]
    fn whole_square<V: Vector>(&mut self, i: usize, j: usize) {
        let mut rows = [V::splat(0.0); BLOCK];
        for k in 0..BLOCK {
            rows[k] = V::load(&self.src.row(i + k)[j..j + BLOCK]);
        }
        let columns = V::transposed(rows);
        for k in 0..BLOCK {
            columns[k].store(&mut self.dst.row(j + k)[i..i + BLOCK]);
        }
    }

    #[inline(always)]
    fn part_of_square(&mut self, rows: Range<usize>, cols: Range<usize>) {
        for j in cols {
            let to = &mut self.dst.row(j)[rows.clone()];
            for (to, i) in to.iter_mut().zip(rows.clone()) {
                *to = self.src.row(i)[j];
            }
        }
    }
}

impl Kernel for CopyTransposed<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let (rows, cols) = (self.src.rows(), self.src.cols());
        for j in (0..cols).step_by(BLOCK) {
            for i in (0..rows).step_by(BLOCK) {
                if i + BLOCK <= rows && j + BLOCK <= cols {
                    self.whole_square::<S::V>(i, j);
                } else {
                    self.part_of_square(i..rows.min(i + BLOCK), j..cols.min(j + BLOCK));
                }
            }
        }
    }
}

/// Copies the elements below the diagonal to above it.
pub(super) fn mirror_below(square: ViewMut<'_>) {
    let (mut rows, []) = split(square, []);
    for i in 1..rows.rows() {
        for j in 0..i {
            rows.row(j)[i] = rows.row(i)[j];
        }
    }
}

impl WholeMatrices for CpuBackend {
    fn set(&self, dst: ViewMut<'_>, value: f32) {
        set(dst, value)
    }
    fn copy(&self, dst: ViewMut<'_>, src: View<'_>) {
        same_shape(&dst.as_view(), &src);
        let (dst, [src]) = flattened(dst, [src]);
        if let Pair::Apart(mut dst, src) = pair(dst, src) {
            if is_large(&dst) {
                return simd::run(CopyRows { dst, src, from: Some });
            }
            for i in 0..dst.rows() {
                dst.row(i).copy_from_slice(src.row(i));
            }
        }
    }
    fn scale(&self, dst: ViewMut<'_>, factor: f32) {
        scale(dst, factor)
    }
    fn add(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        by_rows(dst, &[src], |rows| {
            combine(dst.row_range(rows.clone()), [part(src, rows)], move |old, [x]| old + alpha * x)
        })
    }
    fn copy_scaled(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        map_with(dst, src, move |x| alpha * x)
    }
    fn weighted_sum(&self, dst: ViewMut<'_>, terms: &[(f32, View<'_>)], adds: bool) {
        fn sum<const N: usize>(dst: ViewMut<'_>, terms: [(f32, View<'_>); N], adds: bool) {
            let (factors, sources) = (terms.map(|term| term.0), terms.map(|term| term.1));
            let sum = move |x: [f32; N]| (1..N).fold(factors[0] * x[0], |sum, k| sum + factors[k] * x[k]);
            match adds {
                true => combine(dst, sources, move |old, x| old + sum(x)),
                false => combine(dst, sources, move |_, x| sum(x)),
            }
        }
        let mut sources = [View::empty(); 6];
        let sources = &mut sources[..terms.len().min(6)];
        sources.iter_mut().zip(terms).for_each(|(source, term)| *source = term.1);
        by_rows(dst, sources, |rows| {
            let term = |k: usize| (terms[k].0, part(terms[k].1, rows.clone()));
            let dst = dst.row_range(rows.clone());
            match terms.len() {
                1 => sum::<1>(dst, std::array::from_fn(term), adds),
                2 => sum::<2>(dst, std::array::from_fn(term), adds),
                3 => sum::<3>(dst, std::array::from_fn(term), adds),
                4 => sum::<4>(dst, std::array::from_fn(term), adds),
                5 => sum::<5>(dst, std::array::from_fn(term), adds),
                6 => sum::<6>(dst, std::array::from_fn(term), adds),
                count => panic!("{count} terms"),
            }
        })
    }
    fn copy_transposed(&self, dst: ViewMut<'_>, src: View<'_>) {
        assert!(
            dst.rows() == src.cols() && dst.cols() == src.rows(),
            "{dst:?} from the transpose of {src:?}"
        );
        let (dst, [src]) = split(dst, [src]);
        simd::run(CopyTransposed { dst, src });
    }
}
