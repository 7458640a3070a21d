//! `build-tree-two-level`: builds a small decision tree and a larger one that splits its leaves further.

use anyhow::Context;
use kaldi_hmm::{ContextDependency, HmmTopology};
use kaldi_io::{KaldiWriter, read_object, write_object};
use kaldi_tree::Questions;
use kaldi_tree::build::check_phones;
use kaldi_tree::phone_sets::read_roots;
use kaldi_tree::two_level::{TwoLevelOptions, build_two_level};
use nnet3::{messages, trees};
/// Trains two-level decision tree.  Outputs the larger tree, and a mapping from the leaf-ids of the larger tree to those of
/// the smaller tree.  Useful, for instance, in tied-mixture systems with multiple codebooks.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n build-tree-two-level treeacc roots.txt 1.qst topo tree tree.map")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Context window size [must match acc-tree-stats]
    #[arg(long, default_value_t = 3)]
    context_width: i32,
    /// Central position in context window [must match acc-tree-stats]
    #[arg(long, default_value_t = 1)]
    central_position: i32,
    /// Maximum number of leaves in first-level decision tree.
    #[arg(long, default_value_t = 1000)]
    max_leaves_first: i32,
    /// Maximum number of leaves in second-level decision tree.
    #[arg(long, default_value_t = 5000)]
    max_leaves_second: i32,
    /// If true, do a post-clustering of the leaves of the final decision tree.
    #[arg(long, default_value_t = true)]
    cluster_leaves: bool,
    tree_stats_in: String,
    roots_file: String,
    questions_file: String,
    topo_file: String,
    tree_out: String,
    mapping_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (width, central) = trees::check_context(options.context_width, options.central_position)?;
    let roots = trees::read_text(&options.roots_file, read_roots)?;
    let topology: HmmTopology = read_object(&options.topo_file)?;
    let stats = trees::read_stats(&options.tree_stats_in)?;
    let questions: Questions = read_object(&options.questions_file)?;
    let build_options = TwoLevelOptions {
        central_position: central,
        max_leaves_first: options.max_leaves_first,
        max_leaves_second: options.max_leaves_second,
        cluster_leaves: options.cluster_leaves,
    };
    let context = || options.tree_stats_in.clone();
    let (to_pdf, mapping) =
        build_two_level(&stats, &roots, &questions, &topology, &build_options, &mut trees::print)
            .with_context(context)?;
    let tree = ContextDependency::new(width, central, to_pdf)?;
    check_phones(&stats, &roots, &topology, central, &mut trees::print).with_context(context)?;
    write_object(&options.tree_out, options.mode.binary, &tree)?;
    let mut w = KaldiWriter::create(&options.mapping_out, options.mode.binary)?;
    w.write_i32_vector(&mapping)?;
    w.finish()?;
    messages::log("Wrote tree and mapping");
    Ok(0)
}
