//! The settings of natural gradient that components have in config lines and files. [`crate::learning`] applies them.

use crate::component::{Key, Kind};
use crate::config::ConfigLine;
use crate::error::Result;
use kaldi_io::reader::KaldiReader;

/// Settings of one estimate of the Fisher matrix, as components have them in their files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NaturalGradientSettings {
    pub rank: usize,
    pub update_period: usize,
    pub num_samples_history: f32,
    /// Overrides `num_samples_history` if > 0.
    pub num_minibatches_history: f32,
    pub alpha: f32,
}

/// The default of the reference: rank 40, every minibatch.
impl Default for NaturalGradientSettings {
    fn default() -> Self {
        NaturalGradientSettings::with_rank(40, 1)
    }
}

impl NaturalGradientSettings {
    pub fn new(rank: usize, update_period: usize, num_samples_history: f32, alpha: f32) -> Self {
        NaturalGradientSettings {
            rank,
            update_period,
            num_samples_history,
            num_minibatches_history: 0.0,
            alpha,
        }
    }

    /// Makes settings with the default history and alpha.
    pub(crate) fn with_rank(rank: usize, update_period: usize) -> Self {
        NaturalGradientSettings::new(rank, update_period, 2000.0, 4.0)
    }

    /// Describes the defect of these settings, if there is one.
    pub(crate) fn defect(&self) -> Option<String> {
        let positive =
            |name: &str, ok: bool, value: f64| (!ok).then(|| format!("{name} {value} is out of range"));
        let history = self.num_minibatches_history;
        positive("rank", self.rank > 0, self.rank as f64)
            .or(positive("update-period", self.update_period > 0, self.update_period as f64))
            .or(positive(
                "num-samples-history",
                self.num_samples_history > 0.0 && self.num_samples_history < 1e6,
                self.num_samples_history as f64,
            ))
            .or(positive(
                "num-minibatches-history",
                history == 0.0 || (history > 1.0 && history < 1e6),
                history as f64,
            ))
            .or(positive("alpha", self.alpha >= 0.0, self.alpha as f64))
    }
}

/// The kind of natural gradient that a component asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preconditioning {
    /// Gradients are plain.
    None,
    /// Inputs and output derivatives of a linear part are both preconditioned.
    BothSides(Preconditioners),
    /// One-sided: preconditions the rows that add up to a gradient, or the gradient's own rows, with an estimate for
    /// each parameter.
    Rows {
        settings: NaturalGradientSettings,
        /// True if the estimate obeys a freeze by the training.
        freezes: bool,
    },
}

/// Preconditioners of the inputs (extended by 1 if there is a bias) and of the output derivatives. They share all
/// settings but the rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preconditioners {
    pub input: NaturalGradientSettings,
    pub output: NaturalGradientSettings,
}

pub(in crate::component) const NUM_SAMPLES_HISTORY: Key = Key {
    name: "num-samples-history",
    kind: Kind::Float,
    default: "2000",
    meaning: "natural gradient: rows after which a minibatch's weight has fallen to 1/e",
};
pub(in crate::component) const ALPHA: Key = Key {
    name: "alpha",
    kind: Kind::Float,
    default: "4",
    meaning: "natural gradient: how much of the identity is mixed in",
};

/// The keys of [`Preconditioners::from_config`].
pub(in crate::component) const KEYS: [Key; 5] = [
    Key {
        name: "rank-in",
        kind: Kind::Int,
        default: "min(20, (input-dim+1)/2)",
        meaning: "natural gradient: rank on the input side",
    },
    Key {
        name: "rank-out",
        kind: Kind::Int,
        default: "min(80, (output-dim+1)/2)",
        meaning: "natural gradient: rank on the output side",
    },
    Key {
        name: "update-period",
        kind: Kind::Int,
        default: "4",
        meaning: "natural gradient: minibatches between updates of the Fisher matrix",
    },
    NUM_SAMPLES_HISTORY,
    ALPHA,
];

impl Preconditioners {
    pub fn new(
        rank_in: usize,
        rank_out: usize,
        update_period: usize,
        num_samples_history: f32,
        alpha: f32,
    ) -> Self {
        let with_rank = |rank| NaturalGradientSettings::new(rank, update_period, num_samples_history, alpha);
        Preconditioners { input: with_rank(rank_in), output: with_rank(rank_out) }
    }

    /// Reads [`KEYS`].
    pub fn from_config(line: &mut ConfigLine, input_dim: usize, output_dim: usize) -> Result<Self> {
        let mut rank = |key: &str, default: usize| -> Result<usize> {
            match line.get_i32(key)? {
                Some(0) => Err(line.error(format!("{key} must not be 0; -1 means {default}"))),
                rank => Ok(rank.and_then(|rank| usize::try_from(rank).ok()).unwrap_or(default)),
            }
        };
        let rank_in = rank("rank-in", input_dim.div_ceil(2).min(20))?;
        let rank_out = rank("rank-out", output_dim.div_ceil(2).min(80))?;
        let period = line.get_dim("update-period")?.unwrap_or(4);
        let history = line.get_f32("num-samples-history")?.unwrap_or(2000.0);
        let alpha = line.get_f32("alpha")?.unwrap_or(4.0);
        let new = Preconditioners::new(rank_in, rank_out, period, history, alpha);
        match new.defect() {
            Some(defect) => Err(line.error(defect)),
            None => Ok(new),
        }
    }

    /// Fails if the settings that were read are unusable.
    pub fn check(self, r: &KaldiReader) -> Result<Self> {
        match self.defect() {
            Some(defect) => Err(r.error(defect).into()),
            None => Ok(self),
        }
    }

    fn defect(&self) -> Option<String> {
        self.input.defect().or(self.output.defect())
    }

    pub fn info(&self) -> String {
        format!(
            ", rank-in={}, rank-out={}, num-samples-history={}, update-period={}, alpha={}",
            self.input.rank,
            self.output.rank,
            crate::text::number(self.input.num_samples_history as f64),
            self.input.update_period,
            crate::text::number(self.input.alpha as f64)
        )
    }
}
