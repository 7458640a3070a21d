//! The equal error rate of scores.

use crate::error::{Error, Result};

/// An equal error rate (0 to 1), and the threshold at which it is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EqualErrorRate {
    pub rate: f64,
    pub threshold: f32,
}

/// Scores of target trials (both sides are the same speaker), and of other trials.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    targets: Vec<f32>,
    others: Vec<f32>,
}

impl Scores {
    /// Adds a line `score target` or `score nontarget`.
    ///
    /// # Errors
    /// If the line has another form, or the score is no number.
    pub fn add_line(&mut self, line: &str) -> Result<()> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[score, kind] = &fields[..] else {
            return Err(Error::data(format!("expected a score and target or nontarget, found '{line}'")));
        };
        let score = match kaldi_io::text::parse_real(score) {
            Some(score) if !score.is_nan() => score as f32,
            _ => return Err(Error::data(format!("expected a number, found '{score}' in '{line}'"))),
        };
        match kind {
            "target" => self.targets.push(score),
            "nontarget" => self.others.push(score),
            _ => {
                return Err(Error::data(format!("expected target or nontarget, found '{kind}' in '{line}'")));
            }
        }
        Ok(())
    }

    /// Returns the rate at which a share p of the targets is rejected and at least that share of the others accepted.
    ///
    /// The thresholds are the scores of the targets; with few targets the rate has as few steps. It is below 1.
    ///
    /// # Errors
    /// If there are no targets, or no other trials.
    pub fn equal_error_rate(mut self) -> Result<EqualErrorRate> {
        let (targets, others) = (self.targets.len(), self.others.len());
        for (name, count) in [("target", targets), ("nontarget", others)] {
            if count == 0 {
                return Err(Error::data(format!("no {name} scores")));
            }
        }
        self.targets.sort_by(f32::total_cmp);
        self.others.sort_by(f32::total_cmp);
        let stops = |&rejected: &usize| {
            let accepted = (others as f64 * rejected as f64 / targets as f64) as usize;
            self.others[(others - 1).saturating_sub(accepted)] < self.targets[rejected]
        };
        let rejected = (0..targets).find(stops).unwrap_or(targets - 1);
        Ok(EqualErrorRate { rate: rejected as f64 / targets as f64, threshold: self.targets[rejected] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(lines: &[&str]) -> Result<EqualErrorRate> {
        let mut scores = Scores::default();
        lines.iter().try_for_each(|line| scores.add_line(line))?;
        scores.equal_error_rate()
    }

    #[test]
    fn rates_of_a_few_trials() {
        // Below 0.2, 0.3 would be accepted with one of three targets rejected: two must be.
        let small =
            rate(&["1.5 target", "0.2 target", "-3 target", "0.3 nontarget", "-1 nontarget"]).unwrap();
        assert!((small.rate - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(small.threshold, 1.5);
        assert_eq!(rate(&["5 target", "4 target", "1 nontarget"]).unwrap().rate, 0.0);
        assert_eq!(rate(&["1 target", "2 target", "5 nontarget", "6 nontarget"]).unwrap().rate, 0.5);
    }

    #[test]
    fn wrong_lines_are_named() {
        let message = |lines: &[&str]| rate(lines).unwrap_err().to_string();
        assert_eq!(message(&["1 tgt"]), "expected target or nontarget, found 'tgt' in '1 tgt'");
        assert_eq!(message(&["x target"]), "expected a number, found 'x' in 'x target'");
        assert_eq!(message(&["1"]), "expected a score and target or nontarget, found '1'");
        assert_eq!(message(&["1 nontarget"]), "no target scores");
        assert_eq!(message(&["1 target"]), "no nontarget scores");
    }
}
