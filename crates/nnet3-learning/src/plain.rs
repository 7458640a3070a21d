//! The plain gradient ([`Plain`]) as a rule.

use super::{Affine, Plain, Rule, Target};
use nnet3_component::Context;
use nnet3_component::gradient::{Products, Rows};
use nnet3_matrix::ViewMut;

impl Rule for Plain {
    fn products(&mut self, context: Context<'_>, to: Affine<'_>, products: &Products<'_>) {
        Plain::add_products(context, to, products);
    }
    fn rows(&mut self, context: Context<'_>, to: Target<'_>, rows: Rows<'_>) {
        Plain::add_rows(context, to, rows);
    }
    fn dense(&mut self, context: Context<'_>, to: Target<'_>, gradient: ViewMut<'_>) {
        Plain::add_dense(context, to, gradient);
    }
}
