//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Turns gradients into changes of parameters.
//!
//! Backprop gives the factors of a gradient ([`nnet3_component::gradient`]). [`rules`] chooses, component by
//! component, the rule that turns it into a change. Each rule has a file: [`plain`], [`both_sides`] and [`by_rows`]
//! (natural gradient). [`Delta`] collects the changes of a network and keeps the states of the rules. [`second_thread`]
//! lets another thread compute the changes.

pub mod both_sides;
pub mod by_rows;
#[cfg(test)]
mod component_tests;
mod delta;
mod idle;
pub mod natural_gradient;
pub mod orthonormal;
mod plain;
mod rules;
pub mod second_thread;

pub use delta::{Collected, Delta};
pub use nnet3_component::plain::Plain;
pub use nnet3_component::target::{Affine, Target};
pub use rules::Rules;
pub use second_thread::SecondThread;

use crate::natural_gradient::NaturalGradient;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_component::gradient::{Products, Rows};
use nnet3_component::target::affine;
use nnet3_component::{Component, Context};
use nnet3_matrix::ViewMut;

/// A rule that turns the gradients of one component's parameters into changes.
pub trait Rule: Send {
    fn products(&mut self, context: Context<'_>, to: Affine<'_>, products: &Products<'_>);
    fn rows(&mut self, context: Context<'_>, to: Target<'_>, rows: Rows<'_>);
    /// `gradient` has the shape of the parameter, and may be overwritten.
    fn dense(&mut self, context: Context<'_>, to: Target<'_>, gradient: ViewMut<'_>);
    /// Takes or puts back estimates of the Fisher matrix, for changes of `target`.
    fn keep(&mut self, keeper: &mut Keeper<'_>, target: &dyn Component) -> Result<()> {
        let _ = (keeper, target);
        Ok(())
    }
    /// Adds the estimates of the Fisher matrix that it has.
    fn estimates<'s>(&'s mut self, out: &mut Vec<&'s mut NaturalGradient>) {
        let _ = out;
    }
    /// Freezes the estimate of the Fisher matrix: it does not change until released.
    fn freeze(&mut self, freeze: bool) {
        let _ = freeze;
    }
}

fn apply_products(
    rule: &mut dyn Rule,
    context: Context<'_>,
    target: &mut dyn Component,
    products: &Products<'_>,
) {
    if let Some(to) = affine(target) {
        rule.products(context, to, products);
    }
}
