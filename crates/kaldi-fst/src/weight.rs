//! Weights of arcs and final states.

use std::fmt::Debug;

use kaldi_io::text::{FILE_PRECISION, push_g};
use kaldi_io::{KaldiReader, KaldiWriter};

use crate::store::raw::read_raw;

/// A semiring: the weights of alternatives and of what follows one another.
pub trait Algebra: Clone + PartialEq + Debug + Send + Sync + 'static {
    /// The neutral weight: an arc or a final state of cost zero.
    fn one() -> Self;

    /// The weight of an impossible path, and of states that are not final.
    fn zero() -> Self;

    fn is_zero(&self) -> bool {
        *self == Self::zero()
    }

    fn is_one(&self) -> bool {
        *self == Self::one()
    }

    /// The weight of one after the other.
    fn times(&self, other: &Self) -> Self;

    /// The weight of one or the other.
    fn plus(&self, other: &Self) -> Self;

    /// True if this is as good as another: of two such alternatives the first that is found stays. OpenFst allows sums of
    /// costs to differ by rounding.
    fn is_as_good_as(&self, other: &Self) -> bool {
        self == other
    }
}

/// The weights of FSTs that are stored: their forms in files.
pub trait Weight: Algebra {
    /// The name of arcs with this weight in the header of a file.
    const ARC_TYPE: &'static str;

    /// True if the text form has one column for both labels, which are then the same.
    const TEXT_IS_ACCEPTOR: bool = false;

    /// Returns the weight for a cost; `None` if files of the types `ngram` and `olabel_lookahead`, which have costs, do
    /// not hold such weights.
    fn from_cost(_cost: f32) -> Option<Self> {
        None
    }

    /// True if the value is a valid weight.
    fn is_member(&self) -> bool;

    /// Reads the binary form, without checking that it [makes sense](Self::is_member).
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self>;

    /// Writes the binary form.
    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()>;

    /// Returns the weight with this text form, or `None` for an invalid text.
    fn parse(text: &str) -> Option<Self>;

    /// Appends the text form.
    fn push_text(&self, text: &mut String);
}

/// A weight that leaves a residual when another is taken out of it, as determinization needs.
pub trait Divisible: Algebra {
    /// Equal for equal weights only.
    type Bits: Clone + Ord + std::hash::Hash;

    /// Returns the residual: the weight that gives this one when `divisor` is multiplied with it.
    fn divide(&self, divisor: &Self) -> Self;

    /// Rounds costs to the nearest multiples of `delta`. Infinite ones stay.
    fn quantized(&self, delta: f32) -> Self;

    fn bits(&self) -> Self::Bits;

    /// True if all costs of the two differ by at most `delta`.
    fn is_near(&self, other: &Self, delta: f32) -> bool;
}

impl Divisible for f32 {
    type Bits = u32;

    fn divide(&self, divisor: &f32) -> f32 {
        self - divisor
    }

    fn quantized(&self, delta: f32) -> f32 {
        quantize(*self, delta)
    }

    fn bits(&self) -> u32 {
        self.to_bits()
    }

    fn is_near(&self, other: &f32, delta: f32) -> bool {
        *self <= *other + delta && *other <= *self + delta
    }
}

/// The nearest multiple of `delta`; infinity stays.
pub fn quantize(cost: f32, delta: f32) -> f32 {
    if cost.is_finite() {
        // Adding 0 makes one of the two zeros.
        (cost / delta + 0.5).floor() * delta + 0.0
    } else {
        cost
    }
}

/// The tropical semiring: weights are costs, and plus is min.
impl Algebra for f32 {
    fn one() -> f32 {
        0.0
    }

    fn zero() -> f32 {
        f32::INFINITY
    }

    fn times(&self, other: &f32) -> f32 {
        self + other
    }

    fn plus(&self, other: &f32) -> f32 {
        self.min(*other)
    }
}

impl Weight for f32 {
    const ARC_TYPE: &'static str = "standard";

    fn from_cost(cost: f32) -> Option<f32> {
        Some(cost)
    }

    fn is_member(&self) -> bool {
        !self.is_nan() && *self != f32::NEG_INFINITY
    }

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<f32> {
        read_raw(r).map(f32::from_le_bytes)
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_bytes(&self.to_le_bytes())
    }

    fn parse(text: &str) -> Option<f32> {
        let weight = if text == "Infinity" { f32::INFINITY } else { text.parse().ok()? };
        weight.is_member().then_some(weight)
    }

    fn push_text(&self, text: &mut String) {
        match *self {
            f32::INFINITY => *text += "Infinity",
            cost => push_g(text, f64::from(cost), FILE_PRECISION),
        }
    }
}
