//! From cepstra to the features of a model: mean normalisation, derivatives or splicing with LDA, and transforms of
//! speakers.

use kaldi_feat::cmvn::Normalization;
use kaldi_feat::deltas::Deltas;
use kaldi_feat::{frames, transform};
use kaldi_io::DenseMatrix;

use crate::error::{Error, Result};
use crate::utterance::Corpus;

/// The features of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum FeatureKind {
    /// Derivatives up to `order` over `window` frames on each side.
    Deltas { order: i32, window: i32 },
    /// Frames side by side, multiplied by a matrix.
    Spliced { left: usize, right: usize, lda: DenseMatrix<f32> },
}

impl Default for FeatureKind {
    fn default() -> FeatureKind {
        FeatureKind::Deltas { order: 2, window: 2 }
    }
}

impl FeatureKind {
    /// Computes features of normalised cepstra.
    ///
    /// # Errors
    /// The matrix does not fit the cepstra.
    pub fn apply(&self, cepstra: &DenseMatrix<f32>) -> Result<DenseMatrix<f32>> {
        match self {
            FeatureKind::Deltas { order, window } => Ok(Deltas::new(*order, *window)?.apply(cepstra)),
            FeatureKind::Spliced { left, right, lda } => {
                let spliced = frames::splice(cepstra, *left, *right)?;
                transform::apply(&spliced, lda).ok_or_else(|| {
                    Error::data(format!(
                        "a matrix of {} columns cannot transform frames of dimension {}",
                        lda.cols, spliced.cols
                    ))
                })
            }
        }
    }
}

/// Makes the features of a corpus, utterance by utterance.
#[derive(Debug)]
pub struct Front<'a> {
    pub corpus: &'a Corpus<'a>,
    pub kind: FeatureKind,
    /// One for each speaker.
    pub normalizations: Vec<Option<Normalization>>,
    /// Transforms of speakers; `None` is the identity.
    pub transforms: Vec<Option<DenseMatrix<f32>>>,
}

impl<'a> Front<'a> {
    /// Features without transforms of speakers.
    ///
    /// # Errors
    /// See [`Corpus::normalizations`].
    pub fn new(corpus: &'a Corpus<'a>, kind: FeatureKind, variances: bool) -> Result<Front<'a>> {
        let normalizations = corpus.normalizations(variances)?;
        let transforms = vec![None; corpus.speakers.len()];
        Ok(Front { corpus, kind, normalizations, transforms })
    }

    /// The normalised cepstra of an utterance that can be used.
    ///
    /// # Errors
    /// The normalisation has another dimension.
    pub fn cepstra(&self, place: usize) -> Result<DenseMatrix<f32>> {
        let mut cepstra = self.corpus.utterances[place].features.clone();
        if let Some(normalization) = &self.normalizations[self.corpus.speaker_of[place]] {
            normalization.apply(&mut cepstra)?;
        }
        Ok(cepstra)
    }

    /// Features without the transform of the speaker.
    ///
    /// # Errors
    /// Matrices do not fit.
    pub fn independent(&self, place: usize) -> Result<DenseMatrix<f32>> {
        self.kind.apply(&self.cepstra(place)?)
    }

    /// Features with the transform of the speaker.
    ///
    /// # Errors
    /// Matrices do not fit.
    pub fn features(&self, place: usize) -> Result<DenseMatrix<f32>> {
        let features = self.independent(place)?;
        self.adapted(features, place)
    }

    /// Applies the transform of an utterance's speaker.
    ///
    /// # Errors
    /// The transform has another dimension.
    pub fn adapted(&self, features: DenseMatrix<f32>, place: usize) -> Result<DenseMatrix<f32>> {
        match &self.transforms[self.corpus.speaker_of[place]] {
            None => Ok(features),
            Some(matrix) => transform::apply(&features, matrix).ok_or_else(|| {
                Error::data(format!(
                    "a transform of {} columns cannot be applied to features of dimension {}",
                    matrix.cols, features.cols
                ))
            }),
        }
    }
}
