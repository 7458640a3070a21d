//! `elementwise.cu`, `map.cu`.

use super::{GpuBackend, flattened, same_shape};
use crate::backend::{Activation, Elementwise, Map};
use crate::cuda::engine::Engine;
use crate::cuda::op::Arg;
use crate::view::{View, ViewMut};

/// Returns the number that `prelude.cu` gives to an activation.
pub(super) fn number_of(activation: Activation) -> i32 {
    match activation {
        Activation::Sigmoid => 0,
        Activation::Tanh => 1,
        Activation::Relu => 2,
    }
}

impl<E: Engine> GpuBackend<E> {
    /// Launches a kernel over elements of matrices of one shape, the destination first; `others` follow the destination
    /// in the order of `args`.
    #[track_caller]
    pub(super) fn over<const N: usize>(
        &self,
        kernel: &'static str,
        dst: ViewMut<'_>,
        others: [View<'_>; N],
        args: impl FnOnce(Arg, [Arg; N]) -> Vec<Arg>,
    ) {
        others.iter().for_each(|other| same_shape(&dst.as_view(), other));
        let dst = self.mat(dst.as_view());
        let others = others.map(|other| self.mat(other));
        // Only if all of them can be, are they made one row.
        let flat = flattened([dst]);
        let flat_others = others.map(|other| flattened([other])[0]);
        let all = flat_others.iter().all(|other| other.rows == flat[0].rows && other.cols == flat[0].cols);
        let (dst, others) = if all { (flat[0], flat_others) } else { (dst, others) };
        self.fill(kernel, dst, &args(Arg::Mat(dst), others.map(Arg::Mat)));
    }

    pub(super) fn unary(&self, kernel: &'static str, dst: ViewMut<'_>, src: View<'_>) {
        self.over(kernel, dst, [src], |d, [s]| vec![d, s])
    }

    /// A kernel with the arguments dst, a factor and src.
    pub(super) fn scaled(&self, kernel: &'static str, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        self.over(kernel, dst, [src], |d, [s]| vec![d, Arg::Float(alpha), s])
    }

    /// A kernel with the arguments dst and two sources.
    fn binary(&self, kernel: &'static str, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        self.over(kernel, dst, [a, b], |d, [a, b]| vec![d, a, b])
    }

    /// A kernel with the arguments dst and three sources.
    fn ternary(&self, kernel: &'static str, dst: ViewMut<'_>, sources: [View<'_>; 3]) {
        self.over(kernel, dst, sources, |d, [a, b, c]| vec![d, a, b, c])
    }
}

impl<E: Engine> Elementwise for GpuBackend<E> {
    fn map(&self, dst: ViewMut<'_>, src: View<'_>, f: Map) {
        let with = |kernel, a: f32, b: f32| {
            self.over(kernel, dst, [src], |d, [s]| vec![d, s, Arg::Float(a), Arg::Float(b)])
        };
        match f {
            Map::Exp => self.unary("map_exp", dst, src),
            Map::Heaviside => self.unary("map_heaviside", dst, src),
            Map::Abs => self.unary("map_abs", dst, src),
            Map::Sign => self.unary("map_sign", dst, src),
            Map::Square => self.unary("map_square", dst, src),
            Map::SquareRoot => self.unary("map_square_root", dst, src),
            Map::Power(-0.5) => self.unary("map_inverse_square_root", dst, src),
            Map::Inverse => self.unary("map_inverse", dst, src),
            Map::Log { floor } => with("map_log", floor, 0.0),
            Map::Power(power) => with("map_power", power, 0.0),
            Map::Floor(value) => with("map_floor", value, 0.0),
            Map::Ceiling(value) => with("map_ceiling", value, 0.0),
            Map::Affine { scale, offset } => with("map_affine", scale, offset),
            Map::AwayFromZero { epsilon } => with("map_away_from_zero", epsilon, 0.0),
        }
    }
    fn activate(&self, dst: ViewMut<'_>, src: View<'_>, activation: Activation) {
        self.over("activate", dst, [src], |d, [s]| vec![d, s, Arg::Int(number_of(activation))])
    }
    fn activate_backward(
        &self,
        dst: ViewMut<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
        activation: Activation,
    ) {
        self.over("activate_backward", dst, [out_value, out_deriv], |d, [y, e]| {
            vec![d, y, e, Arg::Int(number_of(activation))]
        })
    }
    fn product(&self, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        self.binary("product", dst, a, b)
    }
    fn multiply(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.binary("product", dst, dst.as_view(), src)
    }
    fn divide(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.unary("divide", dst, src)
    }
    fn add_product(&self, dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>) {
        self.over("add_product", dst, [a, b], |d, [a, b]| vec![d, Arg::Float(alpha), a, b])
    }
    fn multiply_by_ratio(
        &self,
        dst: ViewMut<'_>,
        out_deriv: View<'_>,
        out_value: View<'_>,
        in_value: View<'_>,
    ) {
        self.ternary("multiply_by_ratio", dst, [out_deriv, out_value, in_value])
    }
    fn add_where_equal(&self, dst: ViewMut<'_>, a: View<'_>, c: View<'_>, b: View<'_>) {
        self.ternary("add_where_equal", dst, [a, c, b])
    }
    fn max_with(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.unary("max_with", dst, src)
    }
    fn exp_within(&self, dst: ViewMut<'_>, src: View<'_>, limit: f32) {
        self.over("exp_within", dst, [src], |d, [s]| vec![d, s, Arg::Float(limit)])
    }
    fn add_excess(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, limit: f32) {
        self.over("add_excess", dst, [src], |d, [s]| vec![d, Arg::Float(alpha), s, Arg::Float(limit)])
    }
}
