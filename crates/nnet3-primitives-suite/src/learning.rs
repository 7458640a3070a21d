//! Steps of parameters.

use super::operand::large_cases;
use super::*;
use nnet3_matrix::{Factor, Learned, LearningStep, Matrix, Share, StepRule};

const RULES: [StepRule; 11] = [
    StepRule::Descent,
    StepRule::Momentum { momentum: 0.9, nesterov: false },
    StepRule::Momentum { momentum: 0.9, nesterov: true },
    StepRule::RmsProp { decay: Share { keep: 0.75, take: 0.25 }, epsilon: 1e-3, epsilon_in_root: false },
    StepRule::RmsProp { decay: Share { keep: 0.75, take: 0.25 }, epsilon: 1e-3, epsilon_in_root: true },
    StepRule::Adagrad { epsilon: 1e-3, epsilon_in_root: false },
    StepRule::Adagrad { epsilon: 1e-3, epsilon_in_root: true },
    StepRule::Adadelta { decay: Share { keep: 0.75, take: 0.25 }, epsilon: 1e-3 },
    StepRule::Adam {
        first: Share { keep: 0.75, take: 0.25 },
        second: Share { keep: 0.875, take: 0.125 },
        epsilon: 1e-3,
    },
    StepRule::Adamax { first: Share { keep: 0.75, take: 0.25 }, second: 0.875, epsilon: 1e-3 },
    StepRule::Lion { first: Share { keep: 0.75, take: 0.25 }, second: Share { keep: 0.875, take: 0.125 } },
];

/// The step u of a gradient, and the states after it.
fn step_of(rule: StepRule, g: f64, a: f64, b: f64) -> (f64, f64, f64) {
    let mean = |share: Share, old: f64, new: f64| f64::from(share.keep) * old + f64::from(share.take) * new;
    match rule {
        StepRule::Descent => (g, a, b),
        StepRule::Momentum { momentum, nesterov } => {
            let a = f64::from(momentum) * a + g;
            (if nesterov { g + f64::from(momentum) * a } else { a }, a, b)
        }
        StepRule::RmsProp { decay, epsilon, epsilon_in_root } => {
            let (a, e) = (mean(decay, a, g * g), f64::from(epsilon));
            (if epsilon_in_root { g / ((a + e).sqrt() + e) } else { g / (a.sqrt() + e) }, a, b)
        }
        StepRule::Adagrad { epsilon, epsilon_in_root } => {
            let (a, e) = (a + g * g, f64::from(epsilon));
            (if epsilon_in_root { g / (a + e).sqrt() } else { g / (a.sqrt() + e) }, a, b)
        }
        StepRule::Adadelta { decay, epsilon } => {
            let (a, e) = (mean(decay, a, g * g), f64::from(epsilon));
            let u = ((b + e) / (a + e)).sqrt() * g;
            (u, a, mean(decay, b, u * u))
        }
        StepRule::Adam { first, second, epsilon } => {
            let (a, b) = (mean(first, a, g), mean(second, b, g * g));
            (a / (b.sqrt() + f64::from(epsilon)), a, b)
        }
        StepRule::Adamax { first, second, epsilon } => {
            let (a, b) = (mean(first, a, g), (f64::from(second) * b).max(g.abs() + f64::from(epsilon)));
            (a / b, a, b)
        }
        StepRule::Lion { first, second } => {
            let c = mean(first, a, g);
            (if c == 0.0 { 0.0 } else { c.signum() }, mean(second, a, g), b)
        }
    }
}

/// Every rule, with limits and decays and without, and a factor of 0; states are not negative, as squares are.
fn check(case: &mut Case, rows: usize, cols: usize, rules: &[StepRule]) {
    for &rule in rules {
        for (element, limited) in [(0.5f32, true), (1.0, false), (0.0, true)] {
            let (mut parameter, mut gradient) = (case.normals(rows, cols), case.normals(rows, cols));
            let positive = |case: &mut Case| case.operand(rows, cols, |case, _, _| case.normal().abs() + 0.1);
            let mut states: Vec<_> = (0..rule.states()).map(|_| positive(case)).collect();
            let element_matrix = Matrix::from_slice(&case.device, 1, 1, &[element]);
            let factor = Factor { times: -2.0, element: element_matrix.view() };
            let (decay, keep, clip, bound) = match limited {
                true => (0.25, 0.875, 0.5, 0.75),
                false => (0.0, 1.0, f32::INFINITY, f32::INFINITY),
            };
            let step = LearningStep { rule, factor, rate: 0.5, decay, keep, clip, bound };
            let views: Vec<_> = states.iter_mut().map(Operand::view_mut).collect();
            let learned =
                Learned { parameter: parameter.view_mut(), gradient: gradient.view_mut(), states: &views };
            case.device.learn(learned, step);
            gradient.expect(0.0, |_, _| (0.0, 0.0));
            if element == 0.0 {
                parameter.expect_unchanged();
                states.iter().for_each(|state| state.expect_unchanged());
                continue;
            }
            let limit = |x: f64, bound: f32| x.clamp(-f64::from(bound), f64::from(bound));
            let exact = |i: usize, j: usize| {
                let x = parameter.at(i, j);
                let g = limit(-2.0 * f64::from(element) * gradient.at(i, j), clip) + f64::from(decay) * x;
                let state = |k: usize| states.get(k).map_or(0.0, |state| state.at(i, j));
                let (u, a, b) = step_of(rule, g, state(0), state(1));
                (limit(f64::from(keep) * x - 0.5 * u, bound), [a, b], u)
            };
            let tolerance = 2e-6;
            parameter.expect(tolerance, |i, j| {
                let (x, _, u) = exact(i, j);
                (x, 3.0 + u.abs())
            });
            for (s, state) in states.iter().enumerate() {
                state.expect(tolerance, |i, j| (exact(i, j).1[s], 3.0 + exact(i, j).1[s].abs()));
            }
        }
    }
}

pub(crate) fn learn(device: &Device) {
    cases(device, |case, rows, cols| check(case, rows, cols, &RULES));
    let adam = RULES.iter().find(|rule| matches!(rule, StepRule::Adam { .. })).unwrap();
    large_cases(device, |case, rows, cols| check(case, rows, cols, std::slice::from_ref(adam)));
}
