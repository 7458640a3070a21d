//! The changes that a training step makes to a network's parameters, while they are collected.

use super::Rules;
use crate::natural_gradient::update_together;
use nnet3_base::error::Result;
use nnet3_base::index::ComponentId;
use nnet3_base::snapshot::Keeper;
use nnet3_component::{Component, Context};
use nnet3_network::Nnet;

/// The quantity collected of a component: its changes or its gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collected {
    /// Changes of the parameters, by the rules and at the rate that the component asks for.
    Changes,
    /// Derivatives of the objective; with `preconditioned`, after natural gradient.
    Gradients {
        preconditioned: bool,
    },
    Nothing,
}

/// The changes of a network's parameters, and how gradients become changes.
pub struct Delta {
    nnet: Nnet,
    rules: Vec<Rules>,
    /// True if statistics of all components are collected here. Otherwise those of components without parameters go to the network
    /// that is trained.
    statistics: bool,
}

impl Delta {
    /// No changes so far, of the parameters of `nnet`, by the rules that its components ask for.
    pub fn new(nnet: &Nnet) -> Delta {
        let mut changes = nnet.clone();
        changes.scale(0.0);
        let rules = changes.components().map(Rules::of).collect();
        Delta { nnet: changes, rules, statistics: false }
    }

    /// As [`Delta::new`], with a choice of the quantity collected of each component.
    pub fn collecting(nnet: &Nnet, what: impl Fn(ComponentId) -> Collected) -> Delta {
        let mut changes = nnet.clone();
        changes.scale(0.0);
        for id in nnet.updatable_components() {
            let Some(updatable) = changes.component_mut(id).as_updatable_mut() else { continue };
            let (rate, is_gradient) = match what(id) {
                Collected::Changes => continue,
                Collected::Gradients { preconditioned } => (1.0, !preconditioned),
                Collected::Nothing => (0.0, true),
            };
            let settings = updatable.settings_mut();
            (settings.learning_rate, settings.is_gradient, settings.l2_regularize) = (rate, is_gradient, 0.0);
        }
        let rules = changes.components().map(Rules::of).collect();
        Delta { nnet: changes, rules, statistics: false }
    }

    /// Collects the statistics of all components from now on. The caller adds them to the network with the changes.
    pub fn collect_statistics(&mut self) {
        self.statistics = true;
    }

    /// True if statistics of all components go here.
    pub fn collects_statistics(&self) -> bool {
        self.statistics
    }

    /// Resets the changes and the rules to their initial state, with the present learning rates.
    pub fn restart(&mut self) {
        self.nnet.scale(0.0);
        self.rules = self.nnet.components().map(Rules::of).collect();
    }

    /// The network that holds the changes as its parameters.
    pub fn nnet(&self) -> &Nnet {
        &self.nnet
    }
    pub fn nnet_mut(&mut self) -> &mut Nnet {
        &mut self.nnet
    }

    /// Makes the updates of estimates of natural gradient that have been put off, which a device does side by side.
    pub fn update_estimates(&mut self, context: Context<'_>) {
        if context.backend.low_rank().is_some() {
            let mut estimates = Vec::new();
            self.rules.iter_mut().for_each(|rules| rules.estimates(&mut estimates));
            update_together(context, estimates.into_iter());
        }
    }

    /// Freezes or releases the estimates of natural gradient from now on.
    pub fn freeze_natural_gradient(&mut self, freeze: bool) {
        self.rules.iter_mut().for_each(|rules| rules.freeze(freeze));
    }

    /// Takes or puts back changes and the states of rules.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.nnet.keep(keeper)?;
        self.nnet.components().zip(&mut self.rules).try_for_each(|(target, rules)| rules.keep(keeper, target))
    }

    /// Returns the component that collects the changes, and its rules.
    pub fn component(&mut self, id: ComponentId) -> (&mut dyn Component, &mut Rules) {
        (self.nnet.component_mut(id), &mut self.rules[id.index()])
    }
}
