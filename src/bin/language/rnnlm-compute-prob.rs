//! `rnnlm-compute-prob`: objective of a recurrent language model on minibatches of text.

use std::io::Write;

use anyhow::Result;
use kaldi_cli::StandardOutput;
use kaldi_cli::log::{self, Site, num};
use kaldi_io::{SequentialReader, read_object};
use nnet3::options::{compute, device};
use nnet3::{models, progress, training_log};
use nnet3_rnnlm::embedding::Embedding;
use nnet3_rnnlm::example::RnnlmExampleHolder;
use nnet3_rnnlm::probability::ProbComputer;

use super::log::{interval, large_denominator, objectives};

const SITE: Site = Site::main("rnnlm-compute-prob.cc", 120);

/// Computes the probability per word of the provided data in the format of rnnlm-get-egs, and prints it to the standard output.
///
/// The interface is similar to rnnlm-train, except that it doesn't train.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: rnnlm-get-egs ... ark:- | rnnlm-compute-prob 0.raw 0.word_embedding ark:-")]
pub struct Options {
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "no", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    /// If true, set test-mode to true on any BatchNormComponents.
    #[arg(long, default_value_t = true)]
    batchnorm_test_mode: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents.
    #[arg(long, default_value_t = true)]
    dropout_test_mode: bool,
    rnnlm_in: String,
    word_embedding_in: String,
    examples_in: String,
}

pub fn run(options: Options) -> Result<u8> {
    let device = options.device.select(&options.use_gpu)?;
    let mut nnet = models::load(&options.rnnlm_in)?;
    if options.batchnorm_test_mode {
        nnet.set_batchnorm_test_mode(true);
    }
    if options.dropout_test_mode {
        nnet.set_dropout_test_mode(true);
    }
    let embedding = Embedding::new(&read_object(&options.word_embedding_in)?, None, &device)?;
    let mut computer = ProbComputer::new(nnet, embedding, compute::compiler_defaults(), &device)?;
    let mut examples = SequentialReader::<RnnlmExampleHolder>::open(&options.examples_in)?;
    let bar = progress::counter("minibatches", &options.examples_in);
    let mut count = 0;
    while let Some((key, example)) = examples.next()? {
        let place = || format!("{}, key '{key}'", options.examples_in);
        let computed = anyhow::Context::with_context(computer.compute(&example), place)?;
        computed.large_denominator.into_iter().for_each(large_denominator);
        computed.interval.iter().for_each(interval);
        count += 1;
        bar.inc();
    }
    drop(bar);
    examples.close()?;
    let (last, overall, compiler) = computer.finish();
    objectives(&(last, overall));
    if count == 0 {
        log::error(&SITE, "Processed no data.");
        return Ok(kaldi_cli::FAILED);
    }
    training_log::compilation(&compiler);
    let mut out = StandardOutput::open()?;
    writeln!(out, "{}", num(overall.objective()))?;
    out.flush()?;
    Ok(0)
}
