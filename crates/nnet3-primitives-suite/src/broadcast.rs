//! Rows combined with a row vector or a column vector.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::backend::NormalizedSum;
use nnet3_matrix::{IndexTable, View, ViewMut};

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
        let rows = (mean.view(), scale.view(), factor.view());
        let run = |dst: ViewMut<'_>, src: View<'_>| {
            device.normalize_cols_and_add(dst, src, rows.0, rows.1, rows.2, other.view())
        };
        run(dst.view_mut(), src.view());
        dst.expect(CLOSE, |i, j| of(src.at(i, j), i, j));
        let view = both.view_mut();
        run(view, view.as_view());
        both.expect(CLOSE, |i, j| of(both.at(i, j), i, j));
    });
}

/// With or without masks and numbers of rows, in place or not.
fn check_normalized_sum(case: &mut Case, rows: usize, cols: usize) {
    let device = case.device.clone();
    let [mean, scale] = [(); 2].map(|()| case.normals(1, cols));
    let [masked, picked, in_place] = [(); 3].map(|()| case.below(2) == 0);
    let (count, others) = (1 + case.below(5), if picked { 1 + case.below(20) } else { rows });
    let (masks, other) = (case.normals(count, cols), case.normals(others, cols));
    let (mut dst, mut values) = (case.normals(rows, cols), case.normals(rows, cols));
    let src = case.normals(rows, cols);
    let numbers = IndexTable::new((0..rows).map(|_| case.below(count) as i32).collect());
    let picks = IndexTable::new((0..rows).map(|_| case.below(others.max(1) + 1) as i32 - 1).collect());
    let view = values.view_mut();
    let terms = NormalizedSum {
        src: if in_place { view.as_view() } else { src.view() },
        mean: mean.view(),
        scale: scale.view(),
        masks: masked.then(|| (masks.view(), &numbers)),
        other: other.view(),
        factor: 0.66,
        rows: picked.then_some(&picks),
    };
    device.normalized_sum(dst.view_mut(), view, &terms);
    let value = |i: usize, j: usize| {
        let x = if in_place { values.at(i, j) } else { src.at(i, j) };
        let (mean, scale) = (mean.at(0, j), scale.at(0, j));
        ((x - mean) * scale, (x.abs() + mean.abs()) * scale.abs())
    };
    values.expect(CLOSE, value);
    dst.expect(CLOSE, |i, j| {
        let (value, size) = value(i, j);
        let mask = if masked { masks.at(numbers.values()[i] as usize, j) } else { 1.0 };
        let from = if picked { picks.values()[i] } else { i as i32 };
        let term = if from < 0 { 0.0 } else { 0.66f32 as f64 * other.at(from as usize, j) };
        (term + mask * value, term.abs() + size * mask.abs())
    });
}

pub(crate) fn normalized_sum(device: &Device) {
    cases(device, check_normalized_sum);
    // Threads of a GPU take several rows each.
    check_normalized_sum(&mut Case::new(device, 11), 300, 500);
}
