//! Counts of labels, which are integers that are not negative.

use anyhow::{Result, bail};

/// Labels beyond this would take more memory than any counts are worth.
const MOST: usize = 1 << 24;

/// A count for each label up to the largest.
#[derive(Default)]
pub struct LabelCounts {
    pub counts: Vec<f64>,
}

impl LabelCounts {
    /// Counts of 0 for the labels below `size`; none, if it is not above 0.
    pub fn with_size(size: i32) -> Result<LabelCounts> {
        match usize::try_from(size).unwrap_or(0) {
            size if size > MOST => bail!("{size} counts are too many: expected at most {MOST}"),
            size => Ok(LabelCounts { counts: vec![0.0; size] }),
        }
    }

    pub fn add(&mut self, label: i32, weight: f64) -> Result<()> {
        let index = match usize::try_from(label) {
            Ok(index) if index < MOST => index,
            _ => bail!("the integer {label} cannot be counted: expected one from 0 to {}", MOST - 1),
        };
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0.0);
        }
        self.counts[index] += weight;
        Ok(())
    }

    /// The labels with count 0.
    pub fn zeros(&self) -> impl Iterator<Item = usize> {
        self.counts.iter().enumerate().filter(|(_, count)| **count == 0.0).map(|(label, _)| label)
    }
}
