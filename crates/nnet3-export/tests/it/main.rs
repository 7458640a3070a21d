//! Models are run by an evaluator of their operators and compared with this repository's forward computation.

mod convolution;
mod evaluator;
mod form;
mod modes;
