//! `nnet3-train`: one pass of stochastic gradient descent over minibatches.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kaldi_io::log::Site;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use kaldi_io::{kaldi_log, kaldi_warn};
use nnet3::options::device;
use nnet3::options::training::{AllocatorOptions, TrainingOptions};
use nnet3::{examples, progress, training_log};
use nnet3_core::nnet::Nnet;
use nnet3_train::ExampleReader;
use nnet3_train::trainer::{Event, Trainer};

const SITE: Site = Site::main("nnet3-train.cc", 91);
const READ_CACHE: Site = Site::new("NnetTrainer", "nnet-training.cc", 52);
const WRITE_CACHE: Site = Site::new("~NnetTrainer", "nnet-training.cc", 332);

/// Train nnet3 neural network parameters with backprop and stochastic gradient descent.
///
/// Minibatches are to be created by nnet3-merge-egs in the input pipeline. The statistics of this pass (activations,
/// batch normalization) are written with the model.
#[derive(clap::Parser, Debug)]
#[command(after_help = "e.g.: nnet3-train 1.raw 'ark:nnet3-merge-egs ark:1.egs ark:-|' 2.raw")]
struct Options {
    /// Seed for random number generator
    #[arg(long, default_value_t = 0)]
    srand: i32,
    /// Write output in binary mode
    #[arg(long, default_value_t = true)]
    binary: bool,
    /// yes|no|optional|wait: whether to run on a GPU (optional: if there is one)
    #[arg(long, default_value = "optional")]
    use_gpu: String,
    #[command(flatten)]
    device: device::DeviceOptions,
    #[command(flatten)]
    training: TrainingOptions,
    #[command(flatten)]
    allocator: AllocatorOptions,
    raw_model_in: String,
    training_examples_in: String,
    raw_model_out: String,
}

fn run(options: Options) -> Result<u8> {
    let began = Instant::now();
    let trainer_options = options.training.trainer_options()?;
    options.allocator.check()?;
    let device = options.device.select(&options.use_gpu)?;
    let nnet = Nnet::load(&options.raw_model_in)?;
    let mut trainer = Trainer::new(nnet, trainer_options, &device, options.srand)?;
    options.training.computation.observe(trainer.runner().executor());
    read_cache(&mut trainer, &options.training.read_cache);
    let mut egs = ExampleReader::open(&options.training_examples_in)?;
    let mut times = Times::default();
    if timed(&mut times.waiting, || egs.at_end())? {
        return examples::nothing(&SITE, egs);
    }
    train(&mut trainer, &mut egs, &mut times)?;
    egs.close()?;
    let useful = training_log::training_totals(&trainer);
    trainer
        .nnet()
        .save(&options.raw_model_out, options.binary)
        .with_context(|| format!("cannot write the model to {}", options.raw_model_out))?;
    kaldi_log!(SITE, "Wrote model to {}", options.raw_model_out);
    write_cache(&mut trainer, &options.training)?;
    let compiler = trainer.runner().compiler();
    training_log::compilation(compiler);
    training_log::times(began.elapsed(), compiler.timing().total, times.waiting, times.training);
    Ok(u8::from(!useful))
}

/// Where the time goes.
#[derive(Default)]
struct Times {
    /// For minibatches from the table.
    waiting: Duration,
    /// In the trainer, with compilation.
    training: Duration,
}

/// Does something, and adds the time that it takes.
fn timed<T>(sum: &mut Duration, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = f();
    *sum += start.elapsed();
    value
}

fn train(trainer: &mut Trainer, egs: &mut ExampleReader, times: &mut Times) -> Result<()> {
    let bar = progress::counter("minibatches");
    let mut report = |event: Event<'_>| {
        if training_log::is_logged(&event) {
            bar.suspend(|| training_log::event(&event));
        }
    };
    while let Some((_, minibatch)) = timed(&mut times.waiting, || egs.next())? {
        timed(&mut times.training, || trainer.train(&minibatch, &mut report)).map_err(|e| egs.blame(e))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Compiled computations of an earlier run save time; without them everything works as well.
fn read_cache(trainer: &mut Trainer, file: &str) {
    if file.is_empty() {
        return;
    }
    let nnet = trainer.nnet().clone();
    let read = KaldiReader::open(file)
        .map_err(nnet3_core::Error::from)
        .and_then(|mut r| trainer.runner().compiler().read_cache(&nnet, &mut r));
    match read {
        Ok(_) => kaldi_log!(READ_CACHE, "Read computation cache from {file}"),
        Err(e) => kaldi_warn!(
            READ_CACHE,
            "Could not read cached computations ({}). Probably this is the first training iteration.",
            kaldi_io::error::chain(&e)
        ),
    }
}

fn write_cache(trainer: &mut Trainer, options: &TrainingOptions) -> Result<()> {
    let file = &options.write_cache;
    if file.is_empty() {
        return Ok(());
    }
    let mut w = KaldiWriter::create(file, options.binary_write_cache)?;
    trainer.runner().compiler().write_cache(&mut w)?;
    w.finish()?;
    kaldi_log!(WRITE_CACHE, "Wrote computation cache to {file}");
    Ok(())
}

fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
