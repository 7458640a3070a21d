//! Metrics of outputs with one class a row, over a whole set: rows count by the sum of their targets.

use crate::accuracy::first_largest;
use crate::error::{Error, Result};
use kaldi_io::GeneralMatrix;

/// Keeps quotients finite for classes that do not occur.
const SMALL: f64 = 1e-6;
/// Logarithms are of this at least.
const LEAST: f64 = 1.928_749_847_963_917_8e-22;

const NAMES: &str = "accuracy, misclassification, logloss, precision, recall, top-K (as top-5)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Share of rows in which the largest output, the first of equal ones, coincides with the largest target.
    Accuracy,
    /// 1 less accuracy.
    Misclassification,
    /// -log of the probability of the target.
    LogLoss,
    /// Share of rows with a target that is not among the K largest outputs; ties count in part.
    Top(usize),
    /// The share of correct rows among those assigned to a class, averaged over classes.
    Precision,
    /// The share of a class's rows that are recognised as such, averaged over classes.
    Recall,
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Metric::Accuracy => f.write_str("accuracy"),
            Metric::Misclassification => f.write_str("misclassification"),
            Metric::LogLoss => f.write_str("logloss"),
            Metric::Top(k) => write!(f, "top-{k}"),
            Metric::Precision => f.write_str("precision"),
            Metric::Recall => f.write_str("recall"),
        }
    }
}

impl std::str::FromStr for Metric {
    type Err = Error;
    fn from_str(name: &str) -> Result<Metric> {
        let top = |k: &str| k.parse().ok().filter(|&k| k > 0).map(Metric::Top);
        match name {
            "accuracy" => Ok(Metric::Accuracy),
            "misclassification" => Ok(Metric::Misclassification),
            "logloss" => Ok(Metric::LogLoss),
            "precision" => Ok(Metric::Precision),
            "recall" => Ok(Metric::Recall),
            _ => name
                .strip_prefix("top-")
                .and_then(top)
                .ok_or_else(|| Error::options(format!("unknown metric '{name}'; expected one of {NAMES}"))),
        }
    }
}

/// Metrics separated by commas, each once; none for an empty text.
pub fn parse(text: &str) -> Result<Vec<Metric>> {
    let mut out: Vec<Metric> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let metric = name.parse()?;
        if !out.contains(&metric) {
            out.push(metric);
        }
    }
    Ok(out)
}

/// Form of the outputs as probabilities of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Logarithms of probabilities.
    Log,
    /// x of 1 / (1 + exp(-x)).
    Logit,
    Plain,
}

impl Scale {
    fn probability(self, x: f32) -> f64 {
        let x = f64::from(x);
        match self {
            Scale::Log => x.exp(),
            Scale::Logit => 1.0 / (1.0 + (-x).exp()),
            Scale::Plain => x,
        }
    }
}

/// Sums over rows from which all metrics follow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    weight: f64,
    log_loss: f64,
    /// Errors of each top-K.
    top: Vec<(usize, f64)>,
    /// For each class: its rows, the rows assigned to it, and the correctly assigned ones.
    classes: Vec<[f64; 3]>,
}

impl Sums {
    /// Adds the rows of `output` (row-major, in the shape of `targets`). Rows without targets do not count.
    pub fn add(&mut self, output: &[f32], targets: &GeneralMatrix, scale: Scale, metrics: &[Metric]) {
        let cols = targets.cols();
        let dense = targets.to_dense();
        self.classes.resize(cols.max(self.classes.len()), [0.0; 3]);
        if self.top.is_empty() {
            let wanted = metrics.iter().filter_map(|metric| match metric {
                Metric::Top(k) => Some((*k, 0.0)),
                _ => None,
            });
            self.top = wanted.collect();
        }
        for (i, y) in output.chunks_exact(cols.max(1)).enumerate() {
            let t = dense.row(i);
            let weight: f64 = t.iter().map(|&t| f64::from(t)).sum();
            if weight == 0.0 {
                continue;
            }
            let (class, said) = (first_largest(t), first_largest(y));
            self.weight += weight;
            self.classes[class][0] += weight;
            self.classes[said][1] += weight;
            if class == said {
                self.classes[class][2] += weight;
            }
            let of_target: f64 =
                y.iter().zip(t).map(|(&y, &t)| f64::from(t) / weight * scale.probability(y)).sum();
            self.log_loss -= weight * of_target.max(LEAST).ln();
            let above = y.iter().filter(|&&other| other > y[class]).count() as f64;
            let equal = y.iter().filter(|&&other| other == y[class]).count() as f64;
            for (k, errors) in &mut self.top {
                let places = *k as f64 - above;
                *errors += weight * if equal <= places { 0.0 } else { 1.0 - places.max(0.0) / equal };
            }
        }
    }

