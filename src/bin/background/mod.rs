//! Background models: a single mixture of Gaussians for all speech, Gaussian selection, posteriors of Gaussians.

mod draws;
mod estimation;
mod likelihoods;
mod mixture;
mod posteriors;
mod selecting;
mod statistics;
mod utterances;

include!(concat!(env!("OUT_DIR"), "/background.rs"));
