//! Element by element: one generic loop, [`combine`], and the functions that go through it.

use super::CpuBackend;
use super::access::{Pair, Rows, RowsMut, flattened, pair, rows_at, same, same_shape, split};
use super::halves::{by_rows, part};
use super::lanes::{RowSet, at, cut};
use super::math;
use crate::backend::{Activation, Elementwise, Map};
use crate::view::{View, ViewMut};
use kaldi_simd::{self as simd, Kernel, Simd};

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
pub(super) fn combine<const N: usize>(
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

/// A unary function of the destination's own element, or of the single source.
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
pub(super) fn map_with(dst: ViewMut<'_>, src: View<'_>, f: impl Fn(f32) -> f32 + Copy) {
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

fn multiply(dst: ViewMut<'_>, src: View<'_>) {
    combine(dst, [src], |old, [x]| old * x)
}

impl Elementwise for CpuBackend {
    fn map(&self, dst: ViewMut<'_>, src: View<'_>, f: Map) {
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
    fn activate(&self, dst: ViewMut<'_>, src: View<'_>, activation: Activation) {
        by_rows(dst, &[src], |rows| {
            let (dst, src) = (dst.row_range(rows.clone()), part(src, rows));
            match activation {
                Activation::Sigmoid => map_unary(dst, src, Sigmoid),
                Activation::Tanh => map_unary(dst, src, Tanh),
                Activation::Relu => map_with(dst, src, |x| if x < 0.0 { 0.0 } else { x }),
            }
        })
    }
    fn activate_backward(
        &self,
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
    fn product(&self, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        same_shape(&dst.as_view(), &a);
        if same(&dst, &a) { multiply(dst, b) } else { combine(dst, [a, b], |_, [a, b]| a * b) }
    }
    fn multiply(&self, dst: ViewMut<'_>, src: View<'_>) {
        multiply(dst, src)
    }
    fn divide(&self, dst: ViewMut<'_>, src: View<'_>) {
        combine(dst, [src], |old, [x]| old / x)
    }
    fn add_product(&self, dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>) {
        combine(dst, [a, b], move |old, [a, b]| old + alpha * a * b)
    }
    fn multiply_by_ratio(
        &self,
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
    fn add_where_equal(&self, dst: ViewMut<'_>, a: View<'_>, c: View<'_>, b: View<'_>) {
        combine(dst, [a, c, b], |old, [a, c, b]| if a == c { old + b } else { old })
    }
    fn max_with(&self, dst: ViewMut<'_>, src: View<'_>) {
        combine(dst, [src], |old, [x]| if x > old { x } else { old })
    }
    fn exp_within(&self, dst: ViewMut<'_>, src: View<'_>, limit: f32) {
        map_unary(dst, src, ExpWithin { limit })
    }
    fn add_excess(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, limit: f32) {
        combine(dst, [src], move |old, [x]| {
            let above = if x > limit { x - limit } else { 0.0 };
            let below = if x < -limit { x + limit } else { 0.0 };
            old + alpha * (above + below)
        })
    }
}
