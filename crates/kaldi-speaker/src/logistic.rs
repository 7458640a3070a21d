//! Multi-class logistic regression; a class may have several components whose probabilities are added.
//!
//! File: `<LogisticRegression> <weights> ` FM (components × (dimension + 1), the last column is the offset) `<class> `
//! the class of each component, `</LogisticRegression> `. Without `<class>`, component i belongs to class i.

use kaldi_io::{DenseMatrix, KaldiObject, KaldiReader, KaldiWriter};
use kaldi_numerics::soft_max::soft_max;
use nalgebra::{DMatrix, DVector};

use crate::error::{Error, Result};
use crate::lbfgs::maximize;
use crate::linear;

/// Most classes of a model.
const MOST_CLASSES: i32 = 1_000_000;
/// Standard deviation of the noise that tells new components of a class apart.
const NOISE: f64 = 1e-5;

#[derive(Debug, Clone, PartialEq)]
pub struct LogisticRegression {
    weights: DenseMatrix<f32>,
    class_of: Vec<i32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TrainOptions {
    /// Evaluations of the objective function, for each of the one or two trainings.
    pub max_steps: usize,
    /// Half of it times the sum of squared weights is subtracted from the mean log probability.
    pub normalizer: f64,
    /// Number of components after the first training. If it is at most the number of classes, each class has one
    /// component.
    pub mix_up: usize,
    /// Components of a class grow with this power of its number of vectors.
    pub power: f64,
}

/// A model, and its objective function at each evaluation of the first training and of the second, if there is one.
#[derive(Debug, Clone)]
pub struct Trained {
    pub model: LogisticRegression,
    pub first: Vec<f64>,
    pub second: Option<Vec<f64>>,
}

/// Trains a model on vectors and their classes, which are numbered from 0.
///
/// # Errors
/// If there are no vectors, their dimensions differ, a class is out of range, or an option is.
pub fn train<V: AsRef<[f32]>>(vectors: &[V], classes: &[i32], options: &TrainOptions) -> Result<Trained> {
    let (Some(&last), Some(first)) = (classes.iter().max(), vectors.first()) else {
        return Err(Error::data("no vectors"));
    };
    if let Some(wrong) = classes.iter().find(|class| !(0..MOST_CLASSES).contains(*class)) {
        return Err(Error::data(format!("found class {wrong}, expected 0 to {}", MOST_CLASSES - 1)));
    }
    if !(options.normalizer >= 0.0 && options.power.is_finite()) {
        return Err(Error::options("`normalizer` must not be negative, and `power` must be a number"));
    }
    let dim = first.as_ref().len();
    let columns = linear::columns(vectors)?.insert_row(dim, 1.0);
    let data = Data { columns, classes, normalizer: options.normalizer };
    let class_of: Vec<i32> = (0..=last).collect();
    let start = DMatrix::zeros(class_of.len(), dim + 1);
    let (weights, values) = data.maximize(start, &class_of, options.max_steps);
    let mut trained = Trained { model: model(&weights, class_of), first: values, second: None };
    if options.mix_up > trained.model.class_of.len() {
        let (start, class_of) = split(&weights, classes, options);
        let (weights, values) = data.maximize(start, &class_of, options.max_steps);
        trained.model = model(&weights, class_of);
        trained.second = Some(values);
    }
    Ok(trained)
}

fn model(weights: &DMatrix<f64>, class_of: Vec<i32>) -> LogisticRegression {
    let rows: Vec<Vec<f32>> = weights.row_iter().map(|row| row.iter().map(|&x| x as f32).collect()).collect();
    LogisticRegression { weights: DenseMatrix::from_rows(&rows), class_of }
}

/// Vectors as columns with a last element 1, and their classes.
struct Data<'a> {
    columns: DMatrix<f64>,
    classes: &'a [i32],
    normalizer: f64,
}

impl Data<'_> {
    fn maximize(&self, start: DMatrix<f64>, class_of: &[i32], steps: usize) -> (DMatrix<f64>, Vec<f64>) {
        let (rows, cols) = start.shape();
        let mut values = Vec::new();
        let found = maximize(DVector::from_column_slice(start.as_slice()), steps, |x| {
            let weights = DMatrix::from_column_slice(rows, cols, x.as_slice());
            let (value, gradient) = self.objective(&weights, class_of);
            values.push(value);
            (value, DVector::from_column_slice(gradient.as_slice()))
        });
        (DMatrix::from_column_slice(rows, cols, found.as_slice()), values)
    }

    /// Returns the mean of ln p(class) less half the normalizer times the sum of squared weights, and its gradient.
    fn objective(&self, weights: &DMatrix<f64>, class_of: &[i32]) -> (f64, DMatrix<f64>) {
        let mut scores = weights * &self.columns;
        let count = self.classes.len() as f64;
        let mut value = 0.0;
        for (mut column, &class) in scores.column_iter_mut().zip(self.classes) {
            soft_max(column.as_mut_slice());
            let own = |(_, of): &(&f64, &i32)| **of == class;
            let total: f64 = column.iter().zip(class_of).filter(own).map(|(p, _)| p).sum::<f64>().max(1e-300);
            value += total.ln() / count;
            for (p, of) in column.iter_mut().zip(class_of) {
                let share = if *of == class { *p / total } else { 0.0 };
                *p = (share - *p) / count;
            }
        }
        let gradient = scores * self.columns.transpose() - weights * self.normalizer;
        (value - 0.5 * self.normalizer * weights.norm_squared(), gradient)
    }
}

