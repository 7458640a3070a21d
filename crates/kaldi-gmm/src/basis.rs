//! Directions in which transforms of speakers differ most (`transform/basis-fmllr-diag-gmm.cc`): their statistics, training
//! and file.

use kaldi_numerics::determinant::log_abs_determinant;
use kaldi_numerics::symmetric::symmetric_part;
use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};

use crate::error::{Error, Result};
use crate::fmllr::{FmllrStats, unit};
use crate::fmllr_update::dense;
use crate::model::AmDiagGmm;
use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter, PackedMatrix};

/// Statistics of many speakers: β and Σ g gᵀ / β. Here g is the gradient of a speaker's objective function at the
/// identity transform, as a vector (row after row).
#[derive(Debug, Clone, PartialEq)]
pub struct BasisStats {
    dim: usize,
    count: f64,
    scatter: PackedMatrix<f64>,
}

impl BasisStats {
    pub fn new(dim: usize) -> BasisStats {
        BasisStats { dim, count: 0.0, scatter: PackedMatrix::new(dim * (dim + 1)) }
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Adds a speaker. As in the reference, a last frame that has not been [committed](FmllrStats::commit) does not count.
    pub fn add(&mut self, stats: &mut FmllrStats) {
        if stats.count <= 0.0 {
            return;
        }
        let unit = unit(self.dim);
        let quadratic = stats.quadratic_rows(&unit);
        let gradient = &unit * stats.count + &stats.linear - quadratic;
        let gradient: Vec<f64> = gradient.transpose().iter().copied().collect();
        self.count += stats.count;
        let mut at = 0;
        for (i, &x) in gradient.iter().enumerate() {
            for (sum, y) in self.scatter.data[at..=at + i].iter_mut().zip(&gradient) {
                *sum += x * y / stats.count;
            }
            at += i + 1;
        }
    }

    /// Adds other statistics; an error if their dimension is another one.
    pub fn merge(&mut self, other: &BasisStats) -> Result<()> {
        if other.dim != self.dim {
            return Err(Error::data(format!(
                "basis statistics of dimension {} cannot be added to basis statistics of dimension {}",
                other.dim, self.dim
            )));
        }
        self.count += other.count;
        self.scatter.data.iter_mut().zip(&other.scatter.data).for_each(|(sum, value)| *sum += value);
        Ok(())
    }
}

impl KaldiObject for BasisStats {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<BasisStats> {
        r.expect_token("<BASISFMLLRACCUS>")?;
        r.expect_token("<BETA>")?;
        let count = r.read_f64()?;
        r.expect_token("<GRADSCATTER>")?;
        let scatter = PackedMatrix::<f64>::read(r)?;
        r.expect_token("</BASISFMLLRACCUS>")?;
        let dim = scatter.dim.isqrt();
        if dim * (dim + 1) != scatter.dim {
            return Err(r.error(format!("expected D·(D+1) rows for a dimension D, found {}", scatter.dim)));
        }
        Ok(BasisStats { dim, count, scatter })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<BASISFMLLRACCUS>")?;
        w.write_token("<BETA>")?;
        w.write_f64(self.count)?;
        w.write_token("<GRADSCATTER>")?;
        self.scatter.convert::<f32>().write(w)?;
        w.write_token("</BASISFMLLRACCUS>")
    }
}

/// Transforms D×(D+1), the most important first; a speaker's transform is (I 0) plus a sum of multiples of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    pub elements: Vec<DenseMatrix<f32>>,
}

