//! Gaussian models: initial models and their sizes.

include!(concat!(env!("OUT_DIR"), "/gaussians.rs"));
