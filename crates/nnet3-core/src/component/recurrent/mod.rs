//! Cells of recurrent layers, and what keeps their gradients small.

pub mod clip_gradient;
pub mod gru;
pub mod lstm;
pub mod tanh_stats;
pub mod truncation;
