//! Number formats of info texts (`nnet-parse` of the reference).

use kaldi_io::text::format_g;
use kaldi_numerics::svd::values::singular_values;
use nnet3_matrix::Matrix;

/// A number as `%g` with 6 digits prints it, which is the default of C++ streams.
pub fn number(value: f64) -> String {
    format_g(value, 6)
}

/// Short form for lists: no decimals from 10 to 10000, one from 0.995, two from 0.01, else one significant digit.
pub(crate) fn succinct(value: f32) -> String {
    let size = value.abs();
    if (10.0..10000.0).contains(&size) {
        format!("{value:.0}")
    } else if size >= 0.995 {
        format!("{value:.1}")
    } else if size >= 0.01 {
        format!("{value:.2}")
    } else {
        format_g(value as f64, 1)
    }
}

/// Lists up to 9 values; for more, gives percentiles, mean and standard deviation.
pub fn summarize(values: &[f32]) -> String {
    if values.len() < 10 {
        let items: String = values.iter().map(|&v| succinct(v) + " ").collect();
        return format!("[ {items}]");
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let last = sorted.len() - 1;
    let mut out = String::from("[percentiles(0,1,2,5 10,20,50,80,90 95,98,99,100)=(");
    for (i, percent) in [0, 1, 2, 5, 10, 20, 50, 80, 90, 95, 98, 99, 100].into_iter().enumerate() {
        if i > 0 {
            out.push(if i == 4 || i == 9 { ' ' } else { ',' });
        }
        out.push_str(&succinct(sorted[last * percent / 100]));
    }
    let (mean, stddev) = mean_stddev(values);
    out + &format!("), mean={}, stddev={}]", format_g(mean, 3), format_g(stddev, 3))
}

/// Statistics are printed from `f32` arithmetic, as in the reference: its rounding shows in the standard deviation of
/// nearly equal values.
fn mean_stddev(values: &[f32]) -> (f64, f64) {
    let n = values.len() as f32;
    let mean = values.iter().map(|&v| v as f64).sum::<f64>() as f32 / n;
    let variance = sum_of_squares(values) / n - mean * mean;
    // Rounding may make the variance of equal values negative.
    (mean as f64, if variance < 0.0 { 0.0 } else { variance.sqrt() as f64 })
}

fn rms(values: &[f32]) -> f64 {
    (sum_of_squares(values) / values.len() as f32).sqrt() as f64
}

fn sum_of_squares(values: &[f32]) -> f32 {
    values.iter().map(|&v| v as f64 * v as f64).sum::<f64>() as f32
}

/// `, NAME-{mean,stddev}=m,s`.
pub fn mean_stats(name: &str, values: &[f32]) -> String {
    let (mean, stddev) = mean_stddev(values);
    format!(", {name}-{{mean,stddev}}={},{}", format_g(mean, 4), format_g(stddev, 4))
}

/// `, NAME-rms=r`.
pub fn rms_stats(name: &str, values: &[f32]) -> String {
    format!(", {name}-rms={}", format_g(rms(values), 4))
}

/// Writes `, NAME-rms=r` with summaries of row norms and column norms, and of singular values if `singular_values`.
pub fn matrix_stats(name: &str, matrix: &Matrix, singular_values: bool) -> String {
    let (rows, cols, data) = (matrix.rows(), matrix.cols(), matrix.to_vec());
    let norm = |squares: f64| (squares as f32).sqrt();
    let square = |r: usize, c: usize| (data[r * cols + c] as f64).powi(2);
    let row_norms: Vec<f32> = (0..rows).map(|r| norm((0..cols).map(|c| square(r, c)).sum())).collect();
    let col_norms: Vec<f32> = (0..cols).map(|c| norm((0..rows).map(|r| square(r, c)).sum())).collect();
    let mut out = rms_stats(name, &data);
    out += &format!(", {name}-row-norms={}", summarize(&row_norms));
    out += &format!(", {name}-col-norms={}", summarize(&col_norms));
    if let Some(values) = singular_values.then(|| singular_values_of(rows, cols, &data)).flatten() {
        out += &format!(", {name}-singular-values={}", summarize(&values));
    }
    out
}

/// Descending; `None` of an empty matrix and of one with numbers that are not finite.
fn singular_values_of(rows: usize, cols: usize, data: &[f32]) -> Option<Vec<f32>> {
    let matrix = nalgebra::DMatrix::from_row_iterator(rows, cols, data.iter().map(|&v| v as f64));
    Some(singular_values(matrix)?.into_iter().map(|v| v as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn succinct_forms() {
        let cases = [
            (12.6, "13"),
            (1.26, "1.3"),
            (0.996, "1.0"),
            (0.994, "0.99"),
            (0.0123, "0.01"),
            (0.00123, "0.001"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(succinct(value), text);
        }
    }

    #[test]
    fn equal_values_do_not_vary() {
        // In `f32` the mean square of these is less than the square of the mean.
        for value in [0.1, 0.3, 0.7, 1.1, 1.3] {
            for n in 10..60 {
                let (_, stddev) = mean_stddev(&vec![value; n]);
                assert!((0.0..1e-3).contains(&stddev), "{n} x {value}: {stddev}");
            }
        }
        assert!(mean_stddev(&[f32::NAN; 10]).1.is_nan());
    }

    #[test]
    fn short_vectors_are_listed() {
        assert_eq!(summarize(&[1.0, 0.5]), "[ 1.0 0.50 ]");
    }
}
