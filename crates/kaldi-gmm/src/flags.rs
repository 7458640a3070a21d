//! The parts of a model that statistics are collected for, or that an update replaces.

use crate::error::{Error, Result};

/// A set of parts: means, variances, weights, transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    pub means: bool,
    pub variances: bool,
    pub weights: bool,
    pub transitions: bool,
}

impl Parts {
    pub const ALL: Parts = Parts { means: true, variances: true, weights: true, transitions: true };

    /// Reads letters: `m`eans, `v`ariances, `w`eights, `t`ransitions, `a`ll. Fails for any other letter.
    pub fn parse(letters: &str) -> Result<Parts> {
        let mut parts = Parts { means: false, variances: false, weights: false, transitions: false };
        for letter in letters.chars() {
            match letter {
                'm' => parts.means = true,
                'v' => parts.variances = true,
                'w' => parts.weights = true,
                't' => parts.transitions = true,
                'a' => parts = Parts::ALL,
                _ => {
                    return Err(Error::options(format!(
                        "`update-flags`={letters}: expected letters of 'mvwta', found '{letter}'"
                    )));
                }
            }
        }
        Ok(parts)
    }

    /// Adds the parts that the statistics of these parts require: variances need means, and means need weights.
    pub fn for_statistics(self) -> Parts {
        let means = self.means || self.variances;
        Parts { means, weights: self.weights || means, ..self }
    }

    /// True if all parts of `other` are parts of this too.
    pub fn include(self, other: Parts) -> bool {
        other.bits() & !self.bits() == 0
    }

    /// The number that files have: means 1, variances 2, weights 4, transitions 8.
    pub fn bits(self) -> u16 {
        let Parts { means, variances, weights, transitions } = self;
        u16::from(means) | u16::from(variances) << 1 | u16::from(weights) << 2 | u16::from(transitions) << 3
    }

    /// Does the reverse of [`bits`](Self::bits); `None` if there are other bits.
    pub fn from_bits(bits: u16) -> Option<Parts> {
        let has = |bit: u16| bits & bit != 0;
        let parts = Parts { means: has(1), variances: has(2), weights: has(4), transitions: has(8) };
        (bits < 16).then_some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_bits() {
        assert_eq!(Parts::parse("mvwt").unwrap(), Parts::ALL);
        assert_eq!(Parts::parse("a").unwrap().bits(), 15);
        assert_eq!(Parts::parse("v").unwrap().for_statistics().bits(), 7);
        assert_eq!(Parts::parse("t").unwrap().for_statistics().bits(), 8);
        assert!(Parts::parse("mx").unwrap_err().to_string().contains("found 'x'"));
        assert!((0..16).all(|bits| Parts::from_bits(bits).unwrap().bits() == bits));
        assert_eq!(Parts::from_bits(16), None);
        let means = Parts::parse("mw").unwrap();
        assert!(Parts::ALL.include(means) && !means.include(Parts::ALL));
    }
}
