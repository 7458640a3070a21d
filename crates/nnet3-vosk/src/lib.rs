//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! The recogniser as a shared library with the functions of vosk's public header (`vosk_api.h`), so that programs and
//! bindings written for vosk run on this engine.
//!
//! - `abi`: the functions. The only module with unsafe code.
//! - `session`: a recogniser in vosk's states, from samples to texts of results.
//! - `batch`: recognisers of a batch model, one after another on the CPU.
//! - `grammar`: phrases instead of a language model.
//! - `itn`: texts by two transducers, the tagger and the verbalizer.
//! - `layout`: results as vosk prints them.
//! - `log`: lines on standard error, and their level.

mod abi;
mod batch;
mod grammar;
mod itn;
mod layout;
mod log;
mod session;
#[cfg(test)]
mod tests;
