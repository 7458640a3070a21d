//! Data-parallel training in one process. Each device has a network, which a thread trains on its share of the
//! minibatches. From time to time the networks are averaged, as `nnet3-average` averages the models of parallel jobs.
//!
//! Minibatch number m goes to replica m mod n, and reports are passed on in the order of the minibatches. So results
//! and messages do not depend on the speed of a replica. With one average, at the end, the result is that of n jobs
//! with a share of the minibatches each.

mod worker;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::average::{average_numbered, default_threads};
use crate::error::{Error, Result};
use crate::learn::state::{LearnerState, ReplicaState};
use crate::learn::{LearnerOptions, Plan, Progress};
use crate::max_change::MaxChangeCounts;
use crate::objective::{FrameObjective, Objective};
use crate::phase_stats::PhaseStats;
use crate::trainer::{Event, Report, Trained, Trainer, TrainerOptions, keep_by_name};
use nnet3_core::nnet::Nnet;
use nnet3_core::snapshot::{Keeper, Snapshot};
use nnet3_matrix::Device;
use worker::{Finished, Setup, Worker};

/// Minibatches that a replica has on its hands at most: one that it works on, one that waits.
const AHEAD: usize = 2;

/// Prepares each trainer before the first minibatch, given the replica's number.
pub type Prepare<O> = Arc<dyn Fn(usize, &mut Trainer<O>) + Send + Sync>;

pub struct ReplicaOptions<O = FrameObjective> {
    /// Makes the objective of a replica, on its thread.
    pub objective: Arc<dyn Fn() -> O + Send + Sync>,
    /// The options of each replica's trainer.
    pub trainer: TrainerOptions,
    /// Seed of the first replica; the next ones count up from there.
    pub seed: i32,
    /// Minibatches of each replica after which parameters are averaged; 0: only at the end.
    pub average_period: u64,
    pub prepare: Prepare<O>,
    pub rules: Option<ReplicaRules>,
}

/// The rules by which replicas learn. Each replica keeps a state of its own, starting from `state`; the result has
/// their mean.
#[derive(Clone)]
pub struct ReplicaRules {
    pub plan: Arc<Plan>,
    pub options: LearnerOptions,
    pub state: Arc<LearnerState>,
}

impl<O: Default + 'static> Default for ReplicaOptions<O> {
    fn default() -> Self {
        ReplicaOptions {
            objective: Arc::new(O::default),
            trainer: TrainerOptions::default(),
            seed: 0,
            average_period: 0,
            prepare: Arc::new(|_, _| ()),
            rules: None,
        }
    }
}

impl<O> Clone for ReplicaOptions<O> {
    fn clone(&self) -> Self {
        ReplicaOptions {
            objective: self.objective.clone(),
            trainer: self.trainer.clone(),
            seed: self.seed,
            average_period: self.average_period,
            prepare: self.prepare.clone(),
            rules: self.rules.clone(),
        }
    }
}

/// An error, and the key of the minibatch that it is about, if it is about one.
#[derive(Debug)]
pub struct Failure {
    pub key: Option<String>,
    pub error: Error,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { key: None, error }
    }
}

/// The time that replicas spent, on average.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplicaTimes {
    /// The time spent waiting for minibatches.
    pub waiting: Duration,
    /// The time spent in the trainer, compilation included.
    pub training: Duration,
}

/// The state from which several replicas continue.
#[derive(Debug, Default)]
pub struct State {
    pub common: Snapshot,
    pub replicas: Vec<ReplicaState>,
}

/// Trainers on their own threads.
pub struct Replicas<O: Objective = FrameObjective> {
    workers: Vec<Worker<O::Example>>,
    average_period: u64,
    print_interval: u64,
    /// Minibatches so far.
    minibatches: u64,
    /// Keys of minibatches that have been handed out but not reported.
    keys: VecDeque<String>,
    /// True for replicas that have trained since the last average.
    changed: Vec<bool>,
    objectives: BTreeMap<String, PhaseStats>,
    /// Events of each replica that have not been passed on, and the number of minibatches they cover.
    news: Vec<(VecDeque<Event>, u64)>,
    /// Number of the next minibatch with events to pass on.
    next: u64,
}

