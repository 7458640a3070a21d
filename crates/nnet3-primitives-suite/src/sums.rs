//! Sums.

use super::*;
use nnet3_matrix::{Accumulator, Activation, ColSumsAndDots, ColumnTerm, Element};

/// Rounding of sums in several `f32` lanes, relative to the sum of sizes.
const SUM: f64 = 1e-6;

/// Σ of terms, and Σ of their sizes.
fn summed(terms: impl Iterator<Item = f64>) -> (f64, f64) {
    terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()))
}

/// alpha · sum + beta · old; with beta 0, old does not count even if it is NaN.
fn blend((sum, size): (f64, f64), alpha: f32, beta: f32, old: f64) -> (f64, f64) {
    let old = if beta == 0.0 { 0.0 } else { beta as f64 * old };
    (alpha as f64 * sum + old, size + old.abs())
}

fn factors(case: &mut Case) -> (f32, f32) {
    (case.one_of(&[1.0, -0.3]), case.one_of(&[0.0, 1.0, 0.5]))
}

/// A vector to sum into.
fn target(case: &mut Case, rows: usize, cols: usize, beta: f32) -> Operand {
    case.operand(rows, cols, |case, _, _| if beta == 0.0 { f32::NAN } else { case.normal() })
}

pub(crate) fn sum(device: &Device) {
    cases(device, |case, rows, cols| {
        let m = case.normals(rows, cols);
        let (want, size) = summed((0..rows).flat_map(|i| m.row(i)));
        assert!((device.sum(m.view()) - want).abs() <= SUM * size);
    });
}

pub(crate) fn dot(device: &Device) {
    cases(device, |case, rows, cols| {
        let (a, b) = (case.normals(rows, cols), case.normals(rows, cols));
        for other in [&a, &b] {
            let (want, size) =
                summed((0..rows * cols).map(|k| a.at(k / cols, k % cols) * other.at(k / cols, k % cols)));
            assert!((device.dot(a.view(), other.view()) - want).abs() <= SUM * size);
        }
    });
}

pub(crate) fn col_sums(device: &Device) {
    cases(device, |case, rows, cols| {
        let src = case.normals(rows, cols);
        let (alpha, beta) = factors(case);
        let mut row = target(case, 1, cols, beta);
        device.col_sums(row.view_mut(), alpha, src.view(), beta);
        row.expect(SUM, |_, j| blend(summed((0..rows).map(|i| src.at(i, j))), alpha, beta, row.at(0, j)));
    });
}

pub(crate) fn col_dots(device: &Device) {
    cases(device, |case, rows, cols| {
        let (a, b) = (case.normals(rows, cols), case.normals(rows, cols));
        for b in [&a, &b] {
            let (alpha, beta) = factors(case);
            let mut row = target(case, 1, cols, beta);
            device.col_dots(row.view_mut(), alpha, a.view(), b.view(), beta);
            row.expect(SUM, |_, j| {
                blend(summed((0..rows).map(|i| a.at(i, j) * b.at(i, j))), alpha, beta, row.at(0, j))
            });
        }
    });
}

/// The results must equal those of the two separate primitives to the last digit.
pub(crate) fn col_sums_and_dots(device: &Device) {
    cases(device, |case, rows, cols| {
        let (a, b) = (case.normals(rows, cols), case.normals(rows, cols));
        let mut out = [(); 4].map(|()| case.operand_in(Element::Float, 1, cols, |_, _, _| f32::NAN));
        let [sums, dots, sums_alone, dots_alone] = &mut out;
        device.col_sums_and_dots(ColSumsAndDots {
            sums: sums.view_mut(),
            sums_factor: 0.7,
            dots: dots.view_mut(),
            dots_factor: -0.3,
            a: a.view(),
            b: b.view(),
        });
        device.col_sums(sums_alone.view_mut(), 0.7, b.view(), 0.0);
        device.col_dots(dots_alone.view_mut(), -0.3, a.view(), b.view(), 0.0);
        let contents = |operand: &mut Operand| device.download(operand.view_mut().as_view());
        assert_eq!(contents(sums), contents(sums_alone));
        assert_eq!(contents(dots), contents(dots_alone));
    });
}

pub(crate) fn col_sums_and_square(device: &Device) {
    cases(device, |case, rows, cols| {
        let (src, index) = (case.normals(rows, cols), case.below(3));
        let mut col = case.normals(cols, 1);
        let mut sums = Accumulator::from_vec(vec![5.0; 3]);
        device.col_sums_and_square(col.view_mut(), &mut sums, index, src.view());
        let terms = |j: usize| (0..rows).map(move |i| (i, j));
        col.expect(1e-6, |j, _| {
            let size: f64 = terms(j).map(|(i, j)| src.at(i, j).abs()).sum();
            (terms(j).map(|(i, j)| src.at(i, j)).sum(), size)
        });
        let square: f64 = (0..cols).flat_map(terms).map(|(i, j)| src.at(i, j).powi(2)).sum();
        for (k, sum) in sums.values().iter().enumerate() {
            let expected = if k == index { 5.0 + square } else { 5.0 };
            assert!((sum - expected).abs() <= 1e-6 * expected, "{sum}, not {expected}");
        }
    });
}

