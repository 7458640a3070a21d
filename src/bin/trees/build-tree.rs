//! `build-tree`: builds a decision tree from statistics and questions.

use anyhow::Context;
use kaldi_cli::log::{self, Site, num};
use kaldi_hmm::{ContextDependency, HmmTopology};
use kaldi_io::{read_object, write_object};
use kaldi_tree::build::{BuildOptions, build_tree, check_phones};
use kaldi_tree::phone_sets::read_roots;
use kaldi_tree::{Questions, init};
use nnet3::{messages, trees};
/// Train decision tree.
#[derive(clap::Parser)]
#[command(after_help = "e.g.:\n build-tree treeacc roots.txt 1.qst topo tree")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Context window size [must match acc-tree-stats]
    #[arg(long, default_value_t = 3)]
    context_width: i32,
    /// Central position in context window [must match acc-tree-stats]
    #[arg(long, default_value_t = 1)]
    central_position: i32,
    /// Maximum number of leaves to be used in tree-building (if positive)
    #[arg(long, default_value_t = 0)]
    max_leaves: i32,
    /// Log-likelihood change threshold for tree-building
    #[arg(long, default_value_t = 300.0)]
    thresh: f32,
    /// Log-likelihood change threshold for clustering after tree-building.  0 means no clustering; -1 means use as a
    /// clustering threshold the likelihood change of the final split.
    #[arg(long, default_value_t = -1.0)]
    cluster_thresh: f32,
    /// If true, then the number of leaves will be reduced to a multiple of 8 by clustering.
    #[arg(long, default_value_t = true)]
    round_num_leaves: bool,
    tree_stats_in: String,
    roots_file: String,
    questions_file: String,
    topo_file: String,
    tree_out: String,
}

pub fn run(options: Options) -> anyhow::Result<u8> {
    let (width, central) = trees::check_context(options.context_width, options.central_position)?;
    let roots = trees::read_text(&options.roots_file, read_roots)?;
    let topology: HmmTopology = read_object(&options.topo_file)?;
    let stats = trees::read_stats(&options.tree_stats_in)?;
    let questions: Questions = read_object(&options.questions_file)?;
    let build_options = BuildOptions {
        central_position: central,
        thresh: options.thresh,
        max_leaves: options.max_leaves,
        cluster_thresh: options.cluster_thresh,
        round_num_leaves: options.round_num_leaves,
    };
    let context = || options.tree_stats_in.clone();
    let to_pdf = build_tree(&stats, &roots, &questions, &topology, &build_options, &mut trees::print)
        .with_context(context)?;
    let tree = ContextDependency::new(width, central, to_pdf)?;
    for (pdf, &count) in init::occupancies(&stats, &tree)?.iter().enumerate() {
        if count < 100.0 {
            let count = num(count.into());
            log::vlog(1, &Site::PROGRAM, &format!("For pdf-id {pdf}, low count {count}"));
        }
    }
    check_phones(&stats, &roots, &topology, central, &mut trees::print).with_context(context)?;
    write_object(&options.tree_out, options.mode.binary, &tree)?;
    messages::log("Wrote tree");
    Ok(0)
}
