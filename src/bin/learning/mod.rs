//! Training by optimizers chosen by layer name (nnet3-fit), and its data.

mod fit;
mod labels;
mod options;
mod text_windows;

include!(concat!(env!("OUT_DIR"), "/learning.rs"));
