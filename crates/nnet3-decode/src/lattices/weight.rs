//! The weights of lattices: two costs, and in compact lattices a list of transition-ids (`lat/lattice-weight.h`).

use std::cmp::Ordering;

use kaldi_fst::{Algebra, Divisible, Weight, quantize};
use kaldi_io::text::{LOG_PRECISION, parse_real, push_g};
use kaldi_io::{KaldiReader, KaldiWriter};

/// Sums of costs that differ by at most this are equal in determinization and minimization.
pub const DELTA: f32 = 1.0 / 1024.0;

/// Sums of costs that differ by no more may be equal but for rounding.
const ROUNDING: f32 = 1e-6;

/// A graph cost (with the language model) and an acoustic cost. Comparisons use their sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeWeight {
    pub graph: f32,
    pub acoustic: f32,
}

impl LatticeWeight {
    pub const ONE: LatticeWeight = LatticeWeight { graph: 0.0, acoustic: 0.0 };
    pub const ZERO: LatticeWeight = LatticeWeight { graph: f32::INFINITY, acoustic: f32::INFINITY };

    pub fn new(graph: f32, acoustic: f32) -> LatticeWeight {
        LatticeWeight { graph, acoustic }
    }

    /// The sum of both costs, which is infinite for [zero](Self::ZERO).
    pub fn cost(&self) -> f64 {
        f64::from(self.graph) + f64::from(self.acoustic)
    }

    /// The better weight is the greater one: that with the smaller sum, or else the smaller graph cost.
    pub fn compare(&self, other: &LatticeWeight) -> Ordering {
        let sum = |w: &LatticeWeight| w.graph + w.acoustic;
        let better = |a: f32, b: f32| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
        better(sum(self), sum(other))
            .then_with(|| better(self.graph, other.graph))
            .then_with(|| better(self.acoustic, other.acoustic))
    }

    /// True if both sums of costs differ by at most `delta`.
    pub(crate) fn approx_equal(&self, other: &LatticeWeight, delta: f32) -> bool {
        self == other || ((self.graph + self.acoustic) - (other.graph + other.acoustic)).abs() <= delta
    }
}

fn push_cost(text: &mut String, cost: f32) {
    match cost {
        f32::INFINITY => *text += "Infinity",
        f32::NEG_INFINITY => *text += "-Infinity",
        cost if cost.is_nan() => *text += "BadNumber",
        cost => push_g(text, f64::from(cost), LOG_PRECISION),
    }
}

fn parse_cost(text: &str) -> Option<f32> {
    match text {
        "Infinity" => Some(f32::INFINITY),
        // (NaN and minus infinity are not weights.)
        _ => parse_real(text).map(|cost| cost as f32),
    }
}

impl Algebra for LatticeWeight {
    fn one() -> Self {
        Self::ONE
    }

    fn zero() -> Self {
        Self::ZERO
    }

    fn times(&self, other: &Self) -> Self {
        LatticeWeight { graph: self.graph + other.graph, acoustic: self.acoustic + other.acoustic }
    }

    fn plus(&self, other: &Self) -> Self {
        if self.compare(other).is_ge() { *self } else { *other }
    }

    fn is_as_good_as(&self, other: &Self) -> bool {
        self.approx_equal(other, ROUNDING)
    }
}

impl Weight for LatticeWeight {
    const ARC_TYPE: &'static str = "lattice4";

    /// True if both costs are finite, or both infinite.
    fn is_member(&self) -> bool {
        (self.graph.is_finite() && self.acoustic.is_finite()) || *self == Self::ZERO
    }

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        Ok(LatticeWeight { graph: f32::read(r)?, acoustic: f32::read(r)? })
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        self.graph.write(w)?;
        self.acoustic.write(w)
    }

    fn parse(text: &str) -> Option<Self> {
        let (graph, acoustic) = text.split_once(',')?;
        let weight = LatticeWeight { graph: parse_cost(graph)?, acoustic: parse_cost(acoustic)? };
        weight.is_member().then_some(weight)
    }

    fn push_text(&self, text: &mut String) {
        push_cost(text, self.graph);
        text.push(',');
        push_cost(text, self.acoustic);
    }
}

impl Divisible for LatticeWeight {
    type Bits = [u32; 2];

