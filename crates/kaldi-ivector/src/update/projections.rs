//! Projections M, and weights that depend on the i-vector.

use kaldi_io::DenseMatrix;
use kaldi_io::log::{num, ratio};
use kaldi_numerics::triangle;
use nalgebra::DMatrix;

use super::quadratic::{Outcome, maximize};
use super::{Note, Notes, Update, projection};
use crate::extractor::IvectorExtractor;
use crate::parallel;
use crate::products::store;
use crate::stats::WeightStats;

/// Falls of the objective that are no more than rounding.
const ROUNDING: f64 = 1e-10;

impl Update<'_> {
    /// Maximizes tr(MᵀΣ⁻¹Y) − ½ tr(Σ⁻¹ M R Mᵀ) for each Gaussian with enough data. Returns the growth for each frame.
    pub(super) fn projections(&self, extractor: &mut IvectorExtractor, notes: Notes<'_>) -> f64 {
        let mut outcomes = vec![None; extractor.num_gauss()];
        let tasks = extractor.projections.iter_mut().zip(&extractor.inverse_covariances).zip(&mut outcomes);
        let tasks = tasks.enumerate().filter(|(g, _)| self.has_enough(*g));
        parallel::for_each(self.options.threads, tasks.collect(), |(g, ((m, inverse), outcome))| {
            let c = triangle::unpack(&inverse.data, inverse.dim);
            let mut new = projection(m);
            *outcome = Some(maximize(&mut new, &self.linear(g), &self.quadratic(g), Some(&c)));
            store(&new, &mut m.data);
        });
        let mut growth = 0.0;
        for (g, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Some(outcome) => growth += report(outcome, "matrix", "M", notes),
                None => notes(Note::Warning(format!(
                    "Skipping Gaussian index {g} because count {} is below min-count.",
                    num(self.stats.counts[g])
                ))),
            }
        }
        notes(Note::Log(format!(
            "Overall objective function improvement for M (mean projections) was {} per frame over {} frames.",
            ratio(growth, self.frames),
            num(self.frames)
        )));
        growth / self.frames
    }

    /// Maximizes G·w − ½ wᵀQw for each Gaussian's row w of W. Returns the growth for each frame.
    pub(super) fn weights(&self, w: &mut DenseMatrix<f64>, stats: &WeightStats, notes: Notes<'_>) -> f64 {
        let (rows, dim) = (w.rows, w.cols);
        let mut outcomes = vec![Outcome::NoData; rows];
        let terms = stats.linear.chunks_exact(dim).zip(stats.quadratic.chunks_exact(triangle::len(dim)));
        let tasks = w.data.chunks_exact_mut(dim).zip(terms).zip(&mut outcomes).collect();
        parallel::for_each(self.options.threads, tasks, |((w, (linear, quadratic)), outcome)| {
            let mut new = DMatrix::from_row_slice(1, dim, w);
            let linear = DMatrix::from_row_slice(1, dim, linear);
            *outcome = maximize(&mut new, &linear, &triangle::unpack(quadratic, dim), None);
            w.copy_from_slice(new.as_slice());
        });
        let growth: f64 = outcomes.into_iter().map(|outcome| report(outcome, "vector", "w", notes)).sum();
        notes(Note::Log(format!(
            "Overall auxf impr/frame from weight update is {} over {} frames.",
            ratio(growth, self.frames),
            num(self.frames)
        )));
        growth / self.frames
    }
}

/// Reports an outcome and returns the growth. `kind` and `name` are those of the unknown.
fn report(outcome: Outcome, kind: &str, name: &str, notes: Notes<'_>) -> f64 {
    let (growth, floored) = match outcome {
        Outcome::Improved { growth, floored } => (growth, floored),
        Outcome::Worse { floored, .. } => (0.0, floored),
        Outcome::NoData | Outcome::NotFinite => (0.0, 0),
    };
    if floored > 0 {
        let problem = if kind == "matrix" { "matrix" } else { "quadratic" };
        notes(Note::Log(format!("Solving {problem} problem for {name}: floored {floored} eigenvalues. ")));
    }
    match outcome {
        Outcome::Worse { fall, .. } if fall > ROUNDING => notes(Note::Warning(format!(
            "Optimizing {kind} auxiliary function for {name}: auxf would decrease by {}, leaving it unchanged.",
            num(fall)
        ))),
        Outcome::NoData => notes(Note::Warning(format!(
            "Zero quadratic term in quadratic {kind} problem for {name}: leaving it unchanged."
        ))),
        Outcome::NotFinite => notes(Note::Warning(format!(
            "The quadratic {kind} problem for {name} has terms that are not finite: leaving it unchanged."
        ))),
        Outcome::Improved { .. } | Outcome::Worse { .. } => {}
    }
    growth
}
