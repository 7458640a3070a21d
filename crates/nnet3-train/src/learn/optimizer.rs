//! Optimisers by name: their constants with valid ranges, and the primitive's rule at a step.
//!
//! Forms and defaults are PyTorch's; those of Nervana's neon have `neon-` before their names.

use crate::error::Result;
use crate::keys::{Keys, below_one, not_negative, positive};
use nnet3_core::config::ConfigLine;
use nnet3_matrix::{Share, StepRule};

/// All types, for messages.
pub const TYPES: &[&str] = &[
    "kaldi",
    "sgd",
    "rmsprop",
    "adagrad",
    "adadelta",
    "adam",
    "adamw",
    "adamax",
    "lion",
    "muon",
    "neon-rmsprop",
    "neon-adagrad",
    "neon-adadelta",
    "neon-adam",
];

/// A rule that turns gradients of some parameters into changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimizer {
    pub name: String,
    /// The name of its type, as in the rules.
    pub type_name: String,
    pub rule: OptimizerRule,
    /// The learning rate; `None` for `kaldi` with the rates of the model.
    pub rate: Option<f64>,
    pub decay: Decay,
    /// Natural gradient is kept on below the rule.
    pub precondition: bool,
}

/// Weight decay: g += λ θ, or apart from the gradient θ -= η λ θ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decay {
    pub weight: f64,
    pub decoupled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptimizerRule {
    /// The default training without rules: natural gradient, momentum, limits on changes.
    Kaldi {
        /// `None`: the value of the program's option.
        momentum: Option<f32>,
        max_param_change: Option<f32>,
    },
    Sgd {
        momentum: f64,
        nesterov: bool,
    },
    RmsProp {
        rho: f64,
        epsilon: f64,
        neon: bool,
    },
    Adagrad {
        epsilon: f64,
        neon: bool,
    },
    Adadelta {
        rho: f64,
        epsilon: f64,
    },
    Adam {
        betas: [f64; 2],
        epsilon: f64,
        neon: bool,
    },
    Adamax {
        betas: [f64; 2],
        epsilon: f64,
    },
    /// Chen et al., "Symbolic discovery of optimization algorithms", 2023.
    Lion {
        betas: [f64; 2],
    },
    Muon(Muon),
}

/// Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024: momentum of a matrix made
/// orthogonal. Parameters that are not matrices learn by AdamW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Muon {
    pub momentum: f64,
    pub nesterov: bool,
    /// Iterations of Newton and Schulz.
    pub iterations: u32,
    /// The size of a step of R × C is 0.2 · √max(R, C), as Adam's is; otherwise √max(1, R / C).
    pub match_adam: bool,
    /// Rate, betas and epsilon for parameters that are no matrices.
    pub vector_rate: f64,
    pub vector_betas: [f64; 2],
    pub vector_epsilon: f64,
}

impl Optimizer {
    /// Parses the rest of a line `optimizer name=… type=…`; the caller has read the name.
    pub fn parse(name: String, line: &mut ConfigLine) -> Result<Optimizer> {
        let type_name = line.require_string("type")?;
        let short = type_name.strip_prefix("neon-").unwrap_or(&type_name);
        let neon = short != type_name;
        if !TYPES.contains(&&*type_name) {
            let there_are = TYPES.join(", ");
            return Err(line.error(format!("type={type_name}: there are {there_are}")).into());
        }
        let mut keys = Keys { line };
        let (rule, default_rate) = match short {
            "kaldi" => {
                let momentum = keys.optional("momentum", below_one)?.map(|m| m as f32);
                let max_param_change = keys.optional("max-param-change", not_negative)?.map(|m| m as f32);
                (OptimizerRule::Kaldi { momentum, max_param_change }, None)
            }
            "sgd" => {
                let momentum = keys.get("momentum", 0.0, below_one)?;
                let nesterov = keys.flag("nesterov", false)?;
                if nesterov && momentum == 0.0 {
                    return Err(keys.line.error("nesterov=true needs a momentum above 0").into());
                }
                (OptimizerRule::Sgd { momentum, nesterov }, None)
            }
            "rmsprop" => {
                let (rate, rho, epsilon) = if neon { (0.002, 0.95, 1e-6) } else { (0.01, 0.99, 1e-8) };
                let rho = keys.get("rho", rho, below_one)?;
                (OptimizerRule::RmsProp { rho, epsilon: keys.epsilon(epsilon)?, neon }, Some(rate))
            }
            "adagrad" => {
                let epsilon = keys.epsilon(if neon { 1e-6 } else { 1e-10 })?;
                (OptimizerRule::Adagrad { epsilon, neon }, Some(0.01))
            }
            "adadelta" => {
                let rho = keys.get("rho", if neon { 0.95 } else { 0.9 }, below_one)?;
                (OptimizerRule::Adadelta { rho, epsilon: keys.epsilon(1e-6)? }, Some(1.0))
            }
            "adam" | "adamw" => {
                let betas = keys.betas([0.9, 0.999])?;
                (OptimizerRule::Adam { betas, epsilon: keys.epsilon(1e-8)?, neon }, Some(0.001))
            }
            "adamax" => {
                let betas = keys.betas([0.9, 0.999])?;
                (OptimizerRule::Adamax { betas, epsilon: keys.epsilon(1e-8)? }, Some(0.002))
            }
            "lion" => (OptimizerRule::Lion { betas: keys.betas([0.9, 0.99])? }, Some(1e-4)),
            _ => (OptimizerRule::Muon(keys.muon()?), Some(0.02)),
        };
        let kaldi = matches!(rule, OptimizerRule::Kaldi { .. });
        let rate = keys.optional("learning-rate", not_negative)?.or(default_rate);
        if rate.is_none() && !kaldi {
            return Err(keys.line.error(format!("type={type_name} needs a learning-rate")).into());
        }
        let mut decay = Decay { weight: 0.0, decoupled: matches!(short, "adamw" | "lion" | "muon") };
        let mut precondition = false;
        if !kaldi {
            decay.weight =
                keys.get("weight-decay", if short == "adamw" { 0.01 } else { 0.0 }, not_negative)?;
            precondition = keys.flag("precondition", false)?;
        }
        Ok(Optimizer { name, type_name, rule, rate, decay, precondition })
    }

