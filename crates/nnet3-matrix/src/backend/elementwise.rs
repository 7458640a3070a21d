//! Functions of corresponding elements of matrices of one shape.

use super::whole::WholeMatrices;
use crate::view::{View, ViewMut};

/// Nonlinearities with a derivative that is a function of their output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// 1 / (1 + exp(-x)), computed without overflow; derivative y (1 - y).
    Sigmoid,
    /// Computed without overflow; derivative 1 - y².
    Tanh,
    /// max(x, 0); derivative 1 if y > 0 else 0.
    Relu,
}

/// Element-wise functions without a derivative of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Map {
    Exp,
    /// Natural logarithm of max(x, floor).
    Log {
        floor: f32,
    },
    /// 1 if x > 0 else 0.
    Heaviside,
    Abs,
    /// +1 if x > 0 else -1.
    Sign,
    Square,
    SquareRoot,
    /// x to this power.
    Power(f32),
    /// 1 / x.
    Inverse,
    /// max(x, value).
    Floor(f32),
    /// min(x, value).
    Ceiling(f32),
    /// scale · x + offset.
    Affine {
        scale: f32,
        offset: f32,
    },
    /// Elements with |x| < epsilon become +epsilon (x ≥ 0) or -epsilon (x < 0).
    AwayFromZero {
        epsilon: f32,
    },
}

/// Functions of corresponding elements. See the conventions of [`crate::backend`].
pub trait Elementwise: WholeMatrices {
    /// dst = f(src); in place allowed.
    fn map(&self, dst: ViewMut<'_>, src: View<'_>, f: Map);
    /// dst = activation(src); in place allowed.
    fn activate(&self, dst: ViewMut<'_>, src: View<'_>, activation: Activation);
    /// dst = out_deriv ⊙ activation'(out_value); in place allowed with either source.
    fn activate_backward(
        &self,
        dst: ViewMut<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
        activation: Activation,
    );
    /// dst = a ⊙ b; in place with `a` allowed.
    fn product(&self, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        if !dst.same_start(&a) {
            self.copy(dst, a);
        }
        self.multiply(dst, b);
    }
    /// dst ⊙= src.
    fn multiply(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst ⊘= src: divides each element by that of src.
    fn divide(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst += alpha · a ⊙ b (a and b may be the same view).
    fn add_product(&self, dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>);
    /// dst = out_deriv · (out_value / in_value) where in_value ≠ 0, else out_deriv; in place with `out_deriv` allowed.
    fn multiply_by_ratio(
        &self,
        dst: ViewMut<'_>,
        out_deriv: View<'_>,
        out_value: View<'_>,
        in_value: View<'_>,
    );
    /// dst\[i\] += b\[i\] wherever a\[i\] equals c\[i\] exactly.
    fn add_where_equal(&self, dst: ViewMut<'_>, a: View<'_>, c: View<'_>, b: View<'_>);
    /// dst = max(dst, src).
    fn max_with(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst = exp(x) where x is src limited to the range from -limit to limit, NaN being the lower end; in place allowed.
    fn exp_within(&self, dst: ViewMut<'_>, src: View<'_>, limit: f32);
    /// dst += alpha · (x - (x limited to the range from -limit to limit)) for x of src. NaN adds zero.
    fn add_excess(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, limit: f32);
}
