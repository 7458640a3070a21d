//! Pitch of sound (Ghahremani et al., "A pitch extraction algorithm tuned for automatic speech recognition", 2014;
//! `feat/pitch-functions`).
//!
//! The signal is resampled to some kHz. [`correlation`] compares each frame with itself some samples later (the
//! normalised cross-correlation function, NCCF). [`interpolation`] converts the values to lags at equal ratios.
//! [`viterbi`] finds the best sequence of lags. [`PitchTracker`] does all that while samples arrive. [`PitchProcessor`]
//! makes features of pitch. Whole recordings go through the same code as streams.
//!
//! Samples are 16-bit numbers as `f32`, not scaled, as in [`crate::spectral`].

mod correlation;
mod interpolation;
mod options;
mod pairs;
mod process;
mod recording;
mod signal;
mod smoothing;
mod stream;
#[cfg(test)]
mod tests;
mod tracker;
mod viterbi;

pub use options::{PitchOptions, PitchProcessOptions};
pub use pairs::normalize_pairs;
pub use process::{PitchProcessor, PitchSource};
pub use recording::{extract, extract_and_process, process};
pub use smoothing::{PitchSmoother, SmoothingCounts, SmoothingNoise, SmoothingOptions, bridge_gaps};
pub use stream::PitchStream;
pub use tracker::PitchTracker;

/// Columns of raw pitch: the NCCF (not weighed down in quiet frames), and the pitch in Hz.
pub const COLUMNS: usize = 2;
