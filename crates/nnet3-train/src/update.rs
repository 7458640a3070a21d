//! One step of the parameters: l2 regularisation, limits on the change, and constraints (spec binaries §8.3, §8.5).

use crate::max_change::{ComponentLimit, MaxChange, MaxChangeCounts};
use nnet3_core::component::Context;
use nnet3_core::nnet::Nnet;
use nnet3_core::orthonormal::constrain;

/// delta -= 2 · `scale` · (learning rate) · (l2 constant) · parameters, component by component.
pub fn apply_l2(nnet: &Nnet, delta: &mut Nnet, scale: f32) {
    for id in nnet.updatable_components() {
        let component = delta.component_mut(id);
        let Some(settings) = component.as_updatable().map(|u| u.settings()) else { continue };
        let factor = -2.0 * scale * settings.learning_rate * settings.l2_regularize;
        if factor != 0.0 {
            component.add(factor, nnet.component(id));
        }
    }
}

/// How a change is added to the parameters.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The change is multiplied by this.
    pub scale: f32,
    /// Limit on the 2-norm of the whole change; 0 is none.
    pub max_param_change: f32,
    /// All limits are multiplied by this.
    pub max_change_scale: f32,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Stepped {
    Freely,
    /// Some limit was active.
    Limited(MaxChange),
    /// The change was infinite or not a number: nothing was done.
    Refused,
}

/// Adds `delta` to `nnet`, reduced where a component's or the global limit asks for it.
///
/// Statistics of components without parameters are in `nnet` already; `delta` has none.
pub fn step(nnet: &mut Nnet, delta: &Nnet, step: Step, counts: &mut MaxChangeCounts) -> Stepped {
    let ids = delta.updatable_components();
    let scale = f64::from(step.scale).abs();
    counts.updates += 1;
    if counts.components.len() != ids.len() {
        counts.components = ids.iter().map(|&id| (delta.component_name(id).to_owned(), 0)).collect();
    }
    let mut report = MaxChange { components: 0, updatable: ids.len(), smallest: None, global: None };
    let mut factors = Vec::with_capacity(ids.len());
    let mut square = 0.0;
    for (&id, (name, count)) in ids.iter().zip(&mut counts.components) {
        let component = delta.component(id);
        let Some(updatable) = component.as_updatable() else { continue };
        let own_square = updatable.dot_product(component);
        let max_change = updatable.settings().max_change;
        let limit = f64::from(max_change * step.max_change_scale);
        let change = own_square.sqrt() * scale;
        let mut factor = 1.0;
        if max_change != 0.0 && change > limit {
            factor = limit / change;
            *count += 1;
            report.components += 1;
            if report.smallest.as_ref().is_none_or(|smallest| factor < smallest.factor) {
                report.smallest = Some(ComponentLimit { component: name.clone(), factor, max_change });
            }
        }
        square += factor * factor * own_square;
        factors.push(factor);
    }
    let change = square.sqrt() * scale;
    let limit = f64::from(step.max_param_change * step.max_change_scale);
    // With infinite changes a component's factor is 0, and 0 · ∞ is not a number.
    if !change.is_finite() {
        return Stepped::Refused;
    }
    let mut global = 1.0;
    if step.max_param_change != 0.0 && change > limit {
        global = limit / change;
        counts.global += 1;
        report.global = Some((global, step.max_param_change));
    }
    for (&id, factor) in ids.iter().zip(factors) {
        let alpha = factor * global * f64::from(step.scale);
        nnet.component_mut(id).add(alpha as f32, delta.component(id));
    }
    if report.smallest.is_some() || report.global.is_some() {
        Stepped::Limited(report)
    } else {
        Stepped::Freely
    }
}

/// Moves each matrix with an orthonormal constraint, one time in four, towards it. Gives names of components and warnings.
pub fn constrain_orthonormal(nnet: &mut Nnet, context: Context<'_>) -> Vec<(String, String)> {
    let mut warnings = Vec::new();
    for id in nnet.updatable_components() {
        let (component, name) = nnet.component_and_name(id);
        let Some((constraint, matrix)) = component.orthonormal_constraint() else { continue };
        if constraint != 0.0
            && context.random.int(0, 3) == 0
            && let Some(warning) = constrain(context, matrix, constraint)
        {
            warnings.push((name.to_owned(), warning));
        }
    }
    warnings
}
