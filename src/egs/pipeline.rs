//! `ark:nnet3-copy-egs … | nnet3-shuffle-egs … | nnet3-merge-egs … |` without processes.
//!
//! One thread does the work of the programs, without writing, reading and copying between them. An error of any of them
//! is an error of the reader. Commands before them, and all commands that need a shell, are run by the shell.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use kaldi_cli::log::Site;
use kaldi_cli::{Parsed, log, terminal};
use kaldi_io::IoError;
use kaldi_io::error::chain;
use kaldi_io::filename::RxFilename;
use kaldi_io::table::{Rspecifier, RspecifierKind};
use kaldi_io::threads::{self, Thread};
use nnet3_train::{EgsReader, Error, Example, ExampleSource, Result};

use super::kinds::ExampleKind;
use super::programs::{Copy, Merge, Shuffle, StageProgram, Subset};
use super::{Stage, empty};
use crate::plain_shell::{self, Command};

/// Rows of a batch in which examples go from thread to thread. A waiting thread wakes up slowly, so small examples go
/// together, and minibatches one by one.
const BATCH_ROWS: usize = 1024;
/// Batches that are made ahead of their use.
const AHEAD: usize = 1;

/// The name of standard input and output in a pipe.
const PIPE: &str = "ark:-";

type Item<E> = (String, E);

/// Makes a step of a command, if it is a certain program that is called as it is within a pipe.
pub type ParseStep<E> = fn(&Command) -> Option<Step<E>>;

/// The step that a command is, if it is a program for such examples.
fn step<E: ExampleKind>(command: &Command) -> Option<Step<E>> {
    let common: [ParseStep<E>; 4] = [
        Step::parse::<Copy<E>>,
        Step::parse::<Merge<E>>,
        Step::parse::<Shuffle<E>>,
        Step::parse::<Subset<E>>,
    ];
    common.iter().chain(E::MORE_STEPS).find_map(|parse| parse(command))
}

/// Opens a table that comes from a pipe of our own programs. `None` if it is for the shell.
pub(super) fn open<E: ExampleKind>(rspecifier: &str) -> Option<EgsReader<E>> {
    let spec = Rspecifier::parse(rspecifier).ok()?;
    let RxFilename::Pipe(command) = RxFilename::parse(&spec.rxfilename).ok()? else { return None };
    if spec.kind != RspecifierKind::Archive || spec.permissive {
        return None;
    }
    let commands = plain_shell::pipeline(&command)?;
    let mut later: Vec<Step<E>> = commands.iter().rev().map_while(step).collect();
    let first = later.pop()?;
    later.reverse();
    let before: Vec<&str> =
        commands[..commands.len() - later.len() - 1].iter().map(|command| command.text).collect();
    if later.iter().any(|step| step.input != PIPE) || !before.is_empty() && first.input != PIPE {
        return None;
    }
    let input = if before.is_empty() { first.input.clone() } else { format!("ark:{}|", before.join("|")) };
    for step in std::iter::once(&first).chain(&later) {
        terminal::print(step.echo.as_bytes());
    }
    Some(EgsReader::new(rspecifier, Box::new(Pipeline::start(command, Steps { input, first, later }))))
}

/// One of our programs in a pipeline.
pub struct Step<E: Example> {
    program: &'static str,
    site: Site,
    /// The command line as the program shows it.
    echo: String,
    input: String,
    stage: MakeStage<E>,
}

type MakeStage<E> = Box<dyn FnOnce() -> anyhow::Result<Box<dyn Stage<E>>> + Send>;

impl<E: Example> Step<E> {
    /// A command that is this program.
    pub fn parse<P: StageProgram<Example = E>>(command: &Command) -> Option<Step<E>> {
        let Parsed { options, echo, .. } = command.parse::<P>(P::NAME)?;
        if options.outputs() != [PIPE] || options.format().is_json() {
            return None;
        }
        let input = options.input().to_owned();
        Some(Step { program: P::NAME, site: P::SITE, echo, input, stage: Box::new(move || options.stage()) })
    }
}

/// A step that reads the results of the step before it.
struct Running<E: Example> {
    program: &'static str,
    site: Site,
    egs: EgsReader<E>,
    stage: Box<dyn Stage<E>>,
}

impl<E: Example> Running<E> {
    fn start(step: Step<E>, egs: impl FnOnce() -> Result<EgsReader<E>>) -> Result<Running<E>> {
        let Step { program, site, stage, .. } = step;
        acting_as(program, || {
            let stage = stage().map_err(|e| Error::options(chain(e.as_ref())))?;
            Ok(Running { program, site, egs: egs()?, stage })
        })
    }

    fn next(&mut self) -> Result<Option<Item<E>>> {
        acting_as(self.program, || self.stage.next(&mut self.egs))
    }

