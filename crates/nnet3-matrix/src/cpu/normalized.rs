//! Normalisation of columns together with the steps around it, and the derivative of all of it.

use super::CpuBackend;
use super::access::{Rows, RowsMut, destination, rows_at, same, same_shape, source, split, split_all};
use super::elementwise::combine_row;
use super::halves::{by_rows, part};
use super::lanes::cut;
use super::sums::{HEIGHT, WIDTH, add_pairs, add_rows, column_totals};
use crate::backend::{
    Activation, ColumnTerm, DerivBeforeRelu, Elementwise, Normalizations, NormalizedDeriv, NormalizedSum,
    Reductions, RowsWithVectors, Storage, WholeMatrices, cached_rows,
};
use crate::memory::{Accumulator, IndexTable};
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd};
use std::ops::Range;

/// The rows of moments.
const MEAN: usize = 0;
const SCALE: usize = 2;

#[track_caller]
fn three_rows(rows: &View<'_>, cols: usize) {
    assert_eq!((rows.rows(), rows.cols()), (3, cols), "{rows:?} for {cols} columns");
}

/// The masks and their numbers, checked: one for each row.
#[track_caller]
fn checked<'a>(
    masks: Option<(View<'a>, &'a IndexTable)>,
    (rows, cols): (usize, usize),
) -> Option<(View<'a>, &'a [i32])> {
    masks.map(|(masks, numbers)| {
        assert_eq!(masks.cols(), cols, "columns of the masks");
        assert_eq!(numbers.len(), rows, "numbers for a matrix of {rows} rows");
        (masks, numbers.values())
    })
}

#[inline(always)]
fn rectified(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// Makes two lines of numbers for each row; [`SumsOfLines`] sums the second, and the products of both.
trait Lines {
    fn set(&self, row: usize, columns: Range<usize>, a: &mut [f32], b: &mut [f32]);
}

/// Lines that are made at once.
const LINES: usize = 8;

/// sums = sums_factor · Σ b and dots = dots_factor · Σ a ⊙ b over rows, in the order of
/// [`Reductions::col_sums_and_dots`], for lines that are nowhere in memory.
struct SumsOfLines<'a, L> {
    sums: RowsMut<'a>,
    sums_factor: f32,
    dots: RowsMut<'a>,
    dots_factor: f32,
    rows: usize,
    lines: L,
}

impl<L: Lines> Kernel for SumsOfLines<'_, L> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let cols = self.sums.cols();
        let [mut a, mut b] = [[[0.0f32; WIDTH]; LINES]; 2];
        for start in (0..cols).step_by(WIDTH) {
            let range = start..cols.min(start + WIDTH);
            let width = range.len();
            let (mut sums, mut totals, mut dots) = ([0.0f32; WIDTH], [0.0f64; WIDTH], [0.0f64; WIDTH]);
            for top in (0..self.rows).step_by(HEIGHT) {
                let bottom = self.rows.min(top + HEIGHT);
                let (sums, totals) = (&mut sums[..width], &mut totals[..width]);
                sums.fill(0.0);
                for first in (top..bottom).step_by(LINES) {
                    let count = LINES.min(bottom - first);
                    for k in 0..count {
                        self.lines.set(first + k, range.clone(), &mut a[k][..width], &mut b[k][..width]);
                    }
                    let line = |k: usize| [&b[k][..width]];
                    let mut k = 0;
                    while k + 4 <= count {
                        add_rows(sums, [line(k), line(k + 1), line(k + 2), line(k + 3)], |[x]| x);
                        k += 4;
                    }
                    while k < count {
                        add_rows(sums, [line(k)], |[x]| x);
                        k += 1;
                    }
                    add_pairs::<S>(&mut dots[..width], 0..count, |k| (&a[k][..width], &b[k][..width]));
                }
                for (total, sum) in totals.iter_mut().zip(&*sums) {
                    *total += *sum as f64;
                }
            }
            for (row, factor, totals) in
                [(&mut self.sums, self.sums_factor, &totals), (&mut self.dots, self.dots_factor, &dots)]
            {
                for (out, &total) in row.row(0)[range.clone()].iter_mut().zip(totals) {
                    *out = factor * total as f32;
                }
            }
        }
    }
}

/// Both lines are the rectified row.
struct Rectified<'a>(Rows<'a>);

