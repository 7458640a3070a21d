//! The parameters of a component as destinations of changes.

use crate::Component;
use nnet3_matrix::{Matrix, ViewMut};

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
pub fn rate(target: &dyn Component) -> Option<f32> {
    target.as_updatable().map(|updatable| updatable.settings().learning_rate).filter(|&rate| rate != 0.0)
}

/// The matrices of `target` that [`Products`](crate::Products) are for.
pub fn linear_and_bias(target: &mut dyn Component) -> (&mut Matrix, Option<&mut Matrix>) {
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

/// Returns the destination for changes of a component with products; `None` if it does not learn.
pub fn affine(target: &mut dyn Component) -> Option<Affine<'_>> {
    let rate = rate(target)?;
    let (linear, bias) = linear_and_bias(target);
    let bias = bias.filter(|bias| !bias.is_empty()).map(|bias| bias.view_mut());
    Some(Affine { linear: linear.view_mut(), bias, rate })
}

/// Calls `apply` with the parameter of this name.
pub fn with_parameter(target: &mut dyn Component, name: &str, apply: impl FnOnce(Target<'_>)) {
    let Some(rate) = rate(target) else { return };
    let mut parameters = target.parameters_mut().into_iter().enumerate();
    let (index, parameter) = parameters.find(|(_, p)| p.name == name).expect("a parameter's name");
    apply(Target { index, value: parameter.value.view_mut(), rate });
}
