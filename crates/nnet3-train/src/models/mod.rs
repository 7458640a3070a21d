//! Whole networks between and after trainings.
//!
//! - [`acoustic`]: a network with a transition model and priors.
//! - [`average`], [`combine`]: means of networks. [`progress`]: two networks compared.
//! - [`forward`], [`diagnostics`], [`accuracy`]: outputs for examples, and objectives.

pub mod accuracy;
pub mod acoustic;
pub mod average;
pub mod combine;
pub mod diagnostics;
pub mod forward;
pub mod progress;
