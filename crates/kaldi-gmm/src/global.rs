//! The Gaussian of all frames, with which models without alignments begin.

use crate::error::{Error, Result};
use crate::gmm::DiagGmm;

/// Sums of frames and of their squares.
pub struct GlobalMean {
    count: f64,
    sum: Vec<f64>,
    sum_of_squares: Vec<f64>,
}

impl GlobalMean {
    pub fn new(dim: usize) -> GlobalMean {
        GlobalMean { count: 0.0, sum: vec![0.0; dim], sum_of_squares: vec![0.0; dim] }
    }

    /// Adds a frame. Fails if its dimension is another one.
    pub fn add(&mut self, frame: &[f64]) -> Result<()> {
        if frame.len() != self.sum.len() {
            return Err(Error::data(format!(
                "the features have {} columns, expected {}",
                frame.len(),
                self.sum.len()
            )));
        }
        self.count += 1.0;
        for ((sum, squares), value) in self.sum.iter_mut().zip(&mut self.sum_of_squares).zip(frame) {
            *squares += value * value;
            *sum += value;
        }
        Ok(())
    }

    /// Makes a Gaussian with mean and variance of the frames. Fails if there were no frames, or an element never changed.
    pub fn gaussian(self) -> Result<DiagGmm> {
        if self.count == 0.0 {
            return Err(Error::data("no features were seen."));
        }
        let scale = 1.0 / self.count;
        let mean: Vec<f64> = self.sum.iter().map(|sum| sum * scale).collect();
        let mut inv_var = Vec::new();
        for (d, (square, mean)) in self.sum_of_squares.iter().zip(&mean).enumerate() {
            let var = square * scale - mean * mean;
            if var.is_nan() || var <= 0.0 {
                return Err(Error::data(format!("bad variance: {var} in dimension {d} of the features")));
            }
            inv_var.push((1.0 / var) as f32);
        }
        DiagGmm::single(&mean.iter().map(|&mean| mean as f32).collect::<Vec<_>>(), &inv_var)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance() {
        let mut mean = GlobalMean::new(2);
        for frame in [[1.0, 5.0], [3.0, 9.0]] {
            mean.add(&frame).unwrap();
        }
        assert!(mean.add(&[1.0]).is_err());
        let gmm = mean.gaussian().unwrap();
        assert_eq!((gmm.mean(0), gmm.inv_vars().to_matrix().data), (vec![2.0, 7.0], vec![1.0, 0.25]));
        assert!(GlobalMean::new(1).gaussian().unwrap_err().to_string().contains("no features"));
        let mut same = GlobalMean::new(1);
        same.add(&[4.0]).unwrap();
        assert!(same.gaussian().unwrap_err().to_string().contains("dimension 0"));
    }
}