/// Appends components class by class: copies of the class's row with some noise.
fn split(weights: &DMatrix<f64>, classes: &[i32], options: &TrainOptions) -> (DMatrix<f64>, Vec<i32>) {
    let count = weights.nrows();
    let mut counts = vec![0usize; count];
    classes.iter().for_each(|&class| counts[class as usize] += 1);
    let mut components = vec![1usize; count];
    for _ in count..options.mix_up {
        let priority = |class: usize| (counts[class] as f64).powf(options.power) / components[class] as f64;
        let can_grow = |class: &usize| components[*class] + 1 < counts[*class];
        // The first of equals.
        let largest = (0..count).filter(can_grow).rev().max_by(|&a, &b| priority(a).total_cmp(&priority(b)));
        match largest {
            Some(class) => components[class] += 1,
            None => break,
        }
    }
    let mut class_of: Vec<usize> = (0..count).collect();
    class_of.extend((0..count).flat_map(|class| std::iter::repeat_n(class, components[class] - 1)));
    let mut noise = Noise(1);
    let mut rows = weights.select_rows(&class_of);
    rows.rows_mut(count, class_of.len() - count).iter_mut().for_each(|x| *x += NOISE * noise.next());
    (rows, class_of.into_iter().map(|class| class as i32).collect())
}

/// A stream of numbers with mean 0 and variance 1, the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as f64 / (1u64 << 31) as f64 - 0.5
        };
        // Twelve uniform numbers of variance 1/12.
        (0..12).map(|_| uniform()).sum()
    }
}

impl LogisticRegression {
    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.class_of.iter().max().map_or(0, |&last| last as usize + 1)
    }

    /// Returns the number of components of all classes.
    pub fn components(&self) -> usize {
        self.class_of.len()
    }

    /// Returns the natural logarithm of the probability of each class.
    ///
    /// # Errors
    /// If the vector has another dimension than the model, or elements that are not finite.
    pub fn log_posteriors(&self, vector: &[f32]) -> Result<Vec<f32>> {
        let (found, dim) = (vector.len(), self.weights.cols - 1);
        if found != dim {
            return Err(Error::data(format!("dimension {found}, the model has {dim}")));
        }
        crate::vectors::check(vector)?;
        let score = |i: usize| {
            let row = self.weights.row(i);
            let products = row.iter().zip(vector).map(|(w, x)| f64::from(*w) * f64::from(*x));
            products.sum::<f64>() + f64::from(row[dim])
        };
        let mut scores: Vec<f64> = (0..self.weights.rows).map(score).collect();
        soft_max(&mut scores);
        let mut classes = vec![0f64; self.classes()];
        scores.iter().zip(&self.class_of).for_each(|(p, &class)| classes[class as usize] += p);
        // (An impossible class gets the logarithm of the smallest float.)
        Ok(classes.iter().map(|p| p.max(f64::from(f32::MIN_POSITIVE)).ln() as f32).collect())
    }

    /// Multiplies the prior probability of each class by a number.
    ///
    /// # Errors
    /// If the number of scales is not the number of classes, or if a scale is not above 0.
    pub fn scale_priors(&mut self, scales: &[f32]) -> Result<()> {
        let (found, classes) = (scales.len(), self.classes());
        if found != classes {
            return Err(Error::options(format!("{found} scales of priors for {classes} classes")));
        }
        if let Some(wrong) = scales.iter().find(|scale| !(**scale > 0.0 && scale.is_finite())) {
            return Err(Error::options(format!("the scale {wrong} of a prior is not a number above 0")));
        }
        for (i, &class) in self.class_of.iter().enumerate() {
            if let Some(offset) = self.weights.row_mut(i).last_mut() {
                *offset += scales[class as usize].ln();
            }
        }
        Ok(())
    }
}

