//! Options of the objective.

use std::fmt;
use std::str::FromStr;

use nnet3_train::{Error, Result};

/// The criterion that training maximises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// Maximum mutual information: the log-probability of the alignment in relation to all paths of the lattice.
    Mmi,
    /// Minimum phone frame error: the expected number of frames with the right phone.
    Mpfe,
    /// State-level minimum Bayes risk: the expected number of frames with the right pdf.
    Smbr,
}

impl FromStr for Criterion {
    type Err = Error;

    fn from_str(name: &str) -> Result<Criterion> {
        match name {
            "mmi" => Ok(Criterion::Mmi),
            "mpfe" => Ok(Criterion::Mpfe),
            "smbr" => Ok(Criterion::Smbr),
            _ => Err(Error::options(format!("Unknown criterion {name}; expected mmi, mpfe or smbr"))),
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Criterion::Mmi => "mmi",
            Criterion::Mpfe => "mpfe",
            Criterion::Smbr => "smbr",
        })
    }
}

/// Options of the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscriminativeOptions {
    pub criterion: Criterion,
    /// The factor on log-likelihoods of the network.
    pub acoustic_scale: f32,
    /// For MMI: no derivative in frames in which the lattice lacks the pdf of the alignment.
    pub drop_frames: bool,
    /// For MMI: taken off the graph cost of arcs with a wrong phone.
    pub boost: f32,
    /// For MPFE and sMBR: all silence phones count as one. If false, frames of silence are never right.
    pub one_silence_class: bool,
    pub silence_phones: Vec<i32>,
    /// Half of this, times the sum of squares of the output, is taken off.
    pub l2_regularize: f32,
    /// The factor on the derivative of the cross-entropy output. 0 if there is none.
    pub xent_regularize: f32,
    /// Sum up derivatives by pdf, for the log.
    pub accumulate_gradients: bool,
    /// Sum up output probabilities by pdf, for the log.
    pub accumulate_output: bool,
}

impl Default for DiscriminativeOptions {
    fn default() -> DiscriminativeOptions {
        DiscriminativeOptions {
            criterion: Criterion::Smbr,
            acoustic_scale: 0.1,
            drop_frames: false,
            boost: 0.0,
            one_silence_class: false,
            silence_phones: Vec::new(),
            l2_regularize: 0.0,
            xent_regularize: 0.0,
            accumulate_gradients: false,
            accumulate_output: false,
        }
    }
}

impl DiscriminativeOptions {
    /// Returns an error for a number out of range.
    pub fn check(&self) -> Result<()> {
        for (name, value, positive) in [
            ("acoustic-scale", self.acoustic_scale, false),
            ("boost", self.boost, false),
            ("l2-regularize", self.l2_regularize, true),
            ("xent-regularize", self.xent_regularize, true),
        ] {
            if !value.is_finite() || (positive && value < 0.0) {
                let expected = if positive { "a number that is not negative" } else { "a finite number" };
                return Err(Error::options(format!("`{name}`={value}: expected {expected}")));
            }
        }
        Ok(())
    }
}
