//! Values of keys, and how they are printed.

use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl Value {
    /// The value as text if it is a [`Value::Text`].
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Prints values in the form of expanded xconfigs and config lines: numbers by the shortest digits that restore them,
/// `True`, `False`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => f.write_str(&float_text(*value)),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// Returns the shortest digits that restore `value`, with a point or an exponent of at least two digits. Exponents are
/// used from 1e16 up, and below 1e-4.
pub(crate) fn float_text(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan".to_owned() } else { value.to_string() };
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        format!("{value:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The output of Python 3.
    #[test]
    fn floats() {
        let cases = [
            (1e-5, "1e-05"),
            (2.5e-5, "2.5e-05"),
            (0.0001, "0.0001"),
            (0.75, "0.75"),
            (1.0, "1.0"),
            (-1.0, "-1.0"),
            (0.0, "0.0"),
            (0.1 / 3.0, "0.03333333333333333"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            assert_eq!(float_text(value), text);
        }
    }
}
