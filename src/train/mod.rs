//! Trainings: the code that training programs share.

pub mod chain;
pub mod combination;
pub mod evaluation;
pub mod training;
pub mod training_log;
