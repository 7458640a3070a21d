//! `nnet3-am-init`: makes an acoustic model from a network and a transition model, or a tree and a topology.

use anyhow::Context;
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::{messages, models, trees};
use nnet3_train::acoustic::AmNnet;
/// Initializes an nnet3 am-nnet (a neural network-based acoustic model, with associated transition model) from an
/// existing nnet. The transition model comes from an existing transition model (or a model that has one), or from a tree
/// and a topology.
///
/// Priors are not set: see nnet3-am-train-transitions and nnet3-am-adjust-priors.
#[derive(clap::Parser)]
#[command(
    after_help = "e.g.:\n nnet3-am-init tree topo 0.raw 0.mdl\n nnet3-am-init final.mdl 0.raw 0.mdl\nSee also: \
        nnet3-init, nnet3-am-copy, nnet3-am-info, nnet3-am-train-transitions, nnet3-am-adjust-priors"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// (<tree-in> <topology-in> | <transition-model-in>) <raw-nnet-in> <am-nnet-out>
    #[arg(value_name = "(<tree-in> <topology-in>|<trans-model-in>) <input-raw-nnet> <output-am-nnet>", num_args = 3..=4, required = true)]
    files: Vec<String>,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (sources, output) = options.files.split_at(options.files.len() - 1);
    let (transitions, nnet) = sources.split_at(sources.len() - 1);
    let (nnet, output) = (&nnet[0], &output[0]);
    let transitions: TransitionModel = match transitions {
        [tree, topology] => {
            let (tree_object, topology_object) = (read_object(tree)?, read_object(topology)?);
            trees::new_transitions(&tree_object, topology_object)
                .with_context(|| format!("{tree} and {topology}"))?
        }
        others => read_object(&others[0])?,
    };
    let model = AmNnet::new(transitions, models::load(nnet)?).with_context(|| nnet.clone())?;
    if model.num_pdfs() != model.transitions.num_pdfs() {
        messages::warn(&format!(
            "The output of the network has dimension {}, but the transition model has {} pdfs",
            model.num_pdfs(),
            model.transitions.num_pdfs()
        ));
    }
    model.save(output, options.mode.binary)?;
    messages::log(&format!("Initialized am-nnet (neural net acoustic model) and wrote to {output}"));
    Ok(0)
}
