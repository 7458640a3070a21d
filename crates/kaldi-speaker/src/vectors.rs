//! Means, lengths, affine transforms of vectors, and statistics of numbers for log lines.

use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};

/// The sum of vectors of one dimension, and their number.
#[derive(Debug, Clone, Default)]
pub struct Mean {
    sum: Vec<f64>,
    count: u64,
}

impl Mean {
    /// Adds a vector.
    ///
    /// # Errors
    /// If it is empty, has another dimension than those before it, or elements that are not finite. Then it is not added.
    pub fn add(&mut self, vector: &[f32]) -> Result<()> {
        check(vector)?;
        if self.count == 0 {
            self.sum = vec![0.0; vector.len()];
        }
        let (expected, found) = (self.sum.len(), vector.len());
        if expected != found {
            return Err(Error::data(format!("dimension {found}, the vectors before it have {expected}")));
        }
        self.sum.iter_mut().zip(vector).for_each(|(sum, &x)| *sum += f64::from(x));
        self.count += 1;
        Ok(())
    }

    /// Returns the number of vectors added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; `None` before the first vector.
    pub fn mean(&self) -> Option<Vec<f64>> {
        (self.count > 0).then(|| self.sum.iter().map(|x| x / self.count as f64).collect())
    }
}

/// Fails if a speaker vector is empty or has elements that are not finite.
pub fn check(vector: &[f32]) -> Result<()> {
    if vector.is_empty() {
        return Err(Error::data("empty vector"));
    }
    match vector.iter().position(|x| !x.is_finite()) {
        Some(i) => Err(Error::data(format!("element {i} is {}, expected a finite number", vector[i]))),
        None => Ok(()),
    }
}

/// Returns the Euclidean length.
pub fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Returns the quotient of a vector's length and the expected one: √dimension, or 1 for unit length.
pub fn length_ratio(vector: &[f32], unit: bool) -> f32 {
    let squares: f64 = vector.iter().map(|&x| f64::from(x).powi(2)).sum();
    let expected = if unit { 1.0 } else { vector.len() as f64 };
    (squares / expected).sqrt() as f32
}

/// Returns `vector` minus `mean`.
///
/// # Errors
/// If the dimensions differ.
pub fn subtract(vector: &[f32], mean: &[f32]) -> Result<Vec<f32>> {
    let (found, expected) = (vector.len(), mean.len());
    if found != expected {
        return Err(Error::data(format!("dimension {found}, the mean has {expected}")));
    }
    Ok(vector.iter().zip(mean).map(|(x, m)| x - m).collect())
}

/// Returns A x, or A (x, 1) if A has one column more than x has elements.
///
/// # Errors
/// If the dimension of x fits neither.
pub fn transform(matrix: &DenseMatrix<f32>, vector: &[f32]) -> Result<Vec<f32>> {
    let (cols, found) = (matrix.cols, vector.len());
    if found != cols && found + 1 != cols {
        return Err(Error::data(format!(
            "dimension {found}, the transform takes {cols}, or {} and an offset",
            cols.saturating_sub(1)
        )));
    }
    let product = |i: usize| {
        let row = matrix.row(i);
        let dot: f64 = row.iter().zip(vector).map(|(a, x)| f64::from(*a) * f64::from(*x)).sum();
        (dot + row[found..].iter().map(|&offset| f64::from(offset)).sum::<f64>()) as f32
    };
    Ok((0..matrix.rows).map(product).collect())
}

/// Mean and standard deviation of numbers.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Spread {
    pub fn add(&mut self, x: f64) {
        self.count += 1.0;
        self.sum += x;
        self.squares += x * x;
    }

    /// Returns the mean; NaN of no numbers.
    pub fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// Returns √(mean of squares − square of the mean); NaN of no numbers.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count - self.mean().powi(2)).max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_lengths() {
        let mut mean = Mean::default();
        assert_eq!(mean.mean(), None);
        mean.add(&[1.0, 4.0]).unwrap();
        mean.add(&[3.0, 0.0]).unwrap();
        for (wrong, message) in [
            (&[][..], "empty vector"),
            (&[1.0], "dimension 1, the vectors before it have 2"),
            (&[1.0, f32::NAN], "element 1 is NaN, expected a finite number"),
        ] {
            assert_eq!(mean.add(wrong).unwrap_err().to_string(), message);
        }
        assert_eq!((mean.mean().unwrap(), mean.count()), (vec![2.0, 2.0], 2));
        assert_eq!(length_ratio(&[3.0, 4.0], true), 5.0);
        assert!((length_ratio(&[3.0, 4.0], false) - 12.5f32.sqrt()).abs() < 1e-6);
        assert_eq!(norm(&[3.0, 4.0]), 5.0);
        assert_eq!(subtract(&[1.0, 2.0], &[3.0, 0.5]).unwrap(), [-2.0, 1.5]);
        assert!(subtract(&[1.0], &[3.0, 0.5]).is_err());
    }

    #[test]
    fn transforms_may_have_an_offset() {
        let matrix = DenseMatrix::from_rows(&[[1f32, 2.0, 3.0], [0.0, 1.0, -1.0]]);
        assert_eq!(transform(&matrix, &[1.0, 1.0, 2.0]).unwrap(), [9.0, -1.0]);
        assert_eq!(transform(&matrix, &[1.0, 1.0]).unwrap(), [6.0, 0.0]);
        assert!(transform(&matrix, &[1.0]).unwrap_err().to_string().starts_with("dimension 1, "));
    }

    #[test]
    fn spread_of_numbers() {
        let mut spread = Spread::default();
        [1.0, 2.0, 3.0, 6.0].into_iter().for_each(|x| spread.add(x));
        assert_eq!((spread.mean(), spread.deviation()), (3.0, 3.5f64.sqrt()));
    }
}
