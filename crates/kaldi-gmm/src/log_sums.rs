//! Logarithms of sums of exponentials.

/// Terms that are below the largest by more than this, −ln of the precision of `f32`, do not count in a sum of exponentials.
pub const LEAST_TERM: f32 = 15.942_385;

/// The logarithm of the sum of the exponentials of values; those below the largest by more than `prune` are left out.
pub(crate) fn log_sum_exp(values: &[f32], prune: f32) -> f32 {
    let max = largest(values);
    let terms = values.iter().filter(|value| **value >= max - prune);
    let sum: f64 = terms.map(|value| f64::from((value - max).exp())).sum();
    (f64::from(max) + sum.ln()) as f32
}

/// The largest value; −∞ if there are none. NaN does not count.
pub(crate) fn largest(values: &[f32]) -> f32 {
    // Several maxima at a time: each comparison waits for the one before.
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (eights, rest) = values.as_chunks::<8>();
    let mut lanes = [f32::NEG_INFINITY; 8];
    for eight in eights {
        lanes.iter_mut().zip(eight).for_each(|(lane, &value)| *lane = larger(*lane, value));
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, &b| larger(a, b))
}