impl Lines for Rectified<'_> {
    #[inline(always)]
    fn set(&self, row: usize, columns: Range<usize>, a: &mut [f32], b: &mut [f32]) {
        let x = &self.0.row(row)[columns];
        for j in 0..a.len().min(x.len()).min(b.len()) {
            let y = rectified(x[j]);
            (a[j], b[j]) = (y, y);
        }
    }
}

/// A derivative and the values on its way back.
struct Derivs<'a> {
    deriv: Rows<'a>,
    input: Rows<'a>,
    mean: Rows<'a>,
    scale: Rows<'a>,
    masks: Option<(Rows<'a>, &'a [i32])>,
}

impl Lines for Derivs<'_> {
    /// The normalised input and the masked derivative.
    #[inline(always)]
    fn set(&self, row: usize, columns: Range<usize>, a: &mut [f32], b: &mut [f32]) {
        let lines = [self.input.row(row), self.mean.row(0), self.scale.row(0), self.deriv.row(row)];
        let [x, mean, scale, e] = cut(lines, columns.clone());
        let n = a.len();
        let (x, mean, scale, e, b) = (&x[..n], &mean[..n], &scale[..n], &e[..n], &mut b[..n]);
        for j in 0..n {
            a[j] = (rectified(x[j]) - mean[j]) * scale[j];
        }
        match self.masks {
            None => b.copy_from_slice(e),
            Some((masks, numbers)) => {
                let mask = &masks.row(numbers[row] as usize)[columns][..n];
                for j in 0..n {
                    b[j] = e[j] * mask[j];
                }
            }
        }
    }
}

/// The derivative before the rectification is applied.
struct DerivRows<'a> {
    dst: RowsMut<'a>,
    terms: Derivs<'a>,
    /// Mean of the derivative, and the factor of the normalised input.
    sums: [Rows<'a>; 2],
}

impl Kernel for DerivRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let Derivs { deriv, input, mean, scale, masks } = self.terms;
        let [[mean], [scale], [mean_deriv], [factor]] =
            [mean, scale, self.sums[0], self.sums[1]].map(|row| rows_at(&[row], 0));
        for i in 0..self.dst.rows() {
            let (dst, e, x) = (self.dst.row(i), deriv.row(i), input.row(i));
            match masks {
                None => combine_row::<S, 6, _>(
                    dst,
                    [e, x, mean, scale, mean_deriv, factor],
                    |_: f32, [e, x, m, s, d, f]: [f32; 6]| (e - d) * s + f * ((rectified(x) - m) * s),
                ),
                Some((masks, numbers)) => combine_row::<S, 7, _>(
                    dst,
                    [e, x, mean, scale, mean_deriv, factor, masks.row(numbers[i] as usize)],
                    |_: f32, [e, x, m, s, d, f, k]: [f32; 7]| (e * k - d) * s + f * ((rectified(x) - m) * s),
                ),
            }
        }
    }
}

/// Place of the elements that are normalised.
#[derive(Clone, Copy)]
enum Place<'a> {
    Apart(Rows<'a>),
    Values,
    Dst,
}

/// [`Normalizations::normalized_sum`].
struct SumRows<'a> {
    dst: RowsMut<'a>,
    values: Option<RowsMut<'a>>,
    src: Place<'a>,
    rectifies: bool,
    mean: Rows<'a>,
    scale: Rows<'a>,
    masks: Option<(Rows<'a>, &'a [i32])>,
    /// The matrix, its factor, its number of rows, and a number of each row.
    bypass: Option<(Rows<'a>, f32, Option<&'a [i32]>)>,
    /// The first of these rows in tables.
    first: usize,
}

/// Columns that are normalised before they are written.
const PART: usize = 512;

