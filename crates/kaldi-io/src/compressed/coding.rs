//! The arithmetic of compressed matrices. Every rounding is as in Kaldi: single precision unless written otherwise.

use std::slice::ChunksExactMut;

use crate::error::{IoError, Result};
use crate::matrix::DenseMatrix;

/// The value of code 0, and the range from it to the value of the largest code.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Scale {
    pub min: f32,
    pub range: f32,
}

/// Codes of a column's minimum, first and third quartile, and maximum; strictly increasing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Quantiles(pub [u16; 4]);

impl Scale {
    /// The range of the values, made positive if they are all the same.
    pub fn of(values: &[f32]) -> Result<Self> {
        if let Some(bad) = values.iter().find(|v| !v.is_finite()) {
            return Err(IoError::Value(format!("a matrix that contains {bad} cannot be compressed")));
        }
        let min = values.iter().copied().fold(f32::INFINITY, f32::min);
        let mut max = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if max == min {
            max = (f64::from(min) + (1.0 + f64::from(min).abs())) as f32;
        }
        let range = max - min;
        if !range.is_finite() {
            return Err(IoError::Value(format!(
                "the range of values from {min} to {max} is too large to be compressed"
            )));
        }
        Ok(Scale { min, range })
    }

    fn fraction(self, value: f32) -> f32 {
        ((value - self.min) / self.range).clamp(0.0, 1.0)
    }

    pub(crate) fn code16(self, value: f32) -> u16 {
        (f64::from(self.fraction(value) * 65535.0) + 0.499) as u16
    }

    pub(crate) fn code8(self, value: f32) -> u8 {
        (f64::from(self.fraction(value) * 255.0) + 0.499) as u8
    }

    /// Returns the value of a quantile's code.
    fn quantile(self, code: u16) -> f32 {
        self.min + self.range * 1.525_902_2e-5_f32 * f32::from(code)
    }

    pub(crate) fn decode16(self, codes: &[u16], out: &mut [f32]) {
        let increment = (f64::from(self.range) * (1.0 / 65535.0)) as f32;
        out.iter_mut().zip(codes).for_each(|(out, &code)| *out = self.min + f32::from(code) * increment);
    }

    pub(crate) fn decode8(self, codes: &[u8], out: &mut [f32]) {
        let increment = (f64::from(self.range) * (1.0 / 255.0)) as f32;
        out.iter_mut().zip(codes).for_each(|(out, &code)| *out = self.min + f32::from(code) * increment);
    }
}

/// A column's quantiles as numbers.
struct Decoded {
    p0: f32,
    p25: f32,
    p75: f32,
    p100: f32,
}

impl Decoded {
    fn new(scale: Scale, quantiles: Quantiles) -> Self {
        let [p0, p25, p75, p100] = quantiles.0.map(|code| scale.quantile(code));
        Decoded { p0, p25, p75, p100 }
    }

    /// 0 … 64 up to the first quartile, 64 … 192 up to the third, 192 … 255 above.
    fn code(&self, value: f32) -> u8 {
        let step =
            |from: f32, to: f32, steps: f32| (f64::from((value - from) / (to - from) * steps) + 0.5) as i32;
        let code = if value < self.p25 {
            step(self.p0, self.p25, 64.0).clamp(0, 64)
        } else if value < self.p75 {
            64_i32.saturating_add(step(self.p25, self.p75, 128.0)).clamp(64, 192)
        } else {
            192_i32.saturating_add(step(self.p75, self.p100, 63.0)).clamp(192, 255)
        };
        code as u8
    }

    /// The stretches between the quantiles, as [`PLACES`] counts them.
    fn stretches(&self) -> Stretches {
        let stretch = |from: f32, to: f32, fraction: f64| Stretch {
            from: f64::from(from),
            length: to - from,
            fraction,
        };
        let last = stretch(self.p75, self.p100, 1.0 / 63.0);
        [stretch(self.p0, self.p25, 1.0 / 64.0), stretch(self.p25, self.p75, 1.0 / 128.0), last, last]
    }
}

/// Values between two quantiles, at equal distances.
#[derive(Clone, Copy)]
struct Stretch {
    from: f64,
    length: f32,
    fraction: f64,
}

/// Three stretches. The last one is stored twice, because two bits choose among four entries.
type Stretches = [Stretch; 4];

/// The position of a code: its stretch, and the number of steps after the stretch's beginning.
#[derive(Clone, Copy)]
struct Place {
    stretch: u8,
    step: f32,
}

/// The stretches have codes 0 … 64, 65 … 192, 193 … 255.
static PLACES: [Place; 256] = places();

const fn places() -> [Place; 256] {
    let mut places = [Place { stretch: 0, step: 0.0 }; 256];
    let mut code = 0;
    while code < places.len() {
        let (stretch, first) = match code {
            0..=64 => (0, 0),
            65..=192 => (1, 64),
            _ => (2, 192),
        };
        places[code] = Place { stretch, step: (code - first) as f32 };
        code += 1;
    }
    places
}

