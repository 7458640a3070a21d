//! Frames that arrive one after another, each spliced with its neighbours and transformed (`OnlineSpliceFrames` and
//! `OnlineTransform` of `feat/online-feature.cc`).

use std::collections::VecDeque;

use kaldi_io::DenseMatrix;

/// Frames beside a frame that are put into one with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splice {
    pub left: usize,
    pub right: usize,
}

impl Default for Splice {
    fn default() -> Self {
        Splice { left: 4, right: 4 }
    }
}

/// A linear or affine transform of spliced frames.
#[derive(Debug)]
pub(crate) struct SplicedTransform {
    splice: Splice,
    /// The dimension of a frame before splicing.
    dim: usize,
    /// The dimension of a transformed frame.
    out_dim: usize,
    /// A row for each dimension of a spliced frame.
    linear: Vec<f32>,
    offset: Vec<f32>,
}

impl SplicedTransform {
    /// `matrix` has a row for each dimension of the result and a column for each of a spliced frame, and maybe one more for
    /// offsets.
    pub fn new(splice: Splice, dim: usize, matrix: &DenseMatrix<f32>) -> Self {
        let spliced = dim * (splice.left + 1 + splice.right);
        let column = |j: usize| (0..matrix.rows).map(move |i| matrix.row(i)[j]);
        let linear = (0..spliced).flat_map(column).collect();
        let offset = if matrix.cols > spliced { column(spliced).collect() } else { vec![0.0; matrix.rows] };
        SplicedTransform { splice, dim, out_dim: matrix.rows, linear, offset }
    }
}

/// The transformed frames of one utterance.
#[derive(Debug, Clone, Default)]
pub(crate) struct SplicedFrames {
    /// The last frames that came, as many as are spliced; `came` is how many there were in all.
    recent: VecDeque<Vec<f32>>,
    came: usize,
    /// The transformed frames; `dropped` were before them.
    out: VecDeque<Vec<f32>>,
    dropped: usize,
}

impl SplicedFrames {
    /// Takes the next frame.
    pub fn accept(&mut self, transform: &SplicedTransform, frame: &[f32]) {
        let Splice { left, right } = transform.splice;
        let mut room =
            if self.recent.len() > left + right { self.recent.pop_front() } else { None }.unwrap_or_default();
        room.clear();
        room.extend_from_slice(frame);
        self.recent.push_back(room);
        self.came += 1;
        if self.came > right {
            self.transform_next(transform);
        }
    }

    /// Says that no more frames come: after the end, the last one is repeated.
    pub fn finish(&mut self, transform: &SplicedTransform) {
        while self.ready() < self.came {
            self.transform_next(transform);
        }
    }

    fn transform_next(&mut self, transform: &SplicedTransform) {
        let Splice { left, right } = transform.splice;
        let (t, first) = (self.ready(), self.came - self.recent.len());
        let mut out = transform.offset.clone();
        let mut rows = transform.linear.chunks_exact(transform.out_dim);
        for j in 0..=left + right {
            let source = &self.recent[(t + j).saturating_sub(left).min(self.came - 1) - first];
            for (x, row) in source.iter().zip(rows.by_ref().take(transform.dim)) {
                out.iter_mut().zip(row).for_each(|(out, factor)| *out += x * factor);
            }
        }
        self.out.push_back(out);
    }

    /// Transformed frames so far.
    pub fn ready(&self) -> usize {
        self.dropped + self.out.len()
    }

    /// Frame `t`; `None` if it is not there yet, or not any more.
    pub fn frame(&self, t: usize) -> Option<&[f32]> {
        self.out.get(t.checked_sub(self.dropped)?).map(Vec::as_slice)
    }

    /// Forgets frames before `t`.
    pub(crate) fn drop_before(&mut self, t: usize) {
        while self.dropped < t && self.out.pop_front().is_some() {
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_feat::{frames, transform};

    /// Frames one by one give what whole utterances do.
    #[test]
    fn equals_the_operations_on_whole_utterances() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut matrix = |rows, cols| DenseMatrix {
            rows,
            cols,
            data: (0..rows * cols).map(|_| random.f32() - 0.5).collect(),
        };
        for (count, left, right) in [(9, 2, 1), (9, 0, 0), (2, 3, 3), (1, 4, 4), (12, 0, 5), (12, 5, 0)] {
            for more in [0, 1] {
                let splice = Splice { left, right };
                let (features, lda) = (matrix(count, 3), matrix(4, 3 * (left + 1 + right) + more));
                let expected =
                    transform::apply(&frames::splice(&features, left, right).unwrap(), &lda).unwrap();
                let transform = SplicedTransform::new(splice, 3, &lda);
                let mut found = SplicedFrames::default();
                for t in 0..count {
                    found.accept(&transform, features.row(t));
                    assert_eq!(found.ready(), (t + 1).saturating_sub(right));
                }
                found.finish(&transform);
                assert_eq!(found.ready(), count);
                for t in 0..count {
                    let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
                    assert!(found.frame(t).unwrap().iter().zip(expected.row(t)).all(close), "{t}");
                }
                found.drop_before(1);
                assert!(found.frame(0).is_none() && found.frame(count).is_none());
                assert_eq!((found.frame(1).is_some(), found.ready()), (count > 1, count));
            }
        }
    }
}
