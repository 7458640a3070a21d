//! One step of a parameter along its gradient: the elementwise operation of [`crate::backend::LearningSteps::learn`].

use crate::backend::Factor;
use crate::view::{ViewMut, same_shape};

/// Rule that turns a gradient g, with states of earlier steps, into the step of a parameter θ at rate η. States begin
/// at zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepRule {
    /// θ -= η g
    Descent,
    /// b = γ b + g; θ -= η b, or η (g + γ b) with `nesterov`.
    Momentum { momentum: f32, nesterov: bool },
    /// m = ρ m + (1 - ρ) g²; θ -= η g / (√m + ε), or η g / (√(m + ε) + ε) with `epsilon_in_root`.
    RmsProp { decay: Share, epsilon: f32, epsilon_in_root: bool },
    /// G += g²; θ -= η g / (√G + ε), or η g / √(G + ε) with `epsilon_in_root`.
    Adagrad { epsilon: f32, epsilon_in_root: bool },
    /// G = ρ G + (1 - ρ) g²; u = g √((D + ε) / (G + ε)); D = ρ D + (1 - ρ) u²; θ -= η u.
    Adadelta { decay: Share, epsilon: f32 },
    /// m = β₁ m + (1 - β₁) g; v = β₂ v + (1 - β₂) g²; θ -= η m / (√v + ε). Corrections of the bias are in η and ε.
    Adam { first: Share, second: Share, epsilon: f32 },
    /// m as Adam; u = max(β₂ u, |g| + ε); θ -= η m / u.
    Adamax { first: Share, second: f32, epsilon: f32 },
    /// θ -= η sign(β₁ m + (1 - β₁) g), the sign of 0 being 0; m = β₂ m + (1 - β₂) g.
    Lion { first: Share, second: Share },
}

/// Weights of a moving average: `keep` (β) and `take` (1 − β), each rounded separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    pub keep: f32,
    pub take: f32,
}

impl Share {
    pub fn new(keep: f64) -> Share {
        Share { keep: keep as f32, take: (1.0 - keep) as f32 }
    }
}

impl StepRule {
    /// Matrices of the parameter's shape that it keeps from step to step: 0, 1 or 2.
    pub fn states(self) -> usize {
        match self {
            StepRule::Descent => 0,
            StepRule::Momentum { .. }
            | StepRule::RmsProp { .. }
            | StepRule::Adagrad { .. }
            | StepRule::Lion { .. } => 1,
            StepRule::Adadelta { .. } | StepRule::Adam { .. } | StepRule::Adamax { .. } => 2,
        }
    }

    /// The rule as kernels take it: its number, and its constants.
    pub(crate) fn constants(self) -> (i32, [f32; 5]) {
        let flag = |on: bool| if on { 1.0 } else { 0.0 };
        match self {
            StepRule::Descent => (0, [0.0; 5]),
            StepRule::Momentum { momentum, nesterov } => (1, [momentum, flag(nesterov), 0.0, 0.0, 0.0]),
            StepRule::RmsProp { decay, epsilon, epsilon_in_root } => {
                (2, [decay.keep, decay.take, epsilon, flag(epsilon_in_root), 0.0])
            }
            StepRule::Adagrad { epsilon, epsilon_in_root } => {
                (3, [epsilon, flag(epsilon_in_root), 0.0, 0.0, 0.0])
            }
            StepRule::Adadelta { decay, epsilon } => (4, [decay.keep, decay.take, epsilon, 0.0, 0.0]),
            StepRule::Adam { first, second, epsilon } => {
                (5, [first.keep, first.take, second.keep, second.take, epsilon])
            }
            StepRule::Adamax { first, second, epsilon } => {
                (6, [first.keep, first.take, second, epsilon, 0.0])
            }
            StepRule::Lion { first, second } => (7, [first.keep, first.take, second.keep, second.take, 0.0]),
        }
    }
}

/// A step: in this order g = `factor` · gradient, limited to ±`clip`; g += `decay` · θ; θ *= `keep`; the rule at
/// `rate`; θ limited to ±`bound`. If `factor` is 0, parameter and states do not change.
#[derive(Clone, Copy, Debug)]
pub struct LearningStep<'a> {
    pub rule: StepRule,
    pub factor: Factor<'a>,
    pub rate: f32,
    /// Coupled decay.
    pub decay: f32,
    /// 1 less decoupled decay.
    pub keep: f32,
    /// Infinite for no limit.
    pub clip: f32,
    /// Infinite for no limit.
    pub bound: f32,
}

/// Matrices of a step, all of one shape and without overlap.
pub struct Learned<'a> {
    pub parameter: ViewMut<'a>,
    /// Zero afterwards.
    pub gradient: ViewMut<'a>,
    /// As many as the rule has.
    pub states: &'a [ViewMut<'a>],
}

impl<'a> Learned<'a> {
    /// Parameter, gradient and two states, the latter empty if the rule has fewer; one row each if none has gaps
    /// between its rows. Panics if shapes differ.
    #[track_caller]
    pub(crate) fn views(&self, rule: StepRule) -> [ViewMut<'a>; 4] {
        assert_eq!(self.states.len(), rule.states(), "states of {rule:?}");
        let all = || self.states.iter().chain([&self.parameter, &self.gradient]);
        all().for_each(|view| same_shape(&view.as_view(), &self.parameter.as_view()));
        let flat = self.parameter.rows() > 1 && all().all(|view| view.is_contiguous());
        let len = self.parameter.rows() * self.parameter.cols();
        let flattened = |view: ViewMut<'a>| if flat { view.reshape(1, len) } else { view };
        let state =
            |k: usize| self.states.get(k).map_or(self.parameter.row_range(0..0), |&state| flattened(state));
        [flattened(self.parameter), flattened(self.gradient), state(0), state(1)]
    }
}