/// Against `f64`, and to the last digit against the other primitives.
pub(crate) fn moments(device: &Device) {
    cases(device, |case, rows, cols| {
        if rows == 0 {
            return;
        }
        let src = case.normals(rows, cols);
        let (factor, epsilon) = (case.one_of(&[1.0, 4.0]), case.one_of(&[1e-3, 0.5]));
        let (mut moments, mut steps) = (case.normal_floats(3, cols), case.normal_floats(3, cols));
        device.moments(moments.view_mut(), src.view(), factor, epsilon);
        device.moments_step_by_step(steps.view_mut(), src.view(), factor, epsilon);
        let contents = |operand: &mut Operand| device.download(operand.view_mut().as_view());
        assert_eq!(contents(&mut moments), contents(&mut steps));
        let mean_of =
            |j: usize, of: fn(f64) -> f64| (0..rows).map(|i| of(src.at(i, j))).sum::<f64>() / rows as f64;
        moments.expect(1e-5, |k, j| {
            let (mean, square) = (mean_of(j, |x| x), mean_of(j, |x| x * x));
            let variance = factor as f64 * ((square - mean * mean).max(0.0) + epsilon as f64);
            match k {
                0 => (mean, mean_of(j, f64::abs)),
                1 => (square, square),
                // The variance is a difference of rounded numbers.
                _ => (variance.powf(-0.5), variance.powf(-0.5) * (1.0 + factor as f64 * square / variance)),
            }
        });
    });
}

pub(crate) fn row_sums(device: &Device) {
    cases(device, |case, rows, cols| {
        let src = case.normals(rows, cols);
        let (alpha, beta) = factors(case);
        let mut col = target(case, rows, 1, beta);
        device.row_sums(col.view_mut(), alpha, src.view(), beta);
        col.expect(SUM, |i, _| blend(summed(src.row(i).into_iter()), alpha, beta, col.at(i, 0)));
    });
}

pub(crate) fn row_dots(device: &Device) {
    cases(device, |case, rows, cols| {
        let (a, b) = (case.normals(rows, cols), case.normals(rows, cols));
        for b in [&a, &b] {
            let (alpha, beta) = factors(case);
            let mut col = target(case, rows, 1, beta);
            device.row_dots(col.view_mut(), alpha, a.view(), b.view(), beta);
            col.expect(SUM, |i, _| {
                blend(summed((0..cols).map(|j| a.at(i, j) * b.at(i, j))), alpha, beta, col.at(i, 0))
            });
        }
    });
}

pub(crate) fn accumulate(device: &Device) {
    use super::elementwise::derivative_of;
    let terms = [
        ColumnTerm::Value,
        ColumnTerm::Square,
        ColumnTerm::Derivative(Activation::Sigmoid),
        ColumnTerm::Derivative(Activation::Tanh),
        ColumnTerm::Derivative(Activation::Relu),
        ColumnTerm::AtLeast(0.25),
    ];
    cases(device, |case, rows, cols| {
        for term in terms {
            let src = case.normals(rows, cols);
            let (first, after) = (case.below(4), case.below(4));
            let before: Vec<f64> = (0..first + cols + after).map(|_| case.normal() as f64).collect();
            let mut sums = Accumulator::from_vec(before.clone());
            device.accumulate(&mut sums, first, src.view(), term);
            let of = |y: f64| match term {
                ColumnTerm::Value => y,
                ColumnTerm::Square => y * y,
                ColumnTerm::Derivative(f) => derivative_of(f, y),
                ColumnTerm::AtLeast(least) => (y >= least as f64) as u8 as f64,
            };
            for (k, (now, before)) in sums.values().iter().zip(before).enumerate() {
                let inside = k >= first && k < first + cols;
                let (sum, size) =
                    if inside { summed((0..rows).map(|i| of(src.at(i, k - first)))) } else { (0.0, 0.0) };
                assert!((now - before - sum).abs() <= SUM * (size + rows as f64 + 1e-9), "{term:?}: {now}");
                assert!(inside || *now == before);
            }
        }
    });
    // Sums of many rows keep the digits that f32 would lose.
    let ones = nnet3_matrix::Matrix::from_slice(device, 1000, 3, &[1.0; 3000]);
    let mut sums = Accumulator::from_vec(vec![1e12; 3]);
    device.accumulate(&mut sums, 0, ones.view(), ColumnTerm::Value);
    assert_eq!(*sums.values(), [1e12 + 1000.0; 3]);
}