impl<O: Objective + 'static> Replicas<O> {
    /// A replica of `nnet` on each of the devices.
    pub fn new(nnet: &Nnet, devices: &[Device], mut options: ReplicaOptions<O>) -> Result<Replicas<O>> {
        if devices.is_empty() {
            return Err(Error::options("expected at least one replica, found none"));
        }
        // Devices report at the end of a phase; for the phases of all together that is more often.
        let print_interval = options.trainer.print_interval;
        options.trainer.print_interval = print_interval.div_ceil(devices.len() as u64);
        let start = |(number, device): (usize, &Device)| {
            Worker::start(Setup {
                nnet: nnet.clone(),
                device: device.clone(),
                number,
                options: options.clone(),
            })
        };
        let workers: Vec<Worker<O::Example>> =
            devices.iter().enumerate().map(start).collect::<Result<_>>()?;
        workers.iter().try_for_each(Worker::ready)?;
        Ok(Replicas {
            changed: vec![false; workers.len()],
            workers,
            average_period: options.average_period,
            print_interval,
            minibatches: 0,
            keys: VecDeque::new(),
            news: devices.iter().map(|_| Default::default()).collect(),
            next: 0,
            objectives: BTreeMap::new(),
        })
    }

    /// Hands out one minibatch; its key is for error messages. The reported events and errors are those of earlier
    /// minibatches.
    pub fn train(
        &mut self,
        key: String,
        minibatch: O::Example,
        report: &mut dyn Report,
    ) -> std::result::Result<(), Failure> {
        self.train_at(None, key, minibatch, report)
    }

    /// Trains on a minibatch at a given progress, for schedules.
    pub fn train_at(
        &mut self,
        progress: Option<Progress>,
        key: String,
        minibatch: O::Example,
        report: &mut dyn Report,
    ) -> std::result::Result<(), Failure> {
        let count = self.news.len() as u64;
        let whole_period = self.average_period.saturating_mul(count);
        if whole_period > 0 && self.minibatches > 0 && self.minibatches.is_multiple_of(whole_period) {
            self.average(report)?;
        }
        if self.keys.len() == AHEAD * self.workers.len() {
            self.take_report(report)?;
        }
        let replica = (self.minibatches % count) as usize;
        self.workers[replica].train(minibatch, progress);
        self.changed[replica] = true;
        self.keys.push_back(key);
        self.minibatches += 1;
        Ok(())
    }

    /// Waits for the earliest minibatch that has not been reported.
    fn take_report(&mut self, report: &mut dyn Report) -> std::result::Result<(), Failure> {
        let Some(key) = self.keys.pop_front() else { return Ok(()) };
        let minibatch = self.minibatches - self.keys.len() as u64 - 1;
        let replica = (minibatch % self.news.len() as u64) as usize;
        let news = self.workers[replica].trained().map_err(|error| Failure { key: Some(key), error })?;
        let (events, settled) = &mut self.news[replica];
        events.extend(news.events);
        *settled = news.settled;
        self.pass_on(report);
        Ok(())
    }

    /// Passes on events in the order of the minibatches, as far as replicas have reported them: devices do so now and then.
    fn pass_on(&mut self, report: &mut dyn Report) {
        let count = self.news.len() as u64;
        loop {
            let (own, replica) = (self.next / count, (self.next % count) as usize);
            if self.next >= self.minibatches || self.news[replica].1 <= own {
                return;
            }
            let later = |event: &Event| match event {
                Event::Objective { minibatch, .. }
                | Event::ChangeRefused { minibatch }
                | Event::Remark { minibatch, .. }
                | Event::Memory { minibatch, .. } => *minibatch > own,
                _ => false,
            };
            while self.news[replica].0.front().is_some_and(|event| !later(event)) {
                let event = self.news[replica].0.pop_front();
                event.into_iter().for_each(|event| self.forward(event, replica as u64, report));
            }
            self.next += 1;
        }
    }

    /// Passes on an event of a replica, with the minibatch's number among all. Phases are those of all replicas.
    fn forward(&mut self, event: Event, replica: u64, report: &mut dyn Report) {
        let count = self.news.len() as u64;
        let number = |minibatch: u64| minibatch * count + replica;
        match event {
            Event::Objective { minibatch, output, value } => {
                let minibatch = number(minibatch);
                let interval = self.print_interval;
                let stats =
                    self.objectives.entry(output.clone()).or_insert_with(|| PhaseStats::new(interval));
                if let Some(phase) = stats.add(&output, minibatch, value) {
                    report.event(Event::Phase(phase));
                }
                report.event(Event::Objective { minibatch, output, value });
            }
            Event::Phase(_) => {}
            Event::ChangeRefused { minibatch } => {
                report.event(Event::ChangeRefused { minibatch: number(minibatch) })
            }
            Event::Gradient { minibatch, norm } => {
                report.event(Event::Gradient { minibatch: number(minibatch), norm })
            }
            Event::Remark { minibatch, remark } => {
                report.event(Event::Remark { minibatch: number(minibatch), remark })
            }
            Event::Memory { minibatch, memory } => {
                report.event(Event::Memory { minibatch: number(minibatch), memory })
            }
            Event::MaxChange(_) | Event::Constraint { .. } => report.event(event),
        }
    }

    /// Waits for all minibatches, and sends the average to all replicas.
    fn average(&mut self, report: &mut dyn Report) -> std::result::Result<(), Failure> {
        self.wait(report)?;
        let average = Arc::new(self.present_average()?);
        self.workers.iter().for_each(|worker| worker.set_nnet(average.clone()));
        self.changed.fill(false);
        Ok(())
    }

    /// Waits for all minibatches.
    fn wait(&mut self, report: &mut dyn Report) -> std::result::Result<(), Failure> {
        while !self.keys.is_empty() {
            self.take_report(report)?;
        }
        Ok(())
    }

    /// The average of the present networks, on the host.
    fn present_average(&self) -> Result<Nnet> {
        self.workers.iter().for_each(Worker::ask_nnet);
        let nnets = self.workers.iter().map(Worker::nnet).collect::<Result<_>>()?;
        mean(nnets, &self.changed)
    }

    /// Waits for all minibatches, and reports all of them. Returns the average of the networks, and the state for
    /// resuming with equally configured replicas.
    pub fn state(&mut self, report: &mut dyn Report) -> std::result::Result<(Nnet, State), Failure> {
        self.wait(report)?;
        self.workers.iter().for_each(Worker::ask_state);
        let mut state = State::default();
        for (worker, (events, settled)) in self.workers.iter().zip(&mut self.news) {
            let (own, news) = worker.state()?;
            events.extend(news.events);
            *settled = news.settled;
            state.replicas.push(own);
        }
        self.pass_on(report);
        self.keep(&mut Keeper::taking(&mut state.common)).map_err(Error::from)?;
        Ok((self.present_average()?, state))
    }

    /// Continues from a state, before the first minibatch.
    pub fn resume(&mut self, state: State) -> Result<()> {
        let (found, expected) = (state.replicas.len(), self.workers.len());
        if found != expected {
            return Err(Error::data(format!("expected the states of {expected} replicas, found {found}")));
        }
        let mut keeper = Keeper::giving(&state.common, &nnet3_matrix::cpu());
        self.keep(&mut keeper)?;
        keeper.finish()?;
        for (worker, own) in self.workers.iter().zip(state.replicas) {
            worker.set_state(own);
        }
        self.workers.iter().try_for_each(Worker::ready)
    }

    /// Takes or puts back the common state of replicas; all minibatches must have been reported.
    fn keep(&mut self, keeper: &mut Keeper<'_>) -> nnet3_core::Result<()> {
        keeper.count(&mut self.minibatches)?;
        self.next = self.minibatches;
        self.changed.iter_mut().try_for_each(|changed| keeper.flag(changed))?;
        let interval = self.print_interval;
        keep_by_name(keeper, &mut self.objectives, || PhaseStats::new(interval), PhaseStats::keep)
    }

    /// Waits for all minibatches; the network is the average, on the host.
    pub fn finish(
        mut self,
        report: &mut dyn Report,
    ) -> std::result::Result<(Trained, ReplicaTimes), Failure> {
        self.wait(report)?;
        let count = self.workers.len() as u32;
        let (mut nnets, mut learners) = (Vec::new(), Vec::new());
        let all = !self.changed.contains(&true);
        let mut compiler = None;
        let mut max_change = MaxChangeCounts::default();
        let mut times = ReplicaTimes::default();
        for (k, worker) in std::mem::take(&mut self.workers).into_iter().enumerate() {
            let Finished { trained, times: own, events } = worker.finish()?;
            self.news[k].0.extend(events);
            self.news[k].1 = u64::MAX;
            nnets.push(trained.nnet);
            learners.extend(trained.learner.filter(|_| all || self.changed[k]));
            max_change.add(&trained.max_change);
            times.waiting += own.waiting / count;
            times.training += own.training / count;
            match &mut compiler {
                None => compiler = Some(trained.compiler),
                Some(compiler) => compiler.absorb(trained.compiler),
            }
        }
        self.pass_on(report);
        let totals = self.objectives.iter().map(|(name, stats)| stats.total(name)).collect();
        let nnet = mean(nnets, &self.changed)?;
        let compiler = compiler.ok_or_else(|| Error::options("expected at least one replica, found none"))?;
        let learner = LearnerState::mean(learners);
        Ok((Trained { nnet, totals, max_change, learner, compiler }, times))
    }
}

/// The mean of the networks that count (of all, if none does), in the order of `nnet3-average`'s sums.
fn mean(nnets: Vec<Nnet>, counts: &[bool]) -> Result<Nnet> {
    let all = !counts.contains(&true);
    let nnets: Vec<Mutex<Option<Nnet>>> = nnets
        .into_iter()
        .zip(counts)
        .filter(|(_, counts)| all || **counts)
        .map(|(nnet, _)| Mutex::new(Some(nnet)))
        .collect();
    let names: Vec<String> = (1..=nnets.len()).map(|i| format!("replica {i}")).collect();
    let weights = vec![1.0 / nnets.len() as f32; nnets.len()];
    average_numbered(&names, &weights, default_threads(nnets.len()), |i| {
        let nnet = nnets[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        nnet.ok_or_else(|| Error::data(format!("network {} has already been averaged", names[i])))
    })
}
