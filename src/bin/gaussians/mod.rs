//! Gaussian models: initial models, statistics, estimates, numbers of Gaussians.

mod mixing;

include!(concat!(env!("OUT_DIR"), "/gaussians.rs"));
