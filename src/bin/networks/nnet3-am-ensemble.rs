//! `nnet3-am-ensemble`: several acoustic models as one.

use anyhow::{Context, Result, ensure};
use kaldi_io::KaldiWriter;
use nnet3::messages;
use nnet3_core::nnet::Nnet;
use nnet3_train::acoustic::AmNnet;

/// Make one acoustic model of several: its output is the mean of theirs.
///
/// The models are trainings of the same tree with the same features, from other seeds or with other layers. Where each errs by chance,
/// the mean errs less. The new network has the layers of all of them, so it takes as long as all of them.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-am-ensemble exp/chain1/final.mdl exp/chain2/final.mdl exp/chain3/final.mdl exp/chain/final.mdl\n\
        See also: nnet3-average, nnet3-am-copy"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    am_nnet_in1: String,
    /// Further models, and last the file to write
    #[arg(value_name = "<am-nnet-in2> ... <am-nnet-inN> <am-nnet-out>", required = true)]
    models_and_output: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut names = vec![options.am_nnet_in1];
    names.extend(options.models_and_output);
    let Some(output) = names.pop() else { return Ok(kaldi_cli::NOTHING_DONE) };
    KaldiWriter::check(&output)?;
    let mut whole = AmNnet::load(&names[0])?;
    let (mut networks, mut log_priors) = (Vec::new(), vec![0.0; whole.priors().len()]);
    for name in &names {
        let model = AmNnet::load(name)?;
        ensure!(
            model.transitions == whole.transitions,
            "{name}: the transition model is another one than in {}; expected models of one tree",
            names[0]
        );
        ensure!(
            model.priors().len() == log_priors.len(),
            "{name}: the model has {} priors, and {} has {}",
            model.priors().len(),
            names[0],
            log_priors.len()
        );
        for (sum, prior) in log_priors.iter_mut().zip(model.log_priors()?) {
            *sum += prior / names.len() as f32;
        }
        networks.push(model.into_nnet());
    }
    let mean = Nnet::mean_of_outputs(&networks, "output").with_context(|| names.join(", "))?;
    whole.set_nnet(mean)?;
    // (Scores are logarithms of outputs minus those of priors, so that the mean of scores has this one.)
    if !log_priors.is_empty() {
        whole.adjust_priors(log_priors.iter().map(|log| log.exp()).collect())?;
    }
    whole.save(&output, options.mode.binary)?;
    messages::log(&format!("Wrote a model with the mean of {} networks to {output}", networks.len()));
    Ok(0)
}
