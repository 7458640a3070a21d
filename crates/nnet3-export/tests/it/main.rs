//! Models are run by an evaluator of their operators and compared with this repository's forward computation.

mod evaluator;
mod modes;
