//! A ledger for values that a device computes only for the log. They stay there and are fetched for many minibatches
//! together, so that training does not wait for them.

use crate::max_change::Limits;
use crate::objective::value::ObjectiveValue;
use nnet3_matrix::Accumulator;

/// Numbers that are fetched together.
const ROOM: usize = 4096;

/// Numbers that a step of an orthonormal constraint takes in the ledger.
pub(crate) const CONSTRAINT_ENTRIES: usize = 2;

/// A line of the ledger; its numbers are on the device.
#[derive(Debug)]
pub enum Entry {
    /// The objective value of an output.
    Objective { minibatch: u64, output: String, value: ObjectiveValue },
    /// The objective of an output as one number on the device.
    Sum { minibatch: u64, output: String, weight: f64 },
    /// A remark of the objective about a minibatch.
    Remark { minibatch: u64, remark: Remark },
    /// The squared norm of each component's change.
    Change { minibatch: u64, limits: Limits },
    /// The squared norm of each component's gradient.
    Gradient { minibatch: u64, step: GradientStep },
    /// The squared norms of a constrained matrix and of its products; `small` is its smaller side.
    Constraint { minibatch: u64, component: String, small: usize },
}

/// Log record of the gradients of a step.
#[derive(Debug, Clone)]
pub struct GradientStep {
    pub components: usize,
    /// The factor of the sum's norm.
    pub scale: f64,
    /// The limit on the norm; 0 for none.
    pub clip: f64,
}

/// The 2-norm of all gradients of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientNorm {
    pub norm: f64,
    pub clipped: bool,
}

impl GradientStep {
    /// Returns the norm for squared norms given component by component.
    pub fn norm(&self, squares: &[f64]) -> GradientNorm {
        let norm = squares.iter().sum::<f64>().sqrt() * self.scale;
        GradientNorm { norm, clipped: self.clip > 0.0 && norm > self.clip }
    }
}

/// A message of an objective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    Log(String),
    Warning(String),
}

/// One of the sums of a device.
pub struct Place<'s> {
    pub sums: &'s mut Accumulator,
    pub index: usize,
}

/// Collects the objective values of a minibatch's outputs.
pub struct Tally<'l> {
    ledger: &'l mut Ledger,
    minibatch: u64,
    suffix: &'static str,
    weight: f64,
}

impl<'l> Tally<'l> {
    /// Makes the tally of this minibatch; `suffix` is added to the names of outputs. The ledger has room for a number
    /// for each output.
    pub fn new(ledger: &'l mut Ledger, minibatch: u64, suffix: &'static str) -> Tally<'l> {
        Tally { ledger, minibatch, suffix, weight: 0.0 }
    }

    /// The sum of the weights of all outputs so far.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// A place for the objective of an output, for a device to add it there.
    pub fn sum(&mut self, output: &str, weight: f64) -> Place<'_> {
        let (minibatch, output) = (self.minibatch, format!("{output}{}", self.suffix));
        self.weight += weight;
        let index = self.ledger.used;
        self.ledger.note(index, Entry::Sum { minibatch, output, weight });
        self.ledger.reserve(1)
    }

    /// Adds an objective value that the host knows.
    pub fn value(&mut self, output: &str, value: ObjectiveValue) {
        let (minibatch, output) = (self.minibatch, format!("{output}{}", self.suffix));
        self.weight += value.weight;
        self.ledger.note(self.ledger.used, Entry::Objective { minibatch, output, value });
    }

    pub fn remark(&mut self, remark: Remark) {
        let minibatch = self.minibatch;
        self.ledger.note(self.ledger.used, Entry::Remark { minibatch, remark });
    }
}

pub struct Ledger {
    numbers: Accumulator,
    used: usize,
    /// Each entry has the place of its first number.
    entries: Vec<(usize, Entry)>,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger { numbers: Accumulator::zeros(ROOM), used: 0, entries: Vec::new() }
    }
}

impl Ledger {
    /// The minibatch of the first entry.
    pub fn first(&self) -> Option<u64> {
        self.entries.first().map(|(_, entry)| match entry {
            Entry::Objective { minibatch, .. }
            | Entry::Sum { minibatch, .. }
            | Entry::Remark { minibatch, .. }
            | Entry::Change { minibatch, .. }
            | Entry::Gradient { minibatch, .. }
            | Entry::Constraint { minibatch, .. } => *minibatch,
        })
    }

    pub fn has_room(&self, count: usize) -> bool {
        self.used + count <= self.numbers.len()
    }

    /// Places for `count` numbers, which are zero, on the next lines. There must be room, unless the ledger is empty.
    pub fn reserve(&mut self, count: usize) -> Place<'_> {
        if self.used == 0 && count > self.numbers.len() {
            self.numbers = Accumulator::zeros(count);
        }
        assert!(
            self.has_room(count),
            "{count} numbers in a ledger with {} of {}",
            self.used,
            self.numbers.len()
        );
        let index = self.used;
        self.used += count;
        Place { sums: &mut self.numbers, index }
    }

    /// Records the meaning of the places from `first` on.
    pub fn note(&mut self, first: usize, entry: Entry) {
        self.entries.push((first, entry));
    }

    /// Returns all entries so far with their numbers, in order, and waits for the device. The ledger is empty
    /// afterwards.
    pub fn read(&mut self) -> Vec<(Entry, Vec<f64>)> {
        if self.entries.is_empty() {
            self.used = 0;
            return Vec::new();
        }
        let numbers = self.numbers.take(std::mem::take(&mut self.used));
        let with_numbers = |(first, entry): (usize, Entry)| {
            let count = match &entry {
                Entry::Objective { .. } | Entry::Remark { .. } => 0,
                Entry::Sum { .. } => 1,
                Entry::Change { limits, .. } => limits.len(),
                Entry::Gradient { step, .. } => step.components,
                Entry::Constraint { .. } => CONSTRAINT_ENTRIES,
            };
            (entry, numbers[first..first + count].to_vec())
        };
        self.entries.drain(..).map(with_numbers).collect()
    }
}
