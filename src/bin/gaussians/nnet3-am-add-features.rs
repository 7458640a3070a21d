//! `nnet3-am-add-features`: lets a network that reads a Gaussian model's features read cepstra.

use anyhow::{Context, Result};
use kaldi_align::System;
use kaldi_feat::cmvn::CmvnStats;
use kaldi_io::object::read_matrix;
use kaldi_io::{DenseMatrix, read_object};
use nnet3::feature_layer::put_before;
use nnet3::messages;
use nnet3_train::acoustic::AmNnet;

/// Put the features of a Gaussian model, with the mean and the transform of a speaker, before a network as a layer.
///
/// The network was trained on features of the model in the folder (cepstra minus a mean, then LDA+MLLT, then a transform of the speaker). The
/// new network reads cepstra. With the mean and the transform of a speaker it is a network for this speaker.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-am-add-features --cmvn-stats=mean --transform=anna.mat exp/sat final.mdl anna.mdl\nSee also: \
        train-gaussians, align-gaussians, gaussians-to-network"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// File of statistics (compute-cmvn-stats) whose mean is subtracted from cepstra.
    #[arg(long, default_value = "")]
    cmvn_stats: String,
    /// File of a linear or affine transform of the features, such as the fMLLR matrix of a speaker.
    #[arg(long, default_value = "")]
    transform: String,
    /// Coefficients of the frames that the new network reads, of which the model's cepstra are the first; 0: those of the model.
    #[arg(long, default_value_t = 0)]
    input_dim: usize,
    gaussians_dir: String,
    am_nnet_in: String,
    am_nnet_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let system = System::load(&options.gaussians_dir)?;
    let mut layer = system.feature_layer().with_context(|| options.gaussians_dir.clone())?;
    if !options.cmvn_stats.is_empty() {
        let stats: DenseMatrix<f64> = read_object(&options.cmvn_stats)?;
        let found = CmvnStats::from_matrix(&stats).map(|stats| stats.means_and_variances());
        let found = found.with_context(|| options.cmvn_stats.clone())?;
        let means = found.with_context(|| format!("{}: there are no frames", options.cmvn_stats))?;
        let mean: Vec<f32> = means.row(0).iter().map(|&x| x as f32).collect();
        layer.subtract(&mean).with_context(|| options.cmvn_stats.clone())?;
    }
    if !options.transform.is_empty() {
        layer.then(&read_matrix(&options.transform)?).with_context(|| options.transform.clone())?;
    }
    if options.input_dim > 0 {
        layer.widen(options.input_dim).context("--input-dim")?;
    }
    let mut model = AmNnet::load(&options.am_nnet_in)?;
    put_before(&layer, &mut model)
        .with_context(|| format!("{} behind features of {}", options.am_nnet_in, options.gaussians_dir))?;
    model.save(&options.am_nnet_out, options.mode.binary)?;
    messages::log(&format!(
        "Wrote a network that reads cepstra of dimension {} to {}",
        layer.cepstra, options.am_nnet_out
    ));
    Ok(0)
}
