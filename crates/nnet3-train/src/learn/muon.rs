//! Muon: the momentum of a matrix, made nearly orthogonal, is its step.

use crate::learn::optimizer::Muon;
use nnet3_core::component::Context;
use nnet3_matrix::{
    Accumulator, Device, Factor, Learned, LearningStep, Matrix, StepRule, Transpose::No, Transpose::Yes,
    ViewMut,
};
use std::cell::RefCell;

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
    let (backend, workspace) = (context.backend, context.workspace);
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
        let (first, second) = if wide { (No, Yes) } else { (Yes, No) };
        backend.gemm(gram, 1.0, x.as_view(), first, x.as_view(), second, 0.0);
        backend.copy_scaled(both, b, gram.as_view());
        backend.gemm(both, c, gram.as_view(), No, gram.as_view(), No, 1.0);
        backend.copy(copy, x.as_view());
        match wide {
            true => backend.gemm(x, 1.0, both.as_view(), No, copy.as_view(), No, a),
            false => backend.gemm(x, 1.0, copy.as_view(), No, both.as_view(), No, a),
        }
    }
}
