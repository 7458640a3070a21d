//! Chooses the rule of each component.

use super::both_sides::BothSides;
use super::by_rows::ByRows;
use super::{Plain, Rule, apply_products};
use crate::natural_gradient::NaturalGradient;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_component::composite::Composite;
use nnet3_component::gradient::{GradientSink, Products, Rows};
use nnet3_component::preconditioners::Preconditioning;
use nnet3_component::target::with_parameter;
use nnet3_component::{Component, Context};
use nnet3_matrix::ViewMut;

/// The rules of one component.
pub enum Rules {
    /// The one rule of the component; `None` while the second thread has it.
    One(Option<Box<dyn Rule>>),
    /// The rules of a composite component's parts.
    Parts(Vec<Rules>),
}

impl Rules {
    /// The rules that a component's settings ask for.
    pub fn of(component: &dyn Component) -> Rules {
        if let Some(composite) = component.downcast_ref::<Composite>() {
            return Rules::Parts(composite.parts().iter().map(|part| Rules::of(&**part)).collect());
        }
        let updatable = component.as_updatable().filter(|updatable| !updatable.settings().is_gradient);
        let preconditioning =
            updatable.map_or(Preconditioning::None, |updatable| updatable.preconditioning());
        Rules::One(Some(match preconditioning {
            Preconditioning::None => Box::new(Plain),
            Preconditioning::BothSides(settings) => Box::new(BothSides::new(settings)),
            Preconditioning::Rows { settings, freezes } => {
                Box::new(ByRows::new(settings, component.parameters().len(), freezes))
            }
        }))
    }

    pub(crate) fn estimates<'s>(&'s mut self, out: &mut Vec<&'s mut NaturalGradient>) {
        match self {
            Rules::One(rule) => rule.iter_mut().for_each(|rule| rule.estimates(out)),
            Rules::Parts(parts) => parts.iter_mut().for_each(|part| part.estimates(out)),
        }
    }

    pub(crate) fn freeze(&mut self, freeze: bool) {
        match self {
            Rules::One(rule) => rule.iter_mut().for_each(|rule| rule.freeze(freeze)),
            Rules::Parts(parts) => parts.iter_mut().for_each(|part| part.freeze(freeze)),
        }
    }

    pub(crate) fn keep(&mut self, keeper: &mut Keeper<'_>, target: &dyn Component) -> Result<()> {
        match (self, target.downcast_ref::<Composite>()) {
            (Rules::Parts(rules), Some(composite)) => {
                let mut pairs = rules.iter_mut().zip(composite.parts());
                pairs.try_for_each(|(rules, part)| rules.keep(keeper, &**part))
            }
            (rules, _) => rules.rule().keep(keeper, target),
        }
    }

    fn rule(&mut self) -> &mut dyn Rule {
        match self {
            Rules::One(Some(rule)) => &mut **rule,
            Rules::One(None) => panic!("a rule is used while the second thread has it"),
            Rules::Parts(_) => panic!("a composite component has no parameters but those of its parts"),
        }
    }
}

impl GradientSink for Rules {
    fn products(&mut self, context: Context<'_>, target: &mut dyn Component, products: &Products<'_>) {
        apply_products(self.rule(), context, target, products);
    }
    fn rows(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, rows: Rows<'_>) {
        with_parameter(target, name, |to| self.rule().rows(context, to, rows));
    }
    fn dense(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, gradient: ViewMut<'_>) {
        with_parameter(target, name, |to| self.rule().dense(context, to, gradient));
    }
    fn part(&mut self, i: usize) -> &mut dyn GradientSink {
        match self {
            Rules::Parts(parts) => &mut parts[i],
            Rules::One(_) => self,
        }
    }
}
