//! `copy-transition-model`: copies a transition model, also out of an acoustic model.

use kaldi_hmm::TransitionModel;
use kaldi_io::{read_object, write_object};
use nnet3::messages;
/// Copies a transition model (this can be used to separate transition models from the acoustic models they are written
/// with).
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n copy-transition-model --binary=false 1.mdl 1.txt")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// A transition model or a model that has one
    #[arg(value_name = "<transition-model or model file>")]
    transition_model_in: String,
    transition_model_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let model: TransitionModel = read_object(&options.transition_model_in)?;
    write_object(&options.transition_model_out, options.mode.binary, &model)?;
    messages::log("Copied transition model.");
    Ok(0)
}
