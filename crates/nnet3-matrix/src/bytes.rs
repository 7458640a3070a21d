//! Weights of eight bits: for each output a scale and numbers from -127 to 127, a quarter of the memory.

/// Outputs of a block, and terms of a group.
pub(crate) const BLOCK: usize = 16;
pub(crate) const GROUP: usize = 4;

/// A number that, added to one from -127 to 255, leaves the nearest whole number in its last eight bits.
pub(crate) const ROUNDER: f32 = 12_582_912.0;

/// The weights of a block of outputs for a group of terms: term by term for the first output, then for the next.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Line(pub [i8; BLOCK * GROUP]);

/// Weights, O × I; element (o, i) is the scale of output o times a whole number.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    /// Blocks of outputs, in each the groups of terms; zeros pad missing outputs and terms.
    pub lines: Vec<Line>,
    /// For each output of all blocks.
    pub scales: Vec<f32>,
    /// The sums of the numbers of each output.
    pub sums: Vec<i32>,
    pub groups: usize,
}

impl Bytes {
    /// Largest number of terms: sums of as many products stay below 2³¹.
    pub const MOST_TERMS: usize = (i32::MAX / (255 * 127)) as usize - GROUP;

    /// Rounds the rows of weights, each with `terms` elements that are finite.
    pub fn new(rows: &[f32], terms: usize) -> Bytes {
        assert!((1..=Bytes::MOST_TERMS).contains(&terms), "{terms} terms");
        let outputs = rows.len() / terms;
        let (blocks, groups) = (outputs.div_ceil(BLOCK), terms.div_ceil(GROUP));
        let mut bytes = Bytes {
            lines: vec![Line([0; BLOCK * GROUP]); blocks * groups],
            scales: vec![0.0; blocks * BLOCK],
            sums: vec![0; blocks * BLOCK],
            groups,
        };
        for (output, row) in rows.chunks_exact(terms).enumerate() {
            let (scale, numbers) = rounded(row);
            bytes.scales[output] = scale;
            let lines = &mut bytes.lines[output / BLOCK * groups..][..groups];
            for (term, number) in numbers.enumerate() {
                lines[term / GROUP].0[output % BLOCK * GROUP + term % GROUP] = number;
                bytes.sums[output] += i32::from(number);
            }
        }
        bytes
    }
}

/// Returns a scale, and the integers from -127 to 127 nearest to the elements divided by it. The scale has 16 bits of
/// mantissa. So numbers times scales are exact, and rounding them again gives the same numbers.
pub fn rounded(row: &[f32]) -> (f32, impl Iterator<Item = i8>) {
    let most = row.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    let scale = f32::from_bits(((most / 127.0).to_bits() + 0xff) & !0xff);
    let inverse = if scale >= f32::MIN_POSITIVE { 1.0 / scale } else { 0.0 };
    (scale, row.iter().map(move |x| (x * inverse + ROUNDER).to_bits() as i8))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scale as [`rounded`] makes it.
    fn short(scale: f32) -> f32 {
        f32::from_bits((scale.to_bits() + 0xff) & !0xff)
    }

    #[test]
    fn numbers_times_scales_are_the_nearest() {
        let rows = [0.503, -1.0, 0.003, 0.0, 3e-39, 0.0, 3e-39, -2.0, 1.999];
        let bytes = Bytes::new(&rows, 3);
        assert_eq!((bytes.groups, bytes.lines.len(), bytes.scales.len()), (1, 1, 16));
        let numbers = |output: usize| bytes.lines[0].0[4 * output..][..4].to_vec();
        assert_eq!(numbers(0), [64, -127, 0, 0]);
        assert_eq!(numbers(1), [0; 4]);
        assert_eq!(numbers(2), [0, -127, 127, 0]);
        assert_eq!(bytes.sums[..3], [-63, 0, 0]);
        assert_eq!(bytes.scales[..3], [short(1.0 / 127.0), short(3e-39 / 127.0), short(2.0 / 127.0)]);
    }

    /// Rounding a rounded row gives the same numbers.
    #[test]
    fn rounding_twice_changes_nothing() {
        let row: Vec<f32> = (0..1000).map(|i| ((i * 7919 % 1000) as f32 - 500.0) * 1.7e-3).collect();
        let (scale, numbers) = rounded(&row);
        let numbers: Vec<i8> = numbers.collect();
        let again: Vec<f32> = numbers.iter().map(|&n| f32::from(n) * scale).collect();
        let (second_scale, second) = rounded(&again);
        assert_eq!((second_scale, second.collect::<Vec<_>>()), (scale, numbers));
    }
}
