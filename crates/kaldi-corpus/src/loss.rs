//! Sound that is lost.

use std::fmt;

use crate::fault::{Amount, length};

/// The length of recordings or utterances that are lost, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Loss {
    /// The seconds of those whose length is known.
    pub seconds: f64,
    /// The number of the others.
    pub unknown: usize,
}

impl Loss {
    /// Adds one, whose length in seconds may be known.
    pub fn add(&mut self, seconds: Option<f64>) {
        self.add_amount(Amount { utterances: 1, seconds: seconds.unwrap_or_default() });
    }

    /// Adds utterances with their length together, which is 0 if it is not known.
    pub(crate) fn add_amount(&mut self, amount: Amount) {
        match amount.seconds > 0.0 {
            true => self.seconds += amount.seconds,
            false => self.unknown += amount.utterances,
        }
    }
}

impl fmt::Display for Loss {
    /// `12.3 s`, or `4.5 min, and 2 of unknown length`, or `of unknown length`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Loss { seconds: 0.0, .. } => f.write_str("of unknown length"),
            Loss { seconds, unknown: 0 } => f.write_str(&length(seconds)),
            Loss { seconds, unknown } => write!(f, "{}, and {unknown} of unknown length", length(seconds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_that_are_not_known_are_counted() {
        let told = |lengths: &[Option<f64>]| {
            let mut loss = Loss::default();
            lengths.iter().for_each(|seconds| loss.add(*seconds));
            loss.to_string()
        };
        assert_eq!(told(&[Some(60.0), Some(3.25)]), "63.2 s");
        assert_eq!(told(&[Some(7200.0), None, Some(0.0)]), "2.00 h, and 2 of unknown length");
        assert_eq!(told(&[None]), "of unknown length");
    }
}
