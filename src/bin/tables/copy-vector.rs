//! `copy-vector`: copies vectors, scaled or with another dimension.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_io::holder::VectorHolder;
use kaldi_io::read_object;
use nnet3::tables::{self, Names};

/// Copy vectors, or archives of vectors (e.g. transition-accs; speaker vectors).
///
/// Input and output are both tables or both files.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: copy-vector --binary=false 1.mat -\n  copy-vector ark:2.trans ark,t:-\n\
    See also: append-vector-to-feats, vector-scale, vector-sum")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Truncate the vectors to this dimension, or fill them up with zeros (if not negative)
    #[arg(long, default_value_t = -1)]
    change_dim: i32,
    /// Multiply the vectors by this
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    #[arg(value_name = "(<vector-in-rspecifier>|<vector-in-rxfilename>)")]
    vector_in: String,
    #[arg(value_name = "(<vector-out-wspecifier>|<vector-out-wxfilename>)")]
    vector_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let several = match (options.change_dim, options.scale) {
        (..0, 1.0) => "vectors.".to_owned(),
        (dim, scale) => format!("vectors, setting dim to {dim} scaled by {}", num(scale.into())),
    };
    tables::convert::<VectorHolder>(
        &options.vector_in,
        &options.vector_out,
        options.mode.binary,
        Names { one: "vector", several: &several },
        read_object,
        |mut vector| {
            if let Ok(dim) = usize::try_from(options.change_dim) {
                vector.resize(dim, 0.0);
            }
            vector.iter_mut().for_each(|x| *x *= options.scale);
            Ok(vector)
        },
    )
}
