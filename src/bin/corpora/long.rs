//! The option that programs for long recordings share.

use anyhow::{Result, bail};

// The length of windows.
#[derive(clap::Args, Debug)]
pub struct WindowOption {
    /// Seconds of a window, from 5 to 1000
    #[arg(long, default_value_t = 30.0)]
    window: f64,
}

impl WindowOption {
    /// The seconds, checked.
    pub fn seconds(&self) -> Result<f64> {
        if !(5.0..=1000.0).contains(&self.window) {
            bail!("--window={}: expected seconds from 5 to 1000", self.window);
        }
        Ok(self.window)
    }
}
