//! `lattice-lmrescore-kaldi-rnnlm`: adds the costs of a recurrent language model to lattices.

use anyhow::Result;
use nnet3::tables::{Input, Output};
use nnet3::{lattices, messages};
use nnet3_decode::CompactLatticeHolder;
use nnet3_decode::rescore::rescore_states;
use nnet3_rnnlm::lattices::RnnlmStates;

use super::options::{Files, SentenceArguments};

/// Rescores lattices with a recurrent language model: the graph costs of paths get lm-scale times its costs.
///
/// The costs of the old language model are to be subtracted before, as lattice-lmrescore --lm-scale=-1.0 does.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: lattice-lmrescore-kaldi-rnnlm --bos-symbol=1 --eos-symbol=2 word_embedding.mat final.raw ark:in.lats ark:out.lats"
)]
pub struct Options {
    /// Scaling factor for language model costs
    #[arg(long, default_value_t = 1.0)]
    lm_scale: f32,
    /// If positive, allow RNNLM histories longer than this to be identified with each other for rescoring purposes (an
    /// approximation that saves time and reduces output lattice size).
    #[arg(long, default_value_t = 3)]
    max_ngram_order: i32,
    #[command(flatten)]
    sentence: SentenceArguments,
    word_embedding_in: String,
    rnnlm_in: String,
    lattices_in: String,
    lattices_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    let files = Files { rnnlm: &options.rnnlm_in, embedding: &options.word_embedding_in };
    let model = options.sentence.open(&files, (false, false))?;
    let mut lm = RnnlmStates::new(model, options.max_ngram_order)?;
    let input = Input::<CompactLatticeHolder>::open(&options.lattices_in)?;
    let mut output = Output::<CompactLatticeHolder>::open(&options.lattices_out)?;
    input.for_each(|key, lattice| {
        if options.lm_scale == 0.0 {
            return output.write(key, &lattice);
        }
        let rescored = rescore_states(lattice, &mut lm, options.lm_scale);
        match (lm.clear(), rescored) {
            (Err(error), _) => output.skip(key, error),
            (_, Err(error)) => output.skip(key, error),
            (_, Ok((rescored, _))) if rescored.start.is_none() => {
                output.skip(key, "Empty lattice (incompatible LM?)")
            }
            (_, Ok((rescored, report))) => {
                lattices::log_events(&report);
                output.write(key, &rescored)?
            }
        }
        Ok(())
    })?;
    messages::log(&format!("Done {} lattices, failed for {}", output.done, output.failed));
    output.finish()
}
