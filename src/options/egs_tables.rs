//! Options of the programs that copy, shuffle and select examples of any kind.

use anyhow::{Result, bail};
use nnet3_train::copy::{Copier, CopyOptions, FrameChoice};

#[derive(clap::Args, Debug, Clone)]
pub struct CopyEgsOptions {
    /// If true, will write examples to output archives randomly, not round-robin.
    #[arg(long, default_value_t = false)]
    pub random: bool,
    /// Allows you to shift time values in the supervision data (excluding iVector data). Only really useful in clockwork
    /// topologies (i.e. any topology for which modulus != 1) and to augment data. Shifting is done after any frame
    /// selection. Outputs of chain examples move by the nearest multiple of the frame subsampling factor.
    #[arg(long, default_value_t = 0)]
    pub frame_shift: i32,
    /// If <1.0, this program will randomly keep this proportion of the input samples. If >1.0, it will in expectation copy
    /// a sample this many times.
    #[arg(long, default_value_t = 1.0)]
    pub keep_proportion: f32,
    /// Seed for random number generator (only relevant if --random=true or --keep-proportion != 1.0)
    #[arg(long, default_value_t = 0)]
    pub srand: i32,
    /// Can be used to truncate the feature left-context that we output.
    #[arg(long, default_value_t = -1)]
    pub left_context: i32,
    /// Can be used to truncate the feature right-context that we output.
    #[arg(long, default_value_t = -1)]
    pub right_context: i32,
    /// Rspecifier indexed by the key of egs, providing a weight by which we will scale the supervision for that eg.
    #[arg(long, default_value = "")]
    pub weights: String,
    /// Rspecifier indexed by the key of egs, providing an output name, e.g. 'output-0', that replaces 'output'.
    #[arg(long, default_value = "")]
    pub outputs: String,
    #[arg(value_name = "<egs-rspecifier>")]
    pub egs_in: String,
    #[arg(required = true, value_name = "<egs-wspecifier1> [<egs-wspecifier2> ...]")]
    pub egs_out: Vec<String>,
}

impl CopyEgsOptions {
    /// Checks the options.
    pub fn copier(&self, frame: FrameChoice) -> Result<Copier> {
        if !(self.keep_proportion >= 0.0 && self.keep_proportion < 1e6) {
            bail!("--keep-proportion={}: expected a number that is not negative", self.keep_proportion);
        }
        let context = |name: &str, value: i32| match value {
            -1 => Ok(None),
            v if v >= 0 => Ok(Some(v)),
            v => bail!("--{name}={v}: expected -1 or a number of frames"),
        };
        Ok(Copier::new(CopyOptions {
            frame,
            left_context: context("left-context", self.left_context)?,
            right_context: context("right-context", self.right_context)?,
            frame_shift: self.frame_shift,
        }))
    }
}

#[derive(clap::Args, Debug, Clone)]
pub struct ShuffleEgsOptions {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    pub srand: i32,
    /// If >0, size of a buffer we use to do limited-memory partial randomization. Otherwise, do full randomization.
    #[arg(long, default_value_t = 0)]
    pub buffer_size: i32,
    #[arg(value_name = "<egs-rspecifier>")]
    pub egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    pub egs_out: String,
}

#[derive(clap::Args, Debug, Clone)]
pub struct SubsetEgsOptions {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    pub srand: i32,
    /// Number of training examples in output
    #[arg(long, default_value_t = 1000)]
    pub n: i32,
    /// If true, randomize the order of the output
    #[arg(long, default_value_t = true)]
    pub randomize_order: bool,
    #[arg(value_name = "<egs-rspecifier>")]
    pub egs_in: String,
    #[arg(value_name = "<egs-wspecifier>")]
    pub egs_out: String,
}
