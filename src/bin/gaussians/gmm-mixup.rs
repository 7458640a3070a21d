//! `gmm-mixup`: changes the number of Gaussians of a model.

use anyhow::{Context, Result};
use kaldi_io::read_object;
use nnet3::{gaussians, messages};

use crate::gaussians::mixing::MixingOptions;

/// Does GMM mixing up (and Gaussian merging).
///
/// Gaussians are merged first, then split.
#[derive(clap::Parser)]
#[command(after_help = "e.g. of mixing up:\n gmm-mixup --mix-up=4000 1.mdl 1.occs 2.mdl\n\
    e.g. of merging:\n gmm-mixup --mix-down=2000 1.mdl 1.occs 2.mdl")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    #[command(flatten)]
    mixing: MixingOptions,
    model_in: String,
    state_occs_in: String,
    model_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let (transitions, mut model) = gaussians::read_model(&options.model_in)?;
    if !options.mixing.is_nothing() {
        let occupancies: Vec<f32> = read_object(&options.state_occs_in)?;
        options.mixing.apply(&mut model, &occupancies).with_context(|| options.state_occs_in.clone())?;
    }
    gaussians::write_model(&options.model_out, options.mode.binary, &transitions, &model)?;
    messages::log(&format!("Written model to {}", options.model_out));
    Ok(0)
}