impl Basis {
    /// Finds the basis for a model. Also returns the variances of the directions per frame, descending. Fails if the
    /// statistics have another dimension than the model, or no data.
    pub fn train(model: &AmDiagGmm, stats: &BasisStats) -> Result<(Basis, Vec<f64>)> {
        let dim = model.dim();
        if stats.dim != dim {
            return Err(Error::data(format!(
                "basis statistics have dimension {}, the model has {dim}",
                stats.dim
            )));
        }
        if stats.count.is_nan() || stats.count <= 0.0 {
            return Err(Error::data(format!("basis statistics have a count of {}", stats.count)));
        }
        let size = dim * (dim + 1);
        let hessian = Cholesky::new(hessian(model));
        let lower = hessian.ok_or_else(|| Error::data("the model's Hessian is not positive definite"))?.l();
        let scatter = DMatrix::from_fn(size, size, |i, j| stats.scatter.get(i, j));
        let singular = || Error::data("the model's Hessian is singular");
        let half = lower.solve_lower_triangular(&scatter).ok_or_else(singular)?;
        let scaled = lower.solve_lower_triangular(&half.transpose()).ok_or_else(singular)?;
        let eigen = SymmetricEigen::new(symmetric_part(&scaled));
        let mut order: Vec<usize> = (0..size).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let vectors = lower.tr_solve_lower_triangular(&eigen.eigenvectors).ok_or_else(singular)?;
        let element = |&k: &usize| DenseMatrix {
            rows: dim,
            cols: dim + 1,
            data: vectors.column(k).iter().map(|&x| x as f32).collect(),
        };
        let elements = order.iter().map(element).collect();
        let variances = order.iter().map(|&k| eigen.eigenvalues[k] / (2.0 * stats.count)).collect();
        Ok((Basis { elements }, variances))
    }
}

/// The expected second derivative of the objective function per frame, negated: a block for each row of the transform.
fn hessian(model: &AmDiagGmm) -> DMatrix<f64> {
    let dim = model.dim();
    let width = dim + 1;
    let mut out = DMatrix::<f64>::zeros(dim * width, dim * width);
    let share = 1.0 / model.pdfs().len() as f64;
    for pdf in model.pdfs() {
        for g in 0..pdf.num_gauss() {
            let weight = f64::from(pdf.weights()[g]) * share;
            let mean = pdf.mean(g).into_iter().map(f64::from).chain([1.0]);
            let mean = DVector::from_iterator(width, mean);
            let mut square = &mean * mean.transpose();
            for (d, inv_var) in pdf.inv_vars().row(g).enumerate() {
                square[(d, d)] += 1.0 / f64::from(inv_var);
            }
            for (d, inv_var) in pdf.inv_vars().row(g).enumerate() {
                let mut block = out.view_mut((d * width, d * width), (width, width));
                block += &square * (weight * f64::from(inv_var));
            }
        }
    }
    for i in 0..dim {
        for j in 0..dim {
            out[(i * width + j, j * width + i)] += 1.0;
        }
    }
    out
}

impl KaldiObject for Basis {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Basis> {
        r.expect_token("<BASISFMLLRPARAM>")?;
        r.expect_token("<NUMBASIS>")?;
        let count = r.read_u32()?;
        r.expect_token("<BASIS>")?;
        let mut elements: Vec<DenseMatrix<f32>> = Vec::new();
        for k in 0..count {
            let element = DenseMatrix::<f32>::read(r)?;
            let fits =
                elements.first().is_none_or(|first| (first.rows, first.cols) == (element.rows, element.cols));
            if !fits || element.rows == 0 || element.cols != element.rows + 1 {
                let (rows, cols) = (element.rows, element.cols);
                return Err(r.error(format!("basis element {k} is a {rows}×{cols} matrix")));
            }
            elements.push(element);
        }
        r.expect_token("</BASISFMLLRPARAM>")?;
        Ok(Basis { elements })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<BASISFMLLRPARAM>")?;
        w.write_token("<NUMBASIS>")?;
        w.write_u32(w.count(self.elements.len())? as u32)?;
        w.write_token("<BASIS>")?;
        self.elements.iter().try_for_each(|element| element.write(w))?;
        w.write_token("</BASISFMLLRPARAM>")
    }
}

/// Options of the estimation of a speaker's transform.
#[derive(Debug, Clone, PartialEq)]
pub struct BasisOptions {
    pub iterations: usize,
    /// Elements of the basis for each unit of the count.
    pub size_scale: f64,
    /// If the count of the statistics is smaller, the transform is the identity.
    pub min_count: f64,
    /// Newton's steps for the size of each change.
    pub step_size_iterations: usize,
}

