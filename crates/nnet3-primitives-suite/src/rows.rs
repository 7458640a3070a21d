//! Rows picked by number or by place.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::{Arena, IndexTable, OffsetTable, RowLists};

/// Numbers below `limit`, sometimes -1.
fn indexes(case: &mut Case, len: usize, limit: usize) -> Vec<i32> {
    (0..len).map(|_| if limit == 0 || case.below(5) == 0 { -1 } else { case.below(limit) as i32 }).collect()
}

fn copy_or_add_rows(device: &Device, add: bool) {
    cases(device, |case, rows, cols| {
        let n = case.below(20);
        let (mut dst, src) = (case.normals(rows, cols), case.normals(n, cols));
        let table = IndexTable::new(indexes(case, rows, n));
        let alpha = case.one_of(&[1.0, -0.5]);
        if add {
            device.add_rows(dst.view_mut(), alpha, src.view(), &table);
        } else {
            device.copy_rows(dst.view_mut(), alpha, src.view(), &table);
        }
        dst.expect(CLOSE, |i, j| {
            let old = if add { dst.at(i, j) } else { 0.0 };
            let row = table.values()[i];
            let new = if row < 0 { 0.0 } else { alpha as f64 * src.at(row as usize, j) };
            (old + new, old.abs() + new.abs())
        });
    });
}

pub(crate) fn copy_rows(device: &Device) {
    copy_or_add_rows(device, false)
}

pub(crate) fn add_rows(device: &Device) {
    copy_or_add_rows(device, true)
}

pub(crate) fn multiply_rows(device: &Device) {
    cases(device, |case, rows, cols| {
        let n = case.below(20);
        let (mut dst, src) = (case.normals(rows, cols), case.normals(n, cols));
        let table = IndexTable::new(indexes(case, rows, n));
        device.multiply_rows(dst.view_mut(), src.view(), &table);
        dst.expect_values(CLOSE, |i, j| match table.values()[i] {
            -1 => 0.0,
            row => dst.at(i, j) * src.at(row as usize, j),
        });
    });
}

pub(crate) fn add_to_picked_rows(device: &Device) {
    cases(device, |case, rows, cols| {
        let n = case.below(20);
        // A device may round after each row.
        let (mut dst, src) = (case.normal_floats(rows, cols), case.normals(n, cols));
        let table = IndexTable::new(indexes(case, n, rows));
        let alpha = case.one_of(&[1.0, -0.5]);
        device.add_to_picked_rows(dst.view_mut(), alpha, src.view(), &table);
        dst.expect(CLOSE, |i, j| {
            let own = (0..n).filter(|&k| table.values()[k] == i as i32);
            own.map(|k| alpha as f64 * src.at(k, j))
                .fold((dst.at(i, j), dst.at(i, j).abs()), |(sum, size), x| (sum + x, size + x.abs()))
        });
    });
}

/// An arena with a matrix in its middle, as programs have it.
struct Memory {
    arena: Arena,
    host: Vec<f32>,
    rows: usize,
    cols: usize,
    stride: usize,
    /// First row of the matrix.
    start: usize,
    offsets: OffsetTable,
}

impl Memory {
    /// `distinct`: no offset twice, and none overlapping another.
    fn new(case: &mut Case, rows: usize, cols: usize, distinct: bool) -> Memory {
        let stride = cols + case.one_of(&[0, 3]);
        let before = rows * cols + 5;
        let len = before + rows * stride + 100 + cols;
        let host: Vec<f32> = (0..len).map(|_| case.normal()).collect();
        let arena = Arena::new(&case.device, len);
        case.device.upload(arena.whole(), &host);
        let pick = |case: &mut Case, i: usize| match case.below(5) {
            0 => -1,
            _ if distinct => (i * cols) as i64,
            1 => (before + rows * stride + case.below(100)) as i64,
            _ => case.below(before - cols.min(before - 1)) as i64,
        };
        let mut offsets: Vec<i64> = (0..rows).map(|i| pick(case, i)).collect();
        for i in 1..rows {
            offsets.swap(i, case.below(i + 1));
        }
        Memory { arena, host, rows, cols, stride, start: before, offsets: OffsetTable::new(offsets) }
    }

    fn matrix(&self) -> nnet3_matrix::ViewMut<'_> {
        self.arena.view(self.start, self.rows, self.cols, self.stride)
    }

    /// Checks the whole arena, after `change(host, place in the matrix, place at the offset or None)` for all elements.
    fn expect(&self, mut change: impl FnMut(&mut [f32], usize, Option<usize>)) {
        let mut want = self.host.clone();
        for (i, &offset) in self.offsets.values().iter().enumerate() {
            for j in 0..self.cols {
                let other = (offset >= 0).then(|| offset as usize + j);
                change(&mut want, self.start + i * self.stride + j, other);
            }
        }
        let now = self.arena.device().download(self.arena.whole().as_view());
        for (k, (now, want)) in now.iter().zip(&want).enumerate() {
            assert!((now - want).abs() <= 1e-6 * (1.0 + want.abs()), "element {k}: {now}, not {want}");
        }
    }
}

pub(crate) fn copy_rows_multi(device: &Device) {
    cases(device, |case, rows, cols| {
        let memory = Memory::new(case, rows, cols, false);
        let alpha = case.one_of(&[1.0, 0.3]);
        device.copy_rows_multi(memory.matrix(), alpha, memory.arena.whole().as_view(), &memory.offsets);
        memory.expect(|host, here, there| host[here] = there.map_or(0.0, |k| alpha * host[k]));
    });
}

