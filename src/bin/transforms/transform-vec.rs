//! `transform-vec`: applies a transform to vectors.

use anyhow::{Result, bail};
use kaldi_feat::transform::apply;
use kaldi_io::DenseMatrix;
use kaldi_io::holder::VectorHolder;
use kaldi_io::object::read_matrix;
use nnet3::{messages, tables};

/// This program applies a linear or affine transform to individual vectors, e.g. iVectors. It is transform-feats, except it
/// works on vectors rather than matrices, and expects a single transform matrix rather than possibly a table of matrices
#[derive(clap::Parser)]
#[command(after_help = "See also: transform-feats, est-pca")]
pub struct Options {
    transform_rxfilename: String,
    vector_rspecifier: String,
    vector_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let transform = read_matrix(&options.transform_rxfilename)?;
    let (from, to) = (&options.vector_rspecifier, &options.vector_wspecifier);
    let output = tables::map::<VectorHolder, VectorHolder>(from, to, |_, vector| {
        let dim = vector.len();
        if dim == 0 {
            return tables::skip("the vector is empty");
        }
        match apply(&DenseMatrix { rows: 1, cols: dim, data: vector }, &transform) {
            Some(transformed) => Ok(Ok(transformed.data)),
            None => bail!(
                "Dimension mismatch: input vector has dimension {dim} and transform has {} columns.",
                transform.cols
            ),
        }
    })?;
    messages::log(&format!("Applied transform to {} vectors.", output.done));
    output.finish()
}
