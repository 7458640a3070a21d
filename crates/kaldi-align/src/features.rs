//! From cepstra to the features of a model: mean normalisation, derivatives or splicing with LDA, and transforms of
//! speakers.

use std::borrow::Cow;
use std::sync::OnceLock;

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

/// Normalisation of each speaker's cepstra: none, of means (they are subtracted), or also of variances (they become 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Normalized {
    Nothing,
    #[default]
    Means,
    MeansAndVariances,
}

/// Bytes of features that are kept from one pass to the next.
const KEPT_BYTES: usize = 600 << 20;

/// Makes the features of a corpus, utterance by utterance.
#[derive(Debug)]
pub struct Front<'a> {
    pub corpus: &'a Corpus<'a>,
    kind: FeatureKind,
    /// One for each speaker.
    normalizations: Vec<Option<Normalization>>,
    /// Transforms of speakers; `None` is the identity.
    transforms: Vec<Option<DenseMatrix<f32>>>,
    /// Features of the last pass, by utterance. Empty if none are kept.
    kept: Vec<OnceLock<DenseMatrix<f32>>>,
}

impl<'a> Front<'a> {
    /// Features without transforms of speakers.
    ///
    /// # Errors
    /// See [`Corpus::normalizations`].
    pub fn new(corpus: &'a Corpus<'a>, kind: FeatureKind, normalized: Normalized) -> Result<Front<'a>> {
        let normalizations = corpus.normalizations(normalized)?;
        let transforms = vec![None; corpus.speakers.len()];
        Ok(Front { corpus, kind, normalizations, transforms, kept: Vec::new() })
    }

    /// The same features, which are kept from one pass to the next if they fit in a bounded part of memory.
    #[must_use]
    pub fn keeping(mut self) -> Front<'a> {
        self.forget(true);
        self
    }

    /// Forgets features that were kept.
    fn forget(&mut self, keep: bool) {
        let dim = match &self.kind {
            FeatureKind::Deltas { order, .. } => self.corpus.dim * (*order as usize + 1),
            FeatureKind::Spliced { lda, .. } => lda.rows,
        };
        let fits = self.corpus.frames() * dim * size_of::<f32>() <= KEPT_BYTES;
        let count = if keep && fits { self.corpus.utterances.len() } else { 0 };
        self.kept = (0..count).map(|_| OnceLock::new()).collect();
    }

    pub fn kind(&self) -> &FeatureKind {
        &self.kind
    }

    pub fn set_kind(&mut self, kind: FeatureKind) {
        self.kind = kind;
        self.forget(!self.kept.is_empty());
    }

    /// The transforms of speakers.
    pub fn transforms(&self) -> &[Option<DenseMatrix<f32>>] {
        &self.transforms
    }

    pub fn set_transforms(&mut self, transforms: Vec<Option<DenseMatrix<f32>>>) {
        self.transforms = transforms;
        self.forget(!self.kept.is_empty());
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
    pub fn features(&self, place: usize) -> Result<Cow<'_, DenseMatrix<f32>>> {
        let kept = self.kept.get(place);
        if let Some(features) = kept.and_then(OnceLock::get) {
            return Ok(Cow::Borrowed(features));
        }
        let features = self.adapted(self.independent(place)?, place)?;
        Ok(match kept {
            Some(kept) => Cow::Borrowed(kept.get_or_init(|| features)),
            None => Cow::Owned(features),
        })
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
