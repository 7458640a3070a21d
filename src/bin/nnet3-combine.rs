//! `nnet3-combine`: the best mean of the last networks of a training run.

use std::process::ExitCode;

use anyhow::{Result, bail};
use kaldi_io::log::sites::{RECOMPUTE_STATS, RECOMPUTE_STATS_DONE};
use kaldi_io::log::{Site, num};
use kaldi_io::{KaldiWriter, kaldi_log};
use nnet3::options::prob::prob_defaults;
use nnet3::options::{device, threads};
use nnet3::{egs, models, training_log};
use nnet3_train::combine::{CombineOptions, combine, recompute_stats};
use nnet3_train::objective::{AccuracyOptions, FrameObjective};

const fn site(line: u32) -> Site {
    Site::main("nnet3-combine.cc", line)
}

/// Using a subset of training or held-out examples, compute the average over the first n nnet3 models where we maximize the
/// objective function for n.
///
/// Note that the order of models has been reversed before being fed into this binary. So we are actually combining last n
/// models. Inputs and outputs are 'raw' nnets.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-combine 1.1.raw 1.2.raw 1.3.raw ark:valid.egs 2.raw")]
struct Options {
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// The maximum number of objective evaluations in order to figure out the best number of models to combine
    #[arg(long, default_value_t = 30)]
    max_objective_evaluations: i32,
    /// If true, set test-mode to true on any BatchNormComponents while evaluating objectives.
    #[arg(long, default_value_t = false)]
    batchnorm_test_mode: bool,
    /// If true, set test-mode to true on any DropoutComponents and DropoutMaskComponents while evaluating objectives.
    #[arg(long, default_value_t = true)]
    dropout_test_mode: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional", value_parser = device::USE_GPU)]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    /// Number of threads that evaluate examples on the CPU (as many as there are processors, at most 4, if not set)
    #[arg(long, default_value_t = -1)]
    num_threads: i32,
    /// Newest model
    nnet_in1: String,
    /// Further models, then the examples, then the file to write
    #[arg(value_name = "<nnet-in2> ... <nnet-inN> <valid-examples-in> <nnet-out>", required = true, num_args = 2..)]
    models_examples_and_output: Vec<String>,
}

fn run(options: Options) -> Result<u8> {
    let mut models = vec![options.nnet_in1];
    models.extend(options.models_examples_and_output);
    let (Some(output), Some(rspecifier)) = (models.pop(), models.pop()) else {
        return Ok(kaldi_io::cli::NOTHING_DONE);
    };
    let Some(evaluations) = usize::try_from(options.max_objective_evaluations).ok().filter(|&n| n > 0) else {
        bail!("--max-objective-evaluations={}: expected a number above 0", options.max_objective_evaluations);
    };
    let device = options.device.select(&options.use_gpu)?;
    KaldiWriter::check(&output)?;
    let egs = egs::read_all(&rspecifier)?;
    kaldi_log!(site(148), "Read {} examples.", egs.len());
    let combine_options = CombineOptions {
        max_objective_evaluations: evaluations,
        batchnorm_test_mode: options.batchnorm_test_mode,
        dropout_test_mode: options.dropout_test_mode,
        prob: prob_defaults(),
        threads: if device.id() == 0 { threads::count(options.num_threads, 4) } else { 1 },
    };
    let report = |n: usize, objective: f64| {
        let objective = num(objective);
        match n {
            1 => kaldi_log!(site(158), "objective function using the last model is {objective}"),
            _ => kaldi_log!(site(174), "Combining last {n} models, objective function is {objective}"),
        }
    };
    let mut best =
        combine(FrameObjective::default, &models, models::load, &egs, &combine_options, &device, report)?;
    kaldi_log!(
        site(183),
        "Combining {} nnets, objective function changed from {} to {}",
        best.count,
        num(best.first_objective),
        num(best.best_objective)
    );
    if best.nnet.has_batchnorm() {
        kaldi_log!(RECOMPUTE_STATS, "Recomputing stats on nnet (affects batch-norm)");
        let objective = FrameObjective::with_accuracy(AccuracyOptions { accuracy: true, per_dim: false });
        best.nnet = recompute_stats(objective, best.nnet, &egs, &prob_defaults(), &device, |computer| {
            training_log::frame_totals(computer);
            kaldi_log!(RECOMPUTE_STATS_DONE, "Done recomputing stats.");
            training_log::compilation(computer.runner().compiler());
        })?;
    }
    models::save_trained(&best.nnet, &output, options.binary)?;
    kaldi_log!(site(195), "Finished combining neural nets, wrote model to {output}");
    Ok(0)
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
