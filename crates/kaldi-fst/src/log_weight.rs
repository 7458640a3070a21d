//! The log semiring: weights are negated logarithms of probabilities, and plus adds probabilities.

use kaldi_io::{KaldiReader, KaldiWriter};

use crate::fst::{Arc, Fst, State};
use crate::ops::Semiring;
use crate::weight::{Algebra, Divisible, Weight};

/// Costs of alternatives that differ by at most this are equal, as far as sums over cycles are concerned.
const DELTA: f32 = 1e-7;

/// A cost of the log semiring. Its form in files is that of a cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogWeight(pub f32);

impl Algebra for LogWeight {
    fn one() -> LogWeight {
        LogWeight(0.0)
    }

    fn zero() -> LogWeight {
        LogWeight(f32::INFINITY)
    }

    fn times(&self, other: &LogWeight) -> LogWeight {
        LogWeight(self.0 + other.0)
    }

    fn plus(&self, other: &LogWeight) -> LogWeight {
        LogWeight(Semiring::Log.plus(self.0, other.0))
    }

    fn is_as_good_as(&self, other: &LogWeight) -> bool {
        self == other || (self.0 - other.0).abs() <= DELTA
    }
}

impl Weight for LogWeight {
    const ARC_TYPE: &'static str = "log";

    fn is_member(&self) -> bool {
        self.0.is_member()
    }

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<LogWeight> {
        f32::read(r).map(LogWeight)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        self.0.write(w)
    }

    fn parse(text: &str) -> Option<LogWeight> {
        <f32 as Weight>::parse(text).map(LogWeight)
    }

    fn push_text(&self, text: &mut String) {
        self.0.push_text(text);
    }
}

impl Divisible for LogWeight {
    type Bits = u32;

    fn divide(&self, divisor: &LogWeight) -> LogWeight {
        LogWeight(self.0 - divisor.0)
    }

    fn quantized(&self, delta: f32) -> LogWeight {
        LogWeight(self.0.quantized(delta))
    }

    fn bits(&self) -> u32 {
        self.0.to_bits()
    }

    fn is_near(&self, other: &LogWeight, delta: f32) -> bool {
        self.0.is_near(&other.0, delta)
    }
}

impl<W> Fst<W> {
    /// Exchanges the type of weights.
    fn with_weights<V>(self, change: impl Fn(W) -> V) -> Fst<V> {
        let arc = |arc: Arc<W>| Arc {
            ilabel: arc.ilabel,
            olabel: arc.olabel,
            weight: change(arc.weight),
            next: arc.next,
        };
        let state = |state: State<W>| State {
            final_weight: change(state.final_weight),
            arcs: state.arcs.into_iter().map(arc).collect(),
        };
        Fst { start: self.start, states: self.states.into_iter().map(state).collect() }
    }
}

impl Fst {
    /// The same costs, as those of the log semiring.
    pub fn into_log(self) -> Fst<LogWeight> {
        self.with_weights(LogWeight)
    }
}

impl Fst<LogWeight> {
    pub fn into_costs(self) -> Fst {
        self.with_weights(|weight| weight.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up() {
        let half = LogWeight(std::f32::consts::LN_2);
        assert!(half.plus(&half).is_as_good_as(&LogWeight::one()));
        assert!((half.times(&half).0 - 0.25_f32.ln().abs()).abs() < 1e-6);
        assert_eq!(half.plus(&LogWeight::zero()), half);
    }
}
