//! `gmm-init-mono`: makes a tree without context and a model with one Gaussian a leaf.

use kaldi_gmm::DiagGmm;
use kaldi_gmm::global::GlobalMean;
use kaldi_hmm::HmmTopology;
use kaldi_io::holder::DoubleMatrixHolder;
use kaldi_io::read_object;
use kaldi_tree::phone_sets::read_sets;
use kaldi_tree::stub::monophone;
use nnet3::{tables, trees};
use nnet3_core::c_rand::CRand;

/// Initialize monophone GMM.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-init-mono topo 39 mono.mdl mono.tree")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// rspecifier for training features [used to set mean and variance]
    #[arg(long, default_value = "")]
    train_feats: String,
    /// rxfilename of a file with a list of phones on each line; the phones of a line share their pdfs.
    #[arg(long, default_value = "")]
    shared_phones: String,
    /// Perturb the means using this fraction of standard deviation.
    #[arg(long, default_value_t = 0.0)]
    perturb_factor: f32,
    topology_in: String,
    dim: String,
    model_out: String,
    tree_out: String,
}

fn global_gaussian(features: &str, dim: usize) -> anyhow::Result<DiagGmm> {
    if features.is_empty() {
        return Ok(DiagGmm::single(&vec![1.0; dim], &vec![1.0; dim])?);
    }
    let mut mean = GlobalMean::new(dim);
    tables::Input::<DoubleMatrixHolder>::open(features)?
        .for_each(|_, features| Ok((0..features.rows).try_for_each(|row| mean.add(features.row(row)))?))?;
    Ok(mean.gaussian()?)
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let dim = trees::parse_dim(&options.dim)?;
    let topology: HmmTopology = read_object(&options.topology_in)?;
    let sets = match options.shared_phones.as_str() {
        "" => topology.phones().iter().map(|&phone| vec![phone]).collect(),
        file => trees::read_text(file, read_sets)?,
    };
    let gmm = global_gaussian(&options.train_feats, dim)?;
    let tree = monophone(&sets, &topology, &mut trees::print)?;
    let mut generator = CRand::default();
    let (model, binary) = (&options.model_out, options.mode.binary);
    let files = trees::ModelFiles { model, tree: &options.tree_out, binary };
    trees::write_flat(files, &tree, topology, &gmm, |gmm| {
        if options.perturb_factor == 0.0 {
            return Ok(());
        }
        gmm.perturb(options.perturb_factor, &mut || generator.next())
    })?;
    Ok(0)
}
