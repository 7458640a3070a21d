//! Voice activity: decisions 1 (voice) and 0 for each frame, and the frames that they select.

use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};

/// Options of decisions by energy, which is the first column of the features.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyOptions {
    /// Threshold of the energy, before the mean is added.
    pub threshold: f32,
    /// Factor of the utterance's mean energy; the product is added to the threshold.
    pub mean_scale: f32,
    /// Frames on each side of a frame that vote with it.
    pub context: usize,
    /// The share of votes that makes a frame voiced, above 0 and below 1.
    pub proportion: f32,
}

impl EnergyOptions {
    /// Fails if the proportion is not between 0 and 1 or the factor of the mean is negative.
    pub fn check(&self) -> Result<()> {
        if !(self.proportion > 0.0 && self.proportion < 1.0) {
            let found = self.proportion;
            return Err(Error::options(format!(
                "`vad-proportion-threshold`={found}: expected a number between 0 and 1"
            )));
        }
        if self.mean_scale.is_nan() || self.mean_scale < 0.0 {
            let found = self.mean_scale;
            return Err(Error::options(format!(
                "`vad-energy-mean-scale`={found}: expected a number that is not negative"
            )));
        }
        Ok(())
    }

    /// Returns a decision for each row of `features`. Frame t looks at the frames t - context to t + context
    /// inside the utterance. It is voiced if at least the given share of them has an energy above threshold +
    /// scale · mean.
    pub fn decide(&self, features: &DenseMatrix<f32>) -> Vec<f32> {
        let energy = |t: usize| features.row(t)[0];
        let frames = features.rows;
        let sum: f64 = (0..frames).map(|t| f64::from(energy(t))).sum();
        let threshold = match self.mean_scale {
            0.0 => self.threshold,
            scale => self.threshold + scale * sum as f32 / frames as f32,
        };
        // above[t] counts the frames before t that are above the threshold.
        let mut above = vec![0usize];
        above.extend((0..frames).scan(0, |count, t| {
            *count += usize::from(energy(t) > threshold);
            Some(*count)
        }));
        let decide = |t: usize| {
            let (begin, end) =
                (t.saturating_sub(self.context), (t.saturating_add(self.context) + 1).min(frames));
            let votes = above[end] - above[begin];
            if votes as f32 >= (end - begin) as f32 * self.proportion { 1.0 } else { 0.0 }
        };
        (0..frames).map(decide).collect()
    }
}

/// Returns the rows of `features` with decision 1. The result may be empty.
///
/// # Errors
/// If the number of decisions is not the number of rows, or if a decision is neither 0 nor 1.
pub fn select_voiced(features: &DenseMatrix<f32>, decisions: &[f32]) -> Result<DenseMatrix<f32>> {
    let (frames, found) = (features.rows, decisions.len());
    if frames != found {
        return Err(Error::data(format!("{found} decisions for {frames} frames")));
    }
    if let Some((t, x)) = decisions.iter().enumerate().find(|(_, x)| ![0.0, 1.0].contains(*x)) {
        return Err(Error::data(format!("the decision of frame {t} is {x}, expected 0 or 1")));
    }
    let voiced: Vec<&[f32]> = (0..frames).filter(|&t| decisions[t] == 1.0).map(|t| features.row(t)).collect();
    Ok(DenseMatrix::from_rows(&voiced))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the votes of each frame one by one.
    fn slow(options: &EnergyOptions, energies: &[f32]) -> Vec<f32> {
        let mean = energies.iter().sum::<f32>() / energies.len() as f32;
        let threshold = options.threshold + options.mean_scale * mean;
        let context = options.context as i64;
        (0..energies.len() as i64)
            .map(|t| {
                let window: Vec<f32> = (t - context..=t + context)
                    .filter_map(|s| usize::try_from(s).ok().and_then(|s| energies.get(s)).copied())
                    .collect();
                let votes = window.iter().filter(|&&e| e > threshold).count();
                f32::from(votes as f32 >= window.len() as f32 * options.proportion)
            })
            .collect()
    }

    #[test]
    fn decisions_are_votes_of_a_window() {
        let energies: Vec<f32> = (0..40).map(|t| ((t * 37) % 23) as f32).collect();
        let rows: Vec<[f32; 2]> = energies.iter().map(|&e| [e, 99.0]).collect();
        let features = DenseMatrix::from_rows(&rows);
        for (context, proportion, mean_scale) in
            [(0, 0.6, 0.5), (2, 0.12, 0.5), (3, 0.5, 0.0), (100, 0.4, 1.0)]
        {
            let options = EnergyOptions { threshold: 3.0, mean_scale, context, proportion };
            assert_eq!(options.decide(&features), slow(&options, &energies), "{options:?}");
        }
        let silent = EnergyOptions { threshold: 50.0, mean_scale: 0.0, context: 1, proportion: 0.1 };
        assert_eq!(silent.decide(&features), vec![0.0; 40]);
        assert!(EnergyOptions { proportion: 1.0, ..silent.clone() }.check().is_err());
        assert!(EnergyOptions { mean_scale: -1.0, ..silent }.check().is_err());
    }

    #[test]
    fn voiced_frames_are_selected() {
        let features = DenseMatrix::from_rows(&[[1f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        let selected = select_voiced(&features, &[1.0, 0.0, 1.0]).unwrap();
        assert_eq!(selected, DenseMatrix::from_rows(&[[1f32, 2.0], [5.0, 6.0]]));
        assert_eq!(select_voiced(&features, &[0.0; 3]).unwrap().rows, 0);
        let message = |decisions: &[f32]| select_voiced(&features, decisions).unwrap_err().to_string();
        assert_eq!(message(&[1.0]), "1 decisions for 3 frames");
        assert_eq!(message(&[1.0, 0.5, 0.0]), "the decision of frame 1 is 0.5, expected 0 or 1");
    }
}
