//! Turns gradients into changes of parameters.
//!
//! Backprop gives the factors of a gradient ([`crate::component::gradient`]). [`rules`] chooses, component by
//! component, the rule that turns it into a change. Each rule has a file: [`plain`], [`both_sides`] and [`by_rows`]
//! (natural gradient). [`Delta`] collects the changes of a network and keeps the states of the rules. [`second_thread`]
//! lets another thread compute the changes.

pub mod both_sides;
pub mod by_rows;
mod delta;
mod idle;
pub mod plain;
mod rules;
pub(crate) mod second_thread;

pub use delta::{Collected, Delta};
pub use plain::Plain;
pub use rules::Rules;
pub use second_thread::SecondThread;

use crate::component::gradient::{Products, Rows};
use crate::component::{Component, Context};
use crate::error::Result;
use crate::natural_gradient::NaturalGradient;
use crate::snapshot::Keeper;
use nnet3_matrix::{Matrix, ViewMut};

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

/// The linear part and bias that changes are added to.
pub struct Affine<'a> {
    /// O × I.
    pub linear: ViewMut<'a>,
    /// 1 × O.
    pub bias: Option<ViewMut<'a>>,
    pub rate: f32,
}

/// A parameter that changes are added to.
pub struct Target<'a> {
    /// Its number among the component's parameters.
    pub index: usize,
    pub value: ViewMut<'a>,
    pub rate: f32,
}

/// The learning rate of the changes that `target` collects; `None` if it collects none.
fn rate(target: &dyn Component) -> Option<f32> {
    target.as_updatable().map(|updatable| updatable.settings().learning_rate).filter(|&rate| rate != 0.0)
}

/// The matrices of `target` that [`Products`] are for.
fn linear_and_bias(target: &mut dyn Component) -> (&mut Matrix, Option<&mut Matrix>) {
    let (mut linear, mut bias) = (None, None);
    for parameter in target.parameters_mut() {
        match &*parameter.name {
            "linear" => linear = Some(parameter.value),
            "bias" => bias = Some(parameter.value),
            _ => {}
        }
    }
    (linear.expect("a component with products has a linear part"), bias)
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

/// Returns the destination for changes of a component with products; `None` if it does not learn.
fn affine(target: &mut dyn Component) -> Option<Affine<'_>> {
    let rate = rate(target)?;
    let (linear, bias) = linear_and_bias(target);
    let bias = bias.filter(|bias| !bias.is_empty()).map(|bias| bias.view_mut());
    Some(Affine { linear: linear.view_mut(), bias, rate })
}

/// Calls `apply` with the parameter of this name.
fn with_parameter(target: &mut dyn Component, name: &str, apply: impl FnOnce(Target<'_>)) {
    let Some(rate) = rate(target) else { return };
    let mut parameters = target.parameters_mut().into_iter().enumerate();
    let (index, parameter) = parameters.find(|(_, p)| p.name == name).expect("a parameter's name");
    apply(Target { index, value: parameter.value.view_mut(), rate });
}
