//! `lattice-lmrescore`: adds the costs of a language model that is an FST.

use anyhow::Result;
use nnet3::lattices;
use nnet3_decode::compose::SecondFst;
use nnet3_decode::rescore::LanguageModel;

/// Add lm_scale * [cost of best path through LM FST] to graph-cost of paths through lattice.
///
/// Does this by composing with LM FST, then lattice-determinizing (it has to negate weights first if lm_scale<0).
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-lmrescore --lm-scale=-1.0 ark:in.lats 'fstproject --project_output=true data/lang/G.fst|' ark:out.lats"
)]
pub struct Options {
    /// Scaling factor for language model costs; frequently 1.0 or -1.0
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// Number of states that Kaldi caches of the LM FST. It has no effect: the whole FST is kept
    #[arg(long, default_value_t = 50000)]
    num_states_cache: i32,
    lattice_rspecifier: String,
    lm_fst_in: String,
    lattice_wspecifier: String,
}

pub fn run(options: Options) -> Result<u8> {
    let lm = LanguageModel::Fst(SecondFst::exact(kaldi_fst::read_fst(&options.lm_fst_in)?));
    lattices::rescore(&options.lattice_rspecifier, &options.lattice_wspecifier, &lm, options.lm_scale)
}
