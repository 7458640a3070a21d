//! State for resuming an interrupted training: taken of one trainer, put back into another one with the same options.

use std::collections::BTreeMap;

use super::Trainer;
use crate::error::Result;
use crate::learn::Learner;
use crate::learn::learner::Pending;
use crate::learn::state::ReplicaState;
use crate::objective::Objective;
use crate::phase_stats::PhaseStats;
use crate::trainer::Report;
use nnet3_core::nnet::Nnet;
use nnet3_core::snapshot::{Keeper, Snapshot};

/// Takes or puts back the values of each output.
pub fn keep_by_name<T>(
    keeper: &mut Keeper<'_>,
    all: &mut BTreeMap<String, T>,
    new: impl Fn() -> T,
    keep: impl Fn(&mut T, &mut Keeper<'_>) -> nnet3_core::Result<()>,
) -> nnet3_core::Result<()> {
    let mut names: Vec<String> = all.keys().cloned().collect();
    let mut count = names.len();
    keeper.count(&mut count)?;
    for k in 0..count {
        let mut name = names.get_mut(k).map(std::mem::take).unwrap_or_default();
        keeper.text(&mut name)?;
        keep(all.entry(name).or_insert_with(&new), keeper)?;
    }
    Ok(())
}

/// Selects the part of the network to keep.
type KeepNetwork = fn(&mut Nnet, &mut Keeper<'_>) -> nnet3_core::Result<()>;

impl<O: Objective> Trainer<O> {
    /// Returns the state for resuming between two minibatches. It excludes the parameters of the network, the state in
    /// [`Learner::state`], and the counts of active limits. Reports all events so far.
    pub fn snapshot(&mut self, report: &mut dyn Report) -> Result<Snapshot> {
        self.settle(report);
        let mut snapshot = Snapshot::default();
        self.keep(&mut Keeper::taking(&mut snapshot), Nnet::keep_stats)?;
        self.check_device()?;
        Ok(snapshot)
    }

    /// Statistics of the network's components, to the last bit.
    pub fn statistics(&mut self) -> Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        self.nnet.keep_stats(&mut Keeper::taking(&mut snapshot))?;
        self.check_device()?;
        Ok(snapshot)
    }

    pub fn set_statistics(&mut self, statistics: &Snapshot) -> Result<()> {
        let device = self.runner.executor().device().clone();
        let mut keeper = Keeper::giving(statistics, &device);
        self.nnet.keep_stats(&mut keeper)?;
        Ok(keeper.finish()?)
    }

    /// As [`snapshot`](Self::snapshot), with the parameters and the learner's state.
    pub fn whole_state(&mut self, report: &mut dyn Report) -> Result<ReplicaState> {
        self.settle(report);
        let mut state = ReplicaState::default();
        self.keep(&mut Keeper::taking(&mut state.trainer), Nnet::keep)?;
        state.learner = self.learner.as_ref().map(Learner::state).unwrap_or_default();
        self.check_device()?;
        Ok(state)
    }

    /// Continues from a snapshot, exactly as the trainer that made it.
    pub fn resume(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.put_back(snapshot, Nnet::keep_stats)
    }

    /// As [`resume`](Self::resume), with the parameters and the learner's state.
    pub(crate) fn resume_whole(&mut self, state: &ReplicaState) -> Result<()> {
        if let Some(learner) = &mut self.learner {
            learner.set_state(&state.learner)?;
        }
        self.put_back(&state.trainer, Nnet::keep)
    }

    fn put_back(&mut self, snapshot: &Snapshot, network: KeepNetwork) -> Result<()> {
        let device = self.runner.executor().device().clone();
        let mut keeper = Keeper::giving(snapshot, &device);
        self.keep(&mut keeper, network)?;
        Ok(keeper.finish()?)
    }

    fn keep(&mut self, keeper: &mut Keeper<'_>, network: KeepNetwork) -> Result<()> {
        self.random.keep(keeper)?;
        let mut seed = f64::from(self.seed);
        keeper.number(&mut seed)?;
        self.seed = seed as i32;
        keeper.count(&mut self.minibatches)?;
        let Pending { minibatches, weight, sequences } = &mut self.pending;
        keeper.count(minibatches)?;
        keeper.number(weight)?;
        keeper.number(sequences)?;
        network(&mut self.nnet, keeper)?;
        self.delta.keep(keeper)?;
        let interval = self.options.print_interval;
        Ok(keep_by_name(keeper, &mut self.objectives, || PhaseStats::new(interval), PhaseStats::keep)?)
    }
}
