//! Sources of log-likelihoods.

use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};

/// The log-likelihoods of an utterance, already scaled.
pub trait Decodable {
    fn num_frames(&self) -> usize;
    /// The log-likelihoods of a frame. `frame` is below [`num_frames`](Self::num_frames).
    fn frame(&self, frame: usize) -> impl Fn(i32) -> f32;
}

/// Rows are frames, columns are pdfs; transition-ids are mapped to pdfs.
pub struct MatrixDecodable<'a> {
    matrix: &'a DenseMatrix<f32>,
    /// The pdf of each transition-id; the first element is not used.
    pdfs: &'a [i32],
    scale: f32,
}

impl<'a> MatrixDecodable<'a> {
    /// Makes a source. `pdfs` is the table of [`TransitionModel::pdfs`](kaldi_hmm::TransitionModel::pdfs); `scale` multiplies the elements of the matrix.
    pub fn new(matrix: &'a DenseMatrix<f32>, pdfs: &'a [i32], scale: f32) -> Result<Self> {
        let needed = pdfs.iter().max().map_or(0, |&pdf| pdf as usize + 1);
        if matrix.rows > 0 && matrix.cols < needed {
            return Err(Error::TooFewColumns { found: matrix.cols, needed });
        }
        Ok(MatrixDecodable { matrix, pdfs, scale })
    }
}

impl Decodable for MatrixDecodable<'_> {
    fn num_frames(&self) -> usize {
        self.matrix.rows
    }

    fn frame(&self, frame: usize) -> impl Fn(i32) -> f32 {
        let cols = self.matrix.cols;
        let row = &self.matrix.data[frame * cols..][..cols];
        |id| self.scale * row[self.pdfs[id as usize] as usize]
    }
}