impl KaldiObject for LogisticRegression {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        r.expect_token("<LogisticRegression>")?;
        r.expect_token("<weights>")?;
        let weights = DenseMatrix::<f32>::read(r)?;
        let rows = weights.rows;
        let class_of = if r.accept_token("<class>")? {
            r.read_i32_vector()?
        } else {
            (0..i32::try_from(rows).unwrap_or(i32::MAX)).collect()
        };
        r.expect_token("</LogisticRegression>")?;
        if rows == 0 || weights.cols < 2 || class_of.len() != rows {
            let (cols, classes) = (weights.cols, class_of.len());
            return Err(r.error(format!("{rows}×{cols} weights and the classes of {classes} components")));
        }
        if weights.not_finite().is_some() {
            return Err(r.error("a weight is not finite"));
        }
        if let Some(wrong) = class_of.iter().find(|class| !(0..MOST_CLASSES).contains(*class)) {
            return Err(r.error(format!("found class {wrong}, expected 0 to {}", MOST_CLASSES - 1)));
        }
        Ok(LogisticRegression { weights, class_of })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<LogisticRegression>")?;
        w.write_token("<weights>")?;
        self.weights.write(w)?;
        w.write_token("<class>")?;
        w.write_i32_vector(&self.class_of)?;
        w.write_token("</LogisticRegression>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> TrainOptions {
        TrainOptions { max_steps: 30, normalizer: 0.01, mix_up: 0, power: 0.3 }
    }

    fn sample() -> (Vec<[f32; 2]>, Vec<i32>) {
        (0..30i32)
            .map(|i| {
                let (x, y) = ((i as f32 * 0.7).sin(), (i as f32 * 1.3).cos());
                ([x + (i % 3) as f32, y - (i % 3 == 1) as i32 as f32], i % 3)
            })
            .unzip()
    }

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let (vectors, classes) = sample();
        let columns = linear::columns(&vectors).unwrap().insert_row(2, 1.0);
        let data = Data { columns, classes: &classes, normalizer: 0.1 };
        let class_of = [0, 1, 2, 1];
        let weights = DMatrix::from_fn(4, 3, |i, j| ((i * 5 + j * 3) % 7) as f64 * 0.2 - 0.5);
        let (_, gradient) = data.objective(&weights, &class_of);
        for i in 0..4 {
            for j in 0..3 {
                let at = |change: f64| {
                    let mut moved = weights.clone();
                    moved[(i, j)] += change;
                    data.objective(&moved, &class_of).0
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - gradient[(i, j)]).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn training_finds_a_maximum_and_components_are_added() {
        let (vectors, classes) = sample();
        let trained = train(&vectors, &classes, &options()).unwrap();
        assert_eq!(trained.first.len(), 30);
        assert!((trained.first[0] + 3f64.ln()).abs() < 1e-12);
        let weights = DMatrix::from_fn(3, 3, |i, j| f64::from(trained.model.weights.row(i)[j]));
        let columns = linear::columns(&vectors).unwrap().insert_row(2, 1.0);
        let data = Data { columns, classes: &classes, normalizer: 0.01 };
        assert!(data.objective(&weights, &[0, 1, 2]).1.amax() < 1e-4);

        let mixed = train(&vectors, &classes, &TrainOptions { mix_up: 5, ..options() }).unwrap();
        assert_eq!(mixed.model.class_of, [0, 1, 2, 0, 1]);
        let posteriors = mixed.model.log_posteriors(&vectors[0]).unwrap();
        assert!((posteriors.iter().map(|x| x.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(posteriors.len(), 3);
        let mut scaled = trained.model.clone();
        scaled.scale_priors(&[1.0, 2.0, 1.0]).unwrap();
        let ratio = |m: &LogisticRegression| {
            let p = m.log_posteriors(&vectors[0]).unwrap();
            p[1] - p[0]
        };
        assert!((ratio(&scaled) - ratio(&trained.model) - 2f32.ln()).abs() < 1e-5);
        assert!(scaled.scale_priors(&[1.0]).is_err() && scaled.scale_priors(&[0.0; 3]).is_err());
        assert!(scaled.log_posteriors(&[1.0]).unwrap_err().to_string().starts_with("dimension 1"));
    }

    #[test]
    fn wrong_data_and_files() {
        let message = |vectors: &[Vec<f32>], classes: &[i32]| {
            train(vectors, classes, &options()).unwrap_err().to_string()
        };
        assert_eq!(message(&[], &[]), "no vectors");
        assert!(message(&[vec![1.0]], &[-1]).contains("class -1"));
        assert!(message(&[vec![1.0], vec![]], &[0, 1]).contains("vector 1"));
        let (text, _) = kaldi_io::testing::in_both_forms(&LogisticRegression {
            weights: DenseMatrix::from_rows(&[[1f32, 2.0], [3.0, 4.0]]),
            class_of: vec![0, 1],
        });
        assert!(
            text.starts_with("<LogisticRegression> <weights>  [\n  1 2 \n  3 4 ]\n<class> [ 0 1 ]\n"),
            "{text}"
        );
        for (wrong, expected) in [
            ("<LogisticRegression> <weights>  [\n  1 2 ]\n<class> [ 0 1 ]\n</LogisticRegression> ", "1×2"),
            (
                "<LogisticRegression> <weights>  [\n  1 2 ]\n<class> [ -1 ]\n</LogisticRegression> ",
                "class -1",
            ),
        ] {
            let error = kaldi_io::testing::from_text::<LogisticRegression>(wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
