//! `gmm-transform-means`: multiplies the means of a model by a transform.

use anyhow::{Context, Result};
use kaldi_io::object::read_matrix;
use nnet3::{gaussians, messages};

/// Transform GMM means with linear or affine transform
#[derive(clap::Parser)]
#[command(after_help = "e.g.: gmm-transform-means 2.mat 2.mdl 3.mdl\nSee also: est-mllt")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    transform_matrix: String,
    model_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let transform = read_matrix(&options.transform_matrix)?;
    let (transitions, mut model) = gaussians::read_model(&options.model_in)?;
    model.transform_means(&transform).with_context(|| options.transform_matrix.clone())?;
    gaussians::write_model(&options.model_out, options.mode.binary, &transitions, &model)?;
    messages::log(&format!("Written model to {}", options.model_out));
    Ok(0)
}
