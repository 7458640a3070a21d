//! `gmm-init-model-flat`: makes a model in which all leaves of a tree have the same Gaussian.

use anyhow::{Context, Result};
use kaldi_gmm::global::GlobalMean;
use kaldi_gmm::{AmDiagGmm, DiagGmm};
use kaldi_hmm::{ContextDependency, HmmTopology};
use kaldi_io::holder::MatrixHolder;
use kaldi_io::read_object;
use nnet3::tables::{self, Input};
use nnet3::{gaussians, messages, trees};

/// Initialize GMM, with Gaussians initialized to mean and variance of some provided example data (or to 0,1 if not
/// provided: in that case, provide --dim option)
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-init-model-flat tree topo 1.mdl ark:feats.scp\nSee also: gmm-init-mono")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Dimension of model (use this if not providing features).
    #[arg(long, default_value_t = 40)]
    dim: usize,
    tree_in: String,
    topo_in: String,
    model_out: String,
    features_rspecifier: Option<String>,
}

fn gaussian(features: Option<&String>, dim: usize) -> Result<DiagGmm> {
    let Some(features) = features else {
        return Ok(DiagGmm::single(&vec![0.0; dim], &vec![1.0; dim])?);
    };
    let mut mean: Option<GlobalMean> = None;
    Input::<MatrixHolder>::open(features)?.for_each(|key, features| {
        if features.rows == 0 {
            messages::warn(&tables::no_frames(key));
            return Ok(());
        }
        let mean = mean.get_or_insert_with(|| GlobalMean::new(features.cols));
        let double = features.convert::<f64>();
        Ok((0..double.rows).try_for_each(|row| mean.add(double.row(row)))?)
    })?;
    mean.unwrap_or_else(|| GlobalMean::new(dim)).gaussian().with_context(|| features.clone())
}

pub fn run(options: Options) -> Result<u8> {
    let dim = trees::parse_dim(&options.dim.to_string())?;
    let tree: ContextDependency = read_object(&options.tree_in)?;
    let topology: HmmTopology = read_object(&options.topo_in)?;
    let gmm = gaussian(options.features_rspecifier.as_ref(), dim)?;
    let transitions = trees::new_transitions(&tree, topology)
        .with_context(|| format!("{} and {}", options.tree_in, options.topo_in))?;
    let mixtures = AmDiagGmm::flat(&gmm, tree.num_pdfs())?;
    gaussians::write_model(&options.model_out, options.mode.binary, &transitions, &mixtures)?;
    messages::log("Wrote model.");
    Ok(0)
}
