//! Histograms of parameters by the size of their elements.

use nnet3_core::nnet::Nnet;
use training_report::LOWEST;

const BINS: usize = 64;

/// Counts of elements w by round(log₂ |w|), from [`LOWEST`] on.
pub fn histogram(values: &[f32]) -> [u64; BINS] {
    let mut bins = [0; BINS];
    for &value in values {
        let size = f64::from(value.abs()).log2().round();
        let bin = (size - LOWEST as f64).max(0.0) as usize;
        bins[bin.min(BINS - 1)] += 1;
    }
    bins
}

/// The histogram of each parameter of a network, with the names of its component and part.
pub fn histograms(nnet: &Nnet) -> Vec<(String, [u64; BINS])> {
    let mut out = Vec::new();
    for id in nnet.updatable_components() {
        for parameter in nnet.component(id).parameters() {
            if !parameter.value.is_empty() {
                let name = format!("{}.{}", nnet.component_name(id), parameter.name);
                out.push((name, histogram(&parameter.value.to_vec())));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins() {
        let found = histogram(&[0.0, 1.0, -1.0, 2.0, 1e-30, 0.25, f32::MAX]);
        assert_eq!((found[0], found[48], found[49], found[46], found[63]), (2, 2, 1, 1, 1));
        assert_eq!(found.iter().sum::<u64>(), 7);
    }
}
