//! The weight of indices: the cost of an occurrence (negated logarithm of its probability), and when it begins and ends (`kws/kaldi-kws.h`).

use std::cmp::Ordering;

use kaldi_fst::{Algebra, Divisible, Weight, quantize};
use kaldi_io::text::{FILE_PRECISION, push_g};
use kaldi_io::{KaldiReader, KaldiWriter};

/// Cost and times in frames. Of two alternatives the cheaper one counts, then the earlier one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitWeight {
    pub cost: f32,
    pub begin: f32,
    pub end: f32,
}

impl HitWeight {
    pub fn new(cost: f32, begin: f32, end: f32) -> HitWeight {
        HitWeight { cost, begin, end }
    }

    fn parts(&self) -> [f32; 3] {
        [self.cost, self.begin, self.end]
    }

    fn from_parts([cost, begin, end]: [f32; 3]) -> HitWeight {
        HitWeight { cost, begin, end }
    }

    /// The order of weights: by cost, then by times.
    pub fn order(&self, other: &HitWeight) -> Ordering {
        let pairs = self.parts().into_iter().zip(other.parts());
        pairs.map(|(a, b)| a.total_cmp(&b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl Algebra for HitWeight {
    fn one() -> HitWeight {
        HitWeight::new(0.0, 0.0, 0.0)
    }

    fn zero() -> HitWeight {
        HitWeight::from_parts([f32::INFINITY; 3])
    }

    fn times(&self, other: &HitWeight) -> HitWeight {
        HitWeight::new(self.cost + other.cost, self.begin + other.begin, self.end + other.end)
    }

    fn plus(&self, other: &HitWeight) -> HitWeight {
        if self.order(other).is_le() { *self } else { *other }
    }
}

impl Weight for HitWeight {
    const ARC_TYPE: &'static str = "tropical_LT_tropical_LT_tropical";

    fn is_member(&self) -> bool {
        self.parts().iter().all(|part| part.is_finite()) || self.is_zero()
    }

    fn read(r: &mut KaldiReader) -> kaldi_io::Result<HitWeight> {
        Ok(HitWeight::new(f32::read(r)?, f32::read(r)?, f32::read(r)?))
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        self.parts().iter().try_for_each(|part| part.write(w))
    }

    fn parse(text: &str) -> Option<HitWeight> {
        let mut parts = text.split(',').map(<f32 as Weight>::parse);
        let weight = HitWeight::new(parts.next()??, parts.next()??, parts.next()??);
        (parts.next().is_none() && weight.is_member()).then_some(weight)
    }

    fn push_text(&self, text: &mut String) {
        for (i, part) in self.parts().into_iter().enumerate() {
            if i > 0 {
                text.push(',');
            }
            match part {
                f32::INFINITY => *text += "Infinity",
                finite => push_g(text, f64::from(finite), FILE_PRECISION),
            }
        }
    }
}

impl Divisible for HitWeight {
    type Bits = [u32; 3];

    fn divide(&self, divisor: &HitWeight) -> HitWeight {
        HitWeight::new(self.cost - divisor.cost, self.begin - divisor.begin, self.end - divisor.end)
    }

    fn quantized(&self, delta: f32) -> HitWeight {
        HitWeight::from_parts(self.parts().map(|part| quantize(part, delta)))
    }

    fn bits(&self) -> [u32; 3] {
        self.parts().map(f32::to_bits)
    }

    fn is_near(&self, other: &HitWeight, delta: f32) -> bool {
        self.parts().into_iter().zip(other.parts()).all(|(a, b)| (a - b).abs() <= delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text() {
        for (text, weight) in [
            ("0.5,3,7", Some(HitWeight::new(0.5, 3.0, 7.0))),
            ("Infinity,Infinity,Infinity", Some(HitWeight::zero())),
            ("-1,0,0", Some(HitWeight::new(-1.0, 0.0, 0.0))),
            ("0.5,3", None),
            ("0.5,3,7,1", None),
            ("Infinity,0,0", None),
            ("nan,0,0", None),
        ] {
            assert_eq!(HitWeight::parse(text), weight, "{text}");
            if let Some(weight) = weight {
                let mut again = String::new();
                weight.push_text(&mut again);
                assert_eq!(again, text);
            }
        }
    }

    #[test]
    fn alternatives() {
        let (cheap, early) = (HitWeight::new(1.0, 9.0, 9.0), HitWeight::new(2.0, 0.0, 9.0));
        assert_eq!(cheap.plus(&early), cheap);
        assert_eq!(early.plus(&HitWeight::new(2.0, 0.0, 3.0)), HitWeight::new(2.0, 0.0, 3.0));
        assert_eq!(HitWeight::zero().plus(&cheap), cheap);
        assert_eq!(cheap.times(&early), HitWeight::new(3.0, 9.0, 18.0));
    }
}
