//! `nnet3-acc-lda-stats`: statistics of classes of a network's outputs.

use crate::transforms::lda;
use anyhow::{Result, bail};
use kaldi_feat::lda::LdaStats;
use nnet3::{egs, models};
use nnet3_train::forward::ExampleForward;

const OUTPUT: &str = "output";

/// Accumulate statistics in the same format as acc-lda (i.e. stats for estimation of LDA and similar types of
/// transform), starting from nnet training examples.
///
/// This program puts the features through the network, and the network output will be the features. The supervision in
/// the training examples is used for the class labels. Used in obtaining feature transforms that help nnet training work
/// better.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: nnet3-acc-lda-stats 0.raw ark:1.egs 1.acc\nSee also: nnet-get-feature-transform"
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
    let mut egs = egs::open(&options.training_examples_in)?;
    let mut stats = LdaStats::default();
    while let Some((key, example)) = egs.next()? {
        let output = forward.compute(&example, OUTPUT).map_err(|e| egs.blame(e))?;
        let Some(classes) = example.io(OUTPUT).map(|io| &io.features) else { continue };
        if stats.classes() == 0 {
            stats = LdaStats::new(classes.cols(), output.cols);
        }
        let prune = |weight| forward.random().prune(weight, options.rand_prune);
        if let Err(e) = stats.add(&output, classes, prune) {
            bail!("{}, key '{key}': {e}", egs.name());
        }
    }
    let (count, table) = (egs.count(), egs.name().to_owned());
    egs.close()?;
    lda::write_stats(&stats, &table, count, &options.lda_stats_out, options.mode.binary)?;
    Ok(0)
}
