//! Posteriors in other forms, and weighted (`hmm/posterior.cc`).

use std::collections::HashSet;

use crate::error::{Error, Result};
use kaldi_io::{DenseMatrix, Posterior, SparseMatrix, SparseVector};

/// Gives each id the probability 1.
pub fn from_alignment(alignment: &[i32]) -> Posterior {
    alignment.iter().map(|&id| vec![(id, 1.0)]).collect()
}

/// The sum of the probabilities of each frame.
pub fn frame_weights(posterior: &Posterior) -> Vec<f32> {
    // Not `sum`, which is -0 for an empty frame.
    posterior.iter().map(|frame| frame.iter().fold(0.0, |sum, (_, p)| sum + p)).collect()
}

/// Makes a matrix with a row for each frame, and probabilities in the columns of their ids. If an id occurs twice, the
/// last probability counts.
pub fn to_matrix(posterior: &Posterior, dim: usize) -> Result<DenseMatrix<f32>> {
    let mut m = DenseMatrix::new(posterior.len(), dim);
    for (t, frame) in posterior.iter().enumerate() {
        for &(id, p) in frame {
            let column = usize::try_from(id).ok().filter(|&column| column < dim).ok_or_else(|| {
                Error::data(format!("id {id} of frame {t} is not between 0 and {}", dim.saturating_sub(1)))
            })?;
            m.row_mut(t)[column] = p;
        }
    }
    Ok(m)
}

/// Does the same as [`to_matrix`], but sparsely. Probabilities of the same id are added.
pub fn to_sparse(posterior: &Posterior, dim: usize) -> Result<SparseMatrix> {
    let row = |(t, frame): (usize, &Vec<(i32, f32)>)| {
        SparseVector::new(dim, frame.clone()).map_err(|e| Error::data(format!("frame {t}: {e}")))
    };
    Ok(SparseMatrix { rows: posterior.iter().enumerate().map(row).collect::<Result<_>>()? })
}

/// Takes the columns of log-probabilities, from 0, as ids. Probabilities below `least` are left out. With `uniform`, a source of
/// numbers between 0 and 1, one below `least` becomes `least` with probability p / `least`, so that expectations stay. An error if a
/// probability is not finite.
pub fn from_log_probabilities(
    matrix: &DenseMatrix<f32>,
    least: f32,
    mut uniform: Option<impl FnMut() -> f32>,
) -> Result<Posterior> {
    let mut entry = |t: usize, (column, value): (usize, &f32)| {
        let p = value.exp();
        if !p.is_finite() {
            return Err(Error::data(format!("frame {t} has the log-probability {value} in column {column}")));
        }
        let raised = p < least && uniform.as_mut().is_some_and(|draw| p / least >= draw());
        let kept = (p >= least || raised).then(|| p.max(least));
        Ok(kept.map(|p| (column as i32, p)))
    };
    let mut frame = |t: usize| -> Result<Vec<(i32, f32)>> {
        let entries = matrix.row(t).iter().enumerate().map(|pair| entry(t, pair));
        entries.filter_map(Result::transpose).collect()
    };
    (0..matrix.rows).map(&mut frame).collect()
}

/// Multiplies all probabilities; with 0, no entries remain.
pub fn scale(posterior: &mut Posterior, factor: f32) {
    posterior.iter_mut().for_each(|frame| scale_frame(frame, factor));
}

fn scale_frame(frame: &mut Vec<(i32, f32)>, factor: f32) {
    if factor == 0.0 {
        frame.clear();
    } else if factor != 1.0 {
        frame.iter_mut().for_each(|(_, p)| *p *= factor);
    }
}

/// Multiplies the probabilities of each frame by its weight. Frames without a weight count as those with weight 0:
/// their entries are removed.
pub fn weight_frames(posterior: &mut Posterior, weights: &[f32]) {
    for (t, frame) in posterior.iter_mut().enumerate() {
        scale_frame(frame, weights.get(t).copied().unwrap_or_default());
    }
}

/// Options for adding two posteriors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumOptions {
    /// Adds entries of the same id, and drops sums of zero.
    pub merge: bool,
    /// Empty the frames in which both have no id in common.
    pub drop_disjoint: bool,
}

