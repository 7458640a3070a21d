//! `matrix-sum-rows`: the sum of the rows of each matrix.

use anyhow::Result;
use kaldi_feat::sum::sum_rows;
use kaldi_io::holder::{MatrixHolder, VectorHolder};
use nnet3::{messages, tables};

/// Sum the rows of an input table of matrices and output the corresponding table of vectors.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: matrix-sum-rows ark:- ark:- | vector-sum ark:- sum.vec\n\
    See also: matrix-sum, vector-sum")]
pub struct Options {
    matrix_rspecifier: String,
    vector_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (from, to) = (&options.matrix_rspecifier, &options.vector_wspecifier);
    let mut rows = 0;
    let output = tables::map::<MatrixHolder, VectorHolder>(from, to, |_, matrix| {
        rows += matrix.rows;
        Ok(Ok(sum_rows(&matrix)))
    })?;
    messages::log(&format!("Summed rows {} matrices, {rows} rows in total.", output.done));
    output.finish()
}