/// A speaker's transform.
#[derive(Debug, Clone, PartialEq)]
pub struct BasisEstimate {
    pub transform: DenseMatrix<f32>,
    /// The factor of each element that was used; empty if the count was too small.
    pub weights: Vec<f32>,
    /// Growth of the objective function.
    pub improvement: f64,
}

impl Basis {
    /// Estimates a speaker's transform. As in the reference, a last frame that has not been
    /// [committed](FmllrStats::commit) does not count. Fails if the basis is of another dimension.
    pub fn estimate(&self, stats: &mut FmllrStats, options: &BasisOptions) -> Result<BasisEstimate> {
        let (dim, count) = (stats.dim(), stats.count);
        if let Some(element) = self.elements.first().filter(|element| element.rows != dim) {
            return Err(Error::data(format!(
                "the basis has dimension {}, the model has {dim}",
                element.rows
            )));
        }
        let mut transform = unit(dim);
        if count.is_nan() || count < options.min_count {
            return Ok(BasisEstimate { transform: dense(&transform), weights: Vec::new(), improvement: 0.0 });
        }
        let used = ((options.size_scale * count).max(0.0) as usize).min(self.elements.len());
        let elements: Vec<DMatrix<f64>> = self.elements[..used]
            .iter()
            .map(|element| {
                DMatrix::from_row_iterator(dim, dim + 1, element.data.iter().map(|&x| f64::from(x)))
            })
            .collect();
        let mut weights = vec![0.0; used];
        let before = stats.objective(&transform);
        for _ in 0..options.iterations {
            let singular = || Error::data("the transform has become singular");
            let square = transform.columns(0, dim).into_owned();
            let inverse = square.clone().try_inverse().ok_or_else(singular)?;
            let quadratic = stats.quadratic_rows(&transform);
            let rest = &stats.linear - quadratic;
            let mut gradient = rest.clone();
            let mut left = gradient.columns_mut(0, dim);
            left += inverse.transpose() * count;
            let steps: Vec<f64> = elements.iter().map(|element| element.dot(&gradient)).collect();
            let mut delta = DMatrix::zeros(dim, dim + 1);
            elements.iter().zip(&steps).for_each(|(element, &step)| delta += element * step);
            let line = Line {
                count,
                slope: delta.dot(&rest),
                curvature: delta.dot(&stats.quadratic_rows(&delta)),
                square,
                delta: delta.columns(0, dim).into_owned(),
            };
            let size = line.best(options.step_size_iterations)?;
            transform += &delta * size;
            weights.iter_mut().zip(&steps).for_each(|(weight, step)| *weight += size * step);
        }
        let improvement = stats.objective(&transform) - before;
        if !improvement.is_finite() {
            return Err(Error::data("the transform is not finite"));
        }
        let weights = weights.iter().map(|&weight| weight as f32).collect();
        Ok(BasisEstimate { transform: dense(&transform), weights, improvement })
    }
}

/// A change smaller than this ends the halving of the step.
const LEAST_STEP: f64 = 1e-5;

/// The objective function along a direction Δ, as a function of the step k: β ln|det(A + kΔ)| + k·slope − ½ k²·curvature.
struct Line {
    count: f64,
    slope: f64,
    curvature: f64,
    square: DMatrix<f64>,
    delta: DMatrix<f64>,
}

impl Line {
    fn value(&self, step: f64) -> f64 {
        let log_determinant = log_abs_determinant(&self.square + &self.delta * step);
        self.count * log_determinant + step * self.slope - 0.5 * step * step * self.curvature
    }

