//! Averages of the objective over phases of a training run, and over all of it.

use std::fmt;

use crate::objective::ObjectiveValue;
use kaldi_io::log::num;
use nnet3_core::snapshot::Keeper;

/// Sums for one output. A phase is a fixed number of minibatches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PhaseStats {
    interval: u64,
    phase: u64,
    minibatches: u64,
    this_phase: ObjectiveValue,
    total: ObjectiveValue,
}

/// The average over a phase, in which the output may not have been there all the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    pub output: String,
    /// Numbers of the phase's first and last minibatch.
    pub first: u64,
    pub last: u64,
    /// Number of minibatches with the output.
    pub minibatches: u64,
    pub value: ObjectiveValue,
}

/// The average over all minibatches.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    pub output: String,
    pub value: ObjectiveValue,
}

impl PhaseStats {
    /// `interval` minibatches are a phase.
    pub fn new(interval: u64) -> PhaseStats {
        PhaseStats {
            interval,
            phase: 0,
            minibatches: 0,
            this_phase: ObjectiveValue::default(),
            total: ObjectiveValue::default(),
        }
    }

    /// Adds a minibatch. If it begins another phase, returns the previous one.
    pub fn add(&mut self, output: &str, minibatch: u64, value: ObjectiveValue) -> Option<Phase> {
        let phase = minibatch / self.interval;
        let mut ended = None;
        if phase != self.phase {
            if self.minibatches > 0 {
                ended = Some(Phase {
                    output: output.to_owned(),
                    first: self.phase * self.interval,
                    last: phase * self.interval - 1,
                    minibatches: self.minibatches,
                    value: self.this_phase,
                });
            }
            (self.phase, self.minibatches, self.this_phase) = (phase, 0, ObjectiveValue::default());
        }
        self.minibatches += 1;
        self.this_phase += value;
        self.total += value;
        ended
    }

    /// Takes or puts back the sums.
    pub(crate) fn keep(&mut self, keeper: &mut Keeper<'_>) -> nnet3_core::Result<()> {
        keeper.count(&mut self.phase)?;
        keeper.count(&mut self.minibatches)?;
        self.this_phase.keep(keeper)?;
        self.total.keep(keeper)
    }

    pub fn total(&self, output: &str) -> Total {
        Total { output: output.to_owned(), value: self.total }
    }
}

impl Phase {
    /// True if every minibatch of the phase had the output.
    pub fn is_complete(&self) -> bool {
        self.minibatches == self.last - self.first + 1
    }
}

/// The objective per frame, for log lines; with auxiliary terms, `A + B = C`.
pub(crate) fn averages(value: &ObjectiveValue) -> String {
    let average = num(value.average());
    if value.auxiliary == 0.0 {
        return average;
    }
    // The sum is of single numbers, as scripts have always seen it.
    let (objective, auxiliary) = (value.average() as f32, (value.auxiliary / value.weight) as f32);
    format!("{average} + {} = {}", num(auxiliary.into()), num((objective + auxiliary).into()))
}

/// The message of a log line. In the incomplete form a quote is missing, as scripts have always seen it.
impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Average objective function for '{}", self.output)?;
        if self.is_complete() {
            write!(f, "' for minibatches ")?;
        } else {
            write!(f, " using {} minibatches in minibatch range ", self.minibatches)?;
        }
        let (averages, weight) = (averages(&self.value), num(self.value.weight));
        write!(f, "{}-{} is {averages} over {weight} frames.", self.first, self.last)
    }
}

/// The message of a log line.
impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (averages, weight) = (averages(&self.value), num(self.value.weight));
        write!(
            f,
            "Overall average objective function for '{}' is {averages} over {weight} frames.",
            self.output
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(objective: f64) -> ObjectiveValue {
        ObjectiveValue { objective, weight: 2.0, ..ObjectiveValue::default() }
    }

    #[test]
    fn auxiliary_terms_stand_beside_the_objective() {
        let mut stats = PhaseStats::new(1);
        let value = |auxiliary| ObjectiveValue { auxiliary, ..value(-1.0) };
        stats.add("output", 0, value(-0.5));
        let line = stats.add("output", 1, value(-0.25)).unwrap().to_string();
        assert_eq!(
            line,
            "Average objective function for 'output' for minibatches 0-0 is -0.5 + -0.25 = -0.75 over 2 frames."
        );
        assert_eq!(
            stats.total("output").to_string(),
            "Overall average objective function for 'output' is -0.5 + -0.1875 = -0.6875 over 4 frames."
        );
    }

    #[test]
    fn phases() {
        let mut stats = PhaseStats::new(2);
        assert_eq!(stats.add("output", 0, value(-1.0)), None);
        assert_eq!(stats.add("output", 1, value(-2.0)), None);
        let line = stats.add("output", 2, value(-3.0)).unwrap().to_string();
        assert_eq!(
            line,
            "Average objective function for 'output' for minibatches 0-1 is -0.75 over 4 frames."
        );
        let line = stats.add("output", 6, value(-5.0)).unwrap().to_string();
        assert_eq!(
            line,
            "Average objective function for 'output using 1 minibatches in minibatch range 2-5 is -1.5 over 2 frames."
        );
        assert_eq!(
            stats.total("output").to_string(),
            "Overall average objective function for 'output' is -1.375 over 8 frames."
        );
    }

    #[test]
    fn a_late_output_has_no_empty_phases() {
        let mut stats = PhaseStats::new(2);
        assert_eq!(stats.add("output_backstitch", 5, value(-1.0)), None);
    }
}
