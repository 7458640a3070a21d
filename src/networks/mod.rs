//! Networks: read, prepared, changed, and run for utterances.

pub mod acoustic;
pub mod feature_layer;
pub mod forward;
pub mod models;
pub mod prepare;
pub mod report;
pub mod speaker_adaptation;
