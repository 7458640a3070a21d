//! Combinations of frames: beside one another, after one another, and selections.

use crate::error::{Error, Result};
use kaldi_io::DenseMatrix;

/// Puts `left` frames before each frame and `right` frames after it; outside the utterance its first and last frame are
/// repeated. An utterance without frames is an error.
pub fn splice(features: &DenseMatrix<f32>, left: usize, right: usize) -> Result<DenseMatrix<f32>> {
    if features.data.is_empty() {
        return Err(Error::data("there are no frames to be spliced"));
    }
    let (rows, cols) = (features.rows, features.cols * (left + 1 + right));
    let mut data = Vec::with_capacity(rows * cols);
    for t in 0..rows {
        for j in 0..=left + right {
            data.extend_from_slice(features.row((t + j).saturating_sub(left).min(rows - 1)));
        }
    }
    Ok(DenseMatrix { rows, cols, data })
}

/// Moves frames by `shift` to later times, or to earlier ones if it is negative. The first or last frame fills the gap.
pub fn shift(features: &DenseMatrix<f32>, shift: i32) -> DenseMatrix<f32> {
    let last = features.rows as i64 - 1;
    let source = |t: usize| (t as i64 - i64::from(shift)).clamp(0, last) as usize;
    let data = (0..features.rows).flat_map(|t| features.row(source(t)).iter().copied()).collect();
    DenseMatrix { rows: features.rows, cols: features.cols, data }
}

/// Says which frames remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subsampling {
    /// Frames `offset`, `offset + n`, …
    Every { n: usize, offset: usize },
    /// Each frame is repeated this number of times.
    Repeat(usize),
}

impl Subsampling {
    /// Takes the options `n`, which is negative for repetitions, and `offset`.
    pub fn new(n: i32, offset: i32) -> Result<Self> {
        let Ok(offset) = usize::try_from(offset) else {
            return Err(Error::options(format!("`offset`={offset}: expected a number that is not negative")));
        };
        match n {
            0 => Err(Error::options("`n`=0: expected another number")),
            1.. => Ok(Subsampling::Every { n: n as usize, offset }),
            _ if offset > 0 => Err(Error::options("`offset` cannot be used with negative `n`")),
            _ => Ok(Subsampling::Repeat(n.unsigned_abs() as usize)),
        }
    }

    /// A matrix without rows if no frame remains.
    pub fn apply(self, features: &DenseMatrix<f32>) -> DenseMatrix<f32> {
        let rows: Vec<&[f32]> = match self {
            Subsampling::Every { n, offset } => {
                (offset..features.rows).step_by(n).map(|t| features.row(t)).collect()
            }
            Subsampling::Repeat(n) => (0..features.rows * n).map(|i| features.row(i / n)).collect(),
        };
        DenseMatrix::from_rows(&rows)
    }
}

/// Pastes the frames of several matrices side by side. Lengths may differ by `tolerance`: longer ones are cut. Larger
/// differences, and inputs without frames, are refused with a reason.
///
/// # Panics
/// If there are no inputs.
pub fn paste(inputs: &[DenseMatrix<f32>], tolerance: usize) -> std::result::Result<DenseMatrix<f32>, String> {
    let lengths = || inputs.iter().map(|m| m.rows);
    let shortest = lengths().min().expect("at least one input");
    let longest = lengths().max().unwrap_or_default();
    if longest - shortest > tolerance || shortest == 0 {
        return Err(format!("Length mismatch {longest} vs. {shortest} exceeds tolerance {tolerance}"));
    }
    let cols = inputs.iter().map(|m| m.cols).sum();
    let mut data = Vec::with_capacity(shortest * cols);
    for t in 0..shortest {
        inputs.iter().for_each(|m| data.extend_from_slice(m.row(t)));
    }
    Ok(DenseMatrix { rows: shortest, cols, data })
}

