//! Parts shared by the training programs: one network or several replicas of it, and minibatches from a table. They
//! also share log lines, the final model and the compiled computations.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use kaldi_cli::log::Site;
use kaldi_cli::{kaldi_log, kaldi_warn};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::execute::CachingCompiler;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;
use nnet3_train::EgsReader;
use nnet3_train::objective::Objective;
use nnet3_train::replicas::{self, Failure, Replicas};
use nnet3_train::times::{Times, timed};
use nnet3_train::trainer::{Event, Report, Trained, Trainer};

use crate::egs::{ExampleKind, Prepare};
use crate::options::training::{TrainArgs, TrainingOptions};
use crate::training_log::TrainingLines;
use crate::{egs, models, progress, training_log};

/// Source places of a training program's messages.
pub struct Sites {
    pub main: Site,
    pub read_cache: Site,
    pub write_cache: Site,
}

/// Makes the objective of a replica, on its thread.
pub type MakeObjective<O> = Arc<dyn Fn() -> O + Send + Sync>;

/// A training program, besides its network and its objective.
pub struct Program<'p, O: Objective> {
    pub sites: Sites,
    pub args: TrainArgs,
    /// The table of minibatches.
    pub examples: &'p str,
    /// The file for the trained network.
    pub output: &'p str,
    /// Done to each minibatch.
    pub prepare: Prepare<O::Example>,
    pub lines: TrainingLines<'p>,
}

impl<O: Objective + 'static> Program<'_, O>
where
    O::Example: ExampleKind,
{
    /// Runs the program with what `load` reads: the network and its objective. Returns the exit status.
    pub fn run(self, load: impl FnOnce() -> Result<(Nnet, MakeObjective<O>)>) -> Result<u8> {
        let began = Instant::now();
        let args = self.args;
        args.allocator.check()?;
        let count = args.replicas.count()?;
        args.training.trainer_options(count)?;
        let devices = args.device.select_for_training(&args.use_gpu, count)?;
        let egs = egs::begin(self.examples);
        let (nnet, objective) = load()?;
        let training = Training {
            sites: self.sites,
            options: args.training,
            seed: args.srand,
            devices,
            average_period: args.replicas.average_period,
            objective,
            prepare: self.prepare,
            lines: self.lines,
        };
        let output = Output { wxfilename: self.output, binary: args.mode.binary };
        training.run(nnet, || egs.finish(), output, began)
    }
}

/// A training that is to be run.
struct Training<'l, O: Objective> {
    sites: Sites,
    options: TrainingOptions,
    seed: i32,
    /// One for each replica.
    devices: Vec<Device>,
    average_period: u64,
    objective: MakeObjective<O>,
    /// Done to each minibatch.
    prepare: Prepare<O::Example>,
    lines: TrainingLines<'l>,
}

/// Destination of the model.
struct Output<'o> {
    wxfilename: &'o str,
    binary: bool,
}

impl<O: Objective + 'static> Training<'_, O> {
    /// Makes the trainers, opens the table, and then runs the whole training. Returns the program's exit status.
    fn run(
        self,
        nnet: Nnet,
        egs: impl FnOnce() -> Result<EgsReader<O::Example>>,
        output: Output<'_>,
        began: Instant,
    ) -> Result<u8> {
        let Output { wxfilename, binary } = output;
        KaldiWriter::check(wxfilename)?;
        if !self.options.write_cache.is_empty() {
            KaldiWriter::check(&self.options.write_cache)?;
        }
        let mut run = Run::new(nnet, &self)?;
        let mut egs = egs()?;
        let mut times = Times::default();
        if timed(&mut times.waiting, || egs.at_end())? {
            return egs::nothing(&self.sites.main, egs);
        }
        train(&mut run, &mut egs, self.prepare, self.lines.event, &mut times)?;
        let mut trained = run.finish(&egs, self.lines.event, &mut times)?;
        egs.close()?;
        let useful = (self.lines.totals)(&trained);
        models::save_trained(&trained.nnet, wxfilename, binary)?;
        kaldi_log!(self.sites.main, "{} {wxfilename}", self.lines.written);
        self.write_cache(&mut trained.compiler)?;
        training_log::compilation(&trained.compiler);
        let compiling = trained.compiler.timing().total / self.devices.len() as u32;
        training_log::times(&Times { total: began.elapsed(), compiling, ..times });
        Ok(u8::from(!useful))
    }