    /// The weight of all rows.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The value of a metric, which is not a number if there were no rows.
    pub fn value(&self, metric: Metric) -> f64 {
        let hits: f64 = self.classes.iter().map(|class| class[2]).sum();
        let mean = |of: usize| {
            let each = self.classes.iter().map(|class| class[2] / (class[of] + SMALL));
            each.sum::<f64>() / self.classes.len() as f64
        };
        match metric {
            Metric::Accuracy => hits / self.weight,
            Metric::Misclassification => 1.0 - hits / self.weight,
            Metric::LogLoss => self.log_loss / self.weight,
            Metric::Top(wanted) => {
                let found = self.top.iter().find(|(k, _)| *k == wanted);
                found.map_or(f64::NAN, |(_, errors)| errors / self.weight)
            }
            Metric::Precision => mean(1),
            Metric::Recall => mean(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_io::{SparseMatrix, SparseVector};

    /// Four rows of three classes, by hand; together and row by row.
    #[test]
    fn four_rows() {
        let y = [0.5, 0.3, 0.2, 0.4, 0.4, 0.2, 0.2, 0.3, 0.5, 0.1, 0.6, 0.3f32];
        let metrics =
            parse("logloss,top-1,top-2, accuracy,precision,recall,misclassification,top-1").unwrap();
        assert_eq!(metrics.len(), 7);
        let row = |class: u32| SparseVector::new(3, vec![(class as i32, 1.0)]).unwrap();
        let targets = |classes: &[u32]| {
            GeneralMatrix::from(SparseMatrix { rows: classes.iter().map(|&class| row(class)).collect() })
        };
        let mut at_once = Sums::default();
        at_once.add(&y, &targets(&[0, 1, 0, 2]), Scale::Plain, &metrics);
        let mut one_by_one = Sums::default();
        for (row, class) in y.chunks(3).zip([0, 1, 0, 2]) {
            let logs: Vec<f32> = row.iter().map(|y| y.ln()).collect();
            one_by_one.add(&logs, &targets(&[class]), Scale::Log, &metrics);
        }
        for sums in [at_once, one_by_one] {
            assert_eq!(sums.weight(), 4.0);
            for (name, expected) in [
                ("logloss", 1.10571215730),
                ("top-1", 2.5 / 4.0),
                ("top-2", 0.25),
                ("accuracy", 0.25),
                ("misclassification", 0.75),
                ("precision", 0.166666583),
                ("recall", 0.166666583),
            ] {
                let found = sums.value(name.parse().unwrap());
                assert!((found - expected).abs() < 1e-6, "{name}: {found}");
            }
        }
    }

    #[test]
    fn rows_count_by_their_weight() {
        let targets =
            GeneralMatrix::from(kaldi_io::DenseMatrix::from_rows(&[[3.0f32, 0.0], [0.0, 1.0], [0.0, 0.0]]));
        let mut sums = Sums::default();
        sums.add(&[0.9, 0.1, 0.9, 0.1, 0.5, 0.5], &targets, Scale::Plain, &[]);
        assert_eq!((sums.weight(), sums.value(Metric::Accuracy)), (4.0, 0.75));
        let log_loss = -(3.0 * 0.9f64.ln() + 0.1f64.ln()) / 4.0;
        assert!((sums.value(Metric::LogLoss) - log_loss).abs() < 1e-6);
    }

    #[test]
    fn unknown_metrics() {
        for name in ["acc", "top-0", "top-", "top-x"] {
            assert!(parse(name).unwrap_err().to_string().contains("expected one of accuracy"), "{name}");
        }
    }
}
