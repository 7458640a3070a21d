//! Rules applied to a network: which part learns by which optimiser, with which decay and limits.

use crate::error::{Error, Result};
use crate::learn::optimizer::Optimizer;
use crate::learn::rules::{Clip, FROZEN, Learn, MaxChangeRule, Rules, Settings};
use crate::learn::schedule::Schedule;
use crate::objective::cost::Costs;
use nnet3_core::component::kind_of_parameter;
use nnet3_core::config::ConfigLine;
use nnet3_core::index::ComponentId;
use nnet3_core::learning::Collected;
use nnet3_core::nnet::Nnet;
use nnet3_core::nnet::edit::{matches_pattern, some_names};
use std::ops::Range;

/// The learning rules of a network's parts.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub groups: Vec<Group>,
    /// The parts of all components with parameters, in the order of components and their parameters.
    pub parts: Vec<Part>,
    pub clip: Clip,
    pub costs: Costs,
}

/// An optimiser with its schedule.
#[derive(Debug, Clone)]
pub struct Group {
    pub optimizer: Optimizer,
    pub schedule: Schedule,
}

/// A parameter of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub component: ComponentId,
    pub component_name: String,
    /// Its place among the component's parameters, and its name.
    pub index: usize,
    pub name: String,
    pub rows: usize,
    pub cols: usize,
    /// `None` if it is frozen.
    pub group: Option<usize>,
    /// Factor of the group's rate: the component's factor times that of the rules.
    pub rate_factor: f64,
    pub weight_decay: f64,
    /// The model's l2 constant, unless it is ignored.
    pub l2: f64,
    /// The limit on the change of its component in a step; 0 for none.
    pub max_change: f64,
    /// True if a line sets keys that have no meaning for `kaldi`.
    of_rules: bool,
}

impl Part {
    /// A linear part that is neither a row nor a column.
    pub(crate) fn is_matrix(&self) -> bool {
        kind_of_parameter(&self.name) == "linear" && self.rows > 1 && self.cols > 1
    }