/// The frames of several matrices behind one another. All must have the same dimension.
pub fn concat(inputs: &[DenseMatrix<f32>]) -> Result<DenseMatrix<f32>> {
    let cols = inputs.first().map_or(0, |m| m.cols);
    if let Some(i) = inputs.iter().position(|m| m.cols != cols) {
        let other = inputs[i].cols;
        return Err(Error::data(format!("input 1 has dimension {cols}, input {} has {other}", i + 1)));
    }
    let rows = inputs.iter().map(|m| m.rows).sum();
    Ok(DenseMatrix { rows, cols, data: inputs.iter().flat_map(|m| &m.data).copied().collect() })
}

/// Appends the same vector to each frame. An utterance without frames is an error.
pub fn append_vector(features: &DenseMatrix<f32>, vector: &[f32]) -> Result<DenseMatrix<f32>> {
    if features.rows == 0 {
        return Err(Error::data("there are no frames to which the vector could be appended"));
    }
    let cols = features.cols + vector.len();
    let mut data = Vec::with_capacity(features.rows * cols);
    for t in 0..features.rows {
        data.extend_from_slice(features.row(t));
        data.extend_from_slice(vector);
    }
    Ok(DenseMatrix { rows: features.rows, cols, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_frames() {
        let features = DenseMatrix::from_rows(&[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        let rows = |by: i32| shift(&features, by).data;
        assert_eq!(rows(1), [1.0, 2.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(rows(-2), [5.0, 6.0, 5.0, 6.0, 5.0, 6.0]);
        assert_eq!(rows(i32::MIN), rows(-2));
        assert_eq!(rows(0), features.data);
    }
    use crate::testing::matrix;

    #[test]
    fn splicing_repeats_the_edges() {
        for (frames, left, right) in [(7, 2, 1), (1, 3, 3), (4, 0, 9), (3, 5, 0)] {
            let features = matrix(frames, 2, 1);
            let out = splice(&features, left, right).unwrap();
            assert_eq!((out.rows, out.cols), (frames, 2 * (left + right + 1)));
            for t in 0..frames {
                for (j, part) in out.row(t).chunks(2).enumerate() {
                    let source = (t as i64 + j as i64 - left as i64).clamp(0, frames as i64 - 1);
                    assert_eq!(part, features.row(source as usize));
                }
            }
        }
        assert!(splice(&DenseMatrix::default(), 1, 1).is_err());
    }

    #[test]
    fn subsampling() {
        let features = DenseMatrix { rows: 7, cols: 1, data: (0..7u8).map(f32::from).collect() };
        let rows = |n, offset| Subsampling::new(n, offset).unwrap().apply(&features).data;
        assert_eq!(rows(3, 0), [0., 3., 6.]);
        assert_eq!(rows(3, 2), [2., 5.]);
        assert_eq!(rows(1, 7), [0.; 0]);
        assert_eq!(rows(-2, 0)[..5], [0., 0., 1., 1., 2.]);
        assert_eq!(rows(-2, 0).len(), 14);
        for (n, offset) in [(0, 0), (-2, 1), (1, -1)] {
            assert!(Subsampling::new(n, offset).is_err(), "{n} {offset}");
        }
    }

    #[test]
    fn beside_and_behind() {
        let a = DenseMatrix::from_rows(&[[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0], [8.0, 9.0, 10.0]]);
        let b = DenseMatrix::from_rows(&[[0.0f32, 1.0], [2.0, 3.0]]);
        let pasted = paste(&[a.clone(), b.clone()], 1).unwrap();
        assert_eq!(pasted, DenseMatrix::from_rows(&[[0., 1., 2., 0., 1.], [3., 4., 5., 2., 3.]]));
        assert!(paste(&[a.clone(), b.clone()], 0).unwrap_err().contains("3 vs. 2"));
        assert!(paste(&[b.clone(), DenseMatrix::default()], 9).is_err());
        let joined = concat(&[b.clone(), b.clone()]).unwrap();
        assert_eq!((joined.rows, joined.row(3)), (4, &[2.0, 3.0][..]));
        assert!(concat(&[b.clone(), a.clone()]).unwrap_err().to_string().contains("input 2 has 3"));
        let appended = append_vector(&b, &[7.0]).unwrap();
        assert_eq!(appended, DenseMatrix::from_rows(&[[0.0, 1.0, 7.0], [2.0, 3.0, 7.0]]));
        assert!(append_vector(&DenseMatrix::default(), &[7.0]).is_err());
    }
}