/// Returns the value of a column's code. There are no branches, because codes of neighbouring frames often lie in
/// different stretches.
fn value(stretches: &Stretches, code: u8) -> f32 {
    let place = PLACES[usize::from(code)];
    let stretch = &stretches[usize::from(place.stretch & 3)];
    (stretch.from + f64::from(stretch.length * place.step) * stretch.fraction) as f32
}

/// Quantile codes of a column, which is reordered. They are kept apart by at least one.
fn quantiles(scale: Scale, column: &mut [f32]) -> Quantiles {
    let n = column.len();
    let positions = if n >= 5 { [0, n / 4, 3 * (n / 4), n - 1] } else { [0, 1, 2, 3] };
    if n >= 5 {
        // Puts these positions in order, which is faster than sorting.
        let [_, quarter, three_quarters, _] = positions;
        column.select_nth_unstable_by(three_quarters, f32::total_cmp);
        column[..three_quarters].select_nth_unstable_by(quarter, f32::total_cmp);
        column[..quarter].select_nth_unstable_by(0, f32::total_cmp);
        let last = n - 1 - three_quarters - 1;
        column[three_quarters + 1..].select_nth_unstable_by(last, f32::total_cmp);
    } else {
        column.sort_unstable_by(f32::total_cmp);
    }
    let code = |which: usize| column.get(positions[which]).map(|&v| scale.code16(v));
    let h0 = code(0).unwrap_or(0).min(65532);
    let h1 = code(1).map_or(h0 + 1, |c| c.max(h0 + 1).min(65533));
    let h2 = code(2).map_or(h1 + 1, |c| c.max(h1 + 1).min(65534));
    let h3 = code(3).map_or(h2 + 1, |c| c.max(h2 + 1));
    Quantiles([h0, h1, h2, h3])
}

pub(super) fn encode_columns(scale: Scale, m: &DenseMatrix<f32>) -> (Vec<Quantiles>, Vec<u8>) {
    let mut all_quantiles = Vec::with_capacity(m.cols);
    let mut codes = Vec::with_capacity(m.data.len());
    let mut column = Vec::with_capacity(m.rows);
    for j in 0..m.cols {
        let values = || m.data[j..].iter().step_by(m.cols).copied();
        column.clear();
        column.extend(values());
        let quantiles = quantiles(scale, &mut column);
        let decoded = Decoded::new(scale, quantiles);
        all_quantiles.push(quantiles);
        codes.extend(values().map(|v| decoded.code(v)));
    }
    (all_quantiles, codes)
}

/// Sets `out`, row after row, to the values of `rows` codes of each column.
pub(super) fn decode_columns(
    scale: Scale,
    rows: usize,
    quantiles: &[Quantiles],
    codes: &[u8],
    out: &mut [f32],
) {
    /// If there are more rows than this, a table of all 256 values of a column is cheaper.
    const TABLE_ROWS: usize = 512;
    let cols = quantiles.len();
    if rows == 0 {
        return;
    }
    let stretches = |column: usize| Decoded::new(scale, quantiles[column]).stretches();
    let together = if rows > TABLE_ROWS { 0 } else { cols - cols % 4 };
    let (fours, rest) = codes.split_at(together * rows);
    for (j, columns) in (0..).step_by(4).zip(fours.chunks_exact(4 * rows)) {
        decode_four(j, columns, std::array::from_fn(|k| stretches(j + k)), out.chunks_exact_mut(cols));
    }
    for (j, column) in (together..).zip(rest.chunks_exact(rows)) {
        let stretches = stretches(j);
        let lines = out.chunks_exact_mut(cols).zip(column);
        if rows > TABLE_ROWS {
            let table: [f32; 256] = std::array::from_fn(|code| value(&stretches, code as u8));
            lines.for_each(|(line, &code)| line[j] = table[usize::from(code)]);
        } else {
            lines.for_each(|(line, &code)| line[j] = value(&stretches, code));
        }
    }
}

/// Decodes four neighbouring columns at once, from `first` on.
fn decode_four(first: usize, columns: &[u8], stretches: [Stretches; 4], lines: ChunksExactMut<'_, f32>) {
    let (ab, cd) = columns.split_at(columns.len() / 2);
    let ((a, b), (c, d)) = (ab.split_at(ab.len() / 2), cd.split_at(cd.len() / 2));
    let [of_a, of_b, of_c, of_d] = &stretches;
    for (line, ((&a, &b), (&c, &d))) in lines.zip(a.iter().zip(b).zip(c.iter().zip(d))) {
        let values = [value(of_a, a), value(of_b, b), value(of_c, c), value(of_d, d)];
        line[first..first + 4].copy_from_slice(&values);
    }
}
