//! Rows combined with a row vector or a column vector.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::{NormalizedPlus, View, ViewMut};

pub(crate) fn set_rows(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, row) = (case.normals(rows, cols), case.normals(1, cols));
        device.set_rows(dst.view_mut(), row.view());
        dst.expect(0.0, |_, j| (row.at(0, j), 0.0));
    });
}

pub(crate) fn add_to_rows(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, row) = (case.normals(rows, cols), case.normals(1, cols));
        device.add_to_rows(dst.view_mut(), -0.4, row.view());
        dst.expect(CLOSE, |i, j| {
            (dst.at(i, j) - 0.4 * row.at(0, j), dst.at(i, j).abs() + row.at(0, j).abs())
        });
    });
}

pub(crate) fn scale_cols(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, row) = (case.normals(rows, cols), case.normals(1, cols));
        device.scale_cols(dst.view_mut(), row.view());
        dst.expect_values(CLOSE, |i, j| dst.at(i, j) * row.at(0, j));
    });
}

pub(crate) fn scale_rows(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, col) = (case.normals(rows, cols), case.normals(rows, 1));
        device.scale_rows(dst.view_mut(), col.view());
        dst.expect_values(CLOSE, |i, j| dst.at(i, j) * col.at(i, 0));
    });
}

pub(crate) fn add_scaled_rows(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, col, src) = (case.normals(rows, cols), case.normals(rows, 1), case.normals(rows, cols));
        device.add_scaled_rows(dst.view_mut(), 0.9, col.view(), src.view());
        dst.expect(CLOSE, |i, j| {
            let new = 0.9 * col.at(i, 0) * src.at(i, j);
            (dst.at(i, j) + new, dst.at(i, j).abs() + new.abs())
        });
    });
}

pub(crate) fn add_scaled_cols(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, row, src) = (case.normals(rows, cols), case.normals(1, cols), case.normals(rows, cols));
        device.add_scaled_cols(dst.view_mut(), 0.9, row.view(), src.view());
        dst.expect(CLOSE, |i, j| {
            let new = 0.9 * row.at(0, j) * src.at(i, j);
            (dst.at(i, j) + new, dst.at(i, j).abs() + new.abs())
        });
    });
}

type TwoRows = fn(&dyn nnet3_matrix::Backend, ViewMut<'_>, View<'_>, View<'_>, View<'_>);

/// A function of each element and the elements of two rows. It returns the value, and the size of its terms.
fn with_two_rows(device: &Device, run: TwoRows, of: fn(f64, f64, f64) -> (f64, f64)) {
    cases(device, |case, rows, cols| {
        let (mut dst, mut both) = (case.normals(rows, cols), case.normals(rows, cols));
        let (src, a, b) = (case.normals(rows, cols), case.normals(1, cols), case.normals(1, cols));
        run(device.as_ref(), dst.view_mut(), src.view(), a.view(), b.view());
        dst.expect(CLOSE, |i, j| of(src.at(i, j), a.at(0, j), b.at(0, j)));
        let view = both.view_mut();
        run(device.as_ref(), view, view.as_view(), a.view(), b.view());
        both.expect(CLOSE, |i, j| of(both.at(i, j), a.at(0, j), b.at(0, j)));
    });
}

pub(crate) fn affine_cols(device: &Device) {
    with_two_rows(
        device,
        |d, dst, src, a, b| d.affine_cols(dst, src, a, b),
        |x, scale, offset| (scale * x + offset, (scale * x).abs() + offset.abs()),
    );
}

pub(crate) fn normalize_cols(device: &Device) {
    with_two_rows(
        device,
        |d, dst, src, a, b| d.normalize_cols(dst, src, a, b),
        |x, mean, scale| ((x - mean) * scale, (x.abs() + mean.abs()) * scale.abs()),
    );
}

pub(crate) fn normalize_cols_and_add(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, mut both) = (case.normals(rows, cols), case.normals(rows, cols));
        let (src, other) = (case.normals(rows, cols), case.normals(rows, cols));
        let [mean, scale, factor] = [(); 3].map(|()| case.normals(1, cols));
        let of = |x: f64, i: usize, j: usize| {
            let (mean, scale) = (mean.at(0, j), scale.at(0, j));
            let added = factor.at(0, j) * other.at(i, j);
            ((x - mean) * scale + added, (x.abs() + mean.abs()) * scale.abs() + added.abs())
        };
        let [mean, scale, factor, other] = [&mean, &scale, &factor, &other].map(|operand| operand.view());
        let run = |dst: ViewMut<'_>, src: View<'_>| {
            device.normalize_cols_and_add(dst, NormalizedPlus { src, mean, scale, factor, other })
        };
        run(dst.view_mut(), src.view());
        dst.expect(CLOSE, |i, j| of(src.at(i, j), i, j));
        let view = both.view_mut();
        run(view, view.as_view());
        both.expect(CLOSE, |i, j| of(both.at(i, j), i, j));
    });
}
