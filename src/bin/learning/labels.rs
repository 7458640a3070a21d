//! Labels of classes among the numbers of a data set.

use anyhow::{Result, bail};

/// The label that a number is: an integer that is not negative, and that `f32` has exactly.
pub fn label(number: f32) -> Result<i32> {
    if number.fract() != 0.0 || !(0.0..16_777_216.0).contains(&number) {
        bail!("expected a label, an integer that is not negative, found {number}");
    }
    Ok(number as i32)
}
