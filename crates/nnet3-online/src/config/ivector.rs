//! Options for estimating i-vectors from features as they arrive.

use std::num::NonZero;

use kaldi_online::ivector::{IvectorFiles, IvectorModel, IvectorOptions, Splice};

use super::cmvn::OnlineCmvnArgs;
use super::{Error, Result, read};

kaldi_io::options! {
    /// Options of i-vectors, as on command lines and in ivector_extractor.conf.
    #[derive(Clone, Debug)]
    pub struct IvectorArgs {
        /// Filename of LDA matrix, e.g. final.mat; used for iVector extraction.
        pub lda_matrix: String = "",
        /// Filename (extended) of global CMVN stats, used in iVector extraction, obtained for example from 'matrix-sum
        /// scp:data/train/cmvn.scp -'
        pub global_cmvn_stats: String = "",
        /// Configuration file for online CMVN features (e.g. conf/online_cmvn.conf), only used for iVector extraction. Contains
        /// options as for the program 'apply-cmvn-online'
        pub cmvn_config: String = "",
        /// Add online-cmvn to feature pipeline of ivector extractor, use the cmvn setup from the UBM. Meant for networks that
        /// have normalised features as input.
        pub online_cmvn_iextractor: bool = false,
        /// Configuration file for frame splicing (--left-context and --right-context options); used for iVector extraction.
        pub splice_config: String = "",
        /// Filename of diagonal UBM used to obtain posteriors for iVector extraction, e.g. final.dubm
        pub diag_ubm: String = "",
        /// Filename of iVector extractor, e.g. final.ie
        pub ivector_extractor: String = "",
        /// Frequency with which we extract iVectors for neural network adaptation
        pub ivector_period: i32 = 10,
        /// Number of Gaussians to select for iVector extraction
        pub num_gselect: i32 = 5,
        /// Threshold for posterior pruning in iVector extraction
        pub min_post: f32 = 0.025,
        /// Scale for posteriors in iVector extraction (may be viewed as inverse of prior scale)
        pub posterior_scale: f32 = 0.1,
        /// Maximum data count we allow before we start scaling the stats down (if nonzero); helps to make iVectors from long
        /// utterances look more typical. Interpret as a frame-count times --posterior-scale, typically 1/10 of a number of
        /// frames. Suggest 100.
        pub max_count: f32 = 0.0,
        /// If true, always use most recent available iVector, rather than the one for the designated frame.
        pub use_most_recent_ivector: bool = true,
        /// If true, 'read ahead' as many frames as we currently have available when extracting the iVector. May improve iVector
        /// quality.
        pub greedy_ivector_extractor: bool = false,
        /// The maximum number of frames of adaptation history that we carry through to later utterances of the same speaker.
        /// Interpret as a real frame count, i.e. not a count scaled by --posterior-scale.
        pub max_remembered_frames: f32 = 1000.0,
    }
}

kaldi_io::options! {
    /// Frames that are put into one, as in splice.conf.
    #[derive(Clone, Debug)]
    struct SpliceArgs {
        /// Left-context for frame splicing prior to LDA
        left_context: i32 = 4,
        /// Right-context for frame splicing prior to LDA
        right_context: i32 = 4,
    }
}

/// The most frames that can be spliced on one side; more are taken for a mistake.
const MOST_CONTEXT: i32 = 1000;

impl SpliceArgs {
    fn splice(&self) -> Result<Splice> {
        let side = |name: &str, frames: i32| match usize::try_from(frames) {
            Ok(count) if frames <= MOST_CONTEXT => Ok(count),
            _ => refuse!("--{name}={frames}: expected a number from 0 to {MOST_CONTEXT}"),
        };
        let left = side("left-context", self.left_context)?;
        Ok(Splice { left, right: side("right-context", self.right_context)? })
    }
}

impl IvectorArgs {
    /// Reads the files that the options name. `threads` is the number of threads that prepare the estimation.
    ///
    /// # Errors
    /// A file is missing or wrong, or does not fit the others.
    pub fn read(&self, threads: NonZero<usize>) -> Result<IvectorModel> {
        let options = self.options()?;
        let given = |name: &str, value: &str| {
            if value.is_empty() {
                refuse!(
                    "--{name} option must be set (note: this may be needed in the file supplied to \
                     --ivector-extraction-config)"
                );
            }
            Ok(value.to_owned())
        };
        let lda_matrix = given("lda-matrix", &self.lda_matrix)?;
        let global_cmvn_stats = given("global-cmvn-stats", &self.global_cmvn_stats)?;
        let cmvn_config = given("cmvn-config", &self.cmvn_config)?;
        let splice_config = given("splice-config", &self.splice_config)?;
        let diag_ubm = given("diag-ubm", &self.diag_ubm)?;
        let ivector_extractor = given("ivector-extractor", &self.ivector_extractor)?;
        let cmvn: OnlineCmvnArgs = read("--cmvn-config", &cmvn_config)?;
        let splice: SpliceArgs = read("--splice-config", &splice_config)?;
        let files = IvectorFiles { lda_matrix, global_cmvn_stats, diag_ubm, ivector_extractor };
        let cmvn = cmvn.options().map_err(Error::of(cmvn_config))?;
        let splice = splice.splice().map_err(Error::of(splice_config))?;
        Ok(IvectorModel::read(&files, splice, cmvn, options, threads)?)
    }

    /// Returns a remark about options that exclude each other.
    pub fn remark(&self) -> Option<&'static str> {
        let implied = self.greedy_ivector_extractor && !self.use_most_recent_ivector;
        implied.then_some("--greedy-ivector-extractor=true implies --use-most-recent-ivector=true")
    }

    fn options(&self) -> Result<IvectorOptions> {
        let Ok(period) = usize::try_from(self.ivector_period) else {
            refuse!("--ivector-period={}: expected a number above 0", self.ivector_period);
        };
        let Ok(num_gselect) = usize::try_from(self.num_gselect) else {
            refuse!("--num-gselect={}: expected a number above 0", self.num_gselect);
        };
        let options = IvectorOptions {
            normalized_statistics: self.online_cmvn_iextractor,
            period,
            num_gselect,
            min_post: self.min_post,
            posterior_scale: self.posterior_scale,
            max_count: self.max_count,
            most_recent: self.use_most_recent_ivector || self.greedy_ivector_extractor,
            greedy: self.greedy_ivector_extractor,
            max_remembered_frames: self.max_remembered_frames,
        };
        match options.check() {
            Err(error @ kaldi_online::Error::Value { .. }) => refuse!("--{error}"),
            checked => Ok(checked.map(|()| options)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::given;
    use super::*;

    #[test]
    fn values_have_the_names_of_options() {
        let options = |options: &[&str]| given::<IvectorArgs>("test", options).unwrap().options();
        assert_eq!(options(&["--max-count=5"]).unwrap().max_count, 5.0);
        for (option, expected) in [
            ("--num-gselect=0", "--num-gselect=0: expected a number above 0"),
            ("--num-gselect=-1", "--num-gselect=-1: expected a number above 0"),
            ("--max-count=-1", "--max-count=-1: expected a number that is not negative"),
        ] {
            assert_eq!(options(&[option]).unwrap_err().to_string(), expected);
        }
    }
}
