//! Options of the programs that make and merge examples.

use anyhow::{Result, bail};
use kaldi_cli::kaldi_warn;
use kaldi_cli::log::Site;
use nnet3_train::Example;
use nnet3_train::chunk::ChunkOptions;
use nnet3_train::merge::ExampleMerger;
use nnet3_train::split::SplitOptions;

// ExampleGenerationConfig of the reference.
#[derive(clap::Args, Debug, Clone)]
pub struct EgsGenerationOptions {
    /// Number of frames of left context of input features that are added to each example
    #[arg(long, default_value_t = 0)]
    pub left_context: i32,
    /// Number of frames of right context of input features that are added to each example
    #[arg(long, default_value_t = 0)]
    pub right_context: i32,
    /// Left context of the first chunk of an utterance (if negative, the same as --left-context)
    #[arg(long, default_value_t = -1)]
    pub left_context_initial: i32,
    /// Right context of the last chunk of an utterance (if negative, the same as --right-context)
    #[arg(long, default_value_t = -1)]
    pub right_context_final: i32,
    /// Numbers of frames with labels that an example may have, separated by commas. The first one is used for most
    /// chunks, and the others fit the lengths of utterances. -1 makes one chunk of each utterance
    #[arg(long, default_value = "1")]
    pub num_frames: String,
    /// Number of frames that adjacent chunks of the (first) size overlap; for other sizes in proportion
    #[arg(long, default_value_t = 0)]
    pub num_frames_overlap: i32,
    /// Frames of input for each frame of output; sizes are rounded up to multiples of it
    #[arg(long, default_value_t = 1)]
    pub frame_subsampling_factor: i32,
    /// Make a chunk of nearly the whole utterance if it is shorter than all of --num-frames. If false, as in Kaldi, there
    /// is no example of such an utterance
    #[arg(long, default_value_t = false)]
    pub keep_short: bool,
}

impl EgsGenerationOptions {
    pub fn split_options(&self) -> SplitOptions {
        SplitOptions {
            left_context: self.left_context,
            right_context: self.right_context,
            left_context_initial: self.left_context_initial,
            right_context_final: self.right_context_final,
            num_frames: self.num_frames.clone(),
            num_frames_overlap: self.num_frames_overlap,
            frame_subsampling_factor: self.frame_subsampling_factor,
            keep_short: self.keep_short,
        }
    }
}

// Options shared by all programs that make examples of utterances.
#[derive(clap::Args, Debug, Clone)]
pub struct InputOptions {
    /// If true, write egs with input features in compressed format (recommended). This is only relevant if the features
    /// being read are un-compressed; if already compressed, we keep the same compressed format when dumping egs.
    #[arg(long, default_value_t = true)]
    pub compress: bool,
    /// Alias for --online-ivectors
    #[arg(long, default_value = "")]
    pub ivectors: String,
    /// Rspecifier of ivector features, as a matrix.
    #[arg(long, default_value = "")]
    pub online_ivectors: String,
    /// Number of frames between iVectors in matrices supplied to the --online-ivectors option
    #[arg(long, default_value_t = 1)]
    pub online_ivector_period: i32,
    /// Tolerance for difference in num-frames between feat and ivector matrices
    #[arg(long, default_value_t = 100)]
    pub length_tolerance: i32,
    #[command(flatten)]
    pub generation: EgsGenerationOptions,
}

impl InputOptions {
    /// `targets_length_tolerance`: how many output frames features and targets may differ.
    pub fn chunk_options(&self, targets_length_tolerance: i32) -> Result<ChunkOptions> {
        let Some(ivector_period) = usize::try_from(self.online_ivector_period).ok().filter(|&n| n > 0) else {
            bail!("--online-ivector-period must be above 0, found {}", self.online_ivector_period);
        };
        Ok(ChunkOptions {
            compress: self.compress,
            ivector_period,
            length_tolerance: self.length_tolerance,
            targets_length_tolerance,
        })
    }

    /// Returns the table of i-vectors; empty without i-vectors.
    pub fn ivector_rspecifier(&self) -> &str {
        if self.online_ivectors.is_empty() { &self.ivectors } else { &self.online_ivectors }
    }
}

// Options shared by the programs that make examples of features and targets.
#[derive(clap::Args, Debug, Clone)]
pub struct EgsOptions {
    #[command(flatten)]
    pub input: InputOptions,
    /// Tolerance for difference in num-frames (after subsampling) between features and targets
    #[arg(long, default_value_t = 2)]
    pub targets_length_tolerance: i32,
}

// ExampleMergingConfig of the reference. Each program has its own --minibatch-size, for the defaults differ.
#[derive(clap::Args, Debug, Clone)]
pub struct MergeOptions {
    /// Compress the merged features (not sparse targets). Not recommended unless you are writing to disk
    #[arg(long, default_value_t = false)]
    pub compress: bool,
    /// This value is deprecated and ignored
    #[arg(long, default_value = DEPRECATED)]
    pub measure_output_frames: String,
    /// This value is deprecated and ignored
    #[arg(long, default_value = DEPRECATED)]
    pub discard_partial_minibatches: String,
    /// For chain examples with keys such as utt?lang=NAME: the output gets the name output-NAME, and minibatches get
    /// such keys too. So examples of different languages are not merged. Other examples are merged as without
    #[arg(long, default_value_t = false)]
    pub multilingual_eg: bool,
}

const DEPRECATED: &str = "deprecated";
const SITE: Site = Site::new("ComputeDerived", "nnet-example-utils.cc", 968);

impl MergeOptions {
    pub fn merger<E: Example>(&self, minibatch_size: &str) -> Result<ExampleMerger<E>> {
        for (name, value) in [
            ("measure-output-frames", &self.measure_output_frames),
            ("discard-partial-minibatches", &self.discard_partial_minibatches),
        ] {
            if value != DEPRECATED {
                kaldi_warn!(SITE, "The --{name} option is deprecated and will be ignored.");
            }
        }
        Ok(ExampleMerger::new(minibatch_size.parse()?, self.compress))
    }
}
