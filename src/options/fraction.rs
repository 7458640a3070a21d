//! Options whose values are fractions.

use anyhow::{Result, bail};

/// Checks the value of an option that must be from 0 to 1.
///
/// # Errors
/// The value is outside this range.
pub fn check(name: &str, value: f32) -> Result<()> {
    if !(0.0..=1.0).contains(&value) {
        bail!("--{name}={value}: expected a number from 0 to 1");
    }
    Ok(())
}
