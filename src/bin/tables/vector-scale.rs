//! `vector-scale`: multiplies vectors.

use anyhow::Result;
use kaldi_io::holder::VectorHolder;
use nnet3::tables;

/// Scale vectors, or archives of vectors (useful for speaker vectors and per-frame weights).
///
/// Input and output are both tables or both files.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: vector-scale --scale=-1.0 1.vec -\n  vector-scale --scale=-2.0 ark:vec.ark ark,t:-\n\
    See also: copy-vector, vector-sum"
)]
pub struct Options {
    /// If true, write output as binary (only relevant if output is a file)
    #[arg(long)]
    binary: bool,
    /// Scaling factor for vectors
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    #[arg(value_name = "(<vector-in-rspecifier>|<vector-in-rxfilename>)")]
    vector_in: String,
    #[arg(value_name = "(<vector-out-wspecifier>|<vector-out-wxfilename>)")]
    vector_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.vector_in, &options.vector_out);
    let scaled = |mut vector: Vec<f32>| {
        vector.iter_mut().for_each(|x| *x *= options.scale);
        vector
    };
    if tables::are_tables(from, to)? {
        return tables::map::<VectorHolder, VectorHolder>(from, to, |_, vector| Ok(Ok(scaled(vector))))?
            .finish_any();
    }
    kaldi_io::write_object(to, options.binary, &scaled(kaldi_io::read_object(from)?))?;
    Ok(0)
}
