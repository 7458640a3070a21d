//! `gmm-init-biphone`: makes a tree of all pairs of phones and a model with one Gaussian a leaf.

use kaldi_gmm::DiagGmm;
use kaldi_hmm::HmmTopology;
use kaldi_io::read_object;
use kaldi_tree::phone_sets::{parse_phones, read_counts, read_sets};
use kaldi_tree::stub::full_biphone;
use nnet3::{messages, trees};
/// Initialize a biphone context-dependency tree with all the leaves (i.e. a full tree). Intended for end-to-end tree-free
/// models.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n gmm-init-biphone topo 39 bi.mdl bi.tree")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// rxfilename of a file with a list of phones on each line; the phones of a line share their pdfs.
    #[arg(long, default_value = "")]
    shared_phones: String,
    /// Colon-separated list of integer indices of context-independent phones.
    #[arg(long, default_value = "")]
    ci_phones: String,
    /// rxfilename containing, on each line, a biphone/phone and its count in the training data.
    #[arg(long, default_value = "")]
    phone_counts: String,
    /// Minimum number of occurrences of a biphone in training data to reserve pdfs for it.
    #[arg(long, default_value_t = 100)]
    min_biphone_count: i32,
    /// Minimum number of occurrences of a monophone in training data to reserve pdfs for it.
    #[arg(long, default_value_t = 20)]
    min_monophone_count: i32,
    topology_in: String,
    dim: String,
    model_out: String,
    tree_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let dim = trees::parse_dim(&options.dim)?;
    let context_independent = parse_phones(&options.ci_phones)?;
    let topology: HmmTopology = read_object(&options.topology_in)?;
    let counts = match options.phone_counts.as_str() {
        "" => None,
        file => {
            let (min_phone, min_pair) = (options.min_monophone_count, options.min_biphone_count);
            let num_phones = topology.phones().len();
            let counts = trees::read_text(file, |r| read_counts(r, num_phones, min_phone, min_pair))?;
            messages::log("Loaded mono/bi phone counts.");
            Some(counts)
        }
    };
    let sets = match options.shared_phones.as_str() {
        "" => topology.phones().iter().map(|&phone| vec![phone]).collect(),
        file => trees::read_text(file, read_sets)?,
    };
    let tree = full_biphone(&sets, &topology, &context_independent, counts.as_ref(), &mut trees::print)?;
    let gmm = DiagGmm::single(&vec![1.0; dim], &vec![1.0; dim])?;
    let (model, binary) = (&options.model_out, options.mode.binary);
    let files = trees::ModelFiles { model, tree: &options.tree_out, binary };
    trees::write_flat(files, &tree, topology, &gmm, |_| Ok(()))?;
    Ok(0)
}
