//! Sound at a lower rate than a model's.

use std::fmt;

/// Models that were trained with missing bands have heard sound up to this frequency (in Hz) at least, as a telephone leaves it.
pub const LEAST_KNOWN: f64 = 3000.0;

/// Sound that lacks the upper bands of a model because of its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowRate {
    /// The rate of the sound, in Hz.
    pub rate: f32,
    /// The rate of the model, in Hz.
    pub model: f32,
}

impl LowRate {
    /// Returns `None` if the sound has all bands of the model, or if the model was trained with such sound (`missing_bands`). Rates are in Hz.
    pub(crate) fn of(rate: f32, model: f32, missing_bands: bool) -> Option<LowRate> {
        let is_known = missing_bands && f64::from(rate) / 2.0 > LEAST_KNOWN;
        (rate < model && !is_known).then_some(LowRate { rate, model })
    }
}

impl fmt::Display for LowRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LowRate { rate, model } = self;
        write!(
            f,
            "the sound has {rate} Hz, and so nothing from {} to {} kHz, which the model (for {model} Hz) was trained with: expect more \
             wrong words",
            rate / 2000.0,
            model / 2000.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_rate_lacks_bands_unless_the_model_knows_such_sound() {
        assert_eq!(LowRate::of(16000.0, 16000.0, false), None);
        assert_eq!(LowRate::of(44100.0, 16000.0, false), None);
        assert_eq!(LowRate::of(8000.0, 16000.0, true), None);
        assert!(LowRate::of(6000.0, 16000.0, true).is_some());
        let said = LowRate::of(8000.0, 16000.0, false).unwrap().to_string();
        assert_eq!(
            said,
            "the sound has 8000 Hz, and so nothing from 4 to 8 kHz, which the model (for 16000 Hz) was trained with: expect more wrong words"
        );
        let said = LowRate::of(11025.0, 16000.0, false).unwrap().to_string();
        assert!(said.contains("nothing from 5.5125 to 8 kHz"), "{said}");
    }
}