    fn write_cache(&self, compiler: &mut CachingCompiler) -> Result<()> {
        let file = &self.options.write_cache;
        if file.is_empty() {
            return Ok(());
        }
        let mut w = KaldiWriter::create(file, self.options.binary_write_cache)?;
        compiler.write_cache(&mut w)?;
        w.finish()?;
        kaldi_log!(self.sites.write_cache, "Wrote computation cache to {file}");
        Ok(())
    }
}

/// One network, or several replicas of it.
enum Run<O: Objective> {
    Alone(Box<Trainer<O>>),
    Together(Replicas<O>),
}

impl<O: Objective + 'static> Run<O> {
    fn new(nnet: Nnet, training: &Training<'_, O>) -> Result<Run<O>> {
        let options = training.options.clone();
        let read_cache = training.sites.read_cache;
        let prepare = move |number: usize, trainer: &mut Trainer<O>| {
            options.computation.observe(trainer.runner().executor());
            self::read_cache(trainer, &options.read_cache, &read_cache, number == 0);
        };
        let trainer = training.options.trainer_options(training.devices.len())?;
        let objective = training.objective.clone();
        if let [device] = &training.devices[..] {
            let mut trainer = Trainer::with_objective(objective(), nnet, trainer, device, training.seed)?;
            prepare(0, &mut trainer);
            return Ok(Run::Alone(Box::new(trainer)));
        }
        let options = replicas::ReplicaOptions {
            objective,
            trainer,
            seed: training.seed,
            average_period: training.average_period,
            prepare: Arc::new(prepare),
            rules: None,
        };
        Ok(Run::Together(Replicas::new(&nnet, &training.devices, options)?))
    }

    fn train(&mut self, key: String, minibatch: O::Example, report: &mut dyn Report) -> Result<(), Failure> {
        match self {
            Run::Alone(trainer) => {
                trainer.train(&minibatch, report).map_err(|error| Failure { key: Some(key), error })
            }
            Run::Together(replicas) => replicas.train(key, minibatch, report),
        }
    }

    /// Replicas know better than the program what they waited for.
    fn finish(self, egs: &EgsReader<O::Example>, log: fn(&Event), times: &mut Times) -> Result<Trained> {
        let mut report = |event: Event| log(&event);
        match self {
            Run::Alone(trainer) => Ok(trainer.finish(&mut report)?),
            Run::Together(replicas) => {
                let (trained, replica) = replicas.finish(&mut report).map_err(|e| blame(egs, e))?;
                *times = Times { waiting: replica.waiting, training: replica.training, ..*times };
                Ok(trained)
            }
        }
    }
}

fn blame<E: nnet3_train::Example>(egs: &EgsReader<E>, failure: Failure) -> anyhow::Error {
    match failure.key {
        Some(key) => egs.blame_key(&key, failure.error).into(),
        None => failure.error.into(),
    }
}

fn train<O: Objective + 'static>(
    run: &mut Run<O>,
    egs: &mut EgsReader<O::Example>,
    prepare: Prepare<O::Example>,
    log: fn(&Event),
    times: &mut Times,
) -> Result<()> {
    let bar = progress::counter("minibatches", egs.name());
    let mut so_far = training_log::SoFar::default();
    let mut report = |event: Event| {
        log(&event);
        if bar.is_shown() && so_far.add(&event) {
            bar.note(so_far.to_string());
        }
    };
    while let Some((key, mut minibatch)) = timed(&mut times.waiting, || egs.next())? {
        prepare(&key, &mut minibatch).map_err(|e| egs.blame(e))?;
        timed(&mut times.training, || run.train(key, minibatch, &mut report)).map_err(|e| blame(egs, e))?;
        bar.inc();
    }
    Ok(())
}

/// Reads compiled computations of an earlier run to save time. They are optional.
fn read_cache<O: Objective>(trainer: &mut Trainer<O>, file: &str, site: &Site, speaks: bool) {
    if file.is_empty() {
        return;
    }
    let nnet = trainer.nnet().clone();
    let read = KaldiReader::open(file)
        .map_err(nnet3_core::Error::from)
        .and_then(|mut r| trainer.runner().compiler().read_cache(&nnet, &mut r));
    match read {
        _ if !speaks => {}
        Ok(_) => kaldi_log!(site, "Read computation cache from {file}"),
        Err(e) => kaldi_warn!(
            site,
            "Could not read cached computations ({}). Probably this is the first training iteration.",
            kaldi_io::error::chain(&e)
        ),
    }
}
