//! The scale of samples: the values of wave files, or floats between −1 and 1.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Floats whose absolute values all stay below this one are between −1 and 1, or a little louder.
const UNIT: f32 = 2.0;
/// The factor of samples between −1 and 1.
const FACTOR: f32 = 32768.0;

/// The scale of the floats of a sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From −1 to 1, as soundfile and librosa read them.
    Unit,
    /// From −32768 to 32767.
    Wave,
}

/// Samples of an array or of bytes.
pub enum Samples {
    /// Samples that have the values of wave files because of their type.
    Wave(Vec<f32>),
    /// Floats of either scale, all of them finite.
    Floats(Vec<f32>),
}

impl Scale {
    /// The scale of floats. `None` if they are all −1, 0 or 1: silence in the scale of wave files, which is the same in both scales as
    /// good as always.
    fn of(values: &[f32]) -> Option<Scale> {
        let mut scale = None;
        for value in values {
            if value.abs() >= UNIT {
                return Some(Scale::Wave);
            }
            if value.fract() != 0.0 {
                scale = Some(Scale::Unit);
            }
        }
        scale
    }
}

impl Samples {
    /// Returns the samples with the values of wave files. `scale` is that of the floats before in the same sound; the first floats
    /// that tell decide it. Raises ValueError if the scale changes.
    pub fn in_sound(self, scale: &mut Option<Scale>) -> PyResult<Vec<f32>> {
        let mut values = match self {
            Samples::Wave(values) => return Ok(values),
            Samples::Floats(values) => values,
        };
        let found = Scale::of(&values);
        if let (Some(Scale::Unit), Some(Scale::Wave)) = (*scale, found) {
            let loud = values.iter().find(|value| value.abs() >= UNIT).copied().unwrap_or_default();
            return Err(PyValueError::new_err(format!(
                "samples: found {loud} behind samples between -1 and 1: all floats of a sound have one scale (samples with the values \
                 of int16 may be given as int16)"
            )));
        }
        *scale = scale.or(found);
        if *scale == Some(Scale::Unit) {
            values.iter_mut().for_each(|value| *value *= FACTOR);
        }
        Ok(values)
    }

    /// Returns the samples of a whole sound with the values of wave files.
    pub fn alone(self) -> PyResult<Vec<f32>> {
        self.in_sound(&mut None)
    }
}
