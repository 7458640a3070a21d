//! `nnet3-chain-acc-lda-stats`: statistics of pdfs in a network's outputs for chain examples.

use crate::transforms::lda;
use anyhow::{Result, bail};
use kaldi_feat::lda::LdaStats;
use nnet3::{chain, egs, models};
use nnet3_chain::NnetChainExample;
use nnet3_chain::posteriors::supervision_posteriors;
use nnet3_train::forward::ExampleForward;
use nnet3_train::sequence::output_request;

/// Accumulate statistics in the same format as acc-lda (i.e. stats for estimation of LDA and similar types of
/// transform), starting from nnet+chain training examples.
///
/// This program puts the features through the network, and the network output will be the features. The supervision in
/// the training examples is used for the class labels. Used in obtaining feature transforms that help nnet training work
/// better. Examples must not have been merged; end-to-end examples must have alignments.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-chain-acc-lda-stats 0.raw ark:1.cegs 1.acc\nSee also: nnet-get-feature-transform"
)]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Randomized pruning threshold for posteriors
    #[arg(long, default_value_t = 0.0)]
    rand_prune: f32,
    raw_nnet_in: String,
    training_examples_in: String,
    lda_stats_out: String,
}

pub fn run(options: Options) -> Result<u8> {
    lda::check_rand_prune(options.rand_prune)?;
    kaldi_io::KaldiWriter::check(&options.lda_stats_out)?;
    let mut forward = ExampleForward::new(models::load(&options.raw_nnet_in)?, &nnet3_matrix::cpu());
    let mut egs = egs::open::<NnetChainExample>(&options.training_examples_in)?;
    let mut stats = LdaStats::default();
    while let Some((key, example)) = egs.next()? {
        let output = chain::only_output(&example).map_err(|e| egs.blame(e))?;
        let classes = usize::try_from(output.supervision.label_dim).unwrap_or(0);
        let posteriors = supervision_posteriors(&output.supervision, classes).map_err(|e| egs.blame(e))?;
        let request = output_request(forward.nnet(), &example, output).map_err(|e| egs.blame(e))?;
        let features = forward.output_of(&request, &output.name).map_err(|e| egs.blame(e))?;
        if stats.classes() == 0 {
            stats = LdaStats::new(classes, features.cols);
        }
        let prune = |weight| forward.random().prune(weight, options.rand_prune);
        if let Err(e) = stats.add(&features, &posteriors.into(), prune) {
            bail!("{}, key '{key}': {e}", egs.name());
        }
    }
    let (count, table) = (egs.count(), egs.name().to_owned());
    egs.close()?;
    lda::write_stats(&stats, &table, count, &options.lda_stats_out, options.mode.binary)?;
    Ok(0)
}