/// The sum of two posteriors of the same length, and the number of frames in which they have no id in common.
///
/// # Panics
/// If the lengths differ.
pub fn sum(first: Posterior, second: Posterior, options: SumOptions) -> (Posterior, usize) {
    assert_eq!(first.len(), second.len(), "posteriors of one length");
    let mut disjoint = 0;
    let frames = first.into_iter().zip(second).map(|(mut frame, second)| {
        let ids: HashSet<i32> = frame.iter().map(|&(id, _)| id).collect();
        let apart = !second.iter().any(|(id, _)| ids.contains(id));
        disjoint += usize::from(apart);
        if apart && options.drop_disjoint {
            return Vec::new();
        }
        frame.extend(second);
        frame.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        if options.merge {
            frame.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += next.1;
                }
                same
            });
            frame.retain(|&(_, p)| p != 0.0);
        }
        frame
    });
    let frames = frames.collect();
    (frames, disjoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Posterior {
        vec![vec![(3, 0.5), (1, 0.25)], vec![], vec![(0, 1.0)]]
    }

    #[test]
    fn log_probabilities() {
        let ln = |p: f32| p.ln();
        let matrix = DenseMatrix::from_rows(&[[ln(0.9), ln(0.08), ln(0.0)], [ln(0.11), ln(0.04), ln(0.5)]]);
        let plain = from_log_probabilities(&matrix, 0.1, None::<fn() -> f32>).unwrap();
        assert_eq!(plain.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2]);
        assert!(plain[1][1].0 == 2 && (plain[1][1].1 - 0.5).abs() < 1e-6);
        // 0.08 of 0.1 is above the number drawn, 0 and 0.04 are below.
        let mut numbers = [0.7, 0.01, 0.5].into_iter();
        let pruned = from_log_probabilities(&matrix, 0.1, Some(|| numbers.next().unwrap())).unwrap();
        assert_eq!(pruned[0][1], (1, 0.1));
        assert_eq!((pruned[0].len(), pruned[1].len(), numbers.next()), (2, 2, None));
        let nan = DenseMatrix::from_rows(&[[0.0], [f32::NAN]]);
        let error = from_log_probabilities(&nan, 0.1, None::<fn() -> f32>).unwrap_err().to_string();
        assert!(error.contains("frame 1 has the log-probability NaN in column 0"), "{error}");
    }

    #[test]
    fn forms() {
        assert_eq!(from_alignment(&[4, 2]), [[(4, 1.0)], [(2, 1.0)]]);
        assert_eq!(frame_weights(&example()), [0.75, 0.0, 1.0]);
        assert!(frame_weights(&example())[1].is_sign_positive());
        let m = to_matrix(&example(), 4).unwrap();
        assert_eq!(m.data, [0.0, 0.25, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(to_sparse(&example(), 4).unwrap().to_dense(), m);
        let twice = vec![vec![(1, 0.5), (1, 0.25)]];
        assert_eq!(to_matrix(&twice, 2).unwrap().data, [0.0, 0.25]);
        assert_eq!(to_sparse(&twice, 2).unwrap().to_dense().data, [0.0, 0.75]);
        assert!(to_matrix(&example(), 3).unwrap_err().to_string().contains("id 3 of frame 0"));
        assert!(to_matrix(&vec![vec![(-1, 1.0)]], 3).is_err());
        assert!(to_sparse(&example(), 3).unwrap_err().to_string().contains("frame 0"));
    }

    #[test]
    fn weights() {
        let mut posterior = example();
        scale(&mut posterior, 2.0);
        assert_eq!(posterior[0], [(3, 1.0), (1, 0.5)]);
        weight_frames(&mut posterior, &[0.5, 1.0]);
        assert_eq!(posterior, [vec![(3, 0.5), (1, 0.25)], vec![], vec![]]);
        scale(&mut posterior, 0.0);
        assert_eq!(posterior, vec![vec![]; 3]);
    }

    #[test]
    fn sums() {
        let other: Posterior = vec![vec![(3, -0.5), (2, 1.0)], vec![(1, 1.0)], vec![(5, 1.0)]];
        let add = |merge, drop_disjoint| sum(example(), other.clone(), SumOptions { merge, drop_disjoint });
        let (merged, disjoint) = add(true, false);
        assert_eq!(merged, [vec![(1, 0.25), (2, 1.0)], vec![(1, 1.0)], vec![(0, 1.0), (5, 1.0)]]);
        assert_eq!(disjoint, 2);
        assert_eq!(add(true, true).0, [vec![(1, 0.25), (2, 1.0)], vec![], vec![]]);
        assert_eq!(add(false, false).0[0], [(1, 0.25), (2, 1.0), (3, -0.5), (3, 0.5)]);
    }
}
