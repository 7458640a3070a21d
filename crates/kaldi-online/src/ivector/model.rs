//! All that i-vectors are estimated with: transform, mixture, extractor, statistics, and how.

use std::num::NonZero;

use kaldi_feat::cmvn::CmvnStats;
use kaldi_feat::online_cmvn::{OnlineCmvnOptions, OnlineCmvnState};
use kaldi_gmm::DiagGmm;
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, KaldiObject, read_object};
use kaldi_ivector::{IvectorExtractor, IvectorTerms, OnlineStats, Weights};

use super::select::GaussianSelector;
use super::splice::{Splice, SplicedTransform};
use super::state::AdaptationState;
use crate::error::{Error, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct IvectorOptions {
    /// Statistics, too, come from normalised features, not only posteriors.
    pub normalized_statistics: bool,
    /// Frames from one estimate to the next, where estimates are not those of the frame that is asked for.
    pub period: usize,
    /// The largest number of Gaussians that a frame belongs to.
    pub num_gselect: usize,
    /// Posteriors below this are left out.
    pub min_post: f32,
    /// The weight of a frame.
    pub posterior_scale: f32,
    /// If this is not 0, a larger count has no more weight against the prior than this one.
    pub max_count: f32,
    /// Whatever frame is asked for, the answer is the latest estimate.
    pub most_recent: bool,
    /// True if an estimate uses all frames so far, and not only those up to the frame that is asked for.
    pub greedy: bool,
    /// The largest number of frames that earlier utterances count.
    pub max_remembered_frames: f32,
}

impl Default for IvectorOptions {
    fn default() -> Self {
        IvectorOptions {
            normalized_statistics: false,
            period: 10,
            num_gselect: 5,
            min_post: 0.025,
            posterior_scale: 0.1,
            max_count: 0.0,
            most_recent: true,
            greedy: false,
            max_remembered_frames: 1000.0,
        }
    }
}

impl IvectorOptions {
    /// Checks the ranges of all values.
    pub fn check(&self) -> Result<()> {
        let refuse = |name: &'static str, value: &dyn std::fmt::Display, expected: &'static str| {
            Err(Error::Value { name, found: value.to_string(), expected })
        };
        if self.period == 0 {
            return refuse("ivector-period", &self.period, "a number above 0");
        }
        if self.num_gselect == 0 {
            return refuse("num-gselect", &self.num_gselect, "a number above 0");
        }
        if !(0.0..0.5).contains(&self.min_post) {
            return refuse("min-post", &self.min_post, "a number from 0 to below 0.5");
        }
        if !(self.posterior_scale > 0.0 && self.posterior_scale <= 1.0) {
            return refuse("posterior-scale", &self.posterior_scale, "a number above 0, at most 1");
        }
        if !(self.max_count >= 0.0 && self.max_count.is_finite()) {
            return refuse("max-count", &self.max_count, "a number that is not negative");
        }
        if self.max_remembered_frames.is_nan() || self.max_remembered_frames < 0.0 {
            return refuse(
                "max-remembered-frames",
                &self.max_remembered_frames,
                "a number that is not negative",
            );
        }
        Ok(())
    }
}

/// The files of a model's parts (rxfilenames).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IvectorFiles {
    /// `final.mat`
    pub lda_matrix: String,
    pub global_cmvn_stats: String,
    /// `final.dubm`
    pub diag_ubm: String,
    /// `final.ie`
    pub ivector_extractor: String,
}

/// A model, ready to be used; it does not change, so that utterances on several threads can share it.
#[derive(Debug)]
pub struct IvectorModel {
    pub(super) options: IvectorOptions,
    pub(super) cmvn: OnlineCmvnOptions,
    pub(super) transform: SplicedTransform,
    pub(super) global: CmvnStats,
    pub(super) selector: GaussianSelector,
    pub(super) terms: IvectorTerms,
}

/// Reads one object, as an error of which nothing is known but the file.
fn read<T: KaldiObject>(name: &str) -> Result<T> {
    Ok(read_object(name)?)
}

impl IvectorModel {
    /// Reads all parts; what is worked out of them is, on so many threads. Parts that do not fit together are an error that
    /// names the files.
    pub fn read(
        files: &IvectorFiles,
        splice: Splice,
        cmvn: OnlineCmvnOptions,
        options: IvectorOptions,
        threads: NonZero<usize>,
    ) -> Result<Self> {
        options.check()?;
        let in_file = |name: &str| {
            let name = name.to_owned();
            move |e: kaldi_feat::Error| Error::data(format!("{name}: {e}"))
        };
        let lda: DenseMatrix<f32> = read_matrix(&files.lda_matrix)?;
        let global: DenseMatrix<f64> = read_matrix(&files.global_cmvn_stats)?;
        let global = CmvnStats::from_matrix(&global).map_err(in_file(&files.global_cmvn_stats))?;
        cmvn.check(&global).map_err(in_file(&files.global_cmvn_stats))?;
        let mixture: DiagGmm = read(&files.diag_ubm)?;
        let extractor: IvectorExtractor = read(&files.ivector_extractor)?;
        if matches!(extractor.weights, Weights::Regression(_)) {
            return Err(Error::data(format!(
                "{}: weights that depend on the i-vector cannot be used online; expected no rows in <w>",
                files.ivector_extractor
            )));
        }

        let (base, width) = (global.dim(), splice.left + 1 + splice.right);
        let spliced = base * width;
        if lda.rows == 0 || (lda.cols != spliced && lda.cols != spliced + 1) {
            return Err(Error::data(format!(
                "{}: expected {spliced} columns, or one more for offsets, since {} has dimension {base} and {width} \
                 frames are spliced; found a matrix of {}×{}",
                files.lda_matrix, files.global_cmvn_stats, lda.rows, lda.cols
            )));
        }
        if lda.data.iter().any(|x| !x.is_finite()) {
            return Err(Error::data(format!("{}: found a number that is not finite", files.lda_matrix)));
        }
        if mixture.dim() != lda.rows {
            return Err(Error::data(format!(
                "{}: expected Gaussians of dimension {}, as {} has rows, found dimension {}",
                files.diag_ubm,
                lda.rows,
                files.lda_matrix,
                mixture.dim()
            )));
        }
        let (dim, count) = (extractor.feature_dim(), extractor.num_gauss());
        if (dim, count) != (mixture.dim(), mixture.num_gauss()) {
            return Err(Error::data(format!(
                "{}: expected {} Gaussians of dimension {}, as in {}, found {count} of dimension {dim}",
                files.ivector_extractor,
                mixture.num_gauss(),
                mixture.dim(),
                files.diag_ubm
            )));
        }
        let (selector, terms) = (GaussianSelector::new(&mixture), IvectorTerms::new(&extractor, threads));
        let transform = SplicedTransform::new(splice, base, &lda);
        Ok(IvectorModel { options, cmvn, transform, global, selector, terms })
    }

    pub fn options(&self) -> &IvectorOptions {
        &self.options
    }

    /// The dimension of features before splicing.
    pub fn feature_dim(&self) -> usize {
        self.global.dim()
    }
    pub fn ivector_dim(&self) -> usize {
        self.terms.ivector_dim()
    }

    /// The state of a speaker of whom nothing is known.
    pub fn new_speaker(&self) -> AdaptationState {
        let (offset, max_count) = (self.terms.prior_offset(), f64::from(self.options.max_count));
        AdaptationState {
            cmvn: OnlineCmvnState::new(self.global.clone()),
            stats: OnlineStats::new(self.ivector_dim(), offset, max_count),
        }
    }
}
