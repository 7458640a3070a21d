//! `rnnlm-get-sampling-lm`: estimates the small language model from which the training of recurrent ones draws words.

use anyhow::{Context, Result};
use kaldi_cli::kaldi_log;
use kaldi_cli::log::Site;
use kaldi_fst::store::Symbols;
use kaldi_io::{KaldiWriter, write_object};
use nnet3_rnnlm::sampling_lm::SamplingLm;
use nnet3_rnnlm::sampling_lm::estimate::{EstimateOptions, Estimator, Pruned};
use nnet3_rnnlm::text::Text;

const PROCESSED: Site = Site::new("Process", "sampling-lm-estimate.cc", 100);
const NGRAMS: Site = Site::new("PruneNgramsForOrder", "sampling-lm-estimate.cc", 372);
const STATES: Site = Site::new("PruneStatesForOrder", "sampling-lm-estimate.cc", 463);

/// Estimate highly-pruned backoff LM for use in importance sampling for RNNLM training. Reads integerized text.
///
/// Each line of text has a corpus weight and then the numbers of the words. With a symbol table between text and output, the
/// output is an ARPA file.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ... | rnnlm-get-sampling-lm --vocab-size=10002 - sampling.lm\n\
    or: ... | rnnlm-get-sampling-lm - words.txt sampling.arpa")]
pub struct Options {
    /// Size of the vocabulary (more specifically: the largest integer word-id plus one); with a symbol table that of the table,
    /// unless it is set
    #[arg(long, default_value_t = -1)]
    vocab_size: i32,
    /// Order for the n-gram model (must be >= 1), e.g. 3 means trigram
    #[arg(long, default_value_t = 3)]
    ngram_order: i32,
    /// Constant for absolute discounting, should be in the range 0.0 to 1.0. Smaller values give a larger language model.
    #[arg(long, default_value_t = 1.0)]
    discounting_constant: f32,
    /// Factor by which p(w|h) for non-unigram history state h must be greater than p(w|unigram-state) for us to include it in the
    /// model. Must be greater than 0.0. Bigger values will give a smaller LM.
    #[arg(long, default_value_t = 100.0)]
    unigram_factor: f32,
    /// Factor by which p(w|h) for h of order higher than bigram must be greater than p(w|backoff-state-of-h). Bigger values will
    /// give a smaller LM.
    #[arg(long, default_value_t = 2.0)]
    backoff_factor: f32,
    /// Factor by which p(w|h) for h == the BOS history state must be greater than p(w|unigram-state).
    #[arg(long, default_value_t = 5.0)]
    bos_factor: f32,
    /// The unigram probabilities are taken to this power, and rescaled to sum to 1; between 0.2 and 1.0
    #[arg(long, default_value_t = 0.8)]
    unigram_power: f32,
    /// Integer id of the BOS word (<s>)
    #[arg(long, default_value_t = 1)]
    bos_symbol: i32,
    /// Integer id of the EOS word (</s>)
    #[arg(long, default_value_t = 2)]
    eos_symbol: i32,
    /// Integer id of the break word (<brk>); the model does not use it
    #[arg(long, default_value_t = 3)]
    brk_symbol: i32,
    /// Write LM in binary format (only applies to 2-argument form of the program)
    #[arg(long, default_value_t = true)]
    binary: bool,
    text: String,
    #[arg(required = true, num_args = 1..=2, value_names = ["SYMBOL_TABLE", "LM_OUT"])]
    outputs: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let (symbols, out) = match &options.outputs[..] {
        [symbols, out] => (Some(Symbols::load(symbols)?), out),
        [out, ..] => (None, out),
        [] => unreachable!("an output is required"),
    };
    let of_table = symbols.iter().flat_map(|symbols| symbols.iter()).map(|(_, number)| number + 1).max();
    let vocab_size = match of_table {
        Some(count) if options.vocab_size <= 0 => i32::try_from(count)?,
        _ => options.vocab_size,
    };
    let mut estimator = Estimator::new(EstimateOptions {
        vocab_size,
        ngram_order: options.ngram_order,
        discounting_constant: options.discounting_constant,
        unigram_factor: options.unigram_factor,
        backoff_factor: options.backoff_factor,
        bos_factor: options.bos_factor,
        unigram_power: options.unigram_power,
        bos_symbol: options.bos_symbol,
        eos_symbol: options.eos_symbol,
    })?;
    KaldiWriter::check(out)?;
    let mut text = Text::open(&options.text)?;
    while let Some(sentence) = text.next()? {
        estimator.add(&sentence).with_context(|| options.text.clone())?;
    }
    kaldi_log!(PROCESSED, "Processed {} lines of input.", text.lines());
    text.close()?;
    let estimated = estimator.estimate(symbols.is_some(), &mut |pruned| match pruned {
        Pruned::Ngrams { .. } => kaldi_log!(NGRAMS, "{pruned}"),
        Pruned::States { .. } => kaldi_log!(STATES, "{pruned}"),
    })?;
    match symbols {
        None => write_object(out, options.binary, &SamplingLm::from(&estimated))?,
        Some(symbols) => {
            let mut w = KaldiWriter::create(out, false)?;
            estimated.write_arpa(&mut w, &symbols)?;
            w.finish()?;
        }
    }
    Ok(0)
}