impl Kernel for SumRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        let cols = self.dst.cols();
        let mut part = [0.0f32; PART];
        for i in 0..self.dst.rows() {
            let mask = self.masks.map(|(masks, numbers)| masks.row(numbers[self.first + i] as usize));
            let other = self.bypass.map(|(other, factor, rows)| {
                let row = rows.map_or(self.first as i64 + i as i64, |rows| i64::from(rows[self.first + i]));
                (usize::try_from(row).ok().map(|row| other.row(row)), factor)
            });
            for start in (0..cols).step_by(PART) {
                let range = start..cols.min(start + PART);
                let part = &mut part[..range.len()];
                let dst = self.dst.row(i);
                let x = match (self.src, &mut self.values) {
                    (Place::Apart(src), _) => &src.row(i)[range.clone()],
                    (Place::Values, Some(values)) => &values.row(i)[range.clone()],
                    _ => &dst[range.clone()],
                };
                let lines = [x, &self.mean.row(0)[range.clone()], &self.scale.row(0)[range.clone()]];
                match self.rectifies {
                    true => combine_row::<S, 3, _>(part, lines, |_: f32, [x, m, s]: [f32; 3]| {
                        (rectified(x) - m) * s
                    }),
                    false => combine_row::<S, 3, _>(part, lines, |_: f32, [x, m, s]: [f32; 3]| (x - m) * s),
                }
                if let Some(values) = &mut self.values {
                    values.row(i)[range.clone()].copy_from_slice(part);
                }
                let dst = &mut self.dst.row(i)[range.clone()];
                if let Some(mask) = mask {
                    combine_row::<S, 1, _>(part, [&mask[range.clone()]], |x: f32, [k]: [f32; 1]| x * k);
                }
                match other {
                    Some((Some(other), factor)) => {
                        combine_row::<S, 2, _>(dst, [&other[range], part], |_: f32, [o, x]: [f32; 2]| {
                            factor * o + x
                        })
                    }
                    _ => dst.copy_from_slice(part),
                }
            }
        }
    }
}

impl Normalizations for CpuBackend {
    fn rectified_moments(
        &self,
        moments: ViewMut<'_>,
        src: View<'_>,
        factor: f32,
        epsilon: f32,
        sums: Option<[&mut Accumulator; 2]>,
    ) {
        three_rows(&moments.as_view(), src.cols());
        let per_row = 1.0 / src.rows() as f32;
        let (mean, _) = split(moments.row(0), [src]);
        let (square, [rows]) = split(moments.row(1), [src]);
        simd::run(SumsOfLines {
            sums: mean,
            sums_factor: per_row,
            dots: square,
            dots_factor: per_row,
            rows: src.rows(),
            lines: Rectified(rows),
        });
        self.finish_moments(moments, factor, epsilon);
        let Some([values, above]) = sums else { return };
        for rows in cached_rows(self.cached_elements(), src.rows(), src.cols()) {
            let src = src.row_range(rows);
            let to = values.values_mut();
            assert_eq!(to.len(), src.cols(), "sums over rows of {src:?}");
            column_totals(
                [src],
                |[x]| rectified(x),
                |start, part| {
                    to[start..].iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
                },
            );
            self.accumulate(above, 0, src, ColumnTerm::Derivative(Activation::Relu));
        }
    }

    fn normalized_sum(&self, dst: ViewMut<'_>, values: Option<ViewMut<'_>>, terms: &NormalizedSum<'_>) {
        let NormalizedSum { src, rectifies, moments, masks, bypass } = *terms;
        let (rows, cols) = (dst.rows(), dst.cols());
        for matrix in values.map(|values| values.as_view()).into_iter().chain([src]) {
            same_shape(&dst.as_view(), &matrix);
        }
        three_rows(&moments, cols);
        let masks = checked(masks, (rows, cols));
        if let Some(bypass) = bypass {
            assert_eq!(bypass.matrix.cols(), cols, "columns of the other term");
            match bypass.rows {
                None => assert_eq!(bypass.matrix.rows(), rows, "rows of the other term"),
                Some(table) => assert_eq!(table.len(), rows, "numbers for a matrix of {rows} rows"),
            }
        }
        let other = bypass.map_or(View::empty(), |bypass| bypass.matrix);
        let masked = masks.map_or(View::empty(), |(masks, _)| masks);
        let placed = values.map_or(View::empty(), |values| values.as_view());
        // Two threads may work on halves of the rows.
        by_rows(dst, &[src, placed, moments, masked, other], |rows| {
            let dst = dst.row_range(rows.clone());
            let values = values.map(|values| values.row_range(rows.clone()));
            let src = src.row_range(rows.clone());
            let at_values = values.as_ref().is_some_and(|values| same(values, &src));
            let constants = [moments, masked, other];
            let (dst_rows, values_rows, [moments, masked, other]) = match values {
                None => {
                    let ([dst], constants) = split_all([dst], constants);
                    (dst, None, constants)
                }
                Some(values) => {
                    let ([dst, values], constants) = split_all([dst, values], constants);
                    (dst, Some(values), constants)
                }
            };
            let place = if at_values {
                Place::Values
            } else if same(&dst, &src) {
                Place::Dst
            } else {
                if let Some(values) = values {
                    split(values, [src]);
                }
                Place::Apart(split(dst, [src]).1[0])
            };
            simd::run(SumRows {
                dst: dst_rows,
                values: values_rows,
                src: place,
                rectifies,
                mean: moments.only(MEAN),
                scale: moments.only(SCALE),
                masks: masks.map(|(_, numbers)| (masked, numbers)),
                bypass: bypass.map(|bypass| (other, bypass.factor, bypass.rows.map(|rows| rows.values()))),
                first: rows.start,
            })
        })
    }

