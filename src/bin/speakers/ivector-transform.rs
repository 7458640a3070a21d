//! `ivector-transform`: multiplies vectors by a matrix.

use anyhow::Result;
use kaldi_cli::log::num;
use kaldi_io::holder::VectorHolder;
use kaldi_speaker::vectors::{Mean, check, norm, transform};
use nnet3::{messages, tables};

/// Multiplies iVectors (on the left) by a supplied transformation matrix; a last column that is one too many is an offset.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: ivector-transform transform.mat ark:ivectors.ark ark:transformed_ivectors.ark\n\
    See also: ivector-compute-lda, transform-vec"
)]
pub struct Options {
    matrix_in: String,
    ivector_rspecifier: String,
    ivector_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let matrix = kaldi_io::object::read_matrix::<f32>(&options.matrix_in)?;
    let (mut mean, mut squares) = (Mean::default(), 0.0);
    let (from, to) = (&options.ivector_rspecifier, &options.ivector_wspecifier);
    let output = tables::map::<VectorHolder, VectorHolder>(from, to, |_, vector| {
        let product = match check(&vector).and_then(|()| transform(&matrix, &vector)) {
            Ok(product) => product,
            Err(reason) => return tables::skip(reason),
        };
        squares += product.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        mean.add(&product)?;
        Ok(Ok(product))
    })?;
    messages::log(&format!("Processed {} iVectors.", output.done));
    if let Some(mean) = mean.mean() {
        let length = (squares / (output.done as f64 * mean.len() as f64)).sqrt();
        messages::log(&format!(
            "Norm of mean was {} (should be close to zero), length divided by sqrt(dim) was {} \
             (should probably be close to one)",
            num(norm(&mean)),
            num(length)
        ));
    }
    output.finish()
}
