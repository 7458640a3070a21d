//! The loop over utterances with features and posteriors of Gaussians.

use anyhow::Result;
use kaldi_io::holder::PosteriorHolder;
use kaldi_io::{DenseMatrix, Posterior};
use kaldi_ivector::Error;
use nnet3::gaussians::{self, Counts};
use nnet3::tables;

/// Calls `f` with the features and posteriors of each utterance. Warns of utterances without posteriors, with posteriors of
/// another length, and that `f` cannot use; counts them.
///
/// # Errors
/// If features or posteriors are of another model, or a table cannot be read.
pub fn for_each(
    features: &str,
    posteriors: &str,
    mut f: impl FnMut(&str, &DenseMatrix<f32>, &Posterior) -> Result<kaldi_ivector::Result<()>>,
) -> Result<Counts> {
    let missing = |key: &str| format!("No posteriors for utterance {key}");
    gaussians::for_each_with::<PosteriorHolder>(features, posteriors, missing, |key, features, posterior| {
        if posterior.len() != features.rows {
            return tables::skip_as(format!(
                "Size mismatch between posterior {} and features {} for utterance {key}",
                posterior.len(),
                features.rows
            ));
        }
        match f(key, features, posterior)? {
            Ok(()) => Ok(Ok(())),
            Err(error @ Error::OtherModel(_)) => Err(error.into()),
            Err(error) => tables::skip(error),
        }
    })
}
