//! What limits on the change of parameters did: per minibatch, and counted over a training run.

use std::fmt;

use kaldi_io::log::num;

/// Where limits were active in one update.
#[derive(Debug, Clone, PartialEq)]
pub struct MaxChange {
    /// How many components were limited, of how many with parameters.
    pub components: usize,
    pub updatable: usize,
    /// The component with the smallest factor, if that is below 1.
    pub smallest: Option<ComponentLimit>,
    /// The factor on the whole update, and the limit that made it necessary.
    pub global: Option<(f64, f32)>,
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
                self.components,
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

/// How often limits were active.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MaxChangeCounts {
    pub updates: u64,
    /// For each component with parameters, its name and how often it was limited.
    pub components: Vec<(String, u64)>,
    pub global: u64,
}

impl MaxChangeCounts {
    /// Adds those of another run with a network of the same structure.
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
        num(100.0 * count as f64 / self.updates as f64)
    }
}
