//! Element by element: one generic loop, [`combine`], and the functions that go through it.

use super::access::{self, Pair, Rows, RowsMut, flattened, pair, rows_at, same, same_shape, split};
use super::lanes::{RowSet, at, cut};
use super::math;
use super::nontemporal::{CopyRows, is_large};
use super::simd::{self, Kernel, Simd};
use super::vector::Vector;
use crate::backend::{Activation, Map};
use crate::view::{View, ViewMut};
use std::ops::Range;

/// A function of a destination's old element and N source elements.
pub(super) trait Function<const N: usize>: Copy {
    fn at<S: Simd>(self, old: f32, sources: [f32; N]) -> f32;
}

impl<const N: usize, F: Fn(f32, [f32; N]) -> f32 + Copy> Function<N> for F {
    #[inline(always)]
    fn at<S: Simd>(self, old: f32, sources: [f32; N]) -> f32 {
        self(old, sources)
    }
}

/// dst = f(dst, sources), row by row.
pub(super) struct Combine<'a, const N: usize, F> {
    pub dst: RowsMut<'a>,
    pub sources: [Rows<'a>; N],
    pub f: F,
}

impl<const N: usize, F: Function<N>> Kernel for Combine<'_, N, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        for i in 0..self.dst.rows() {
            let dst = self.dst.row(i);
            combine_row::<S, N, F>(dst, rows_at(&self.sources, i), self.f);
        }
    }
}

#[inline(always)]
pub(super) fn combine_row<S: Simd, const N: usize, F: Function<N>>(
    dst: &mut [f32],
    sources: RowSet<'_, N>,
    f: F,
) {
    let n = dst.len();
    let sources = cut(sources, 0..n);
    for j in 0..n {
        dst[j] = f.at::<S>(dst[j], at(sources, j));
    }
}

/// dst = f(dst, sources); no source may overlap dst.
#[track_caller]
fn combine<const N: usize>(
    dst: ViewMut<'_>,
    sources: [View<'_>; N],
    f: impl Fn(f32, [f32; N]) -> f32 + Copy,
) {
    for src in &sources {
        same_shape(&dst.as_view(), src);
    }
    let (dst, sources) = flattened(dst, sources);
    let (dst, sources) = split(dst, sources);
    simd::run(Combine { dst, sources, f })
}

/// A function of one element.
trait Unary: Copy {
    fn at<S: Simd>(self, x: f32) -> f32;
}

impl<F: Fn(f32) -> f32 + Copy> Unary for F {
    #[inline(always)]
    fn at<S: Simd>(self, x: f32) -> f32 {
        self(x)
    }
}

#[derive(Clone, Copy)]
struct Exp;
impl Unary for Exp {
    #[inline(always)]
    fn at<S: Simd>(self, x: f32) -> f32 {
        math::exp::<S>(x)
    }
}

#[derive(Clone, Copy)]
struct Log {
    floor: f32,
}
impl Unary for Log {
    #[inline(always)]
    fn at<S: Simd>(self, x: f32) -> f32 {
        math::log::<S>(if x < self.floor { self.floor } else { x })
    }
}

#[derive(Clone, Copy)]
struct Sigmoid;
impl Unary for Sigmoid {
    #[inline(always)]
    fn at<S: Simd>(self, x: f32) -> f32 {
        math::sigmoid::<S>(x)
    }
}

#[derive(Clone, Copy)]
struct Tanh;
impl Unary for Tanh {
    #[inline(always)]
    fn at<S: Simd>(self, x: f32) -> f32 {
        math::tanh::<S>(x)
    }
}

/// A unary function of the destination's own element, or of the one source.
#[derive(Clone, Copy)]
struct Of<U>(U);
impl<U: Unary> Function<0> for Of<U> {
    #[inline(always)]
    fn at<S: Simd>(self, old: f32, _: [f32; 0]) -> f32 {
        self.0.at::<S>(old)
    }
}
impl<U: Unary> Function<1> for Of<U> {
    #[inline(always)]
    fn at<S: Simd>(self, _: f32, [src]: [f32; 1]) -> f32 {
        self.0.at::<S>(src)
    }
}

/// dst = f(src); in place allowed.
#[track_caller]
fn map_unary(dst: ViewMut<'_>, src: View<'_>, f: impl Unary) {
    same_shape(&dst.as_view(), &src);
    let (dst, [src]) = flattened(dst, [src]);
    match pair(dst, src) {
        Pair::Same(dst) => simd::run(Combine { dst, sources: [], f: Of(f) }),
        Pair::Apart(dst, src) => simd::run(Combine { dst, sources: [src], f: Of(f) }),
    }
}

#[track_caller]
fn map_with(dst: ViewMut<'_>, src: View<'_>, f: impl Fn(f32) -> f32 + Copy) {
    map_unary(dst, src, f)
}

#[derive(Clone, Copy)]
struct ExpWithin {
    limit: f32,
}
impl Unary for ExpWithin {
    #[inline(always)]
    fn at<S: Simd>(self, x: f32) -> f32 {
        // NaN is not above the lower end.
        let x = if x > -self.limit { x } else { -self.limit };
        math::exp::<S>(if x > self.limit { self.limit } else { x })
    }
}

pub(super) fn exp_within(dst: ViewMut<'_>, src: View<'_>, limit: f32) {
    map_unary(dst, src, ExpWithin { limit })
}

pub(super) fn add_excess(dst: ViewMut<'_>, alpha: f32, src: View<'_>, limit: f32) {
    combine(dst, [src], move |old, [x]| {
        let above = if x > limit { x - limit } else { 0.0 };
        let below = if x < -limit { x + limit } else { 0.0 };
        old + alpha * (above + below)
    })
}

pub(super) fn set(dst: ViewMut<'_>, value: f32) {
    combine(dst, [], move |_, []| value)
}

pub(super) fn copy(dst: ViewMut<'_>, src: View<'_>) {
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

pub(super) fn scale(dst: ViewMut<'_>, factor: f32) {
    combine(dst, [], move |old, []| old * factor)
}

pub(super) fn add(dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
    combine(dst, [src], move |old, [x]| old + alpha * x)
}

pub(super) fn copy_scaled(dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
    map_with(dst, src, move |x| alpha * x)
}

pub(super) fn weighted_sum(dst: ViewMut<'_>, terms: &[(f32, View<'_>)], adds: bool) {
    fn sum<const N: usize>(dst: ViewMut<'_>, terms: [(f32, View<'_>); N], adds: bool) {
        let (factors, sources) = (terms.map(|term| term.0), terms.map(|term| term.1));
        let sum = move |x: [f32; N]| (1..N).fold(factors[0] * x[0], |sum, k| sum + factors[k] * x[k]);
        match adds {
            true => combine(dst, sources, move |old, x| old + sum(x)),
            false => combine(dst, sources, move |_, x| sum(x)),
        }
    }
    match *terms {
        [a] => sum(dst, [a], adds),
        [a, b] => sum(dst, [a, b], adds),
        [a, b, c] => sum(dst, [a, b, c], adds),
        [a, b, c, d] => sum(dst, [a, b, c, d], adds),
        [a, b, c, d, e] => sum(dst, [a, b, c, d, e], adds),
        [a, b, c, d, e, f] => sum(dst, [a, b, c, d, e, f], adds),
        _ => panic!("{} terms", terms.len()),
    }
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

