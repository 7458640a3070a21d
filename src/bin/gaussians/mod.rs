//! Gaussian models: initial models, statistics, estimates, numbers of Gaussians.

mod alignment_output;
mod data_folder;
mod mixing;
mod texts;

include!(concat!(env!("OUT_DIR"), "/gaussians.rs"));
