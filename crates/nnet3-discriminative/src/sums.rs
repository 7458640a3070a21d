//! Sums over minibatches, and the log lines about them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kaldi_io::log::{num, ratio};

use crate::options::Criterion;

/// Sums for one output. Values with a weight are multiplied by that of the supervision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sums {
    /// Output frames, without weight.
    pub frames: f64,
    /// Output frames times weight.
    pub weight: f64,
    /// The expected accuracy or, for MMI, the log-probability of the denominator; with weight.
    pub objective: f64,
    /// For MMI the log-probability of the numerator, with weight.
    pub numerator: f64,
    /// Positive entries of derivatives by frame and pdf, without weight.
    pub positive: f64,
    /// Negative entries likewise, with the sign changed.
    pub negative: f64,
    /// The term of l2 regularisation, with weight; not positive.
    pub l2: f64,
    /// Derivatives by pdf, if they are wanted.
    pub gradients: Vec<f64>,
    /// Exponentials of the output by pdf, if they are wanted.
    pub output: Vec<f64>,
}

impl Sums {
    /// The value that is maximised: an accuracy, or numerator less denominator.
    pub fn value(&self, criterion: Criterion) -> f64 {
        match criterion {
            Criterion::Mmi => self.numerator - self.objective,
            Criterion::Mpfe | Criterion::Smbr => self.objective,
        }
    }

    pub fn add(&mut self, other: &Sums) {
        self.frames += other.frames;
        self.weight += other.weight;
        self.objective += other.objective;
        self.numerator += other.numerator;
        self.positive += other.positive;
        self.negative += other.negative;
        self.l2 += other.l2;
        add_to(&mut self.gradients, &other.gradients);
        add_to(&mut self.output, &other.output);
    }

    /// Entries of derivatives per frame: the message of a log line about training.
    pub fn count_line(&self) -> String {
        let count = ratio(self.positive + self.negative, self.weight);
        format!("Average num+den count of stats is {count} per frame, over {} frames.", num(self.weight))
    }

    /// The term of l2 regularisation per frame, if it is not 0.
    pub fn l2_line(&self) -> Option<String> {
        let average = ratio(self.l2, self.weight);
        let line =
            format!("Average l2 norm of output per frame is {average} over {} frames.", num(self.weight));
        (self.l2 != 0.0).then_some(line)
    }

    /// Messages about all sums.
    pub fn lines(&self, criterion: Criterion) -> Vec<String> {
        let per_frame = |value: f64| ratio(value, self.weight);
        let (frames, weight) = (num(self.frames), num(self.weight));
        let mut lines = match criterion {
            Criterion::Mmi => vec![
                format!(
                    "Number of frames is {frames} (weighted: {weight}), average (num or den) posterior per frame is {}",
                    per_frame(self.positive)
                ),
                format!(
                    "MMI objective function is {} - {} = {} per frame, over {weight} frames.",
                    per_frame(self.numerator),
                    per_frame(self.objective),
                    per_frame(self.value(criterion))
                ),
            ],
            Criterion::Mpfe | Criterion::Smbr => {
                let name = criterion.to_string().to_uppercase();
                vec![
                    format!(
                        "Average num+den count of {name} stats is {} per frame, over {weight} frames",
                        per_frame(self.positive + self.negative)
                    ),
                    format!(
                        "{name} objective function is {} per frame, over {weight} frames.",
                        per_frame(self.objective)
                    ),
                ]
            }
        };
        for (vector, name) in [
            (&self.gradients, "Vector of average gradients wrt output activations"),
            (&self.output, "Average DNN output"),
        ] {
            if !vector.is_empty() {
                let values: Vec<String> = vector.iter().map(|&value| per_frame(value)).collect();
                lines.push(format!("{name} is: \n [ {} ]\n", values.join(" ")));
            }
        }
        lines
    }

    /// The last message about an output.
    pub fn overall_line(&self, criterion: Criterion, output: &str) -> String {
        let value = ratio(self.value(criterion), self.weight);
        let l2 = match self.l2 {
            0.0 => String::new(),
            l2 => format!(" + {}", ratio(l2, self.weight)),
        };
        let weight = num(self.weight);
        format!(
            "Overall {criterion} objective for '{output}' is {value}{l2} per frame, over {weight} frames."
        )
    }
}

/// Adds numbers one by one, to zeros where there are none yet.
fn add_to(sums: &mut Vec<f64>, more: &[f64]) {
    sums.resize(sums.len().max(more.len()), 0.0);
    sums.iter_mut().zip(more).for_each(|(sum, value)| *sum += value);
}

/// Sums by the names of outputs. Clones share them, so that all replicas of a training add to the same.
#[derive(Debug, Clone, Default)]
pub struct SharedSums(Arc<Mutex<BTreeMap<String, Sums>>>);

impl SharedSums {
    /// Adds to the sums of an output. Returns their weight now.
    pub fn add(&self, output: &str, more: &Sums) -> f64 {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = all.entry(output.to_owned()).or_default();
        sums.add(more);
        sums.weight
    }

    /// A copy of the sums so far.
    pub fn get(&self) -> BTreeMap<String, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
