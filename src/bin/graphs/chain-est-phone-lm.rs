//! `chain-est-phone-lm`: the phone language model that denominator graphs are made from.

use anyhow::Result;
use kaldi_cli::kaldi_log;
use kaldi_cli::log::{Site, num};
use kaldi_fst::store::write_fst;
use kaldi_io::holder::I32VectorHolder;
use nnet3::tables;
use nnet3_chain::phone_lm::{PhoneLmEstimator, PhoneLmOptions};

const fn site(function: &'static str, line: u32) -> Site {
    Site::new(function, "language-model.cc", line)
}

/// Initialize un-smoothed phone language model for 'chain' training.
///
/// Output in FST format. The input is phone sequences, as from ali-to-phones. States of the model are merged into
/// states of shorter histories until --num-extra-lm-states are left.
#[derive(clap::Parser, Debug)]
#[command(
    after_help = "e.g.: gunzip -c input_dir/ali.*.gz | ali-to-phones input_dir/final.mdl ark:- ark:- | \\\n\
    chain-est-phone-lm --num-extra-lm-states=2000 ark:- dir/phone_G.fst\n\
    See also: chain-make-den-fst"
)]
pub struct Options {
    /// Accepted for compatibility; an FST is binary
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// n-gram order for the phone language model used for the 'denominator model'
    #[arg(long, default_value_t = PhoneLmOptions::default().ngram_order)]
    ngram_order: usize,
    /// Number of LM states in the phone LM, without the states that are never pruned
    #[arg(long, default_value_t = PhoneLmOptions::default().num_extra_lm_states)]
    num_extra_lm_states: usize,
    /// n-grams of this order and below are never pruned
    #[arg(long, default_value_t = PhoneLmOptions::default().no_prune_ngram_order)]
    no_prune_ngram_order: usize,
    #[arg(value_name = "<phone-seqs-rspecifier>")]
    phones: String,
    #[arg(value_name = "<phone-lm-fst-out>")]
    lm: String,
}

pub fn run(options: Options) -> Result<u8> {
    let Options { ngram_order, num_extra_lm_states, no_prune_ngram_order, .. } = options;
    let extra = num_extra_lm_states;
    let mut estimator =
        PhoneLmEstimator::new(PhoneLmOptions { ngram_order, num_extra_lm_states, no_prune_ngram_order })?;
    tables::Input::<I32VectorHolder>::open(&options.phones)?
        .for_each(|_, phones| Ok(estimator.add(&phones)?))?;
    kaldi_log!(
        site("Estimate", 298),
        "Estimating language model with --no-prune-ngram-order={no_prune_ngram_order}, --ngram-order={ngram_order}, \
         --num-extra-lm-states={extra}"
    );
    let (fst, stats) = estimator.estimate()?;
    kaldi_log!(
        site("DoBackoff", 252),
        "In LM [hard] backoff, target num states was {} + --num-extra-lm-states={extra} = {}, pruned from {} to {}",
        stats.basic,
        stats.basic + extra,
        stats.before,
        stats.after
    );
    kaldi_log!(site("OutputToFst", 394), "Total number of phone instances seen was {}", stats.phones);
    kaldi_log!(site("OutputToFst", 395), "Perplexity on training data is: {}", num(stats.perplexity));
    kaldi_log!(
        site("OutputToFst", 404),
        "Created phone language model with {} states and {} arcs.",
        fst.states.len(),
        fst.num_arcs()
    );
    write_fst(&options.lm, &fst)?;
    kaldi_log!(
        Site::main("chain-est-phone-lm.cc", 73),
        "Estimated phone language model and wrote it to {}",
        options.lm
    );
    Ok(0)
}
