//! Examples with values that are no numbers: one of them makes a whole network `nan`.

use kaldi_io::IoError;

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

impl Utterance<'_> {
    /// What is not finite in features, i-vectors or targets, and where.
    pub fn not_finite(&self) -> Option<String> {
        let message = |what: &str, found| format!("{what} of utterance {}: {found}", self.key);
        let features = self.features.not_finite().map(|found| message("features", found));
        let ivectors = || self.ivectors?.not_finite().map(|found| message("i-vectors", found));
        let targets = || self.targets.not_finite().map(|found| message("targets", found));
        features.or_else(ivectors).or_else(targets)
    }
}
