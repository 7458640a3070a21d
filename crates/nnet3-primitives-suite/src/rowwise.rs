//! Softmax and norms.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::Matrix;

fn log_softmax_of(row: &[f64]) -> Vec<f64> {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
    row.iter().map(|x| x - max - sum.ln()).collect()
}

fn forward(device: &Device, log: bool) {
    cases(device, |case, rows, cols| {
        let mut src =
            case.operand(rows, cols, |case, i, _| 5.0 * case.normal() + [0.0, 300.0, -300.0][i % 3]);
        let mut dst = case.normals(rows, cols);
        let want: Vec<Vec<f64>> = (0..rows).map(|i| log_softmax_of(&src.row(i))).collect();
        // The inputs' own rounding is not ours: they are exact numbers here.
        let of = |i: usize, j: usize| {
            if log { (want[i][j], want[i][j].abs() + 1.0) } else { (want[i][j].exp(), want[i][j].exp()) }
        };
        let run = if log {
            nnet3_matrix::backend::RowFunctions::log_softmax
        } else {
            nnet3_matrix::backend::RowFunctions::softmax
        };
        run(device.as_ref(), dst.view_mut(), src.view());
        dst.expect(2e-6, of);
        let view = src.view_mut();
        run(device.as_ref(), view, view.as_view());
        src.expect(2e-6, of);
    });
}

pub(crate) fn softmax(device: &Device) {
    forward(device, false)
}

pub(crate) fn log_softmax(device: &Device) {
    forward(device, true)
}

pub(crate) fn softmax_extremes(device: &Device) {
    let infinity = f32::INFINITY;
    let mut m = Matrix::from_slice(device, 2, 3, &[3e38, -3e38, 3e38, -infinity, 0.0, 0.0]);
    let view = m.view_mut();
    device.softmax(view, view.as_view());
    assert_eq!(m.to_vec(), [0.5, 0.0, 0.5, 0.0, 0.5, 0.5]);
    let mut m = Matrix::from_slice(device, 1, 3, &[-infinity, 1000.0, 1000.0]);
    let view = m.view_mut();
    device.log_softmax(view, view.as_view());
    let log = m.to_vec();
    assert!(log[0] == -infinity && (log[1] + std::f32::consts::LN_2).abs() < 1e-6, "{log:?}");
    let mut m = Matrix::from_slice(device, 1, 3, &[0.0, f32::NAN, 1.0]);
    let view = m.view_mut();
    device.softmax(view, view.as_view());
    assert!(m.to_vec().iter().all(|x| x.is_nan()));
}

fn backward(device: &Device, log: bool) {
    cases(device, |case, rows, cols| {
        let y = case.operand(
            rows,
            cols,
            |case, _, _| if log { -case.normal().abs() } else { case.normal().abs() },
        );
        let (mut dst, mut e) = (case.normals(rows, cols), case.normals(rows, cols));
        let sums: Vec<(f64, f64)> = (0..rows)
            .map(|i| {
                let terms = (0..cols).map(|j| if log { e.at(i, j) } else { y.at(i, j) * e.at(i, j) });
                terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()))
            })
            .collect();
        let of = |e: f64, i: usize, j: usize| {
            let (sum, size) = sums[i];
            let y = y.at(i, j);
            if log {
                (e - y.exp() * sum, e.abs() + y.exp() * size)
            } else {
                (y * (e - sum), y.abs() * (e.abs() + size))
            }
        };
        let run = if log {
            nnet3_matrix::backend::RowFunctions::log_softmax_backward
        } else {
            nnet3_matrix::backend::RowFunctions::softmax_backward
        };
        run(device.as_ref(), dst.view_mut(), y.view(), e.view());
        dst.expect(1e-6, |i, j| of(e.at(i, j), i, j));
        let view = e.view_mut();
        run(device.as_ref(), view, y.view(), view.as_view());
        e.expect(1e-6, |i, j| of(e.at(i, j), i, j));
    });
}

pub(crate) fn softmax_backward(device: &Device) {
    backward(device, false)
}

pub(crate) fn log_softmax_backward(device: &Device) {
    backward(device, true)
}

pub(crate) fn group_norm(device: &Device) {
    cases(device, |case, rows, groups| {
        let size = case.one_of(&[1, 2, 3, 10, 40]);
        let (mut dst, src) = (case.normals(rows, groups), case.normals(rows, groups * size));
        device.group_norm(dst.view_mut(), src.view());
        dst.expect_values(CLOSE, |i, j| {
            (j * size..(j + 1) * size).map(|k| src.at(i, k) * src.at(i, k)).sum::<f64>().sqrt()
        });
    });
}

pub(crate) fn group_norm_backward(device: &Device) {
    cases(device, |case, rows, groups| {
        let size = case.one_of(&[1, 2, 3, 10, 40]);
        let (mut in_deriv, x) = (case.normals(rows, groups * size), case.normals(rows, groups * size));
        let y = case.operand(
            rows,
            groups,
            |case, _, _| if case.below(5) == 0 { 0.0 } else { case.normal().abs() },
        );
        let e = case.normals(rows, groups);
        device.group_norm_backward(in_deriv.view_mut(), x.view(), y.view(), e.view());
        in_deriv.expect_values(CLOSE, |i, k| {
            let j = k / size;
            if y.at(i, j) == 0.0 { 0.0 } else { e.at(i, j) * x.at(i, k) / y.at(i, j) }
        });
    });
}