    /// Takes Newton's steps from 0; a step that makes the value smaller is halved until it does not.
    fn best(&self, iterations: usize) -> Result<f64> {
        let mut step = 0.0;
        for _ in 0..iterations {
            let inverse = (&self.square + &self.delta * step).try_inverse();
            let inverse = inverse.ok_or_else(|| Error::data("the transform has become singular"))?;
            let products = inverse * &self.delta;
            let first = self.count * products.trace() + self.slope - step * self.curvature;
            let exact = -self.curvature - self.count * products.dot(&products.transpose());
            let second = exact.min(-self.curvature / 10.0);
            let mut change = -first / second;
            if !change.is_finite() || change == 0.0 {
                break;
            }
            let before = self.value(step);
            step += change;
            while self.value(step) < before - 1e-4 * self.count {
                change *= 0.5;
                step -= change;
                if change.abs() < LEAST_STEP {
                    break;
                }
            }
        }
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fmllr::tests::stats;
    use crate::fmllr_update::{FmllrKind, FmllrOptions};
    use crate::testing::from_text;
    use crate::testing_models::both_forms;

    fn basis_stats() -> (BasisStats, AmDiagGmm) {
        let mut sum = BasisStats::new(3);
        for frames in [100, 200, 250, 330] {
            sum.add(&mut stats(frames, 3).0);
        }
        sum.add(&mut FmllrStats::new(3));
        (sum, stats(10, 3).1)
    }

    #[test]
    fn a_whole_basis_gives_the_full_transform() {
        let (sum, model) = basis_stats();
        let (basis, variances) = Basis::train(&model, &sum).unwrap();
        assert_eq!((basis.elements.len(), variances.len()), (12, 12));
        assert!(variances.windows(2).all(|pair| pair[0] >= pair[1]));
        let options =
            BasisOptions { iterations: 200, size_scale: 1.0, min_count: 10.0, step_size_iterations: 3 };
        let mut stats = stats(300, 3).0;
        stats.commit();
        let estimate = basis.estimate(&mut stats, &options).unwrap();
        let full = FmllrOptions { kind: FmllrKind::Full, min_count: 10.0, iterations: 40 };
        let full = stats.estimate(&full).unwrap();
        assert!((estimate.improvement - full.improvement).abs() < 0.01 * full.improvement);
        // Weights and elements make the transform.
        let mut sum = unit(3);
        for (element, &weight) in basis.elements.iter().zip(&estimate.weights) {
            sum += DMatrix::from_row_iterator(3, 4, element.data.iter().map(|&x| f64::from(x * weight)));
        }
        assert!(dense(&sum).data.iter().zip(&estimate.transform.data).all(|(a, b)| (a - b).abs() < 1e-3));
        let few = BasisOptions { min_count: 301.0, ..options };
        let nothing = basis.estimate(&mut stats, &few).unwrap();
        assert_eq!((nothing.transform, nothing.weights.len()), (dense(&unit(3)), 0));
    }

    #[test]
    fn files_and_sizes() {
        let (mut sum, model) = basis_stats();
        let (text, _) = both_forms(&sum);
        let again: BasisStats = from_text(&text).unwrap();
        assert_eq!(again.dim, 3);
        assert!((again.count - sum.count).abs() < 1e-3);
        let basis = Basis::train(&model, &sum).unwrap().0;
        let (text, _) = both_forms(&basis);
        assert_eq!(from_text::<Basis>(&text).unwrap().elements.len(), 12);
        assert!(from_text::<Basis>(&text.replace("<NUMBASIS> 12", "<NUMBASIS> 13")).is_err());
        sum.merge(&again).unwrap();
        assert!((sum.count - 2.0 * again.count).abs() < 1e-3);
        assert!(sum.merge(&BasisStats::new(2)).is_err());
        assert!(Basis::train(&model, &BasisStats::new(2)).is_err());
        assert!(Basis::train(&model, &BasisStats::new(3)).unwrap_err().to_string().contains("count of 0"));
        let options =
            BasisOptions { iterations: 2, size_scale: 1.0, min_count: 0.0, step_size_iterations: 3 };
        assert!(basis.estimate(&mut FmllrStats::new(2), &options).is_err());
    }
}
