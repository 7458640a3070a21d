//! Objectives of a run, for log lines: of each ten minibatches, and of all (`ObjectiveTracker`).

use std::fmt;

use kaldi_io::text::format_g;

use crate::objective::Value;

/// Minibatches between two lines.
const INTERVAL: u64 = 10;
/// Significant digits in lines.
const DIGITS: usize = 4;

/// Averages over some minibatches.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    minibatches: u64,
    weight: f64,
    numerator: f64,
    denominator: f64,
    exact: f64,
}

/// Averages of the minibatches from `first` to `last`: the message of a log line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    first: u64,
    sums: Sums,
}

/// Averages of all minibatches: the message of a log line that scripts parse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overall(Sums);

/// Collects objectives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tracker {
    total: Sums,
    current: Sums,
}

impl Tracker {
    /// Adds a minibatch. Returns the averages if that ends an interval.
    pub fn add(&mut self, value: &Value) -> Option<Interval> {
        let current = &mut self.current;
        current.minibatches += 1;
        current.weight += value.weight;
        current.numerator += value.numerator;
        current.denominator += value.denominator;
        // The reference adds to a whole number.
        current.exact = f64::from((current.exact as f32 + value.exact as f32).trunc()) + 0.0;
        (current.minibatches >= INTERVAL).then(|| self.take_interval())
    }

    /// Ends an interval that has begun.
    pub fn finish(&mut self) -> (Option<Interval>, Overall) {
        let interval = (self.current.minibatches > 0).then(|| self.take_interval());
        (interval, Overall(self.total))
    }

    fn take_interval(&mut self) -> Interval {
        let (sums, total) = (std::mem::take(&mut self.current), &mut self.total);
        let first = total.minibatches;
        total.minibatches += sums.minibatches;
        total.weight += sums.weight;
        total.numerator += sums.numerator;
        total.denominator += sums.denominator;
        total.exact += sums.exact;
        Interval { first, sums }
    }
}

impl Overall {
    /// The averages of numerator and denominator together.
    pub fn objective(&self) -> f64 {
        (self.0.numerator + self.0.denominator) / self.0.weight
    }
}

impl Sums {
    fn averages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sum(f, self.numerator / self.weight, self.denominator / self.weight)?;
        write!(f, " over {} words (weighted)", format_g(self.weight, DIGITS))
    }

    fn exact(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "; exact = ")?;
        sum(f, self.numerator / self.weight, self.exact / self.weight)
    }
}

fn sum(f: &mut fmt::Formatter<'_>, a: f64, b: f64) -> fmt::Result {
    write!(f, "({} + {}) = {}", format_g(a, DIGITS), format_g(b, DIGITS), format_g(a + b, DIGITS))
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.first + self.sums.minibatches - 1;
        write!(f, "Objf for minibatches {} to {last} is ", self.first)?;
        self.sums.averages(f)?;
        self.sums.exact(f)
    }
}

impl fmt::Display for Overall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Overall objf is ")?;
        self.0.averages(f)?;
        write!(f, " in {} minibatches", self.0.minibatches)?;
        self.0.exact(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that the reference logs: -512.05 is truncated to -512.
    #[test]
    fn lines() {
        let mut tracker = Tracker::default();
        let value = Value { weight: 110.0, numerator: 0.0, denominator: -11550.0, exact: -512.5 };
        assert_eq!(tracker.add(&value), None);
        let (interval, overall) = tracker.finish();
        let averages = "(0 + -105) = -105 over 110 words (weighted)";
        let exact = "exact = (0 + -4.655) = -4.655";
        assert_eq!(
            interval.unwrap().to_string(),
            format!("Objf for minibatches 0 to 0 is {averages}; {exact}")
        );
        assert_eq!(overall.to_string(), format!("Overall objf is {averages} in 1 minibatches; {exact}"));
        assert_eq!(overall.objective(), -105.0);
    }

    #[test]
    fn intervals() {
        let mut tracker = Tracker::default();
        let value = Value { weight: 2.0, numerator: -3.0, denominator: -1.0, exact: -0.5 };
        let ends: Vec<bool> = (0..23).map(|_| tracker.add(&value).is_some()).collect();
        assert_eq!(
            ends.iter().enumerate().filter(|end| *end.1).map(|end| end.0).collect::<Vec<_>>(),
            [9, 19]
        );
        let (interval, overall) = tracker.finish();
        let line = interval.unwrap().to_string();
        assert_eq!(
            line,
            "Objf for minibatches 20 to 22 is (-1.5 + -0.5) = -2 over 6 words (weighted); exact = (-1.5 + 0) = -1.5"
        );
        assert!(overall.to_string().contains("over 46 words (weighted) in 23 minibatches"));
    }
}
