//! Maximisation of a function by L-BFGS with a fixed number of evaluations.
//!
//! The direction comes from at most ten pairs of differences of points (s) and gradients (y), by the usual two loops.
//! H₀ is sᵀy/yᵀy of the last pair. The first direction is the gradient. A trial point is accepted if the function
//! increased by 10⁻⁴ of the expected amount and the slope fell to 0.9 of itself. Otherwise the step is divided or
//! multiplied by d, which is 2 at first and becomes √d when the kind of failure changes.

use nalgebra::DVector;

/// Pairs that are remembered.
const MEMORY: usize = 10;
const INCREASE: f64 = 1e-4;
const SLOPE: f64 = 0.9;
/// Each failure counts twice towards this limit, after which the search starts anew.
const FAILURES: usize = 50;
const SMALL: f64 = 1e-8;

/// A point with value and gradient.
#[derive(Clone)]
struct Point {
    x: DVector<f64>,
    value: f64,
    gradient: DVector<f64>,
}

/// Returns the best point of `evaluations` calls of `f`, which returns value and gradient. The first one is for `start`.
pub(crate) fn maximize(
    start: DVector<f64>,
    evaluations: usize,
    mut f: impl FnMut(&DVector<f64>) -> (f64, DVector<f64>),
) -> DVector<f64> {
    let mut evaluate = |x: DVector<f64>| {
        let (value, gradient) = f(&x);
        Point { x, value, gradient }
    };
    if evaluations == 0 {
        return start;
    }
    let mut current = evaluate(start);
    let mut best = current.clone();
    let mut history = History { pairs: Vec::new(), scale: 1.0 };
    let mut line = Line::new(&history, &current);
    for _ in 1..evaluations {
        let trial = evaluate(&current.x + &line.step);
        if trial.value > best.value {
            best = trial.clone();
        }
        let expected = current.gradient.dot(&line.step);
        let rises = trial.value >= current.value + INCREASE * expected;
        if rises && trial.gradient.dot(&line.step) <= SLOPE * expected {
            let s = &trial.x - &current.x;
            let y = &current.gradient - &trial.gradient;
            current = trial;
            if !history.add(s, y) {
                history.pairs.clear();
            }
            line = Line::new(&history, &current);
            continue;
        }
        let still = line.step.amax() == 0.0
            || !rises
                && line.step.norm() < SMALL
                && (trial.value - current.value).abs() < SMALL * current.value.abs();
        if line.fail(rises) && !still {
            continue;
        }
        if trial.value > current.value {
            current = trial;
        }
        history.pairs.clear();
        line = Line::new(&history, &current);
    }
    best.x
}

struct History {
    /// s, y (of the negative function) and sᵀy, the oldest first.
    pairs: Vec<(DVector<f64>, DVector<f64>, f64)>,
    /// H₀.
    scale: f64,
}

impl History {
    /// Stores a pair. Returns false if the pair shows that the function is not concave there.
    fn add(&mut self, s: DVector<f64>, y: DVector<f64>) -> bool {
        let product = s.dot(&y);
        if product <= 1e-20 {
            return false;
        }
        self.scale = product / y.norm_squared();
        if self.pairs.len() == MEMORY {
            self.pairs.remove(0);
        }
        self.pairs.push((s, y, product));
        true
    }

    fn direction(&self, gradient: &DVector<f64>) -> DVector<f64> {
        let mut q = gradient.clone();
        let mut alphas = Vec::new();
        for (s, y, product) in self.pairs.iter().rev() {
            let alpha = s.dot(&q) / product;
            q.axpy(-alpha, y, 1.0);
            alphas.push(alpha);
        }
        q *= self.scale;
        for ((s, y, product), alpha) in self.pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = y.dot(&q) / product;
            q.axpy(alpha - beta, s, 1.0);
        }
        q
    }
}

/// The search along a direction.
struct Line {
    step: DVector<f64>,
    factor: f64,
    failures: usize,
    /// True if the last trial rose enough, but its slope was too large.
    last_rose: Option<bool>,
}

impl Line {
    fn new(history: &History, from: &Point) -> Line {
        Line { step: history.direction(&from.gradient), factor: 2.0, failures: 0, last_rose: None }
    }

    /// Makes the step shorter or longer. False if there were too many failures.
    fn fail(&mut self, rose: bool) -> bool {
        if self.last_rose.is_some_and(|last| last != rose) {
            self.factor = self.factor.sqrt();
        }
        self.last_rose = Some(rose);
        self.failures += 2;
        self.step *= if rose { self.factor } else { 1.0 / self.factor };
        self.failures <= FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_of_a_quadratic_function_is_found() {
        let centre = DVector::from_vec(vec![1.0, -2.0, 3.0]);
        let curvature = [1.0, 10.0, 0.3];
        let mut calls = 0;
        let found = maximize(DVector::zeros(3), 40, |x| {
            calls += 1;
            let d = x - &centre;
            let value = -(0..3).map(|i| curvature[i] * d[i] * d[i]).sum::<f64>() / 2.0;
            (value, DVector::from_fn(3, |i, _| -curvature[i] * d[i]))
        });
        assert!((found - centre).amax() < 1e-5);
        assert_eq!(calls, 40);
    }
}
