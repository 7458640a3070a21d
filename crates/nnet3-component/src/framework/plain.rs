//! The plain gradient: a change is the learning rate times the gradient.

use crate::gradient::{GradientSink, Products, Rows};
use crate::target::{Affine, Target, affine, with_parameter};
use crate::{Component, Context};
use nnet3_matrix::ViewMut;

/// The rule. It has no state, and so is a sink for all components alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Plain {
    pub fn add_products(context: Context<'_>, to: Affine<'_>, products: &Products<'_>) {
        if let Some(bias) = to.bias {
            context.backend.col_sums(bias, to.rate, products.derivs(), 1.0);
        }
        products.add_to_linear(context, to.linear, to.rate);
    }

    pub fn add_rows(context: Context<'_>, to: Target<'_>, rows: Rows<'_>) {
        let Target { value, rate, .. } = to;
        match rows {
            Rows::Sum(rows) => context.backend.col_sums(value, rate, rows, 1.0),
            Rows::Scratch(rows) => context.backend.col_sums(value, rate, rows.as_view(), 1.0),
            Rows::Products(values, derivs) => context.backend.col_dots(value, rate, derivs, values, 1.0),
        }
    }

    pub fn add_dense(context: Context<'_>, to: Target<'_>, gradient: ViewMut<'_>) {
        context.backend.add(to.value, to.rate, gradient.as_view());
    }
}

impl GradientSink for Plain {
    fn products(&mut self, context: Context<'_>, target: &mut dyn Component, products: &Products<'_>) {
        if let Some(to) = affine(target) {
            Plain::add_products(context, to, products);
        }
    }
    fn rows(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, rows: Rows<'_>) {
        with_parameter(target, name, |to| Plain::add_rows(context, to, rows));
    }
    fn dense(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, gradient: ViewMut<'_>) {
        with_parameter(target, name, |to| Plain::add_dense(context, to, gradient));
    }
    fn part(&mut self, _: usize) -> &mut dyn GradientSink {
        self
    }
}
