//! `rnnlm-get-egs`: makes minibatches of text for the training of recurrent language models.

use anyhow::{Context, Result, bail};
use kaldi_cli::log::{Site, ratio};
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_fst::store::Symbols;
use kaldi_io::table::Wspecifier;
use kaldi_io::{KaldiReader, TableWriter, read_object};
use nnet3_rnnlm::creator::{EgsEvent, ExampleCreator, Sink, Summary};
use nnet3_rnnlm::example::{RnnlmExample, RnnlmExampleHolder};
use nnet3_rnnlm::example_sampler::{ExampleSampler, Sampling};
use nnet3_rnnlm::sampling_lm::SamplingLm;
use nnet3_rnnlm::text::Text;

use super::log::{EgsWarnings, arpa};
use super::options::ExampleOptions;

const PROCESSED: Site = Site::new("Process", "rnnlm-example.cc", 703);
const COMBINED: Site = Site::new("~RnnlmExampleCreator", "rnnlm-example.cc", 347);
const OVERALL: Site = Site::new("~RnnlmExampleCreator", "rnnlm-example.cc", 352);
const NO_SAMPLING: Site = Site::new("RnnlmExampleSampler", "rnnlm-example.cc", 124);

/// Turns lines of text with weights, such as '1.0 67 5689 21 8940 6723', into examples for RNNLM training.
///
/// This involves splitting up the sentences to a maximum length, importance sampling and other procedures. With a language model
/// before the text, from rnnlm-get-sampling-lm or as a symbol table and an ARPA file, words are sampled.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: ... | rnnlm-get-egs --vocab-size=20002 - ark:- | rnnlm-train ...\n\
    or (sampling, ARPA): ... | rnnlm-get-egs words.txt foo.arpa - ark:- | rnnlm-train ...\n\
    or (sampling): ... | rnnlm-get-egs sampling.lm - ark:- | rnnlm-train ...")]
pub struct Options {
    #[command(flatten)]
    egs: ExampleOptions,
    /// Seed for random number generator; affects splitting of utterances and arrangement into minibatches.
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Number of threads that sample in Kaldi; here one thread does all, with the results of --num-threads=0 there
    #[arg(long, default_value_t = 1)]
    num_threads: i32,
    /// Limit on the threads that have not finished in Kaldi; no effect
    #[arg(long, default_value_t = 0)]
    num_threads_total: i32,
    /// [<lm> | <symbol-table> <arpa>] <text>
    #[arg(required = true, num_args = 1..=3, value_names = ["INPUTS"])]
    inputs: Vec<String>,
    examples_out: String,
}

struct Output {
    writer: TableWriter<RnnlmExampleHolder>,
    warnings: EgsWarnings,
}

impl Sink for Output {
    fn example(&mut self, key: String, example: RnnlmExample) -> nnet3_rnnlm::Result<()> {
        Ok(self.writer.write(&key, &example)?)
    }
    fn event(&mut self, event: EgsEvent) {
        self.warnings.event(event);
    }
}

pub fn run(options: Options) -> Result<u8> {
    if options.num_threads < 0 {
        bail!("--num-threads={}: expected a number that is not negative", options.num_threads);
    }
    Wspecifier::parse(&options.examples_out)?;
    let symbols = (options.egs.bos_symbol, options.egs.eos_symbol);
    let (lm, text) = match &options.inputs[..] {
        [names, file, text] => {
            let mut r = KaldiReader::open_raw(file)?;
            let lm = SamplingLm::from_arpa(&mut r, Symbols::load(names)?, symbols, &mut arpa)?;
            r.close()?;
            (Some(lm), text)
        }
        [lm, text] => (Some(read_object::<SamplingLm>(lm)?), text),
        [text, ..] => (None, text),
        [] => unreachable!("an input is required"),
    };
    let egs = options.egs.egs_options(lm.as_ref().map(SamplingLm::vocab_size))?;
    let num_samples = egs.num_samples;
    let sampling = lm.map_or(Ok(Sampling::None), |lm| ExampleSampler::new(egs.clone(), lm))?;
    let (sampler, egs) = match sampling {
        Sampling::Some(sampler) => (Some(sampler), egs),
        Sampling::None => (None, egs),
        Sampling::TooFewWords(words) => {
            kaldi_warn!(
                NO_SAMPLING,
                "The number of samples (--num-samples={num_samples}) exceeds the number of words with nonzero probability \
                 {words} -> not doing sampling.  You could skip creating the ARPA file, and not provide it, which might save \
                 some bother."
            );
            (None, egs)
        }
    };
    let mut creator = ExampleCreator::new(egs, sampler, options.srand)?;
    let (name, mut text) = (text, Text::open(text)?);
    let writer = TableWriter::open(&options.examples_out)?;
    let mut output = Output { writer, warnings: EgsWarnings::default() };
    while let Some(sentence) = text.next()? {
        creator.accept(&sentence, &mut output).with_context(|| name.clone())?;
    }
    kaldi_log!(PROCESSED, "Processed {} lines of input.", text.lines());
    text.close()?;
    let summary = creator.finish(&mut output)?;
    output.writer.close()?;
    report(&summary);
    Ok(0)
}

fn report(summary: &Summary) {
    let &Summary { sequences, chunks, words, minibatches, left_over } = summary;
    let ratio = |a: u64, b: u64| ratio(a as f64, b as f64);
    kaldi_log!(
        COMBINED,
        "Combined {sequences}/{chunks} sequences/chunks into {minibatches} minibatches ({left_over} chunks left over)"
    );
    let (words, chunks) = (ratio(words, chunks), ratio(chunks, minibatches));
    kaldi_log!(OVERALL, "Overall there were {words} words per chunk; {chunks} chunks per minibatch.");
}
