//! `nnet3-train`: one pass of stochastic gradient descent over minibatches.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kaldi_io::log::Site;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use kaldi_io::{kaldi_log, kaldi_warn};
use nnet3::options::device;
use nnet3::options::training::{AllocatorOptions, ReplicaOptions, TrainingOptions};
use nnet3::{egs, models, progress, training_log};
use nnet3_core::compile::cache::CachingCompiler;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;
use nnet3_train::replicas::{self, Failure, Replicas};
use nnet3_train::trainer::{Event, Report, Trained, Trainer};
use nnet3_train::{ExampleReader, NnetExample};

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
    replicas: ReplicaOptions,
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
    options.allocator.check()?;
    let count = options.replicas.count()?;
    options.training.trainer_options(count)?;
    let devices = options.device.select_many(&options.use_gpu, count)?;
    let egs = egs::begin(&options.training_examples_in);
    let nnet = models::load(&options.raw_model_in)?;
    let mut run = Run::new(nnet, devices, &options)?;
    let mut egs = egs.finish()?;
    let mut times = Times::default();
    if timed(&mut times.waiting, || egs.at_end())? {
        return egs::nothing(&SITE, egs);
    }
    train(&mut run, &mut egs, &mut times)?;
    let mut trained = run.finish(&egs, &mut times)?;
    egs.close()?;
    let useful = training_log::training_totals(&trained);
    trained
        .nnet
        .save(&options.raw_model_out, options.binary)
        .with_context(|| format!("cannot write the model to {}", options.raw_model_out))?;
    kaldi_log!(SITE, "Wrote model to {}", options.raw_model_out);
    write_cache(&mut trained.compiler, &options.training)?;
    training_log::compilation(&trained.compiler);
    let compiling = trained.compiler.timing().total / count as u32;
    training_log::times(began.elapsed(), compiling, times.waiting, times.training);
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

/// One network, or several replicas of it.
enum Run {
    Alone(Box<Trainer>),
    Together(Replicas),
}

impl Run {
    fn new(nnet: Nnet, devices: Vec<Device>, options: &Options) -> Result<Run> {
        let training = options.training.clone();
        let prepare = move |number: usize, trainer: &mut Trainer| {
            training.computation.observe(trainer.runner().executor());
            read_cache(trainer, &training.read_cache, number == 0);
        };
        let trainer_options = options.training.trainer_options(devices.len())?;
        if let [device] = &devices[..] {
            let mut trainer = Trainer::new(nnet, trainer_options, device, options.srand)?;
            prepare(0, &mut trainer);
            return Ok(Run::Alone(Box::new(trainer)));
        }
        let options = replicas::ReplicaOptions {
            trainer: trainer_options,
            seed: options.srand,
            average_period: options.replicas.average_period,
            prepare: Arc::new(prepare),
        };
        Ok(Run::Together(Replicas::new(&nnet, &devices, options)?))
    }

    fn train(&mut self, key: String, minibatch: NnetExample, report: &mut dyn Report) -> Result<(), Failure> {
        match self {
            Run::Alone(trainer) => {
                trainer.train(&minibatch, report).map_err(|error| Failure { key: Some(key), error })
            }
            Run::Together(replicas) => replicas.train(key, minibatch, report),
        }
    }

    /// Replicas know better than the program what they waited for.
    fn finish(self, egs: &ExampleReader, times: &mut Times) -> Result<Trained> {
        match self {
            Run::Alone(trainer) => Ok(trainer.finish(&mut report)),
            Run::Together(replicas) => {
                let (trained, replica) = replicas.finish(&mut report).map_err(|e| blame(egs, e))?;
                *times = Times { waiting: replica.waiting, training: replica.training };
                Ok(trained)
            }
        }
    }
}

fn report(event: Event) {
    if training_log::is_logged(&event) {
        training_log::event(&event);
    }
}

fn blame(egs: &ExampleReader, failure: Failure) -> anyhow::Error {
    match failure.key {
        Some(key) => egs.blame_key(&key, failure.error).into(),
        None => failure.error.into(),
    }
}

fn train(run: &mut Run, egs: &mut ExampleReader, times: &mut Times) -> Result<()> {
    let bar = progress::counter("minibatches");
    let mut report = |event: Event| {
        if training_log::is_logged(&event) {
            bar.suspend(|| training_log::event(&event));
        }
    };
    while let Some((key, minibatch)) = timed(&mut times.waiting, || egs.next())? {
        timed(&mut times.training, || run.train(key, minibatch, &mut report)).map_err(|e| blame(egs, e))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Compiled computations of an earlier run save time; without them everything works as well.
fn read_cache(trainer: &mut Trainer, file: &str, speaks: bool) {
    if file.is_empty() {
        return;
    }
    let nnet = trainer.nnet().clone();
    let read = KaldiReader::open(file)
        .map_err(nnet3_core::Error::from)
        .and_then(|mut r| trainer.runner().compiler().read_cache(&nnet, &mut r));
    match read {
        _ if !speaks => {}
        Ok(_) => kaldi_log!(READ_CACHE, "Read computation cache from {file}"),
        Err(e) => kaldi_warn!(
            READ_CACHE,
            "Could not read cached computations ({}). Probably this is the first training iteration.",
            kaldi_io::error::chain(&e)
        ),
    }
}

fn write_cache(compiler: &mut CachingCompiler, options: &TrainingOptions) -> Result<()> {
    let file = &options.write_cache;
    if file.is_empty() {
        return Ok(());
    }
    let mut w = KaldiWriter::create(file, options.binary_write_cache)?;
    compiler.write_cache(&mut w)?;
    w.finish()?;
    kaldi_log!(WRITE_CACHE, "Wrote computation cache to {file}");
    Ok(())
}

pub fn main() -> ExitCode {
    kaldi_io::cli::run(run)
}
