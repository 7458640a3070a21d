//! Pitch of the older kind: frames of (probability of voicing, pitch in Hz).

use kaldi_io::DenseMatrix;

use super::COLUMNS;
use crate::error::{Error, Result};

/// Replaces probabilities by ln((p + 0.0001)/(1.0001 − p)), and pitch by its logarithm minus a moving average over
/// `normalization` frames on each side. Then the result is averaged over `smoothing` frames on each side.
///
/// As in the reference, the moving average begins as the average of the first window. Each frame t after the middle of
/// that window adds the value at t + `normalization` + 1, and subtracts the value at t − `normalization` − 1. So it is
/// not exactly an average. At the end it stays constant. Smoothing leaves the frames at the ends unchanged. If the
/// window is not shorter than the recording, the mean of all frames is subtracted.
pub fn normalize_pairs(pitch: &mut DenseMatrix<f32>, normalization: usize, smoothing: usize) -> Result<()> {
    if pitch.rows > 0 && pitch.cols != COLUMNS {
        return Err(Error::data(format!(
            "{} columns: expected {COLUMNS}, the probability of voicing and the pitch",
            pitch.cols
        )));
    }
    let wrong = |row: &[f32]| !((0.0..=1.0).contains(&row[0]) && row[1] > 0.0 && row[1].is_finite());
    if let Some(t) = (0..pitch.rows).find(|&t| wrong(pitch.row(t))) {
        return Err(Error::data(format!(
            "frame {t} has probability {} and pitch {}: expected a probability from 0 to 1 and a pitch above 0",
            pitch.row(t)[0],
            pitch.row(t)[1]
        )));
    }
    let logs: Vec<f32> = (0..pitch.rows).map(|t| pitch.row(t)[1].ln()).collect();
    let logs = smoothed(&without_average(&logs, normalization), smoothing);
    for (t, log) in logs.into_iter().enumerate() {
        let row = pitch.row_mut(t);
        let p = f64::from(row[0]);
        row[0] = ((p + 0.0001) / (1.0001 - p)).ln() as f32;
        row[1] = log;
    }
    Ok(())
}

fn without_average(values: &[f32], context: usize) -> Vec<f32> {
    let window = (2 * context + 1).min(values.len());
    let mut sum: f64 = values[..window].iter().map(|&x| f64::from(x)).sum();
    let mut out = Vec::with_capacity(values.len());
    for (t, &x) in values.iter().enumerate() {
        if t > context
            && let Some(&next) = values.get(t + context + 1)
        {
            sum += f64::from(next) - f64::from(values[t - context - 1]);
        }
        out.push((f64::from(x) - sum / window as f64) as f32);
    }
    out
}

fn smoothed(values: &[f32], context: usize) -> Vec<f32> {
    let mut out = values.to_vec();
    for t in context..values.len().saturating_sub(context) {
        let sum: f32 = values[t - context..=t + context].iter().sum();
        out[t] = sum / (2 * context + 1) as f32;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn windows_at_the_ends() {
        let hertz = [100.0f64, 200.0, 100.0, 50.0, 400.0, 100.0];
        let rows: Vec<Vec<f32>> = hertz.iter().map(|&x| vec![0.5, x as f32]).collect();
        let normalized = |normalization, smoothing| {
            let mut pitch = DenseMatrix::from_rows(&rows);
            normalize_pairs(&mut pitch, normalization, smoothing).unwrap();
            (0..6).for_each(|t| assert!(pitch.row(t)[0].abs() < 1e-6));
            (0..6).map(|t| pitch.row(t)[1]).collect::<Vec<f32>>()
        };
        let l: Vec<f64> = hertz.iter().map(|x| x.ln()).collect();
        let mean = |from: usize| (l[from] + l[from + 1] + l[from + 2]) / 3.0;
        let moved = |t: usize| (l[t + 2] - l[t - 2]) / 3.0;
        let (third, fourth) = (mean(0) + moved(2), mean(0) + moved(2) + moved(3));
        let expected = [mean(0), mean(0), third, fourth, fourth, fourth];
        let expected: Vec<f64> = l.iter().zip(expected).map(|(l, mean)| l - mean).collect();
        assert_close(&normalized(1, 0), &expected, 1e-5);
        let mut smooth = expected.clone();
        (1..5).for_each(|t| smooth[t] = (expected[t - 1] + expected[t] + expected[t + 1]) / 3.0);
        assert_close(&normalized(1, 1), &smooth, 1e-5);
        let all = l.iter().sum::<f64>() / 6.0;
        let expected: Vec<f64> = l.iter().map(|l| l - all).collect();
        assert_close(&normalized(3, 0), &expected, 1e-5);
        assert_close(&normalized(9, 9), &expected, 1e-5);
    }

    #[test]
    fn refusals() {
        for (row, words) in [
            (vec![0.5, 0.0], "frame 0 has probability 0.5 and pitch 0"),
            (vec![1.5, 100.0], "probability 1.5"),
            (vec![0.5], "1 columns: expected 2"),
        ] {
            let error = normalize_pairs(&mut DenseMatrix::from_rows(&[row]), 1, 1).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(normalize_pairs(&mut DenseMatrix::default(), 1, 1).is_ok());
    }
}
