//! The matrix that makes vectors of words: one row a word, or one row a feature of words.

use kaldi_io::DenseMatrix;
use nnet3_matrix::{Device, Matrix, Scratch, View, ViewMut, Workspace};

use crate::error::{Error, Result};
use crate::features::WordFeatures;
use crate::tables::rows_of;

/// An embedding matrix M. With features F of the words the embeddings of the words are F · M, otherwise M itself.
pub struct Embedding {
    pub(crate) matrix: Matrix,
    features: Option<WordFeatures>,
    /// The transposed features of all words; made at first use.
    transposed: Option<WordFeatures>,
}

/// Words whose embeddings a minibatch needs.
pub(crate) struct Active {
    /// Their numbers, in order; `None` for all words.
    pub words: Option<Vec<i32>>,
    features: Option<WordFeatures>,
    transposed: Option<WordFeatures>,
}

impl Embedding {
    /// # Errors
    /// The matrix is empty, or has not as many rows as there are features.
    pub fn new(
        matrix: &DenseMatrix<f32>,
        features: Option<WordFeatures>,
        device: &Device,
    ) -> Result<Embedding> {
        let (rows, cols) = (matrix.rows, matrix.cols);
        if rows == 0 || cols == 0 {
            return Err(Error::data(format!(
                "the embedding matrix has {rows} rows and {cols} columns; expected at least one of each"
            )));
        }
        if let Some(dim) = features.as_ref().map(WordFeatures::dim).filter(|&dim| dim != rows) {
            return Err(Error::data(format!(
                "the words have {dim} features, but the embedding matrix has {rows} rows"
            )));
        }
        if let Some(place) = matrix.data.iter().position(|value| !value.is_finite()) {
            let value = matrix.data[place];
            let (row, col) = (place / cols, place % cols);
            return Err(Error::data(format!("the embedding matrix has {value} in row {row}, column {col}")));
        }
        let matrix = Matrix::from_slice(device, rows, cols, &matrix.data);
        Ok(Embedding { matrix, features, transposed: None })
    }

    pub fn vocab_size(&self) -> usize {
        self.features.as_ref().map_or(self.matrix.rows(), WordFeatures::num_words)
    }

    pub fn dim(&self) -> usize {
        self.matrix.cols()
    }

    /// True if rows are features.
    pub fn has_features(&self) -> bool {
        self.features.is_some()
    }

    /// The matrix, on the host.
    pub fn to_dense(&self) -> DenseMatrix<f32> {
        DenseMatrix { rows: self.matrix.rows(), cols: self.matrix.cols(), data: self.matrix.to_vec() }
    }

    /// Selects the features of the words of a minibatch; `None` for all words.
    pub(crate) fn active(&self, words: Option<Vec<i32>>) -> Active {
        let selected = words.as_ref().and_then(|words| Some(self.features.as_ref()?.select(words)));
        let transposed = selected.as_ref().map(WordFeatures::transposed);
        Active { words, features: selected, transposed }
    }

    /// The embeddings of the words of a minibatch; `None` if they are [`Embedding::all`].
    pub(crate) fn of_words<'w>(&self, workspace: &'w Workspace, active: &Active) -> Option<Scratch<'w>> {
        let cols = self.dim();
        match (active.features.as_ref().or(self.features.as_ref()), &active.words) {
            (Some(features), _) => {
                let mut out = workspace.take(features.num_words(), cols);
                features.multiply(workspace, out.view_mut(), self.matrix.view());
                Some(out)
            }
            (None, Some(words)) => {
                let mut out = workspace.take(words.len(), cols);
                workspace.device().copy_rows(out.view_mut(), 1.0, self.matrix.view(), &rows_of(words));
                Some(out)
            }
            (None, None) => None,
        }
    }

    /// The matrix itself.
    pub(crate) fn all(&self) -> View<'_> {
        self.matrix.view()
    }

    /// The derivative of the features' embeddings: dst = Fᵀ · src, where src is that of the words of a minibatch.
    pub(crate) fn of_features(
        &mut self,
        workspace: &Workspace,
        active: &Active,
        dst: ViewMut<'_>,
        src: View<'_>,
    ) {
        let Embedding { features, transposed, .. } = self;
        let Some(features) = features else { return };
        let own = active.transposed.as_ref();
        own.unwrap_or_else(|| transposed.get_or_insert_with(|| features.transposed()))
            .multiply(workspace, dst, src);
    }
}
