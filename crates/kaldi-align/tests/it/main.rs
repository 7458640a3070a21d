//! Tests of training and alignment on speech that is made of known Gaussians.

mod network;
mod reasons;
mod speech;
mod statistics;
mod training;
