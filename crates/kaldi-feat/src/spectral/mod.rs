//! Features from the spectrum of sound: cepstra (MFCC, PLP), energies of mel filters, and the spectrum itself
//! (`feat/feature-window`, `feat/mel-computations`, `feat/feature-mfcc`, `feat/feature-plp`, `feat/feature-fbank`,
//! `feat/feature-spectrogram`).
//!
//! Samples are 16-bit numbers as `f32`, not scaled. [`Extractor`] makes features of a whole recording,
//! [`FeatureStream`] of a recording that arrives in pieces. Both process a frame in the same way, so their results are
//! equal. Exceptions are dither and resampling: the two low-pass filters differ, as in the reference.

mod extractor;
mod fft;
mod frames;
mod lifter;
mod mel;
pub(crate) mod noise;
mod plp;
mod resample;
mod stream;
#[cfg(test)]
mod tests;

pub use extractor::{EnergyOptions, Extractor, Kind, SpectralOptions};
pub use frames::{FrameOptions, WindowType};
pub(crate) use lifter::lifter_scale;
pub(crate) use mel::MelScale;
pub use mel::{MelBank, MelOptions};
pub use plp::PlpOptions;
pub use resample::Resampler;
pub use stream::FeatureStream;
