//! Statistics of numbers, with their squared distances from the mean as the loss.

use crate::clusterable::Clusterable;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, Result};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scalar {
    sum: f32,
    sum_of_squares: f32,
    count: f32,
}

impl Scalar {
    /// The statistics of one number.
    pub fn new(x: f32) -> Scalar {
        Scalar { sum: x, sum_of_squares: x * x, count: 1.0 }
    }

    pub fn mean(&self) -> f32 {
        if self.count == 0.0 { 0.0 } else { self.sum / self.count }
    }
}

impl Clusterable for Scalar {
    fn objf(&self) -> f32 {
        if self.count == 0.0 {
            return 0.0;
        }
        -(self.sum_of_squares - self.sum * self.sum / self.count)
    }
    fn normalizer(&self) -> f32 {
        self.count
    }
    fn set_zero(&mut self) {
        *self = Scalar::default();
    }
    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.count += other.count;
    }
    fn sub(&mut self, other: &Self) {
        self.sum -= other.sum;
        self.sum_of_squares -= other.sum_of_squares;
        self.count -= other.count;
    }
    fn fits(&self, _: &Self) -> bool {
        true
    }
}

impl KaldiObject for Scalar {
    fn read(r: &mut KaldiReader) -> Result<Scalar> {
        r.expect_token("SCL")?;
        let (sum, sum_of_squares, count) = (r.read_f32()?, r.read_f32()?, r.read_f32()?);
        if count.is_nan() || count < 0.0 {
            return Err(r.error(format!("invalid count {count}")));
        }
        Ok(Scalar { sum, sum_of_squares, count })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("SCL")?;
        w.write_f32(self.sum)?;
        w.write_f32(self.sum_of_squares)?;
        w.write_f32(self.count)
    }
}