    pub fn len(&self) -> usize {
        self.rows * self.cols
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Plan {
    /// Makes a plan. Errors: a pattern without a match, a part without an optimiser, or an optimiser without a part.
    pub fn new(nnet: &Nnet, rules: &Rules) -> Result<Plan> {
        if let Some(learn) = rules.learn.iter().find(|learn| !reaches(nnet, learn)) {
            return Err(unmatched(nnet, &learn.line));
        }
        let mut parts = Vec::new();
        for id in nnet.updatable_components() {
            let (component, name) = (nnet.component(id), nnet.component_name(id));
            let Some(settings) = component.as_updatable().map(|u| u.settings()) else { continue };
            for (index, parameter) in component.parameters().iter().enumerate() {
                if parameter.value.is_empty() {
                    continue;
                }
                let mut own = Settings::default();
                for learn in &rules.learn {
                    if learn.matches(name, component.type_name(), &parameter.name) {
                        own = later(own, &learn.settings);
                    }
                }
                let Some(optimizer) = &own.optimizer else {
                    return Err(Error::options(format!(
                        "part '{}' of component '{name}' has no optimizer: no line 'learn … optimizer=…' matches it",
                        parameter.name
                    )));
                };
                let group = group_of(
                    rules,
                    optimizer,
                    rules.learn.iter().rev().find(|l| l.settings.optimizer.as_ref() == Some(optimizer)),
                )?;
                let decay = group.map_or(0.0, |group| rules.optimizers[group].0.decay.weight);
                parts.push(Part {
                    component: id,
                    component_name: name.to_owned(),
                    index,
                    name: parameter.name.to_string(),
                    rows: parameter.value.rows(),
                    cols: parameter.value.cols(),
                    group,
                    rate_factor: f64::from(settings.learning_rate_factor) * own.rate_factor.unwrap_or(1.0),
                    weight_decay: own.weight_decay.unwrap_or(decay),
                    l2: if own.l2.unwrap_or(true) { settings.l2_regularize.into() } else { 0.0 },
                    max_change: match own.max_change {
                        None => 0.0,
                        Some(MaxChangeRule::OfModel) => settings.max_change.into(),
                        Some(MaxChangeRule::Limit(limit)) => limit,
                    },
                    of_rules: own.rate_factor.is_some()
                        || own.max_change.is_some()
                        || own.l2.is_some()
                        || own.weight_decay.is_some_and(|decay| decay > 0.0),
                });
            }
        }
        let groups = groups(rules, &parts)?;
        // A rate of 0 does not learn, and keeps no state.
        for part in parts.iter_mut().filter(|part| part.rate_factor == 0.0) {
            part.group = part.group.filter(|&group| groups[group].optimizer.is_kaldi());
        }
        let plan = Plan { groups, parts, clip: rules.clip, costs: Costs::new(nnet, &rules.costs)? };
        plan.check_kaldi()?;
        Ok(plan)
    }

    /// Components that change as without rules.
    pub(crate) fn kaldi_components(&self) -> Vec<ComponentId> {
        self.components(|part| self.is_kaldi(part))
    }

    /// Components with a part that learns by another rule, or with all parts frozen.
    pub(crate) fn gradient_components(&self) -> Vec<ComponentId> {
        self.components(|part| !self.is_kaldi(part))
    }

    /// The parts of a component, which follow each other.
    pub(crate) fn parts_of(&self, id: ComponentId) -> Range<usize> {
        let of_component = |part: &&Part| part.component == id;
        let first = self.parts.iter().take_while(|part| part.component != id).count();
        first..first + self.parts[first..].iter().take_while(of_component).count()
    }

    /// Returns the quantity to collect of a component.
    pub fn collected(&self, id: ComponentId) -> Collected {
        let mut parts = self.parts[self.parts_of(id)].iter();
        if parts.clone().any(|part| self.is_kaldi(part)) {
            return Collected::Changes;
        }
        match parts.find_map(|part| self.optimizer(part)) {
            None => Collected::Nothing,
            Some(optimizer) => Collected::Gradients { preconditioned: optimizer.precondition },
        }
    }

    fn components(&self, wanted: impl Fn(&Part) -> bool) -> Vec<ComponentId> {
        let mut ids: Vec<ComponentId> =
            self.parts.iter().filter(|part| wanted(part)).map(|part| part.component).collect();
        ids.dedup();
        ids
    }

    pub fn optimizer(&self, part: &Part) -> Option<&Optimizer> {
        part.group.map(|group| &self.groups[group].optimizer)
    }

    pub(crate) fn is_kaldi(&self, part: &Part) -> bool {
        self.optimizer(part).is_some_and(Optimizer::is_kaldi)
    }

    /// Matrices of the part's shape that its rule keeps.
    pub fn states(&self, part: &Part) -> usize {
        self.optimizer(part).map_or(0, |optimizer| optimizer.states(part.is_matrix()))
    }

    /// Checks that each component is wholly `kaldi` or not at all, and that `kaldi` parts have no keys of other rules.
    fn check_kaldi(&self) -> Result<()> {
        for part in &self.parts {
            let mut others = self.parts[self.parts_of(part.component)].iter();
            let optimizer = self.optimizer(part);
            let precondition = |part: &Part| self.optimizer(part).is_some_and(|o| o.precondition);
            if self.is_kaldi(part) && others.clone().any(|other| !self.is_kaldi(other)) {
                return Err(Error::options(format!(
                    "component '{}': part '{}' learns by '{}', of type kaldi, so all of its parts must",
                    part.component_name,
                    part.name,
                    optimizer.map_or("", |o| &o.name)
                )));
            }
            if precondition(part) && others.any(|other| other.group.is_some() && !precondition(other)) {
                return Err(Error::options(format!(
                    "component '{}': with precondition=true, all of its parts that learn must have it",
                    part.component_name
                )));
            }
            if self.is_kaldi(part) && part.of_rules {
                return Err(Error::options(format!(
                    "component '{}' learns by an optimizer of type kaldi, whose learning-rate-factor, max-change and l2 are \
                     those of the model, without weight-decay: no line may set them",
                    part.component_name
                )));
            }
        }
        Ok(())
    }

    /// A table of the parts: component, part, shape, optimiser, rate, decay and bytes of state.
    pub fn table(&self, nnet: &Nnet) -> Vec<[String; 7]> {
        let number = |x: f64| kaldi_io::text::format_g(x, 6);
        let titles = ["component", "part", "shape", "optimizer", "learning-rate", "weight-decay", "state"];
        let mut rows = vec![titles.map(str::to_owned)];
        rows.extend(self.parts.iter().map(|part| {
            let group = part.group.map(|group| &self.groups[group]);
            let rate = match group {
                None => 0.0,
                Some(group) => match group.optimizer.rate {
                    Some(_) => group.optimizer.base_rate(part.is_matrix()) * part.rate_factor,
                    None => {
                        let updatable = nnet.component(part.component).as_updatable();
                        updatable.map_or(0.0, |u| u.settings().learning_rate.into())
                    }
                },
            };
            let name = group.map_or(FROZEN.to_owned(), |group| {
                format!("{} ({})", group.optimizer.name, group.optimizer.type_name)
            });
            [
                part.component_name.clone(),
                part.name.clone(),
                format!("{} x {}", part.rows, part.cols),
                name,
                number(rate),
                number(part.weight_decay),
                format!("{} bytes", 4 * self.states(part) * part.len()),
            ]
        }));
        rows
    }
}

/// True if a line matches any part of the network.
fn reaches(nnet: &Nnet, learn: &Learn) -> bool {
    nnet.updatable_components().into_iter().any(|id| {
        let (component, name) = (nnet.component(id), nnet.component_name(id));
        let mut parameters = component.parameters().into_iter().filter(|p| !p.value.is_empty());
        parameters.any(|p| learn.matches(name, component.type_name(), &p.name))
    })
}

/// Overrides settings by those of a later line.
fn later(own: Settings, more: &Settings) -> Settings {
    Settings {
        optimizer: more.optimizer.clone().or(own.optimizer),
        // A decay belongs to the part, or to its earlier optimiser.
        weight_decay: more.weight_decay.or(own.weight_decay),
        rate_factor: more.rate_factor.or(own.rate_factor),
        max_change: more.max_change.or(own.max_change),
        l2: more.l2.or(own.l2),
    }
}

fn group_of(rules: &Rules, name: &str, learn: Option<&Learn>) -> Result<Option<usize>> {
    if name == FROZEN {
        return Ok(None);
    }
    let found = rules.optimizers.iter().position(|(optimizer, _)| optimizer.name == name);
    if found.is_none() {
        let names: Vec<&str> = rules.optimizers.iter().map(|(o, _)| &*o.name).chain([FROZEN]).collect();
        let message = format!("there is no optimizer '{name}'; there are {}", names.join(", "));
        return Err(learn.map_or_else(|| Error::options(message.clone()), |l| l.line.error(&*message).into()));
    }
    Ok(found)
}

fn groups(rules: &Rules, parts: &[Part]) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for (k, (optimizer, line)) in rules.optimizers.iter().enumerate() {
        if !parts.iter().any(|part| part.group == Some(k)) {
            return Err(line
                .error(format!("no part of the network is assigned to optimizer '{}'", optimizer.name))
                .into());
        }
        let of_it = rules.schedules.iter().rev().find(|s| matches_pattern(&optimizer.name, &s.optimizer));
        let schedule = of_it.map(|line| line.schedule.clone()).unwrap_or_default();
        groups.push(Group { optimizer: optimizer.clone(), schedule });
    }
    for schedule in &rules.schedules {
        if !rules.optimizers.iter().any(|(o, _)| matches_pattern(&o.name, &schedule.optimizer)) {
            let names: Vec<&str> = rules.optimizers.iter().map(|(o, _)| &*o.name).collect();
            let message =
                format!("no optimizer matches '{}'; there are {}", schedule.optimizer, names.join(", "));
            return Err(schedule.line.error(message).into());
        }
    }
    Ok(groups)
}

fn unmatched(nnet: &Nnet, line: &ConfigLine) -> Error {
    let of_component = |id: &ComponentId| {
        let component = nnet.component(*id);
        let parameters = component.parameters();
        let parts: Vec<&str> = parameters.iter().filter(|p| !p.value.is_empty()).map(|p| &*p.name).collect();
        format!("{} ({}: {})", nnet.component_name(*id), component.type_name(), parts.join(", "))
    };
    let ids = nnet.updatable_components();
    line.error(format!(
        "no trainable part matches; the network has {}",
        some_names(ids.iter().map(of_component))
    ))
    .into()
}
