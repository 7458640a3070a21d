//! Options of the normalisation of features.

use kaldi_feat::online_cmvn::OnlineCmvnOptions;
use kaldi_io::text::split_integers;

use super::{Error, Result};

kaldi_io::options! {
    /// Normalisation as in online decoding, on command lines and in online_cmvn.conf.
    #[derive(Clone, Debug)]
    pub struct OnlineCmvnArgs {
        /// Number of frames of sliding context for cepstral mean normalization.
        cmn_window: i32 = 600,
        /// Number of frames of global-average cepstral mean normalization stats to use for first utterance of a speaker
        global_frames: i32 = 200,
        /// Number of frames of previous utterance(s) from this speaker to use in cepstral mean normalization
        speaker_frames: i32 = 600,
        /// If true, do cepstral variance normalization in addition to cepstral mean normalization
        norm_vars: bool = false,
        /// If true, do mean normalization (note: you cannot normalize the variance but not the mean)
        norm_means: bool = true,
        /// Dimensions to skip normalization of (colon-separated list of integers)
        skip_dims: String = "",
    }
}

impl OnlineCmvnArgs {
    /// Returns the options as the library takes them.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn options(&self) -> Result<OnlineCmvnOptions> {
        let Ok(window) = usize::try_from(self.cmn_window) else {
            refuse!("--cmn-window={}: expected a number above 0", self.cmn_window);
        };
        Ok(OnlineCmvnOptions {
            window,
            speaker_frames: self.speaker_frames.into(),
            global_frames: self.global_frames.into(),
            normalize_means: self.norm_means,
            normalize_variances: self.norm_vars,
            skip_dims: skip_dims(&self.skip_dims).map_err(Error::of("--skip-dims"))?,
        })
    }
}

/// The dimensions of `--skip-dims=13:14:15`.
///
/// # Errors
/// The text is no list of numbers.
pub fn skip_dims(text: &str) -> Result<Vec<usize>> {
    let dims = split_integers(text, &[':'], false)
        .and_then(|dims| dims.into_iter().map(|d| usize::try_from(d).ok()).collect::<Option<Vec<_>>>());
    match dims {
        Some(dims) => Ok(dims),
        None => refuse!("'{text}': expected a colon-separated list of dimensions, as in 13:14:15"),
    }
}
