//! `nnet3-average`: the weighted average of networks.

use anyhow::Result;
use kaldi_cli::log::{Site, num};
use kaldi_cli::{kaldi_log, kaldi_warn};
use nnet3::models;
use nnet3::options::threads;
use nnet3_core::nnet::Nnet;
use nnet3_train::average::{average, default_threads, is_unusual_sum, parse_weights};

const SITE: Site = Site::main("nnet3-average.cc", 162);
const WEIGHTS: Site = Site::new("GetWeights", "nnet3-average.cc", 52);

/// This program averages the parameters over a number of 'raw' nnet3 neural nets.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-average 1.1.nnet 1.2.nnet 1.3.nnet 2.nnet")]
pub struct Options {
    #[command(flatten)]
    mode: nnet3::options::OutputMode,
    /// Colon-separated list of weights, one for each input model. These will be normalized to sum to one.
    #[arg(long, default_value = "")]
    weights: String,
    /// Number of threads to read the models (will be set automatically if not set.
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    /// First model to average
    model1: String,
    /// Further models, and last the file to write
    #[arg(value_name = "<model2> ... <modelN> <model-out>", required = true)]
    models_and_output: Vec<String>,
}

pub fn run(options: Options) -> Result<u8> {
    let mut models = vec![options.model1];
    models.extend(options.models_and_output);
    let Some(output) = models.pop() else { return Ok(kaldi_cli::NOTHING_DONE) };
    let (weights, sum) = parse_weights(&options.weights, models.len())?;
    if is_unusual_sum(sum) {
        kaldi_warn!(WEIGHTS, "Normalizing weights to sum to one, sum was {}", num(sum));
    }
    let threads = match options.num_threads {
        1.. => threads::number("num-threads", options.num_threads.into())?.get(),
        _ => default_threads(models.len()),
    };
    kaldi_io::KaldiWriter::check(&output)?;
    let nnet = average(&models, &weights, threads, |name| Ok(Nnet::load(name)?))?;
    models::save_trained(&nnet, &output, options.mode.binary)?;
    kaldi_log!(SITE, "Averaged parameters of {} neural nets, and wrote to {output}", models.len());
    Ok(0)
}
