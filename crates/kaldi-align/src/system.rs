//! A trained system: a model with its features, and what alignment needs.

use kaldi_gmm::AmDiagGmm;
use kaldi_io::DenseMatrix;

use crate::boundaries::BoundarySettings;
use crate::features::{FeatureKind, Normalized};
use crate::network::{Model, TransitionScales};
use crate::passes::AlignSettings;
use crate::recipe::Beams;

/// A trained system.
#[derive(Debug, Clone, PartialEq)]
pub struct System {
    pub model: Model,
    /// Mixtures for features without transforms of speakers, if the model is for features with them.
    pub independent: Option<AmDiagGmm>,
    pub features: FeatureKind,
    /// All directions of LDA, for programs that want them.
    pub full_lda: Option<DenseMatrix<f32>>,
    pub normalized: Normalized,
    pub options: AlignOptions,
}

/// Settings of alignments with a system.
#[derive(Debug, Clone, PartialEq)]
pub struct AlignOptions {
    pub acoustic_scale: f32,
    pub transition_scale: f32,
    pub self_loop_scale: f32,
    pub boost_silence: f32,
    pub beams: Beams,
    /// Frames that a speaker must have for a transform.
    pub min_speaker_frames: f64,
    /// Virtual frames that draw the transform of a speaker towards the identity; see [`FmllrStats::add_prior`]. 0 gives the transform of
    /// maximum likelihood, as Kaldi's scripts.
    ///
    /// [`FmllrStats::add_prior`]: kaldi_gmm::fmllr::FmllrStats::add_prior
    pub prior_frames: f64,
    /// Makes boundaries finer than frames.
    pub boundaries: Option<BoundarySettings>,
}

impl Default for AlignOptions {
    fn default() -> AlignOptions {
        let recipe = crate::recipe::Recipe::default();
        AlignOptions {
            acoustic_scale: recipe.acoustic_scale,
            transition_scale: recipe.transition_scale,
            self_loop_scale: recipe.self_loop_scale,
            boost_silence: recipe.boost_silence,
            beams: recipe.beams,
            min_speaker_frames: recipe.min_speaker_frames,
            prior_frames: 0.0,
            boundaries: Some(BoundarySettings::default()),
        }
    }
}

impl AlignOptions {
    /// Settings for a network that was trained with lattice-free MMI (chain): no factor of its outputs nor of transitions, and
    /// times to the frame.
    pub fn for_chain() -> AlignOptions {
        AlignOptions {
            acoustic_scale: 1.0,
            transition_scale: 1.0,
            self_loop_scale: 1.0,
            boost_silence: 1.0,
            boundaries: None,
            ..AlignOptions::default()
        }
    }

    /// The settings of the search.
    pub fn settings(&self) -> AlignSettings {
        AlignSettings {
            scales: TransitionScales { transition: self.transition_scale, self_loop: self.self_loop_scale },
            acoustic_scale: self.acoustic_scale,
            beams: self.beams.clone(),
        }
    }
}
