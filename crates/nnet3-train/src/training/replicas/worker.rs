//! One replica: a thread with a trainer, and how to talk to it.
//!
//! The trainer is made, used and dropped on its thread, since views of its memory must not leave it. Networks come and go
//! as values of the host.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use super::{ReplicaOptions, ReplicaTimes};
use crate::error::{Error, Result};
use crate::learn::Progress;
use crate::learn::state::ReplicaState;
use crate::objective::Objective;
use crate::trainer::{Event, Trained, Trainer};
use kaldi_io::threads::{self, Thread};
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;

/// The main thread's on most systems.
const STACK: usize = 8 << 20;

/// The initial data of a worker.
pub(super) struct Setup<O> {
    pub nnet: Nnet,
    pub device: Device,
    pub number: usize,
    pub options: ReplicaOptions<O>,
}

enum Job<E> {
    Train(Box<E>, Option<Progress>),
    GiveNnet,
    TakeNnet(Arc<Nnet>),
    GiveState,
    TakeState(Box<ReplicaState>),
}

/// The report of a replica after the start, after each minibatch, and with its state.
#[derive(Default)]
pub(super) struct News {
    pub events: Vec<Event>,
    /// Number of this replica's minibatches without further events.
    pub settled: u64,
}

enum Answer {
    Done(Result<News>),
    Nnet(Result<Box<Nnet>>),
    State(Result<Box<(ReplicaState, News)>>),
}

/// The final report of a replica.
pub(super) struct Finished {
    pub trained: Trained,
    pub times: ReplicaTimes,
    /// The events that had not been reported.
    pub events: Vec<Event>,
}

/// A thread, for examples of one kind.
pub(super) struct Worker<E> {
    jobs: Sender<Job<E>>,
    answers: Receiver<Answer>,
    thread: Thread<Result<Finished>>,
}

impl<E: Send + 'static> Worker<E> {
    pub fn start<O: Objective<Example = E> + 'static>(setup: Setup<O>) -> Result<Worker<E>> {
        let (jobs, jobs_of_worker) = channel();
        let (answers_of_worker, answers) = channel();
        let name = format!("replica {}", setup.number);
        let thread = threads::start_with_stack(&name, STACK, move || {
            work(setup, &jobs_of_worker, &answers_of_worker)
        })?;
        Ok(Worker { jobs, answers, thread })
    }

    /// Waits until the trainer exists.
    pub fn ready(&self) -> Result<()> {
        self.trained().map(drop)
    }

    pub fn train(&self, minibatch: E, progress: Option<Progress>) {
        self.send(Job::Train(Box::new(minibatch), progress));
    }

    /// Waits for the earliest minibatch that has not been waited for.
    pub fn trained(&self) -> Result<News> {
        match self.answers.recv() {
            Ok(Answer::Done(news)) => news,
            Ok(Answer::Nnet(_) | Answer::State(_)) | Err(_) => Err(gone()),
        }
    }

    /// Asks for the present network; all minibatches have been waited for.
    pub(crate) fn ask_nnet(&self) {
        self.send(Job::GiveNnet);
    }

    /// Returns the requested network, on the host.
    pub fn nnet(&self) -> Result<Nnet> {
        match self.answers.recv() {
            Ok(Answer::Nnet(nnet)) => Ok(*nnet?),
            Ok(Answer::Done(_) | Answer::State(_)) | Err(_) => Err(gone()),
        }
    }

    /// Requests the state for resuming the replica; all its minibatches must be finished.
    pub(crate) fn ask_state(&self) {
        self.send(Job::GiveState);
    }

    /// Returns the requested state, and the events not yet reported.
    pub fn state(&self) -> Result<(ReplicaState, News)> {
        match self.answers.recv() {
            Ok(Answer::State(state)) => Ok(*state?),
            Ok(Answer::Done(_) | Answer::Nnet(_)) | Err(_) => Err(gone()),
        }
    }

    /// Restores a state; [`ready`](Self::ready) returns the result.
    pub fn set_state(&self, state: ReplicaState) {
        self.send(Job::TakeState(Box::new(state)));
    }

    pub fn set_nnet(&self, nnet: Arc<Nnet>) {
        self.send(Job::TakeNnet(nnet));
    }

    /// If the thread has ended, the wait for its answer reports that.
    fn send(&self, job: Job<E>) {
        let _ = self.jobs.send(job);
    }

    /// Ends the thread.
    pub fn finish(self) -> Result<Finished> {
        drop(self.jobs);
        self.thread.join()
    }
}

fn gone() -> Error {
    Error::data("a replica has ended unexpectedly")
}

/// The work of a thread. Fails if the trainer could not be made, which has been answered before, or if the device
/// has failed.
fn work<O: Objective>(
    setup: Setup<O>,
    jobs: &Receiver<Job<O::Example>>,
    answers: &Sender<Answer>,
) -> Result<Finished> {
    let Setup { nnet, device, number, options } = setup;
    let seed = options.seed.wrapping_add(number as i32);
    // The receiver may have gone after an error elsewhere; the answer is then not needed.
    let answer = |answer: Answer| _ = answers.send(answer);
    let objective = (options.objective)();
    let plan = options.rules.as_ref().map(|rules| (rules.plan.clone(), rules.options));
    let made =
        Trainer::with_rules(objective, nnet, options.trainer, plan, &device, seed).and_then(|mut trainer| {
            if let (Some(rules), Some(learner)) = (&options.rules, trainer.learner()) {
                learner.set_state(&rules.state)?;
            }
            Ok(trainer)
        });
    let mut trainer = match made {
        Ok(trainer) => trainer,
        Err(e) => {
            answer(Answer::Done(Err(e)));
            return Err(gone());
        }
    };
    (options.prepare)(number, &mut trainer);
    answer(Answer::Done(Ok(News::default())));
    let mut times = ReplicaTimes::default();
    let mut idle = Instant::now();
    while let Ok(job) = jobs.recv() {
        let began = Instant::now();
        match job {
            Job::Train(minibatch, progress) => {
                times.waiting += began - idle;
                if let (Some(progress), Some(learner)) = (progress, trainer.learner()) {
                    learner.set_progress(progress);
                }
                let mut events = Vec::new();
                let done = trainer.train(&minibatch, &mut |event: Event| events.push(event));
                times.training += began.elapsed();
                answer(Answer::Done(done.map(|()| News { events, settled: trainer.settled() })));
            }
            Job::GiveNnet => {
                let mut nnet = trainer.nnet().clone();
                let brought = nnet.bring_from(&device).map_err(Error::from);
                answer(Answer::Nnet(brought.map(|()| Box::new(nnet))));
            }
            Job::TakeNnet(nnet) => trainer.set_nnet(&nnet),
            Job::GiveState => {
                let mut events = Vec::new();
                let state = trainer.whole_state(&mut |event: Event| events.push(event));
                let news = News { events, settled: trainer.settled() };
                answer(Answer::State(state.map(|state| Box::new((state, news)))));
            }
            Job::TakeState(state) => {
                let done = trainer.resume_whole(&state);
                answer(Answer::Done(done.map(|()| News::default())));
            }
        }
        idle = Instant::now();
    }
    let mut events = Vec::new();
    let trained = trainer.finish(&mut |event: Event| events.push(event))?;
    Ok(Finished { trained, times, events })
}
