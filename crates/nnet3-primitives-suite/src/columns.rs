//! Columns picked by number.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::IndexTable;

/// Column numbers below `limit`: a permutation-like mix, or runs.
fn indexes(case: &mut Case, len: usize, limit: usize) -> Vec<i32> {
    let runs = case.below(2) == 0;
    let mut out: Vec<i32> = Vec::new();
    while out.len() < len {
        let count = if runs { 1 + case.below(30) } else { 1 };
        if limit == 0 || case.below(5) == 0 {
            out.extend((0..count).map(|_| -1));
        } else {
            let first = case.below(limit) * case.below(2);
            out.extend((first..limit.min(first + count)).map(|c| c as i32));
        }
    }
    out.truncate(len);
    out
}

fn copy_or_add_cols(device: &Device, add: bool) {
    cases(device, |case, rows, cols| {
        let n = case.below(90);
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, n));
        let table = IndexTable::new(indexes(case, cols, n));
        if add {
            device.add_cols(dst.view_mut(), src.view(), &table);
        } else {
            device.copy_cols(dst.view_mut(), src.view(), &table);
        }
        dst.expect(CLOSE, |i, j| {
            let old = if add { dst.at(i, j) } else { 0.0 };
            let col = table.values()[j];
            let new = if col < 0 { 0.0 } else { src.at(i, col as usize) };
            (old + new, old.abs() + new.abs())
        });
    });
}

pub(crate) fn copy_cols(device: &Device) {
    copy_or_add_cols(device, false)
}

pub(crate) fn add_cols(device: &Device) {
    copy_or_add_cols(device, true)
}

pub(crate) fn add_to_cols(device: &Device) {
    cases(device, |case, rows, cols| {
        let n = case.below(90);
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, n));
        let table = IndexTable::new(indexes(case, n, cols));
        device.add_to_cols(dst.view_mut(), src.view(), &table);
        dst.expect(CLOSE, |i, j| {
            let terms = (0..n).filter(|&k| table.values()[k] == j as i32).map(|k| src.at(i, k));
            terms.fold((dst.at(i, j), dst.at(i, j).abs()), |(sum, size), x| (sum + x, size + x.abs()))
        });
    });
}

pub(crate) fn sum_col_ranges(device: &Device) {
    cases(device, |case, rows, cols| {
        let n = 1 + case.below(60);
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, n));
        let mut ranges = Vec::new();
        for _ in 0..cols {
            let begin = case.below(n + 1);
            let end = begin + case.below(n + 1 - begin);
            ranges.extend(if case.below(6) == 0 { [-1, -1] } else { [begin as i32, end as i32] });
        }
        let table = IndexTable::new(ranges);
        device.sum_col_ranges(dst.view_mut(), src.view(), &table);
        dst.expect(CLOSE, |i, j| {
            let (begin, end) = (table.values()[2 * j], table.values()[2 * j + 1]);
            let terms = (begin..end).map(|c| src.at(i, c as usize));
            terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()))
        });
    });
}
