//! Tests of training and alignment on speech that is made of known Gaussians.

mod adapt;
mod network;
mod reasons;
mod speech;
mod start;
mod statistics;
mod training;
mod transforms;
