//! `logprob-to-post`: turns matrices of log-probabilities into posteriors.

use anyhow::{Result, bail};
use kaldi_feat::posterior::from_log_probabilities;
use kaldi_io::holder::{MatrixHolder, PosteriorHolder};
use nnet3::{messages, tables};
use nnet3_core::random::Random;

/// Convert a matrix of log-probabilities (e.g. from nnet3-compute) to posteriors. Ids are the numbers of the columns, from 0.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n nnet3-compute [args] | logprob-to-post ark:- ark:1.post\nCaution: in this particular example, the \
    output would be posteriors of pdf-ids, rather than transition-ids (c.f. post-to-pdf-post)"
)]
pub struct Options {
    /// Minimum posterior we will output (smaller ones are pruned). Also see --random-prune
    #[arg(long, default_value_t = 0.01)]
    min_post: f32,
    /// If true, prune posteriors with a randomized method that preserves expectations.
    #[arg(long, default_value_t = true)]
    random_prune: bool,
    logprob_matrix_rspecifier: String,
    posteriors_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let least = options.min_post;
    if !least.is_finite() || least < 0.0 {
        bail!("--min-post={least}: expected a number that is not negative");
    }
    let (from, to) = (&options.logprob_matrix_rspecifier, &options.posteriors_wspecifier);
    // A C program that sets no seed begins with that of 1.
    let random = Random::new(1);
    let output = tables::map::<MatrixHolder, PosteriorHolder>(from, to, |_, matrix| {
        if matrix.rows == 0 {
            return tables::skip("empty matrix");
        }
        let draw = options.random_prune.then_some(|| random.uniform());
        match from_log_probabilities(&matrix, least, draw) {
            Ok(posterior) => Ok(Ok(posterior)),
            Err(error) => tables::skip(error),
        }
    })?;
    messages::log(&format!("Converted {} log-prob matrices to posteriors.", output.done));
    output.finish()
}