    /// Ends the program. Its exit status.
    fn finish(self) -> Result<u8> {
        let (read, nothing) = (self.egs.count(), empty(self.egs.name()));
        acting_as(self.program, || {
            let closed = self.egs.close();
            if read == 0 {
                log::error(&self.site, &nothing);
            }
            closed?;
            if read == 0 {
                return Ok(kaldi_cli::NOTHING_DONE);
            }
            Ok(self.stage.summarize(read))
        })
    }
}

impl<E: Example> ExampleSource<E> for Running<E> {
    fn next(&mut self) -> Result<Option<Item<E>>> {
        Running::next(self)
    }

    /// A program that had no work to do fails the pipeline.
    fn close(self: Box<Self>) -> Result<()> {
        let program = self.program;
        match self.finish()? {
            0 => Ok(()),
            status => Err(failure(program, status)),
        }
    }
}

/// Calls `f` in the name of a program: messages and errors are the program's.
fn acting_as<T>(program: &'static str, f: impl FnOnce() -> Result<T>) -> Result<T> {
    log::acting_as(program, f).map_err(|e| match e {
        Error::Program { .. } => e,
        e => Error::Program { program, source: Box::new(e) },
    })
}

/// Starts the steps. The last one returns the results of all.
fn last_of<E: Example>(Steps { input, first, later }: Steps<E>) -> Result<Running<E>> {
    let mut last = Running::start(first, || EgsReader::open(&input))?;
    for step in later {
        last = Running::start(step, || Ok(EgsReader::new(PIPE, Box::new(last))))?;
    }
    Ok(last)
}

/// Runs the steps. The exit status is the last step's.
fn run<E: Example>(steps: Steps<E>, batches: &SyncSender<Vec<Item<E>>>) -> Result<u8> {
    let mut last = last_of(steps)?;
    let (mut batch, mut rows) = (Vec::new(), 0);
    while let Some((key, example)) = last.next()? {
        rows += example.size();
        batch.push((key, example));
        if rows >= BATCH_ROWS {
            rows = 0;
            if batches.send(std::mem::take(&mut batch)).is_err() {
                return Ok(0);
            }
        }
    }
    match batches.send(batch) {
        Ok(()) => last.finish(),
        Err(_) => Ok(0),
    }
}

/// The reading end of the pipeline.
struct Pipeline<E: Example> {
    command: String,
    place: Place<E>,
    status: u8,
}

/// The thread that does the steps.
enum Place<E: Example> {
    /// An additional thread beside the reader's.
    Beside {
        batches: Receiver<Vec<Item<E>>>,
        batch: std::vec::IntoIter<Item<E>>,
        thread: Thread<Result<u8>>,
    },
    /// The reader's own, since there can be no other. The steps begin with the first example.
    Here(Steps<E>),
    Running(Box<Running<E>>),
    Ended,
}

struct Steps<E: Example> {
    /// The table that goes in.
    input: String,
    first: Step<E>,
    later: Vec<Step<E>>,
}

impl<E: Example> Pipeline<E> {
    fn start(command: String, steps: Steps<E>) -> Pipeline<E> {
        let (sender, batches) = sync_channel(AHEAD);
        let thread = threads::start_or_return("examples", steps, move |steps| run(steps, &sender));
        let place = match thread {
            Ok(thread) => Place::Beside { batches, batch: Vec::new().into_iter(), thread },
            Err(steps) => Place::Here(steps),
        };
        Pipeline { command, place, status: 0 }
    }
}

impl<E: Example> ExampleSource<E> for Pipeline<E> {
    fn next(&mut self) -> Result<Option<Item<E>>> {
        loop {
            match std::mem::replace(&mut self.place, Place::Ended) {
                Place::Beside { batches, mut batch, thread } => {
                    if batch.len() == 0 {
                        match batches.recv() {
                            Ok(next) => batch = next.into_iter(),
                            Err(_) => {
                                self.status = thread.join()?;
                                return Ok(None);
                            }
                        }
                    }
                    let item = batch.next();
                    self.place = Place::Beside { batches, batch, thread };
                    if item.is_some() {
                        return Ok(item);
                    }
                }
                Place::Here(steps) => self.place = Place::Running(Box::new(last_of(steps)?)),
                Place::Running(mut last) => {
                    let item = last.next()?;
                    match item {
                        None => self.status = last.finish()?,
                        Some(_) => self.place = Place::Running(last),
                    }
                    return Ok(item);
                }
                Place::Ended => return Ok(None),
            }
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        if self.status == 0 {
            return Ok(());
        }
        Err(failure(&self.command, self.status))
    }
}

fn failure(command: &str, status: u8) -> Error {
    let status = ExitStatus::from_raw(i32::from(status) << 8);
    IoError::Pipe { command: command.trim().to_owned(), status }.into()
}