pub(super) fn copy_transposed(dst: ViewMut<'_>, src: View<'_>) {
    assert!(dst.rows() == src.cols() && dst.cols() == src.rows(), "{dst:?} from the transpose of {src:?}");
    let (dst, [src]) = split(dst, [src]);
    simd::run(CopyTransposed { dst, src });
}

/// Copies what is below the diagonal to above it.
pub(super) fn mirror_below(square: ViewMut<'_>) {
    let (mut rows, []) = split(square, []);
    for i in 1..rows.rows() {
        for j in 0..i {
            rows.row(j)[i] = rows.row(i)[j];
        }
    }
}

pub(super) fn map(dst: ViewMut<'_>, src: View<'_>, f: Map) {
    match f {
        Map::Exp => map_unary(dst, src, Exp),
        Map::Log { floor } => map_unary(dst, src, Log { floor }),
        Map::Heaviside => map_with(dst, src, |x| if x > 0.0 { 1.0 } else { 0.0 }),
        Map::Abs => map_with(dst, src, |x: f32| x.abs()),
        Map::Sign => map_with(dst, src, |x| if x > 0.0 { 1.0 } else { -1.0 }),
        Map::Square => map_with(dst, src, |x| x * x),
        Map::SquareRoot => map_with(dst, src, |x: f32| x.sqrt()),
        Map::Power(-0.5) => map_with(dst, src, |x: f32| (1.0 / (x as f64).sqrt()) as f32),
        Map::Power(power) => map_with(dst, src, move |x: f32| x.powf(power)),
        Map::Inverse => map_with(dst, src, |x| 1.0 / x),
        Map::Floor(value) => map_with(dst, src, move |x| if x < value { value } else { x }),
        Map::Ceiling(value) => map_with(dst, src, move |x| if x > value { value } else { x }),
        Map::Affine { scale, offset } => map_with(dst, src, move |x| scale * x + offset),
        Map::AwayFromZero { epsilon } => map_with(dst, src, move |x: f32| {
            let nearest = if x >= 0.0 { epsilon } else { -epsilon };
            if x.abs() < epsilon { nearest } else { x }
        }),
    }
}

