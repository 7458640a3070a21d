//! Runs a program with random inputs and takes the time of every operation.

use super::trial::Trial;
use crate::execute::{Moment, Observer, Program};
use nnet3_base::error::Result;
use nnet3_compiler::computation::Command;
use nnet3_compiler::lower::Op;
use nnet3_matrix::Device;
use nnet3_network::Nnet;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct ProfileOptions {
    /// True for backprop as in training, with natural gradient in the components that use it; false for the plain
    /// gradient.
    pub natural_gradient: bool,
    /// Duration of the runs, after one that is not counted.
    pub time: Duration,
}

impl Default for ProfileOptions {
    fn default() -> ProfileOptions {
        ProfileOptions { natural_gradient: true, time: Duration::from_millis(500) }
    }
}

/// Times of lowered operations.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Runs that were counted.
    pub runs: usize,
    /// For each operation: how often it ran and for how long, in all runs. (Those of a loop run several times.)
    pub ops: Vec<(usize, Duration)>,
}

impl Observer for Profile {
    fn before(&mut self, _: &Moment<'_>) {}

    fn after(&mut self, at: &Moment<'_>, time: Duration) {
        let (count, sum) = &mut self.ops[at.op];
        *count += 1;
        *sum += time;
    }
}

impl Profile {
    /// Runs `program` on `device` with normally distributed inputs and output derivatives. A loop is gone
    /// through once.
    pub fn measure(
        nnet: &Nnet,
        program: &Arc<Program>,
        device: &Device,
        options: &ProfileOptions,
    ) -> Result<Profile> {
        let mut trial = Trial::new(nnet, device, options.natural_gradient);
        let count = program.lowered().ops().len();
        let new = || Profile { runs: 0, ops: vec![(0, Duration::ZERO); count] };
        new().run(&mut trial, program)?;
        let (mut profile, started) = (new(), Instant::now());
        while profile.runs == 0 || started.elapsed() < options.time {
            profile.run(&mut trial, program)?;
        }
        Ok(profile)
    }

    fn run(&mut self, trial: &mut Trial, program: &Arc<Program>) -> Result<()> {
        let markers = program.lowered().ops().iter().filter(|op| **op == Op::Command(Command::Marker));
        trial.start(program)?;
        for _ in 0..=markers.count() {
            if trial.executor.finished() {
                break;
            }
            trial.part(|executor, model, random| executor.run_observed(model, random, self))?;
        }
        self.runs += 1;
        Ok(())
    }

    /// Mean time of a run of the operation; none if it is not executed.
    pub fn mean(&self, op: usize) -> Option<Duration> {
        let (count, time) = self.ops[op];
        (count > 0).then(|| time / u32::try_from(self.runs).unwrap_or(u32::MAX))
    }
}
