//! Muon: the momentum of a matrix, made nearly orthogonal, is its step (Jordan et al., "Muon: an optimizer for hidden
//! layers in neural networks", 2024). Parameters that are not matrices learn by AdamW.

use std::cell::RefCell;

use super::adam::Adam;
use super::{Decay, Elementwise, OptimizerRule, Type};
use crate::error::Result;
use crate::keys::{Keys, below_one, not_negative, positive};
use nnet3_core::component::Context;
use nnet3_matrix::{Accumulator, Device, Factor, Gemm, Learned, LearningStep, Matrix, StepRule, ViewMut};

pub(super) const TYPES: &[Type] = &[Type { name: "muon", rate: Some(0.02), decay: Decay::DECOUPLED, read }];

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

fn read(keys: &mut Keys<'_>) -> Result<OptimizerRule> {
    let iterations = keys.line.get_dim("iterations")?.unwrap_or(5) as u32;
    let match_adam = match keys.line.get_string("step-size").as_deref() {
        None | Some("original") => false,
        Some("match-adam") => true,
        Some(other) => {
            let message = format!("step-size={other}: expected original or match-adam");
            return Err(keys.line.error(message).into());
        }
    };
    Ok(OptimizerRule::Muon(Muon {
        momentum: keys.get("momentum", 0.95, below_one)?,
        nesterov: keys.flag("nesterov", true)?,
        iterations,
        match_adam,
        vector_rate: keys.get("vector-learning-rate", 3e-4, not_negative)?,
        vector_betas: [keys.get("vector-beta1", 0.9, below_one)?, keys.get("vector-beta2", 0.95, below_one)?],
        vector_epsilon: keys.get("vector-epsilon", 1e-10, positive)?,
    }))
}

impl Muon {
    /// The primitive's rule and its rate at step `t`: of a matrix the momentum, which [`step`] makes orthogonal.
    pub(super) fn step(&self, rate: f64, t: u64, is_matrix: bool) -> (StepRule, f32) {
        if is_matrix {
            let rule = StepRule::Momentum { momentum: self.momentum as f32, nesterov: self.nesterov };
            return (rule, rate as f32);
        }
        let (betas, epsilon) = (self.vector_betas, self.vector_epsilon);
        Adam { betas, epsilon, epsilon_before_correction: false }.step(rate, t)
    }
}

/// The coefficients a, b, c of the polynomial a x + b x³ + c x⁵ that moves singular values towards 1.
const COEFFICIENTS: [f32; 3] = [3.4445, -4.775, 2.0315];
/// Added to squared norms, lest they be zero.
const SMALL: f64 = 1e-14;

/// Numbers on the device: 1, and a sum with a place before it for 1.
pub struct Numbers {
    one: Matrix,
    sums: RefCell<Accumulator>,
    factor: RefCell<Matrix>,
}

impl Numbers {
    pub fn new(device: &Device) -> Numbers {
        Numbers {
            one: Matrix::from_slice(device, 1, 1, &[1.0]),
            sums: RefCell::new(Accumulator::zeros(2)),
            factor: RefCell::new(Matrix::zeros(device, 1, 1)),
        }
    }
}

/// Makes a step as [`nnet3_matrix::backend::LearningSteps::learn`] does, with the orthogonalised direction of its rule.
/// `finite` is 1, or 0 to skip the step.
pub fn step(
    context: Context<'_>,
    learned: Learned<'_>,
    step: LearningStep<'_>,
    muon: Muon,
    finite: Factor<'_>,
    numbers: &Numbers,
) {
    let backend = context.backend;
    let (rows, cols) = (learned.parameter.rows(), learned.parameter.cols());
    // A step of the rule from zero at rate -1 gives the direction.
    let mut direction = context.workspace.zeros(rows, cols);
    let direction = direction.view_mut();
    let plain = LearningStep { rate: -1.0, keep: 1.0, decay: 0.0, bound: f32::INFINITY, ..step };
    backend.learn(Learned { parameter: direction, ..learned }, plain);
    make_orthogonal(context, direction, muon.iterations, numbers);
    let (rows, cols) = (rows as f32, cols as f32);
    let size = if muon.match_adam { 0.2 * rows.max(cols).sqrt() } else { (rows / cols).max(1.0).sqrt() };
    let last = LearningStep {
        rule: StepRule::Descent,
        factor: finite,
        rate: step.rate * size,
        decay: 0.0,
        clip: f32::INFINITY,
        ..step
    };
    backend.learn(Learned { parameter: learned.parameter, gradient: direction, states: &[] }, last);
}

/// Newton and Schulz's iteration on X / ‖X‖.
fn make_orthogonal(context: Context<'_>, x: ViewMut<'_>, iterations: u32, numbers: &Numbers) {
    let (backend, workspace) = (context.in_floats().backend, context.workspace);
    let (sums, factor) = (&mut *numbers.sums.borrow_mut(), &mut *numbers.factor.borrow_mut());
    sums.scale(0.0);
    backend.accumulate_row(sums, 0, 1.0, numbers.one.view());
    backend.accumulate_row(sums, 1, SMALL, numbers.one.view());
    backend.accumulate_dot(sums, 1, 1.0, x.as_view(), x.as_view());
    backend.root_of_ratio(factor.view_mut(), sums, 0);
    backend.scale_by(x, Factor { times: 1.0, element: factor.view() });
    // On the smaller side: X Xᵀ X = X (Xᵀ X).
    let wide = x.rows() <= x.cols();
    let side = x.rows().min(x.cols());
    let (mut gram, mut both) = (workspace.take(side, side), workspace.take(side, side));
    let mut copy = workspace.take(x.rows(), x.cols());
    let (gram, both, copy) = (gram.view_mut(), both.view_mut(), copy.view_mut());
    let [a, b, c] = COEFFICIENTS;
    for _ in 0..iterations {
        match wide {
            true => backend.gemm(Gemm::set(gram, x, x.transposed())),
            false => backend.gemm(Gemm::set(gram, x.transposed(), x)),
        }
        backend.copy_scaled(both, b, gram.as_view());
        backend.gemm(Gemm::add(both, gram, gram).times(c));
        backend.copy(copy, x.as_view());
        match wide {
            true => backend.gemm(Gemm { beta: a, ..Gemm::set(x, both, copy) }),
            false => backend.gemm(Gemm { beta: a, ..Gemm::set(x, copy, both) }),
        }
    }
}
