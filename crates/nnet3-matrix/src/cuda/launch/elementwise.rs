//! `elementwise.cu`, `map.cu`, `transpose.cu`, `broadcast.cu`, `random.cu`.

use super::{GpuBackend, elements, flattened, same_shape};
use crate::backend::{Activation, Map};
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Op};
use crate::view::{View, ViewMut};

/// Returns the number that `prelude.cu` gives to an activation.
pub(super) fn number_of(activation: Activation) -> i32 {
    match activation {
        Activation::Sigmoid => 0,
        Activation::Tanh => 1,
        Activation::Relu => 2,
    }
}

/// Side of the squares of `transpose.cu`, and rows of its blocks.
const SIDE: u32 = 32;
const SQUARE_ROWS: u32 = 8;

impl<E: Engine> GpuBackend<E> {
    /// A kernel over elements of matrices of one shape, the destination first; `others` come after the destination in
    /// the order that `args` gives them.
    #[track_caller]
    pub(in crate::cuda) fn over<const N: usize>(
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

    pub(in crate::cuda) fn unary(&self, kernel: &'static str, dst: ViewMut<'_>, src: View<'_>) {
        self.over(kernel, dst, [src], |d, [s]| vec![d, s])
    }

    pub(in crate::cuda) fn set_value(&self, dst: ViewMut<'_>, value: f32) {
        self.over("set_value", dst, [], |d, []| vec![d, Arg::Float(value)])
    }

    pub(in crate::cuda) fn copy_values(&self, dst: ViewMut<'_>, src: View<'_>) {
        same_shape(&dst.as_view(), &src);
        if !dst.same_start(&src) {
            self.unary("copy_values", dst, src)
        }
    }

    pub(in crate::cuda) fn scale_values(&self, dst: ViewMut<'_>, factor: f32) {
        self.over("scale_values", dst, [], |d, []| vec![d, Arg::Float(factor)])
    }

    /// dst, a factor, src.
    pub(in crate::cuda) fn scaled(&self, kernel: &'static str, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        self.over(kernel, dst, [src], |d, [s]| vec![d, Arg::Float(alpha), s])
    }

    pub(in crate::cuda) fn add_product_of(&self, dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>) {
        self.over("add_product", dst, [a, b], |d, [a, b]| vec![d, Arg::Float(alpha), a, b])
    }

    /// dst and two sources.
    pub(in crate::cuda) fn binary(&self, kernel: &'static str, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        self.over(kernel, dst, [a, b], |d, [a, b]| vec![d, a, b])
    }

    /// dst and three sources.
    pub(in crate::cuda) fn ternary(&self, kernel: &'static str, dst: ViewMut<'_>, sources: [View<'_>; 3]) {
        self.over(kernel, dst, sources, |d, [a, b, c]| vec![d, a, b, c])
    }

    pub(in crate::cuda) fn transpose(&self, dst: ViewMut<'_>, src: View<'_>) {
        assert!(
            dst.rows() == src.cols() && dst.cols() == src.rows(),
            "{dst:?} from the transpose of {src:?}"
        );
        let (d, s) = (self.mat(dst.as_view()), self.mat(src));
        if s.rows > 0 {
            let grid = [s.cols.div_ceil(SIDE).min(super::WIDE), s.rows.div_ceil(SIDE).min(super::HIGH)];
            self.push(Launch::new("copy_transposed", grid, [SIDE, SQUARE_ROWS], &[Arg::Mat(d), Arg::Mat(s)]));
        }
    }

    pub(in crate::cuda) fn map_values(&self, dst: ViewMut<'_>, src: View<'_>, f: Map) {
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

    pub(in crate::cuda) fn activation(&self, dst: ViewMut<'_>, src: View<'_>, activation: Activation) {
        self.over("activate", dst, [src], |d, [s]| vec![d, s, Arg::Int(number_of(activation))])
    }

    pub(in crate::cuda) fn activation_backward(
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

    /// A kernel over elements of dst, with 1 × cols vectors or rows × 1 ones, and matrices of dst's shape.
    #[track_caller]
    pub(in crate::cuda) fn broadcast(&self, kernel: &'static str, dst: ViewMut<'_>, args: &[Broadcast<'_>]) {
        let d = self.mat(dst.as_view());
        let mut list = vec![Arg::Mat(d)];
        for arg in args {
            let (view, shape) = match *arg {
                Broadcast::Factor(x) => {
                    list.push(Arg::Float(x));
                    continue;
                }
                Broadcast::Row(row) => (row, (1, dst.cols())),
                Broadcast::Col(col) => (col, (dst.rows(), 1)),
                Broadcast::Matrix(m) => (m, (dst.rows(), dst.cols())),
            };
            assert!(
                (view.rows(), view.cols()) == shape,
                "{view:?} where {} x {} is expected",
                shape.0,
                shape.1
            );
            list.push(Arg::Mat(self.mat(view)));
        }
        self.fill(kernel, d, &list)
    }

    /// Random numbers: no two calls have the same key, so these are in no segment that comes again.
    pub(in crate::cuda) fn random(&self, kernel: &'static str, dst: ViewMut<'_>, key: u64) {
        let d = self.mat(dst.as_view());
        if d.rows > 0 {
            let (grid, block) = elements(d.rows, d.cols);
            let launch = Launch::new(kernel, grid, block, &[Arg::Mat(d), Arg::Key(key)]);
            self.queue.lock().push_once(Op::Launch(launch));
        }
    }
}

/// An argument of a kernel of `broadcast.cu`.
pub(in crate::cuda) enum Broadcast<'a> {
    Factor(f32),
    Row(View<'a>),
    Col(View<'a>),
    Matrix(View<'a>),
}