pub(crate) fn add_rows_multi(device: &Device) {
    cases(device, |case, rows, cols| {
        let memory = Memory::new(case, rows, cols, false);
        let alpha = case.one_of(&[1.0, 0.3]);
        device.add_rows_multi(memory.matrix(), alpha, memory.arena.whole().as_view(), &memory.offsets);
        memory.expect(|host, here, there| host[here] += there.map_or(0.0, |k| alpha * host[k]));
    });
}

pub(crate) fn copy_to_rows_multi(device: &Device) {
    cases(device, |case, rows, cols| {
        let memory = Memory::new(case, rows, cols, true);
        device.copy_to_rows_multi(memory.arena.whole(), memory.matrix().as_view(), &memory.offsets);
        memory.expect(|host, here, there| {
            if let Some(k) = there {
                host[k] = host[here]
            }
        });
    });
}

pub(crate) fn add_to_rows_multi(device: &Device) {
    cases(device, |case, rows, cols| {
        let memory = Memory::new(case, rows, cols, true);
        let alpha = case.one_of(&[1.0, 0.3]);
        device.add_to_rows_multi(memory.arena.whole(), alpha, memory.matrix().as_view(), &memory.offsets);
        memory.expect(|host, here, there| {
            if let Some(k) = there {
                host[k] += alpha * host[here]
            }
        });
    });
}

pub(crate) fn add_row_ranges(device: &Device) {
    cases(device, |case, rows, cols| {
        let n = 1 + case.below(30);
        let (mut dst, src) = (case.normals(rows, cols), case.normals(n, cols));
        let mut ranges = Vec::new();
        for _ in 0..rows {
            let begin = case.below(n + 1);
            let end = begin + case.below(n + 1 - begin);
            let none = case.below(6) == 0;
            ranges.extend(if none { [-1, -1] } else { [begin as i32, end as i32] });
        }
        let table = IndexTable::new(ranges);
        let alpha = case.one_of(&[1.0, -0.5]);
        device.add_row_ranges(dst.view_mut(), alpha, src.view(), &table);
        dst.expect(CLOSE, |i, j| {
            let (begin, end) = (table.values()[2 * i], table.values()[2 * i + 1]);
            let terms = (begin..end).map(|r| alpha as f64 * src.at(r as usize, j));
            terms.fold((dst.at(i, j), dst.at(i, j).abs()), |(sum, size), x| (sum + x, size + x.abs()))
        });
    });
}

/// Lists of no, one and many rows, in any order and with repetitions.
pub(crate) fn sum_row_lists(device: &Device) {
    cases(device, |case, rows, cols| {
        let n = 1 + case.below(30);
        let src = case.normals(n, cols);
        let longest = case.one_of(&[1, 3, 70]);
        let list = |case: &mut Case| -> Vec<i32> {
            (0..case.below(longest + 1)).map(|_| case.below(n) as i32).collect()
        };
        let lists: Vec<Vec<i32>> = (0..rows).map(|_| list(case)).collect();
        let table = RowLists::new(&lists);
        assert!((0..rows).all(|i| table.list(i) == lists[i]) && table.len() == rows);
        let alpha = case.one_of(&[1.0, -0.5]);
        for adds in [false, true] {
            let mut dst = case.normals(rows, cols);
            device.sum_row_lists(dst.view_mut(), alpha, src.view(), &table, adds);
            // Each addition on the host rounds.
            dst.expect(CLOSE * longest as f64, |i, j| {
                let old = if adds { dst.at(i, j) } else { 0.0 };
                let terms = lists[i].iter().map(|&r| alpha as f64 * src.at(r as usize, j));
                terms.fold((old, old.abs()), |(sum, size), x| (sum + x, size + x.abs()))
            });
        }
    });
}

/// Offsets of one to three times.
fn offsets(case: &mut Case) -> Vec<usize> {
    let count = 1 + case.below(3);
    (0..count).map(|_| case.below(9)).collect()
}

pub(crate) fn interleave_rows(device: &Device) {
    cases(device, |case, rows, cols| {
        let (offsets, n) = (offsets(case), case.below(20));
        let count = offsets.len();
        let (mut dst, src) = (case.normals(rows, count * cols), case.normals(n, cols));
        device.interleave_rows(dst.view_mut(), src.view(), &offsets);
        dst.expect_values(0.0, |i, j| match i.checked_sub(offsets[j % count]) {
            Some(row) if row < n => src.at(row, j / count),
            _ => 0.0,
        });
    });
}

pub(crate) fn sum_interleaved(device: &Device) {
    cases(device, |case, rows, cols| {
        let offsets = offsets(case);
        let (count, last) = (offsets.len(), offsets.iter().max().unwrap());
        let src = case.normals(rows + last, count * cols);
        for adds in [false, true] {
            let mut dst = case.normals(rows, cols);
            device.sum_interleaved(dst.view_mut(), src.view(), &offsets, adds);
            dst.expect(CLOSE, |i, j| {
                let old = if adds { dst.at(i, j) } else { 0.0 };
                let terms = offsets.iter().enumerate().map(|(k, offset)| src.at(i + offset, count * j + k));
                terms.fold((old, old.abs()), |(sum, size), x| (sum + x, size + x.abs()))
            });
        }
    });
}
