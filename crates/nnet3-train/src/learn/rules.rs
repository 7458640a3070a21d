//! The lines of a network's learning rules: `optimizer`, `learn`, `schedule`, `clip`, `cost`, `initialize`.
//!
//! They are config lines, from a file and from options; later lines win over earlier ones.

use crate::error::Result;
use crate::keys::{self, Keys};
use crate::learn::optimizer::Optimizer;
use crate::learn::schedule::Schedule;
use crate::objective::cost::{Cost, CostLine};
use nnet3_core::component::is_parameter;
use nnet3_core::config::ConfigLine;
use nnet3_core::nnet::edit::matches_pattern;

/// The optimiser name that freezes a part.
pub(crate) const FROZEN: &str = "none";

/// The lines of a rules file, understood but not yet applied to a network.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub optimizers: Vec<(Optimizer, ConfigLine)>,
    pub learn: Vec<Learn>,
    pub schedules: Vec<ScheduleLine>,
    pub clip: Clip,
    pub costs: Vec<CostLine>,
    /// The lines in order, as [`nnet3_core::nnet::Nnet::edit`] takes them.
    pub initialize: Vec<ConfigLine>,
    /// The lines as they were written, for comparison.
    pub text: Vec<String>,
}

/// Limits on gradients and parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    /// Limit of the 2-norm of all gradients together; 0 for no limit.
    pub norm: f64,
    /// Limit of each element of the gradient; infinite for no limit.
    pub value: f64,
    /// Limit of each parameter; infinite for no limit.
    pub parameter: f64,
}

impl Default for Clip {
    fn default() -> Self {
        Clip { norm: 0.0, value: f64::INFINITY, parameter: f64::INFINITY }
    }
}

/// A line that selects parts of the network and gives their settings.
#[derive(Debug, Clone)]
pub struct Learn {
    components: String,
    component_type: String,
    part: String,
    pub settings: Settings,
    pub line: ConfigLine,
}

/// Changes of a line to a part's settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    pub optimizer: Option<String>,
    pub weight_decay: Option<f64>,
    /// Multiplies the rate.
    pub rate_factor: Option<f64>,
    pub max_change: Option<MaxChangeRule>,
    /// False to ignore the model's `l2-regularize`.
    pub l2: Option<bool>,
}

/// A limit on the 2-norm of a component's change in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxChangeRule {
    /// The rate that the model has for the component.
    OfModel,
    /// 0 for no limit.
    Limit(f64),
}

#[derive(Debug, Clone)]
pub struct ScheduleLine {
    /// A pattern of names.
    pub optimizer: String,
    pub schedule: Schedule,
    pub line: ConfigLine,
}

impl Learn {
    /// True if the line matches this part of a component.
    pub fn matches(&self, component: &str, type_name: &str, part: &str) -> bool {
        matches_pattern(component, &self.components)
            && matches_pattern(type_name, &self.component_type)
            && (is_parameter(part, &self.part) || matches_pattern(part, &self.part))
    }
}

impl Rules {
    /// Takes a line.
    pub fn push(&mut self, mut line: ConfigLine) -> Result<()> {
        let directive = line.first_token.clone();
        match &*directive {
            "optimizer" => {
                let name = line.require_name("name")?;
                if name == FROZEN {
                    let message = format!("'{FROZEN}' is not a name for an optimizer: it freezes");
                    return Err(line.error(message).into());
                }
                let optimizer = Optimizer::parse(name, &mut line)?;
                line.finish()?;
                self.optimizers.retain(|(other, _)| other.name != optimizer.name);
                self.optimizers.push((optimizer, line.clone()));
            }
            "learn" => {
                let learn = self.learn(&mut line)?;
                line.finish()?;
                self.learn.push(learn);
            }
            "schedule" => {
                let optimizer = line.get_string("optimizer").unwrap_or_else(|| "*".to_owned());
                let schedule = Schedule::parse(&mut line)?;
                line.finish()?;
                self.schedules.push(ScheduleLine { optimizer, schedule, line: line.clone() });
            }
            "clip" => {
                let says_something = ["norm", "value", "parameter"].iter().any(|key| line.has(key));
                let mut numbers = Keys { line: &mut line };
                for (key, to) in [
                    ("norm", &mut self.clip.norm),
                    ("value", &mut self.clip.value),
                    ("parameter", &mut self.clip.parameter),
                ] {
                    *to = numbers.optional(key, keys::positive)?.unwrap_or(*to);
                }
                line.finish()?;
                if !says_something {
                    return Err(line.error("the line has no rule: expected norm, value or parameter").into());
                }
            }
            "cost" => {
                let output = line.require_string("output")?;
                let cost = Cost::parse(&mut line)?;
                line.finish()?;
                self.costs.push(CostLine { output, cost, line: line.clone() });
            }
            "initialize" => self.initialize.push(line.clone()),
            other => {
                let message = format!(
                    "unknown directive '{other}'; there are optimizer, learn, schedule, clip, cost, initialize"
                );
                return Err(line.error(message).into());
            }
        }
        self.text.push(line.text().to_owned());
        Ok(())
    }

    fn learn(&self, line: &mut ConfigLine) -> Result<Learn> {
        if !line.has("components") && !line.has("type") {
            return Err(line.error("expected components=PATTERN or type=PATTERN").into());
        }
        let mut pattern =
            |key: &str, default: &str| line.get_string(key).unwrap_or_else(|| default.to_owned());
        let (components, component_type) = (pattern("components", "*"), pattern("type", "*"));
        let part = pattern("part", "all");
        let optimizer = line.get_string("optimizer");
        let max_change = match line.get_string("max-change").as_deref() {
            None => None,
            Some("model") => Some(MaxChangeRule::OfModel),
            Some("none") => Some(MaxChangeRule::Limit(0.0)),
            Some(text) => match text.parse::<f64>() {
                Ok(limit) if limit > 0.0 && limit.is_finite() => Some(MaxChangeRule::Limit(limit)),
                _ => {
                    let message = format!("max-change={text}: expected model, none or a number above 0");
                    return Err(line.error(message).into());
                }
            },
        };
        let l2 = match line.get_string("l2").as_deref() {
            None => None,
            Some("model") => Some(true),
            Some("ignore") => Some(false),
            Some(text) => return Err(line.error(format!("l2={text}: expected model or ignore")).into()),
        };
        let mut numbers = Keys { line };
        let settings = Settings {
            optimizer,
            weight_decay: numbers.optional("weight-decay", keys::not_negative)?,
            rate_factor: numbers.optional("learning-rate-factor", keys::not_negative)?,
            max_change,
            l2,
        };
        if settings == Settings::default() {
            line.finish()?;
            let expected = "optimizer, weight-decay, learning-rate-factor, max-change or l2";
            return Err(line.error(format!("the line has no setting: expected {expected}")).into());
        }
        Ok(Learn { components, component_type, part, settings, line: line.clone() })
    }
}
