//! Finds parameters and statistics that are nan or infinite.

use super::Nnet;
use kaldi_io::KaldiWriter;
use nnet3_base::error::Result;

impl Nnet {
    /// Returns the names of components with `nan` or infinite values in their parameters or statistics.
    pub fn not_finite(&self) -> Result<Vec<&str>> {
        let mut found = Vec::new();
        for (component, name) in self.components().zip(&self.component_names) {
            let mut w = KaldiWriter::checking();
            component.write(&mut w)?;
            if !w.all_finite() {
                found.push(name.as_str());
            }
        }
        Ok(found)
    }
}
