//! Cells of recurrent layers, and components that limit their gradients.

pub mod clip_gradient;
pub mod gru;
pub mod lstm;
pub mod tanh_stats;
pub mod truncation;
