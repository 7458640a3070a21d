//! Examples with values that are no numbers: one of them makes a whole network `nan`.

use kaldi_io::matrix::DenseMatrix;
use kaldi_io::{GeneralMatrix, IoError};

use crate::chunk::Utterance;
use crate::example::NnetIo;

/// Refuses an example in which a value is not finite: says of which input or output, and of which frame.
pub fn check_finite(ios: &[NnetIo]) -> kaldi_io::Result<()> {
    for io in ios {
        if let Some(found) = io.features.not_finite() {
            let (name, index) = (&io.name, io.indexes[found.row]);
            let sequence = if index.n == 0 { String::new() } else { format!(", n={}", index.n) };
            let value = if found.value.is_nan() { "nan".to_owned() } else { found.value.to_string() };
            return Err(IoError::Refused(format!(
                "'{name}' has the value {value} at t={}{sequence}, in column {}",
                index.t, found.column
            )));
        }
    }
    Ok(())
}

/// What is not finite in the features or i-vectors of an utterance, and where.
pub fn inputs_not_finite(
    key: &str,
    features: &GeneralMatrix,
    ivectors: Option<&DenseMatrix<f32>>,
) -> Option<String> {
    let message = |what: &str, found| format!("{what} of utterance {key}: {found}");
    let of_features = features.not_finite().map(|found| message("features", found));
    of_features.or_else(|| ivectors?.not_finite().map(|found| message("i-vectors", found)))
}

impl Utterance<'_> {
    /// What is not finite in features, i-vectors or targets, and where.
    pub fn not_finite(&self) -> Option<String> {
        let targets = || {
            let found = self.targets.not_finite()?;
            Some(format!("targets of utterance {}: {found}", self.key))
        };
        inputs_not_finite(self.key, self.features, self.ivectors).or_else(targets)
    }
}
