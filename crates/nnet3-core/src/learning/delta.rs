//! What a training step adds to a network's parameters, while it is collected.

use super::Rules;
use crate::component::Component;
use crate::index::ComponentId;
use crate::nnet::Nnet;

/// The changes of a network's parameters, and how gradients become changes.
pub struct Delta {
    nnet: Nnet,
    rules: Vec<Rules>,
}

impl Delta {
    /// No changes so far, of the parameters of `nnet`, by the rules that its components ask for.
    pub fn new(nnet: &Nnet) -> Delta {
        let mut changes = nnet.clone();
        changes.scale(0.0);
        let rules = changes.components().map(Rules::of).collect();
        Delta { nnet: changes, rules }
    }

    /// The network whose parameters are the changes.
    pub fn nnet(&self) -> &Nnet {
        &self.nnet
    }
    pub fn nnet_mut(&mut self) -> &mut Nnet {
        &mut self.nnet
    }

    /// Whether the estimates of natural gradient stay as they are from now on.
    pub fn freeze_natural_gradient(&mut self, freeze: bool) {
        self.rules.iter_mut().for_each(|rules| rules.freeze(freeze));
    }

    /// What collects the changes of a component, and its rules.
    pub(crate) fn component(&mut self, id: ComponentId) -> (&mut dyn Component, &mut Rules) {
        (self.nnet.component_mut(id), &mut self.rules[id.index()])
    }
}
