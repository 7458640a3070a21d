//! The effect of limits on the change of parameters: per minibatch, and counted over a training run.

use std::fmt;
use std::sync::Arc;

use crate::norm_limits::norm_factors;
use kaldi_io::log::{num, ratio};

/// The limits of a step of the parameters.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Name and max-change of each component with parameters; 0 is no limit.
    pub components: Arc<[(String, f32)]>,
    /// Limit on the 2-norm of the whole change; 0 for no limit.
    pub max_param_change: f32,
    /// All limits are multiplied by this.
    pub factor: f32,
    /// The change is multiplied by this.
    pub scale: f32,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Stepped {
    Freely,
    /// Some limit was active.
    Limited(MaxChange),
    /// The change was infinite or not a number; the parameters stay.
    Refused,
}

impl Limits {
    /// Number of components with parameters.
    pub fn len(&self) -> usize {
        self.components.len()
    }
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// The components' limits, then the limit of the whole change.
    pub fn numbers(&self) -> Vec<f64> {
        let own = self.components.iter().map(|(_, max_change)| max_change);
        own.chain([&self.max_param_change]).map(|&limit| f64::from(limit * self.factor)).collect()
    }

    /// Returns the effect of the limits on changes with these squared norms.
    pub fn applied(&self, squares: &[f64], counts: &mut MaxChangeCounts) -> Stepped {
        let factors = norm_factors(squares, &self.numbers(), f64::from(self.scale).abs());
        counts.updates += 1;
        if counts.components.len() != self.len() {
            counts.components = self.components.iter().map(|(name, _)| (name.clone(), 0)).collect();
        }
        let mut report =
            MaxChange { limited: Vec::new(), updatable: self.len(), smallest: None, global: None };
        for (((&factor, (name, max_change)), (_, count)), square) in
            factors.each.iter().zip(&*self.components).zip(&mut counts.components).zip(squares)
        {
            if factor >= 1.0 {
                continue;
            }
            *count += 1;
            report.limited.push(Excess {
                component: name.clone(),
                norm: square.sqrt(),
                scale: self.scale,
                max_change: *max_change,
                limits_factor: self.factor,
                factor,
            });
            if report.smallest.as_ref().is_none_or(|smallest| factor < smallest.factor) {
                let (component, max_change) = (name.clone(), *max_change);
                report.smallest = Some(ComponentLimit { component, factor, max_change });
            }
        }
        if !factors.finite {
            return Stepped::Refused;
        }
        if factors.all < 1.0 {
            counts.global += 1;
            report.global = Some((factors.all, self.max_param_change));
        }
        if report.smallest.is_some() || report.global.is_some() {
            Stepped::Limited(report)
        } else {
            Stepped::Freely
        }
    }
}

/// The limits that were active in one update.
#[derive(Debug, Clone, PartialEq)]
pub struct MaxChange {
    /// The components that were limited, of how many with parameters.
    pub limited: Vec<Excess>,
    pub updatable: usize,
    /// The component with the smallest factor, if that is below 1.
    pub smallest: Option<ComponentLimit>,
    /// The factor on the whole update, and the limit that made it necessary.
    pub global: Option<(f64, f32)>,
}

/// A component with a change larger than its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Excess {
    pub component: String,
    /// The 2-norm of its change, which is to be multiplied by `scale`.
    pub norm: f64,
    pub scale: f32,
    /// Its limit, which is multiplied by `limits_factor`.
    pub max_change: f32,
    pub limits_factor: f32,
    /// The factor of the change.
    pub factor: f64,
}

/// The message of a log line.
impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Parameters in {} change too big: {} * {} > max-change * max-change-scale={} * {}, scaling by {}",
            self.component,
            num(self.norm),
            num(self.scale.into()),
            num(self.max_change.into()),
            num(self.limits_factor.into()),
            num(self.factor)
        )
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ComponentLimit {
    pub component: String,
    pub factor: f64,
    pub max_change: f32,
}

/// The message of a log line.
impl fmt::Display for MaxChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(limit) = &self.smallest {
            write!(
                f,
                "Per-component max-change active on {} / {} Updatable Components. (Smallest factor={} on {} with \
                 max-change={}). ",
                self.limited.len(),
                self.updatable,
                num(limit.factor),
                limit.component,
                num(limit.max_change.into())
            )?;
        }
        if let Some((factor, limit)) = self.global {
            let (factor, limit) = (num(factor), num(limit.into()));
            write!(f, "Global max-change factor was {factor} with max-change={limit}.")?;
        }
        Ok(())
    }
}

/// Counts of active limits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MaxChangeCounts {
    pub updates: u64,
    /// For each component with parameters, its name and how often it was limited.
    pub components: Vec<(String, u64)>,
    pub global: u64,
}

impl MaxChangeCounts {
    /// Adds the counts of another run with a network of the same structure.
    pub fn add(&mut self, other: &MaxChangeCounts) {
        self.updates += other.updates;
        self.global += other.global;
        if self.components.is_empty() {
            self.components.clone_from(&other.components);
            return;
        }
        for ((_, count), (_, more)) in self.components.iter_mut().zip(&other.components) {
            *count += more;
        }
    }

    /// Messages for components that were limited.
    pub fn component_lines(&self) -> Vec<String> {
        let limited = self.components.iter().filter(|(_, count)| *count > 0);
        let line = |(name, count): &(String, u64)| {
            let percent = self.percent(*count);
            format!("For {name}, per-component max-change was enforced {percent} % of the time.")
        };
        limited.map(line).collect()
    }

    /// A message if the whole update was limited at times.
    pub fn global_line(&self) -> Option<String> {
        let percent = self.percent(self.global);
        (self.global > 0).then(|| format!("The global max-change was enforced {percent} % of the time."))
    }

    fn percent(&self, count: u64) -> String {
        ratio(100.0 * count as f64, self.updates as f64)
    }
}
