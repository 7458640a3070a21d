//! `ivector-randomize`: replaces rows of i-vectors by later ones of the same utterance.

use anyhow::Result;
use kaldi_io::holder::MatrixHolder;
use nnet3::options::fraction;
use nnet3::{messages, tables};
use nnet3_core::c_rand::CRand;

/// Copy matrices of online-estimated i-vectors, but randomize them; this is intended primarily for training the online nnet2
/// setup with iVectors. For each input matrix, replaces each row t with the probability given by --randomize-prob. The new
/// contents are those of a row chosen at random from t to T, the last row of the matrix.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ivector-randomize ark:- ark:-\n\
    See also: ivector-extract-online, ivector-extract-online2, subsample-feats")]
pub struct Options {
    /// For each row, replace it with a row at a later time with this probability
    #[arg(long, default_value_t = 0.5)]
    randomize_prob: f32,
    /// Accepted as in Kaldi; has no effect: random numbers always start as with seed 1
    #[arg(long, default_value_t = 0)]
    srand: i32,
    ivector_rspecifier: String,
    ivector_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let probability = options.randomize_prob;
    fraction::check("randomize-prob", probability)?;
    let mut rand = CRand::default();
    let (from, to) = (&options.ivector_rspecifier, &options.ivector_wspecifier);
    let output = tables::map::<MatrixHolder, MatrixHolder>(from, to, |_, mut ivectors| {
        if ivectors.rows == 0 {
            return tables::skip("empty matrix");
        }
        for row in 0..ivectors.rows {
            if rand.with_probability(probability) {
                let later = rand.int(row as i32, ivectors.rows as i32 - 1) as usize;
                let cols = ivectors.cols;
                ivectors.data.copy_within(later * cols..(later + 1) * cols, row * cols);
            }
        }
        Ok(Ok(ivectors))
    })?;
    // (The reference counts each one twice.)
    messages::log(&format!("Randomized {} iVectors.", 2 * output.done));
    output.finish()
}