    fn normalized_deriv_sums(&self, sums: ViewMut<'_>, factor: f32, terms: &NormalizedDeriv<'_>) {
        let NormalizedDeriv { out_deriv, masks, input, moments } = *terms;
        same_shape(&out_deriv, &input);
        let (rows, cols) = (input.rows(), input.cols());
        three_rows(&sums.as_view(), cols);
        three_rows(&moments, cols);
        let masks = checked(masks, (rows, cols));
        let sources = [out_deriv, input, moments, masks.map_or(View::empty(), |(masks, _)| masks)];
        split(sums, sources);
        let [deriv, input, moments, masked] = sources.map(source);
        simd::run(SumsOfLines {
            sums: destination(sums.row(0)),
            sums_factor: 1.0 / rows as f32,
            dots: destination(sums.row(1)),
            dots_factor: factor,
            rows,
            lines: Derivs {
                deriv,
                input,
                mean: moments.only(MEAN),
                scale: moments.only(SCALE),
                masks: masks.map(|(_, numbers)| (masked, numbers)),
            },
        });
        self.multiply(sums.row(1), terms.moments.row(SCALE));
    }

    fn normalized_deriv(
        &self,
        in_deriv: ViewMut<'_>,
        sums: View<'_>,
        terms: &NormalizedDeriv<'_>,
        rest: DerivBeforeRelu<'_>,
    ) {
        let NormalizedDeriv { out_deriv, masks, input, moments } = *terms;
        same_shape(&in_deriv.as_view(), &input);
        same_shape(&out_deriv, &input);
        let (rows, cols) = (input.rows(), input.cols());
        three_rows(&sums, cols);
        three_rows(&moments, cols);
        let masks = checked(masks, (rows, cols));
        let masked = masks.map_or(View::empty(), |(masks, _)| masks);
        let DerivBeforeRelu { mut squares, repair, copy } = rest;
        for rows in cached_rows(self.cached_elements(), rows, cols) {
            let dst = in_deriv.row_range(rows.clone());
            let (deriv, input) = (out_deriv.row_range(rows.clone()), input.row_range(rows.clone()));
            let numbers = masks.map(|(_, numbers)| &numbers[rows.clone()]);
            by_rows(dst, &[deriv, input, moments, sums, masked], |half| {
                let (deriv, input) = (part(deriv, half.clone()), part(input, half.clone()));
                let sources = [deriv, input, moments, masked, sums];
                let (dst, [deriv, input, moments, masked, sums]) =
                    split(dst.row_range(half.clone()), sources);
                let masks = numbers.map(|numbers| (masked, &numbers[half]));
                let (mean, scale) = (moments.only(MEAN), moments.only(SCALE));
                let terms = Derivs { deriv, input, mean, scale, masks };
                simd::run(DerivRows { dst, terms, sums: [sums.only(0), sums.only(1)] })
            });
            if let Some(squares) = &mut squares {
                self.accumulate(squares, 0, dst.as_view(), ColumnTerm::Square);
            }
            self.activate_backward(dst, input, dst.as_view(), Activation::Relu);
            if repair != 0.0 {
                self.add_to_rows(dst, repair, sums.row(2));
            }
            if let Some((copy, factor)) = copy {
                self.copy_scaled(copy.row_range(rows), factor, deriv);
            }
        }
    }
}
