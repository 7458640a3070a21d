//! One step of the parameters: l2 regularisation, limits on the change, and constraints.

use std::sync::Arc;

use crate::ledger::{CONSTRAINT_ENTRIES, Entry, Ledger, Place};
use crate::max_change::Limits;
use crate::norm_limits::limit_norms;
use nnet3_core::component::Context;
use nnet3_core::index::ComponentId;
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_core::orthonormal::{Norms, constrain};
use nnet3_matrix::{Accumulator, Device, Factor, Matrix};

/// delta -= 2 · `scale` · (learning rate) · (l2 constant) · parameters, component by component.
pub fn apply_l2(nnet: &Nnet, delta: &mut Delta, scale: f32) {
    for id in nnet.updatable_components() {
        let component = delta.nnet_mut().component_mut(id);
        let Some(settings) = component.as_updatable().map(|u| u.settings()) else { continue };
        let factor = -2.0 * scale * settings.learning_rate * settings.l2_regularize;
        if factor != 0.0 {
            component.add(factor, nnet.component(id));
        }
    }
}

/// Options for adding a change to the parameters.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The change is multiplied by this.
    pub scale: f32,
    /// Limit on the 2-norm of the whole change; 0 for no limit.
    pub max_param_change: f32,
    /// All limits are multiplied by this.
    pub max_change_scale: f32,
}

/// Adds changes to parameters, reduced by limits. All numbers stay on the device.
pub struct Stepper {
    device: Device,
    ids: Vec<ComponentId>,
    /// Components without parameters whose statistics are part of the change.
    statistics: Vec<ComponentId>,
    components: Arc<[(String, f32)]>,
    /// A number for each component, and whether the last change was made (1 or 0).
    factors: Matrix,
    /// Limits on the device, for each factor of theirs that has occurred.
    limits: Vec<(f32, Accumulator)>,
}

impl Stepper {
    /// Makes a stepper for networks like this one. With `own_limits`, the components' own max-change counts.
    pub fn new(nnet: &Nnet, own_limits: bool, device: &Device) -> Stepper {
        Stepper::of_components(nnet, nnet.updatable_components(), own_limits, device)
    }

    /// Makes a stepper for these components of networks like this one.
    pub(crate) fn of_components(
        nnet: &Nnet,
        ids: Vec<ComponentId>,
        own_limits: bool,
        device: &Device,
    ) -> Stepper {
        let max_change = |id| match own_limits {
            true => nnet.component(id).as_updatable().map_or(0.0, |u| u.settings().max_change),
            false => 0.0,
        };
        let components = ids.iter().map(|&id| (nnet.component_name(id).to_owned(), max_change(id))).collect();
        let factors = Matrix::zeros(device, 1, ids.len() + 1);
        Stepper {
            device: device.clone(),
            ids,
            statistics: Vec::new(),
            components,
            factors,
            limits: Vec::new(),
        }
    }

    /// Makes the statistics of components without parameters a part of the change, with the factor of the first component.
    pub(crate) fn add_statistics(&mut self, nnet: &Nnet) {
        let all = (0..nnet.components().count()).map(ComponentId::from);
        self.statistics = all.filter(|id| !self.ids.contains(id)).collect();
    }

    /// Numbers that a step takes in the ledger.
    pub fn entries(&self) -> usize {
        self.ids.len()
    }

    /// Adds `delta` to `nnet`, reduced by the components' limits and the global one. A change that is not finite is
    /// dropped. Writes the squared norms to the ledger, which must have room for them.
    ///
    /// Statistics of components without parameters are in `nnet` already, unless [`Stepper::add_statistics`] was called.
    pub fn step(&mut self, nnet: &mut Nnet, delta: &Delta, step: Step, minibatch: u64, ledger: &mut Ledger) {
        let limits = Limits {
            components: self.components.clone(),
            max_param_change: step.max_param_change,
            factor: step.max_change_scale,
            scale: step.scale,
        };
        let Place { sums, index } = ledger.reserve(self.ids.len());
        for (k, &id) in self.ids.iter().enumerate() {
            if let Some(updatable) = delta.nnet().component(id).as_updatable() {
                updatable.accumulate_square(sums, index + k);
            }
        }
        let known = match self.limits.iter().position(|(factor, _)| *factor == limits.factor) {
            Some(known) => known,
            None => {
                self.limits.push((limits.factor, Accumulator::from_vec(limits.numbers())));
                self.limits.len() - 1
            }
        };
        let numbers = &mut self.limits[known].1;
        let scale = f64::from(step.scale);
        limit_norms(&self.device, self.factors.view_mut(), sums, index, numbers, scale);
        for (k, &id) in self.ids.iter().enumerate() {
            let alpha = self.factor(k, 1.0);
            nnet.component_mut(id).add_by(&*self.device, alpha, delta.nnet().component(id));
        }
        for &id in self.statistics.iter().filter(|_| !self.ids.is_empty()) {
            let alpha = self.factor(0, 1.0);
            nnet.component_mut(id).add_stats_by(&*self.device, alpha, delta.nnet().component(id));
        }
        ledger.note(index, Entry::Change { minibatch, limits });
    }

    /// Multiplies the parameters of `delta` after its step, for momentum. They become zero if the step was refused.
    pub fn keep(&self, delta: &mut Delta, times: f32) {
        let factor = self.factor(self.ids.len(), times);
        for &id in self.ids.iter().chain(&self.statistics) {
            delta.nnet_mut().component_mut(id).scale_by(&*self.device, factor);
        }
    }

    /// Sets the changes of its components to zero.
    pub fn forget(&self, delta: &mut Delta) {
        self.ids.iter().for_each(|&id| delta.nnet_mut().component_mut(id).scale(0.0));
    }

    fn factor(&self, k: usize, times: f32) -> Factor<'_> {
        Factor { times, element: self.factors.view().col_range(k..k + 1) }
    }
}

/// Moves each matrix with an orthonormal constraint, one time in four, towards it. The ledger gets the norms by which
/// warnings are given; it has room for each component.
pub(crate) fn constrain_orthonormal(
    nnet: &mut Nnet,
    context: Context<'_>,
    minibatch: u64,
    ledger: &mut Ledger,
) {
    for id in nnet.updatable_components() {
        let (component, name) = nnet.component_and_name(id);
        let Some((constraint, matrix)) = component.orthonormal_constraint() else { continue };
        if constraint == 0.0 || context.random.int(0, 3) != 0 {
            continue;
        }
        let small = matrix.rows().min(matrix.cols());
        let Place { sums, index } = ledger.reserve(CONSTRAINT_ENTRIES);
        constrain(context, matrix, constraint, Norms { sums, index });
        if constraint < 0.0 {
            ledger.note(index, Entry::Constraint { minibatch, component: name.to_owned(), small });
        }
    }
}
