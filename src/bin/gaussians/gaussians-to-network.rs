//! `gaussians-to-network`: writes a model of Gaussians as a network.

use anyhow::{Context, Result};
use kaldi_align::System;
use kaldi_align::as_network::Layers;
use nnet3::feature_layer::{self, Matrices};
use nnet3::messages;
use nnet3_core::config::parse_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_train::acoustic::AmNnet;

/// Write a model of Gaussians as an acoustic model with a network, which all programs for networks and vosk run.
///
/// The folder is as train-gaussians and Kaldi's scripts write it: final.mdl, tree, and for LDA final.mat and splice_opts. Models for
/// normalised cepstra (see train-gaussians --normalize) or for transforms of speakers (SAT) cannot be written so: networks get cepstra as
/// they are. The network reads cepstra at the rate of frames (--frame-subsampling-factor=1), makes derivatives or LDA itself, and its output
/// for a pdf is the scaled logarithm of the weighted density of its best Gaussian.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gaussians-to-network exp/lda final.mdl\nSee also: train-gaussians, nnet3-latgen-faster, gmm-latgen-faster"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Scale of the outputs, so that decoders need none.
    #[arg(long, default_value_t = 0.1)]
    acoustic_scale: f32,
    /// Coefficients of the frames that the network reads, of which the model's cepstra are the first; 0: those of the model.
    #[arg(long, default_value_t = 0)]
    input_dim: usize,
    exp_dir: String,
    am_nnet_out: String,
}

fn network(layers: &Layers) -> Result<Nnet> {
    let matrices = Matrices::new()?;
    let dim = layers.features.matrix.rows;
    let (all, per_pdf) = (layers.gaussians.rows, layers.per_pdf);
    let mut lines = feature_layer::lines(&layers.features, "features", &matrices)?;
    lines.extend([
        format!("component name=squares type=ElementwiseProductComponent input-dim={} output-dim={dim}", 2 * dim),
        "component-node name=squares component=squares input=Append(features, features)".to_owned(),
        format!(
            "component name=gaussians type=FixedAffineComponent matrix={}",
            matrices.write("gaussians", &layers.gaussians)?
        ),
        "component-node name=gaussians component=gaussians input=Append(features, squares)".to_owned(),
        format!(
            "component name=best type=MaxpoolingComponent input-x-dim={all} input-y-dim=1 input-z-dim=1 \
             pool-x-size={per_pdf} pool-y-size=1 pool-z-size=1 pool-x-step={per_pdf} pool-y-step=1 pool-z-step=1"
        ),
        "component-node name=best component=best input=gaussians".to_owned(),
        "output-node name=output input=best".to_owned(),
    ]);
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("layers", lines.iter().map(String::as_str))?, &Random::new(0))?;
    Ok(nnet)
}

pub fn run(options: Options) -> Result<u8> {
    anyhow::ensure!(
        options.acoustic_scale > 0.0 && options.acoustic_scale.is_finite(),
        "--acoustic-scale={}: expected a number above 0",
        options.acoustic_scale
    );
    let system = System::load(&options.exp_dir)?;
    let mut layers = system.layers(options.acoustic_scale).with_context(|| options.exp_dir.clone())?;
    if options.input_dim > 0 {
        layers.features.widen(options.input_dim).context("--input-dim")?;
    }
    let model = AmNnet::new(system.model.transitions, network(&layers)?)?;
    model.save(&options.am_nnet_out, options.mode.binary)?;
    messages::log(&format!(
        "Wrote {} pdfs of at most {} Gaussians as a network to {}",
        model.num_pdfs(),
        layers.per_pdf,
        options.am_nnet_out
    ));
    Ok(0)
}
