//! Samples of 16 bits that arrive in pieces of bytes.

/// Joins the pieces: the odd byte at the end of a piece belongs to the first sample of the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleBytes(Option<u8>);

impl SampleBytes {
    /// Returns the samples that end within a piece, with the values of wave files. `order` is that of their two bytes, such
    /// as `i16::from_le_bytes`.
    pub fn take(&mut self, mut bytes: &[u8], order: fn([u8; 2]) -> i16) -> Vec<f32> {
        let mut samples = Vec::with_capacity(bytes.len() / 2 + 1);
        if let (Some(first), Some((&second, rest))) = (self.0, bytes.split_first()) {
            samples.push(f32::from(order([first, second])));
            self.0 = None;
            bytes = rest;
        }
        let pairs = bytes.chunks_exact(2);
        if let [odd] = pairs.remainder() {
            self.0 = Some(*odd);
        }
        samples.extend(pairs.map(|pair| f32::from(order([pair[0], pair[1]]))));
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_length_have_the_samples_of_the_whole() {
        let whole: Vec<u8> = (0..=255).chain(0..=254).collect();
        let expected: Vec<f32> =
            (0..255).map(|i| f32::from(i16::from_le_bytes([whole[2 * i], whole[2 * i + 1]]))).collect();
        for length in 1..20 {
            let mut bytes = SampleBytes::default();
            let found: Vec<f32> = whole
                .chunks(length)
                .flat_map(|piece| {
                    let samples = bytes.take(piece, i16::from_le_bytes);
                    assert!(bytes.take(&[], i16::from_le_bytes).is_empty());
                    samples
                })
                .collect();
            assert_eq!(found, expected, "{length}");
            assert_eq!(bytes, SampleBytes(Some(254)));
        }
    }

    #[test]
    fn both_orders_of_bytes() {
        let bytes = [1, 0, 0, 128, 255, 255, 7];
        assert_eq!(SampleBytes::default().take(&bytes, i16::from_le_bytes), [1.0, -32768.0, -1.0]);
        assert_eq!(SampleBytes::default().take(&bytes, i16::from_be_bytes), [256.0, 128.0, -1.0]);
    }
}
