//! Scales a network's outputs: log-priors and acoustic scale.

use nnet3_base::error::{Error, Result};

/// `scale · (output - log_priors)`: for log-posteriors these are scaled log-likelihoods, up to a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputScaling {
    /// One for each column of the output. If empty, no prior is subtracted.
    pub log_priors: Vec<f32>,
    pub scale: f32,
}

impl From<f32> for OutputScaling {
    fn from(scale: f32) -> Self {
        OutputScaling { log_priors: Vec::new(), scale }
    }
}

impl OutputScaling {
    /// Checks that the number of priors, if there are any, is the number of output columns.
    pub(super) fn check(&self, cols: usize) -> Result<()> {
        match self.log_priors.len() {
            0 => Ok(()),
            priors if priors == cols => Ok(()),
            priors => {
                Err(Error::network(format!("the output has {cols} columns, but there are {priors} priors")))
            }
        }
    }

    /// Scales whole rows of outputs.
    pub(super) fn apply(&self, outputs: &mut [f32]) {
        if !self.log_priors.is_empty() {
            for row in outputs.chunks_mut(self.log_priors.len()) {
                row.iter_mut().zip(&self.log_priors).for_each(|(value, prior)| *value -= prior);
            }
        }
        if self.scale != 1.0 {
            outputs.iter_mut().for_each(|value| *value *= self.scale);
        }
    }
}
