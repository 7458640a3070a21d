//! Transfers, and whole matrices moved or scaled.

#![allow(unsafe_code)] // What `allocate` has given has to be freed.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::Matrix;

pub(crate) fn transfers(device: &Device) {
    for len in [0, 1, 100, 4096] {
        let pointer = device.allocate(len);
        assert!(pointer.addr() % 64 == 0 && !pointer.is_null());
        // SAFETY: just allocated with this length.
        unsafe { device.free(pointer, len) };
    }
    assert!(Matrix::zeros(device, 13, 7).to_vec().iter().all(|&x| x == 0.0));
    cases(device, |case, rows, cols| {
        let mut m = case.normals(rows, cols);
        let data: Vec<f32> = (0..rows * cols).map(|_| case.normal()).collect();
        let before: Vec<f64> = (0..rows).flat_map(|i| m.row(i)).collect();
        assert!(device.download(m.view()).iter().map(|&x| x as f64).eq(before));
        device.upload(m.view_mut(), &data);
        let data: Vec<f32> = data.into_iter().map(|x| m.form().nearest(x)).collect();
        m.expect(0.0, |i, j| (data[i * cols + j] as f64, 0.0));
        let mut back = vec![0.0; rows * cols];
        device.download_into(m.view(), &mut back);
        assert_eq!(back, data);
    });
}

pub(crate) fn set(device: &Device) {
    cases(device, |case, rows, cols| {
        let mut dst = case.normals(rows, cols);
        device.set(dst.view_mut(), 2.5);
        dst.expect(0.0, |_, _| (2.5, 0.0));
    });
}

pub(crate) fn copy(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, cols));
        device.copy(dst.view_mut(), src.view());
        dst.expect(0.0, |i, j| (src.at(i, j), 0.0));
        src.expect_unchanged();
    });
}

pub(crate) fn scale(device: &Device) {
    cases(device, |case, rows, cols| {
        let mut dst = case.normals(rows, cols);
        device.scale(dst.view_mut(), -1.5);
        dst.expect_values(CLOSE, |i, j| -1.5 * dst.at(i, j));
    });
}

pub(crate) fn add(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, cols));
        device.add(dst.view_mut(), 0.7, src.view());
        dst.expect(CLOSE, |i, j| {
            (dst.at(i, j) + 0.7 * src.at(i, j), dst.at(i, j).abs() + src.at(i, j).abs())
        });
    });
}

pub(crate) fn copy_scaled(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, cols));
        device.copy_scaled(dst.view_mut(), 0.3, src.view());
        dst.expect_values(CLOSE, |i, j| 0.3 * src.at(i, j));
        let mut both = case.normals(rows, cols);
        let view = both.view_mut();
        device.copy_scaled(view, 0.3, view.as_view());
        both.expect_values(CLOSE, |i, j| 0.3 * both.at(i, j));
    });
}

pub(crate) fn weighted_sum(device: &Device) {
    const FACTORS: [f32; 6] = [1.0, -1.0, 0.5, -0.3, 0.1, -0.7];
    cases(device, |case, rows, cols| {
        for terms in 1..=6 {
            let sources: Vec<_> = (0..terms).map(|_| case.normals(rows, cols)).collect();
            let views: Vec<_> =
                FACTORS.iter().zip(&sources).map(|(&factor, src)| (factor, src.view())).collect();
            let sum = |i: usize, j: usize| {
                FACTORS.iter().zip(&sources).map(|(&factor, src)| factor as f64 * src.at(i, j)).sum::<f64>()
            };
            // A device may round after each term.
            let (mut set, mut added) = (case.normal_floats(rows, cols), case.normal_floats(rows, cols));
            device.weighted_sum(set.view_mut(), &views, false);
            set.expect(CLOSE, |i, j| (sum(i, j), 4.0));
            device.weighted_sum(added.view_mut(), &views, true);
            added.expect(CLOSE, |i, j| (added.at(i, j) + sum(i, j), 4.0));
        }
    });
}

pub(crate) fn copy_transposed(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), case.normals(cols, rows));
        device.copy_transposed(dst.view_mut(), src.view());
        dst.expect(0.0, |i, j| (src.at(j, i), 0.0));
    });
}

/// Destination and sources may be columns side by side in one matrix, or rows of it that take turns.
pub(crate) fn neighbours(device: &Device) {
    cases(device, |case, rows, cols| {
        let at = |data: &[f32], i: usize, j: usize| data[i * 3 * cols + j] as f64;
        let data: Vec<f32> = (0..rows * 3 * cols).map(|_| case.normal()).collect();
        let close = |now: &[f32], k: usize, want: f64| assert!((now[k] as f64 - want).abs() < 1e-5);
        let mut matrix = Matrix::from_slice(device, rows, 3 * cols, &data);
        let whole = matrix.view_mut();
        let [a, b, c] = [0, 1, 2].map(|k| whole.col_range(k * cols..(k + 1) * cols));
        device.add(b, 1.0, a.as_view());
        device.multiply_by_ratio(c, c.as_view(), a.as_view(), b.as_view());
        let now = matrix.to_vec();
        for i in 0..rows {
            for j in 0..cols {
                let (x, y, z) = (at(&data, i, j), at(&data, i, cols + j), at(&data, i, 2 * cols + j));
                close(&now, i * 3 * cols + cols + j, x + y);
                let (got, want) = (now[i * 3 * cols + 2 * cols + j] as f64, z * x / (x + y));
                // If the sum cancels, its rounding error is relatively larger.
                assert!(
                    (got - want).abs() <= 1e-5 * want.abs() * (1.0 + 1.0 / (x + y).abs()),
                    "{got} {want}"
                );
            }
        }
        let mut matrix = Matrix::from_slice(device, 3 * rows, cols, &data);
        let whole = matrix.view_mut();
        let [a, b, c] = [0, 1, 2].map(|k| whole.row_range(k.min(3 * rows)..3 * rows).every(0, 3, rows));
        device.add_product(c, 1.0, a.as_view(), b.as_view());
        let now = matrix.to_vec();
        for i in 0..rows {
            for j in 0..cols {
                let want = at(&data, i, 2 * cols + j) + at(&data, i, j) * at(&data, i, cols + j);
                close(&now, i * 3 * cols + 2 * cols + j, want);
            }
        }
    });
}
