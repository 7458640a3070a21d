//! `extend-transform-dim`: extends transforms to more dimensions, which stay unchanged.

use anyhow::{Context, Result, bail};
use kaldi_feat::compose::extend;
use kaldi_io::holder::MatrixHolder;
use kaldi_io::object::read_matrix;
use kaldi_io::write_object;
use nnet3::{messages, tables};

/// Reads in a transform from dimension d -> d (affine or linear), and outputs a transform from dimension e -> e. e is
/// given by --new-dimension and must be >= d. This new transform will leave the extra dimension unaffected, and
/// transform the old dimensions in the same way.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: extend-transform-dim --new-dimension=117 in.mat big.mat")]
pub struct Options {
    /// Larger dimension we are changing matrix to
    #[arg(long, default_value_t = -1)]
    new_dimension: i32,
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    #[arg(value_name = "(<transform-A-rspecifier>|<transform-A-rxfilename>)")]
    transform_in: String,
    #[arg(value_name = "(<transform-out-wspecifier>|<transform-out-wxfilename>)")]
    transform_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.transform_in, &options.transform_out);
    let Ok(dim) = usize::try_from(options.new_dimension) else {
        bail!("--new-dimension={}: expected the new dimension", options.new_dimension);
    };
    if tables::are_tables(from, to)? {
        let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |_, transform| {
            Ok(Ok(extend(&transform, dim)?))
        })?;
        messages::log(&format!("Increased transform dim to {dim} for {} matrices.", output.done));
        return output.finish();
    }
    let transform = read_matrix(from)?;
    write_object(to, options.mode.binary, &extend(&transform, dim).with_context(|| from.clone())?)?;
    messages::log(&format!("Increased transform dim from {} to {dim} and wrote to {to}", transform.rows));
    Ok(0)
}
