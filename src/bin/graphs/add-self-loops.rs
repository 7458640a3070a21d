//! `add-self-loops`: adds the HMMs' self-loops to a graph.

use anyhow::{Context, Result, bail};
use kaldi_graph::{SelfLoops, add_self_loops};
use kaldi_hmm::TransitionModel;
use kaldi_io::read_object;
use nnet3::fsts;

/// Add self-loops and transition probabilities to transducer.
///
/// Input transducer has transition-ids on the input side, but only the forward transitions, not the self-loops. Output
/// transducer has transition-ids on the input side, but with self-loops added. The --reorder option controls whether the
/// loop is added before the forward transition (if false), or afterward (if true). The default (true) is recommended as
/// the decoding will in that case be faster.
#[derive(clap::Parser)]
#[command(after_help = "e.g.: add-self-loops --self-loop-scale=0.1 1.mdl HCLGa.fst HCLG.fst\n\
    or: add-self-loops --self-loop-scale=0.1 1.mdl <HCLGa.fst >HCLG.fst")]
pub struct Options {
    /// Scale for self-loop probabilities relative to LM.
    #[arg(long, default_value_t = 1.0)]
    self_loop_scale: f32,
    /// List of disambiguation symbols on input of fst-in [input file]
    #[arg(long, default_value = "")]
    disambig_syms: String,
    /// If true, reorder symbols for more decoding efficiency
    #[arg(long, default_value_t = true)]
    reorder: bool,
    model: String,
    fst_in: Option<String>,
    fst_out: Option<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let disambiguation = fsts::read_disambiguation(&options.disambig_syms)?;
    let model: TransitionModel = read_object(&options.model)?;
    let from = options.fst_in.as_deref().unwrap_or_default();
    let mut fst = fsts::read(Some(from))?;
    if fst.start.is_none() {
        bail!("{}: the graph is empty", if from.is_empty() { "standard input" } else { from });
    }
    let how = SelfLoops {
        disambiguation: &disambiguation,
        scale: options.self_loop_scale,
        reorder: options.reorder,
        check: true,
    };
    add_self_loops(&mut fst, &model, how)?;
    fsts::write(options.fst_out.as_deref(), &fst).context("writing the graph")?;
    Ok(0)
}
