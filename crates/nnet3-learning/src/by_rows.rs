//! Natural gradient on one side: preconditions the rows that add up to a parameter's gradient, or the rows of the
//! gradient itself.

use super::{Affine, Plain, Rule, Target};
use crate::natural_gradient::NaturalGradient;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_component::gradient::{Products, Rows};
use nnet3_component::preconditioners::NaturalGradientSettings;
use nnet3_component::{Component, Context};
use nnet3_matrix::{Gemm, ViewMut};

/// An estimate for each parameter.
pub(crate) struct ByRows {
    estimates: Vec<NaturalGradient>,
    /// True if [`Rule::freeze`] has an effect.
    freezes: bool,
}

impl ByRows {
    pub fn new(settings: NaturalGradientSettings, parameters: usize, freezes: bool) -> ByRows {
        ByRows { estimates: vec![NaturalGradient::new(settings); parameters], freezes }
    }
}

impl Rule for ByRows {
    /// Preconditions the rows of the whole gradient, (linear, bias).
    fn products(&mut self, context: Context<'_>, to: Affine<'_>, products: &Products<'_>) {
        let Affine { linear, bias: Some(bias), rate } = to else {
            return Plain.products(context, to, products);
        };
        let (backend, rows, cols) = (context.backend, linear.rows(), linear.cols());
        let mut bias_gradient = context.workspace.take(1, rows);
        backend.col_sums(bias_gradient.view_mut(), 1.0, products.derivs(), 0.0);
        let mut gradient = context.workspace.take(rows, cols + 1);
        let gradient = gradient.view_mut();
        let of_linear = gradient.col_range(0..cols);
        match products {
            Products::Rows(p) if p.first.len() == 1 && p.taps.is_none() => {
                backend.gemm(Gemm::set(of_linear, p.deriv.transposed(), p.input))
            }
            _ => {
                backend.set(of_linear, 0.0);
                products.add_to_linear(context, of_linear, 1.0);
            }
        }
        backend.copy(gradient.col_range(cols..cols + 1), bias_gradient.view().reshape(rows, 1));
        let rate = rate * self.estimates[0].precondition(context, gradient);
        backend.add(linear, rate, of_linear.as_view());
        backend.add(bias.reshape(rows, 1), rate, gradient.col_range(cols..cols + 1).as_view());
    }

    fn rows(&mut self, context: Context<'_>, to: Target<'_>, rows: Rows<'_>) {
        let backend = context.backend;
        let mut copy;
        let rows = match rows {
            Rows::Scratch(rows) => rows,
            Rows::Sum(rows) => {
                copy = context.workspace.take(rows.rows(), rows.cols());
                backend.copy(copy.view_mut(), rows);
                copy.view_mut()
            }
            Rows::Products(values, derivs) => {
                copy = context.workspace.take(values.rows(), values.cols());
                backend.copy(copy.view_mut(), values);
                backend.multiply(copy.view_mut(), derivs);
                copy.view_mut()
            }
        };
        let rate = to.rate * self.estimates[to.index].precondition(context, rows);
        backend.col_sums(to.value, rate, rows.as_view(), 1.0);
    }

    fn dense(&mut self, context: Context<'_>, to: Target<'_>, gradient: ViewMut<'_>) {
        let norm = self.estimates[to.index].precondition(context, gradient);
        context.backend.add(to.value, to.rate * norm, gradient.as_view());
    }

    fn keep(&mut self, keeper: &mut Keeper<'_>, target: &dyn Component) -> Result<()> {
        let parameters = target.parameters();
        // If a gradient has both, the bias is one more column.
        let dims = parameters.iter().map(|p| [p.value.cols(), p.value.cols() + 1]);
        self.estimates.iter_mut().zip(dims).try_for_each(|(estimate, dims)| estimate.keep(keeper, &dims))
    }

    fn estimates<'s>(&'s mut self, out: &mut Vec<&'s mut NaturalGradient>) {
        out.extend(&mut self.estimates);
    }

    fn freeze(&mut self, freeze: bool) {
        if self.freezes {
            self.estimates.iter_mut().for_each(|estimate| estimate.freeze(freeze));
        }
    }
}