    /// Zero if this is zero or there is no such weight.
    fn divide(&self, divisor: &LatticeWeight) -> LatticeWeight {
        let quotient = LatticeWeight::new(self.graph - divisor.graph, self.acoustic - divisor.acoustic);
        if quotient.graph.is_finite() && quotient.acoustic.is_finite() { quotient } else { Self::ZERO }
    }

    fn quantized(&self, delta: f32) -> LatticeWeight {
        LatticeWeight::new(quantize(self.graph, delta), quantize(self.acoustic, delta))
    }

    fn bits(&self) -> [u32; 2] {
        [self.graph.to_bits(), self.acoustic.to_bits()]
    }

    fn is_near(&self, other: &LatticeWeight, delta: f32) -> bool {
        self.graph.is_near(&other.graph, delta) && self.acoustic.is_near(&other.acoustic, delta)
    }
}

/// Costs, and the transition-ids of the frames that an arc or a final state stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactLatticeWeight {
    pub weight: LatticeWeight,
    pub string: Vec<i32>,
}

impl CompactLatticeWeight {
    pub fn new(weight: LatticeWeight, string: Vec<i32>) -> CompactLatticeWeight {
        CompactLatticeWeight { weight, string }
    }

    /// Compares as [`LatticeWeight::compare`]; for equal costs the shorter list is better, then the one that is larger
    /// at the first difference.
    pub fn compare(&self, other: &CompactLatticeWeight) -> Ordering {
        self.weight.compare(&other.weight).then_with(|| compare_strings(&self.string, &other.string))
    }
}

/// Orders strings; the better one is greater: the shorter, or else the one that is larger at the first difference.
pub(crate) fn compare_strings(a: &[i32], b: &[i32]) -> Ordering {
    b.len().cmp(&a.len()).then_with(|| a.cmp(b))
}

/// The binary form of a list of transition-ids: their number, and they.
pub(crate) fn read_string(r: &mut KaldiReader) -> kaldi_io::Result<Vec<i32>> {
    let mut length = [0; 4];
    r.read_exact(&mut length)?;
    let count = r.check_count(i32::from_le_bytes(length), "transition-ids")?;
    let string: Vec<[u8; 4]> = r.read_growing(count, |r, out| r.read_exact(out.as_flattened_mut()))?;
    Ok(string.into_iter().map(i32::from_le_bytes).collect())
}

impl Algebra for CompactLatticeWeight {
    fn one() -> Self {
        Self::new(LatticeWeight::ONE, Vec::new())
    }

    fn zero() -> Self {
        Self::new(LatticeWeight::ZERO, Vec::new())
    }

    fn is_zero(&self) -> bool {
        self.weight == LatticeWeight::ZERO
    }

    fn is_one(&self) -> bool {
        self.weight == LatticeWeight::ONE && self.string.is_empty()
    }

    fn times(&self, other: &Self) -> Self {
        let weight = self.weight.times(&other.weight);
        if weight == LatticeWeight::ZERO {
            return Self::zero();
        }
        Self::new(weight, [&self.string[..], &other.string].concat())
    }

    fn plus(&self, other: &Self) -> Self {
        if self.compare(other).is_ge() { self.clone() } else { other.clone() }
    }
}

impl Weight for CompactLatticeWeight {
    const ARC_TYPE: &'static str = "compactlattice44";
    const TEXT_IS_ACCEPTOR: bool = true;

    fn is_member(&self) -> bool {
        let labels = self.string.iter().all(|&label| label >= 0);
        self.weight.is_member() && labels && (self.string.is_empty() || !self.is_zero())
    }

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<Self> {
        let weight = LatticeWeight::read(r)?;
        Ok(Self::new(weight, read_string(r)?))
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        self.weight.write(w)?;
        w.write_bytes(&(self.string.len() as i32).to_le_bytes())?;
        self.string.iter().try_for_each(|id| w.write_bytes(&id.to_le_bytes()))
    }

    fn parse(text: &str) -> Option<Self> {
        let (costs, string) = text.rsplit_once(',')?;
        let weight = LatticeWeight::parse(costs)?;
        let ids = string.split('_').map(|id| id.parse().ok());
        let string = if string.is_empty() { Vec::new() } else { ids.collect::<Option<_>>()? };
        let weight = Self::new(weight, string);
        weight.is_member().then_some(weight)
    }

    fn push_text(&self, text: &mut String) {
        self.weight.push_text(text);
        text.push(',');
        for (i, id) in self.string.iter().enumerate() {
            if i > 0 {
                text.push('_');
            }
            text.push_str(&id.to_string());
        }
    }
}
