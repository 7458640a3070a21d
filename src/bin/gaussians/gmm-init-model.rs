//! `gmm-init-model`: makes a model with one Gaussian for each leaf of a tree.

use anyhow::{Context, bail};
use kaldi_hmm::{ContextDependency, HmmTopology};
use kaldi_io::{KaldiWriter, read_object, write_vector};
use kaldi_tree::init;
use nnet3::{gaussians, messages, trees};
/// Initialize GMM from decision tree and tree stats.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n gmm-init-model tree treeacc topo 1.mdl\nor (initializing GMMs with old model):\n \
        gmm-init-model tree treeacc topo 1.mdl prev/tree prev/30.mdl"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// File to write state occupancies to.
    #[arg(long, default_value = "")]
    write_occs: String,
    /// Variance floor used while initializing Gaussians
    #[arg(long, default_value_t = 0.01)]
    var_floor: f64,
    tree_in: String,
    tree_stats_in: String,
    topo_file: String,
    model_out: String,
    #[arg(value_name = "[<old-tree> <old-model>]", num_args = 0..=2)]
    old: Vec<String>,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let tree: ContextDependency = read_object(&options.tree_in)?;
    let stats = trees::read_stats(&options.tree_stats_in)?;
    let topology: HmmTopology = read_object(&options.topo_file)?;
    let transitions = trees::new_transitions(&tree, topology)
        .with_context(|| format!("{} and {}", options.tree_in, options.topo_file))?;
    let var_floor = options.var_floor as f32;
    let mixtures = match &options.old[..] {
        [] => init::from_stats(&stats, &tree, &transitions, var_floor, &mut trees::print),
        [old_tree, old_model] => {
            let (old_tree, (_, old_model)) = (read_object(old_tree)?, gaussians::read_model(old_model)?);
            init::from_other_model(&stats, &tree, &old_tree, &old_model, var_floor, &mut trees::print)
        }
        _ => bail!("expected an old model after the old tree"),
    };
    let mixtures = mixtures.with_context(|| options.tree_stats_in.clone())?;
    if !options.write_occs.is_empty() {
        let mut w = KaldiWriter::create(&options.write_occs, options.mode.binary)?;
        write_vector(&mut w, &init::occupancies(&stats, &tree)?)?;
        w.finish()?;
    }
    gaussians::write_model(&options.model_out, options.mode.binary, &transitions, &mixtures)?;
    messages::log("Wrote model.");
    Ok(0)
}
