//! Examples with values that are no numbers: one of them makes a whole network `nan`.

use kaldi_io::GeneralMatrix;
use kaldi_io::matrix::DenseMatrix;

/// Describes the first NaN or infinite value in the features or i-vectors of an utterance.
pub fn inputs_not_finite(
    key: &str,
    features: &GeneralMatrix,
    ivectors: Option<&DenseMatrix<f32>>,
) -> Option<String> {
    let message = |what: &str, found| format!("{what} of utterance {key}: {found}");
    let of_features = features.not_finite().map(|found| message("features", found));
    of_features.or_else(|| ivectors?.not_finite().map(|found| message("i-vectors", found)))
}
