//! Steps of parameters along their gradients.

use super::CpuBackend;
use super::access::{RowsMut, destination, source};
use crate::backend::LearningSteps;
use crate::learning_step::{Learned, LearningStep, StepRule};
use kaldi_simd::{self as simd, Kernel, Simd};

struct Learning<'a> {
    parameter: RowsMut<'a>,
    gradient: RowsMut<'a>,
    states: [RowsMut<'a>; 2],
    factor: f32,
    step: LearningStep<'a>,
}

impl Kernel for Learning<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self) {
        match self.step.rule {
            StepRule::Descent => self.each(|g, _, _| g),
            StepRule::Momentum { momentum, nesterov } => self.each(|g, b, _| {
                *b = momentum * *b + g;
                if nesterov { g + momentum * *b } else { *b }
            }),
            StepRule::RmsProp { decay, epsilon, epsilon_in_root } => self.each(|g, m, _| {
                *m = decay.keep * *m + decay.take * (g * g);
                if epsilon_in_root { g / ((*m + epsilon).sqrt() + epsilon) } else { g / (m.sqrt() + epsilon) }
            }),
            StepRule::Adagrad { epsilon, epsilon_in_root } => self.each(|g, sum, _| {
                *sum += g * g;
                if epsilon_in_root { g / (*sum + epsilon).sqrt() } else { g / (sum.sqrt() + epsilon) }
            }),
            StepRule::Adadelta { decay, epsilon } => self.each(|g, squares, steps| {
                *squares = decay.keep * *squares + decay.take * (g * g);
                let u = ((*steps + epsilon) / (*squares + epsilon)).sqrt() * g;
                *steps = decay.keep * *steps + decay.take * (u * u);
                u
            }),
            StepRule::Adam { first, second, epsilon } => self.each(|g, m, v| {
                *m = first.keep * *m + first.take * g;
                *v = second.keep * *v + second.take * (g * g);
                *m / (v.sqrt() + epsilon)
            }),
            StepRule::Adamax { first, second, epsilon } => self.each(|g, m, u| {
                *m = first.keep * *m + first.take * g;
                *u = (second * *u).max(g.abs() + epsilon);
                *m / *u
            }),
            StepRule::Lion { first, second } => self.each(|g, m, _| {
                let c = first.keep * *m + first.take * g;
                *m = second.keep * *m + second.take * g;
                if c == 0.0 { 0.0 } else { 1f32.copysign(c) }
            }),
        }
    }
}

impl Learning<'_> {
    /// Makes the step of each element. `f` takes the gradient and the states, changes the states, and returns the
    /// direction, to be multiplied by the rate.
    #[inline(always)]
    fn each(&mut self, f: impl Fn(f32, &mut f32, &mut f32) -> f32 + Copy) {
        let LearningStep { rate, decay, keep, clip, bound, rule, .. } = self.step;
        let factor = self.factor;
        let [first, second] = &mut self.states;
        let step = |x: &mut f32, g: &mut f32, a: &mut f32, b: &mut f32| {
            let gradient = (factor * *g).clamp(-clip, clip) + decay * *x;
            *g = 0.0;
            let u = f(gradient, a, b);
            *x = (keep * *x - rate * u).clamp(-bound, bound);
        };
        for i in 0..self.parameter.rows() {
            let (x, g) = (self.parameter.row(i), self.gradient.row(i));
            let n = x.len();
            let g = &mut g[..n];
            match rule.states() {
                0 => {
                    for j in 0..n {
                        step(&mut x[j], &mut g[j], &mut 0.0, &mut 0.0);
                    }
                }
                1 => {
                    let a = &mut first.row(i)[..n];
                    for j in 0..n {
                        step(&mut x[j], &mut g[j], &mut a[j], &mut 0.0);
                    }
                }
                _ => {
                    let (a, b) = (&mut first.row(i)[..n], &mut second.row(i)[..n]);
                    for j in 0..n {
                        step(&mut x[j], &mut g[j], &mut a[j], &mut b[j]);
                    }
                }
            }
        }
    }
}

impl LearningSteps for CpuBackend {
    fn learn(&self, learned: Learned<'_>, step: LearningStep<'_>) {
        let views = learned.views(step.rule);
        if views[0].is_empty() {
            return;
        }
        let factor = step.factor.times * source(step.factor.element).row(0)[0];
        let [parameter, gradient, first, second] = views.map(destination);
        let mut rows = Learning { parameter, gradient, states: [first, second], factor, step };
        if factor == 0.0 {
            return (0..rows.gradient.rows()).for_each(|i| rows.gradient.row(i).fill(0.0));
        }
        simd::run(rows)
    }
}
