//! Keys of config lines with ranges of their values.

use crate::error::Result;
use nnet3_core::config::ConfigLine;

pub fn not_negative(x: f64) -> std::result::Result<(), &'static str> {
    if x >= 0.0 && x.is_finite() { Ok(()) } else { Err("a finite number that is not negative") }
}
pub(crate) fn below_one(x: f64) -> std::result::Result<(), &'static str> {
    if (0.0..1.0).contains(&x) { Ok(()) } else { Err("a number from 0 to below 1") }
}
pub fn positive(x: f64) -> std::result::Result<(), &'static str> {
    if x > 0.0 && x.is_finite() { Ok(()) } else { Err("a finite number above 0") }
}

pub type Check = fn(f64) -> std::result::Result<(), &'static str>;

/// Keys of a line with ranges of their values.
pub struct Keys<'l> {
    pub line: &'l mut ConfigLine,
}

impl Keys<'_> {
    pub fn optional(&mut self, key: &str, check: Check) -> Result<Option<f64>> {
        let Some(text) = self.line.get_string(key) else { return Ok(None) };
        let expected = |what: &str| self.line.error(format!("{key}={text}: expected {what}"));
        let value: f64 = text.trim().parse().map_err(|_| expected("a number"))?;
        check(value).map_err(expected)?;
        Ok(Some(value))
    }

    pub fn get(&mut self, key: &str, default: f64, check: Check) -> Result<f64> {
        Ok(self.optional(key, check)?.unwrap_or(default))
    }

    pub fn flag(&mut self, key: &str, default: bool) -> Result<bool> {
        Ok(self.line.get_bool(key)?.unwrap_or(default))
    }
}