    pub(crate) fn is_kaldi(&self) -> bool {
        matches!(self.rule, OptimizerRule::Kaldi { .. })
    }

    pub fn muon(&self) -> Option<Muon> {
        match self.rule {
            OptimizerRule::Muon(muon) => Some(muon),
            _ => None,
        }
    }

    /// The rule and the rate of step `t`, which counts from 1, for parameters that are matrices or not.
    pub fn step(&self, rate: f64, t: u64, is_matrix: bool) -> (StepRule, f32) {
        let adam = |betas: [f64; 2], epsilon: f64, rate: f64, neon: bool| {
            let power = i32::try_from(t).unwrap_or(i32::MAX);
            let [first, second] = betas.map(|beta| 1.0 - beta.powi(power));
            // √v / √c + ε, divided by √c
            let epsilon = if neon { epsilon } else { epsilon * second.sqrt() };
            let rule = StepRule::Adam {
                first: Share::new(betas[0]),
                second: Share::new(betas[1]),
                epsilon: epsilon as f32,
            };
            (rule, (rate * second.sqrt() / first) as f32)
        };
        let rule = match self.rule {
            OptimizerRule::Kaldi { .. } => panic!("changes of 'kaldi' are made by another step"),
            OptimizerRule::Sgd { momentum: 0.0, .. } => StepRule::Descent,
            OptimizerRule::Sgd { momentum, nesterov } => {
                StepRule::Momentum { momentum: momentum as f32, nesterov }
            }
            OptimizerRule::RmsProp { rho, epsilon, neon } => {
                StepRule::RmsProp { decay: Share::new(rho), epsilon: epsilon as f32, epsilon_in_root: neon }
            }
            OptimizerRule::Adagrad { epsilon, neon } => {
                StepRule::Adagrad { epsilon: epsilon as f32, epsilon_in_root: neon }
            }
            OptimizerRule::Adadelta { rho, epsilon } => {
                StepRule::Adadelta { decay: Share::new(rho), epsilon: epsilon as f32 }
            }
            OptimizerRule::Adam { betas, epsilon, neon } => return adam(betas, epsilon, rate, neon),
            OptimizerRule::Adamax { betas, epsilon } => {
                let correction = 1.0 - betas[0].powi(i32::try_from(t).unwrap_or(i32::MAX));
                let rule = StepRule::Adamax {
                    first: Share::new(betas[0]),
                    second: betas[1] as f32,
                    epsilon: epsilon as f32,
                };
                return (rule, (rate / correction) as f32);
            }
            OptimizerRule::Lion { betas } => {
                StepRule::Lion { first: Share::new(betas[0]), second: Share::new(betas[1]) }
            }
            OptimizerRule::Muon(muon) if is_matrix => {
                StepRule::Momentum { momentum: muon.momentum as f32, nesterov: muon.nesterov }
            }
            OptimizerRule::Muon(muon) => {
                return adam(muon.vector_betas, muon.vector_epsilon, rate, false);
            }
        };
        (rule, rate as f32)
    }

    /// The rate of parameters that are matrices or not, before schedules; 0 for `kaldi` with the rates of the model.
    pub(crate) fn base_rate(&self, is_matrix: bool) -> f64 {
        match self.rule {
            OptimizerRule::Muon(muon) if !is_matrix => muon.vector_rate,
            _ => self.rate.unwrap_or(0.0),
        }
    }

    /// Matrices of a parameter's shape that are kept from step to step.
    pub fn states(&self, is_matrix: bool) -> usize {
        if self.is_kaldi() { 0 } else { self.step(0.0, 1, is_matrix).0.states() }
    }
}

impl Keys<'_> {
    fn epsilon(&mut self, default: f64) -> Result<f64> {
        self.get("epsilon", default, positive)
    }

    fn betas(&mut self, [first, second]: [f64; 2]) -> Result<[f64; 2]> {
        Ok([self.get("beta1", first, below_one)?, self.get("beta2", second, below_one)?])
    }

    fn muon(&mut self) -> Result<Muon> {
        let iterations = self.line.get_dim("iterations")?.unwrap_or(5) as u32;
        let match_adam = match self.line.get_string("step-size").as_deref() {
            None | Some("original") => false,
            Some("match-adam") => true,
            Some(other) => {
                let message = format!("step-size={other}: expected original or match-adam");
                return Err(self.line.error(message).into());
            }
        };
        Ok(Muon {
            momentum: self.get("momentum", 0.95, below_one)?,
            nesterov: self.flag("nesterov", true)?,
            iterations,
            match_adam,
            vector_rate: self.get("vector-learning-rate", 3e-4, not_negative)?,
            vector_betas: [
                self.get("vector-beta1", 0.9, below_one)?,
                self.get("vector-beta2", 0.95, below_one)?,
            ],
            vector_epsilon: self.get("vector-epsilon", 1e-10, positive)?,
        })
    }
}
