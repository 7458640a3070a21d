//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Recurrent language models (Kaldi's `rnnlm`): an nnet3 network between word embeddings.
//!
//! The network reads the embedding of each word and gives a vector. The score of a next word is the product of that vector with
//! the word's embedding. [`sampling_lm`] estimates the small n-gram model that importance sampling draws from, [`sampler`]
//! draws words, [`creator`] cuts text into chunks and makes [`example`]s of them. [`objective`] is what [`training`] maximises
//! and [`probability`] reports. [`embedding`] has the matrices of words or of their [`features`]. [`sentence`] gives the
//! probabilities of words one after the other, and [`lattices`] those for paths of lattices.

pub mod creator;
pub mod embedding;
pub mod error;
pub mod example;
pub mod example_sampler;
pub mod features;
mod heap;
pub mod lattices;
pub mod objective;
pub mod probability;
pub mod sampler;
pub mod sampling_lm;
pub mod sentence;
mod tables;
#[cfg(test)]
mod testing;
pub mod text;
pub mod tracker;
pub mod training;

pub use error::{Error, Result};