pub(super) fn activate(dst: ViewMut<'_>, src: View<'_>, activation: Activation) {
    match activation {
        Activation::Sigmoid => map_unary(dst, src, Sigmoid),
        Activation::Tanh => map_unary(dst, src, Tanh),
        Activation::Relu => map_with(dst, src, |x| if x < 0.0 { 0.0 } else { x }),
    }
}

/// The derivative of an activation at output y.
#[inline(always)]
pub(super) fn derivative(activation: Activation, y: f32) -> f32 {
    match activation {
        Activation::Sigmoid => y * (1.0 - y),
        Activation::Tanh => 1.0 - y * y,
        Activation::Relu => {
            if y > 0.0 {
                1.0
            } else {
                0.0
            }
        }
    }
}

pub(super) fn activate_backward(
    dst: ViewMut<'_>,
    out_value: View<'_>,
    out_deriv: View<'_>,
    activation: Activation,
) {
    /// dst = f(a, b); in place with either allowed.
    fn map_pair(dst: ViewMut<'_>, a: View<'_>, b: View<'_>, f: impl Fn(f32, f32) -> f32 + Copy) {
        same_shape(&dst.as_view(), &a);
        same_shape(&dst.as_view(), &b);
        match (same(&dst, &a), same(&dst, &b)) {
            (false, false) => combine(dst, [a, b], move |_, [a, b]| f(a, b)),
            (true, false) => combine(dst, [b], move |a, [b]| f(a, b)),
            (false, true) => combine(dst, [a], move |b, [a]| f(a, b)),
            (true, true) => combine(dst, [], move |x, []| f(x, x)),
        }
    }
    use Activation::{Relu, Sigmoid, Tanh};
    match activation {
        Sigmoid => map_pair(dst, out_value, out_deriv, |y, e| e * derivative(Sigmoid, y)),
        Tanh => map_pair(dst, out_value, out_deriv, |y, e| e * derivative(Tanh, y)),
        Relu => map_pair(dst, out_value, out_deriv, |y, e| e * derivative(Relu, y)),
    }
}

pub(super) fn product(dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
    same_shape(&dst.as_view(), &a);
    if same(&dst, &a) { multiply(dst, b) } else { combine(dst, [a, b], |_, [a, b]| a * b) }
}

pub(super) fn multiply(dst: ViewMut<'_>, src: View<'_>) {
    combine(dst, [src], |old, [x]| old * x)
}

pub(super) fn divide(dst: ViewMut<'_>, src: View<'_>) {
    combine(dst, [src], |old, [x]| old / x)
}

pub(super) fn add_product(dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>) {
    combine(dst, [a, b], move |old, [a, b]| old + alpha * a * b)
}

pub(super) fn multiply_by_ratio(
    dst: ViewMut<'_>,
    out_deriv: View<'_>,
    out_value: View<'_>,
    in_value: View<'_>,
) {
    #[inline(always)]
    fn at(e: f32, y: f32, x: f32) -> f32 {
        if x != 0.0 { e * (y / x) } else { e }
    }
    same_shape(&dst.as_view(), &out_deriv);
    if same(&dst, &out_deriv) {
        combine(dst, [out_value, in_value], |e, [y, x]| at(e, y, x))
    } else {
        combine(dst, [out_deriv, out_value, in_value], |_, [e, y, x]| at(e, y, x))
    }
}

pub(super) fn add_where_equal(dst: ViewMut<'_>, a: View<'_>, c: View<'_>, b: View<'_>) {
    combine(dst, [a, c, b], |old, [a, c, b]| if a == c { old + b } else { old })
}

pub(super) fn max_with(dst: ViewMut<'_>, src: View<'_>) {
    combine(dst, [src], |old, [x]| if x > old { x } else { old })
}

pub(super) fn upload(dst: ViewMut<'_>, data: &[f32]) {
    assert_eq!(data.len(), dst.rows() * dst.cols(), "elements for a {} x {} matrix", dst.rows(), dst.cols());
    if dst.is_empty() {
        return;
    }
    let mut dst = access::destination(dst);
    for (i, row) in data.chunks_exact(dst.cols()).enumerate() {
        dst.row(i).copy_from_slice(row);
    }
}

pub(super) fn download_into(src: View<'_>, out: &mut [f32]) {
    assert_eq!(out.len(), src.rows() * src.cols(), "elements of a {} x {} matrix", src.rows(), src.cols());
    if src.is_empty() {
        return;
    }
    let src = access::source(src);
    for (i, row) in out.chunks_exact_mut(src.cols()).enumerate() {
        row.copy_from_slice(src.row(i));
    }
}
