//! Numbers and lists of arguments. Errors are TypeError or ValueError, and name the argument.

use std::num::NonZero;
use std::ops::RangeInclusive;

use kaldi_sound::RATES;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The most alternatives of a sentence, as in `nnet3-transcribe`.
const MOST_ALTERNATIVES: i64 = 1000;

/// The name of an object's type.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

/// The text of a number. Python refuses to print very long ones.
fn shown(number: &Bound<'_, PyAny>) -> String {
    number.str().map_or_else(|_| "a number of very many digits".to_owned(), |text| text.to_string())
}

/// Returns a whole number, or `default` without an argument. Raises ValueError if it is not within `bounds`, and TypeError if it is
/// no whole number.
pub fn whole(
    name: &str,
    number: Option<&Bound<'_, PyAny>>,
    default: i64,
    bounds: RangeInclusive<i64>,
) -> PyResult<i64> {
    let Some(number) = number else { return Ok(default) };
    let value = match number.extract::<i64>() {
        Ok(value) => Some(value),
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => None,
        Err(_) => {
            let found = type_name(number);
            return Err(PyTypeError::new_err(format!("{name}: expected a whole number, found {found}")));
        }
    };
    value.filter(|value| bounds.contains(value)).ok_or_else(|| {
        let (least, most) = (bounds.start(), bounds.end());
        let expected = match *most {
            i64::MAX => format!("at least {least}"),
            _ => format!("a number from {least} to {most}"),
        };
        PyValueError::new_err(format!("{name}: expected {expected}, found {}", shown(number)))
    })
}

/// Returns a number of single precision's range. Raises ValueError if it is beyond that or NaN, and TypeError if it is no number.
pub fn real(name: &str, number: &Bound<'_, PyAny>) -> PyResult<f64> {
    let value = match number.extract::<f64>() {
        Ok(value) => value,
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => f64::INFINITY,
        Err(_) => {
            let found = type_name(number);
            return Err(PyTypeError::new_err(format!("{name}: expected a number, found {found}")));
        }
    };
    match (value as f32).is_finite() {
        true => Ok(value),
        false => Err(PyValueError::new_err(format!("{name}: expected a number, found {}", shown(number)))),
    }
}

/// Returns the rate of samples in Hz: `sample_rate`, or `rate`, which was its name before.
pub fn sample_rate(sample_rate: Option<&Bound<'_, PyAny>>, rate: Option<&Bound<'_, PyAny>>) -> PyResult<f64> {
    let given = match (sample_rate, rate) {
        (Some(given), None) | (None, Some(given)) => given,
        (None, None) => {
            return Err(PyTypeError::new_err(
                "sample_rate: expected the rate of the samples in Hz, found none",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(PyTypeError::new_err("expected sample_rate or rate, its older name, and not both"));
        }
    };
    let value = real("sample_rate", given)?;
    match value > 0.0 {
        true => Ok(value),
        false => Err(PyValueError::new_err(format!(
            "sample_rate: expected a positive number, found {}",
            shown(given)
        ))),
    }
}

/// Returns the rate of samples for a recogniser, in Hz. Raises ValueError if no recogniser takes it.
pub fn recognised_rate(
    sample_rate: Option<&Bound<'_, PyAny>>,
    rate: Option<&Bound<'_, PyAny>>,
) -> PyResult<f64> {
    let value = self::sample_rate(sample_rate, rate)?;
    let (least, most) = (*RATES.start(), *RATES.end());
    match (f64::from(least)..=f64::from(most)).contains(&value) {
        true => Ok(value),
        false => Err(PyValueError::new_err(format!(
            "sample_rate: expected a number from {least} to {most} (Hz), found {value}"
        ))),
    }
}

/// Returns the number of alternatives of a sentence; 0 without an argument.
pub fn alternatives(number: Option<&Bound<'_, PyAny>>) -> PyResult<usize> {
    Ok(whole("alternatives", number, 0, 0..=MOST_ALTERNATIVES)? as usize)
}

/// Returns the number of threads; 1 without an argument.
pub fn threads(number: Option<&Bound<'_, PyAny>>) -> PyResult<NonZero<usize>> {
    let number = whole("threads", number, 1, 1..=i64::MAX)?;
    Ok(usize::try_from(number).ok().and_then(NonZero::new).unwrap_or(NonZero::<usize>::MAX))
}

/// Returns a list of texts. Raises TypeError for other objects, such as one text.
pub fn texts(name: &str, list: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<String>>> {
    let Some(list) = list else { return Ok(None) };
    match list.extract::<Vec<String>>() {
        Ok(texts) if !list.is_instance_of::<PyString>() => Ok(Some(texts)),
        _ => {
            let found = type_name(list);
            let parts = if matches!(found.as_str(), "list" | "tuple") { " with other objects" } else { "" };
            Err(PyTypeError::new_err(format!("{name}: expected a list of texts (str), found {found}{parts}")))
        }
    }
}
