//! Numbers that stay on the device: accumulate_dot, accumulate_row, decide, compare_averages, proportion_above,
//! root_of_ratio, ratio_of_sums, scale_by, add_by, scale_sums_by, add_sums_by, and the operations of [`Accumulator`]
//! that do not read.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::backend::{Constant, Decision};
use nnet3_matrix::{Accumulator, Averages, Band, Count, Factor, Matrix, SumRange, SumRatio};

/// Rounding of a sum of squares.
const SUM: f64 = 1e-6;

fn numbers(case: &mut Case, len: usize) -> Vec<f64> {
    (0..len).map(|_| case.normal() as f64).collect()
}

pub(crate) fn accumulate_dot(device: &Device) {
    cases(device, |case, rows, cols| {
        let (a, b) = (case.normals(rows, cols), case.normals(rows, cols));
        let (before, index) = (numbers(case, 3), case.below(3));
        let mut sums = Accumulator::from_vec(before.clone());
        for b in [&a, &b] {
            device.accumulate_dot(&mut sums, index, -0.5, a.view(), b.view());
        }
        let terms = || (0..rows * cols).map(|k| (k / cols, k % cols));
        let sum: f64 = terms().map(|(i, j)| a.at(i, j) * (a.at(i, j) + b.at(i, j))).sum();
        let size: f64 = terms().map(|(i, j)| a.at(i, j) * a.at(i, j) + (a.at(i, j) * b.at(i, j)).abs()).sum();
        for (k, (now, before)) in sums.values().iter().zip(before).enumerate() {
            let change = if k == index { -0.5 * sum } else { 0.0 };
            assert!((now - before - change).abs() <= SUM * size, "{now}, not {}", before + change);
        }
    });
}

pub(crate) fn accumulate_row(device: &Device) {
    cases(device, |case, _, cols| {
        let (row, first) = (case.normals(1, cols), case.below(3));
        let before = numbers(case, first + cols + 2);
        let mut sums = Accumulator::from_vec(before.clone());
        device.accumulate_row(&mut sums, first, 3.0, row.view());
        for (k, (now, before)) in sums.values().iter().zip(before).enumerate() {
            let inside = k >= first && k < first + cols;
            let expected = if inside { before + 3.0 * row.at(0, k - first) } else { before };
            assert!((now - expected).abs() <= 1e-14 * (1.0 + expected.abs()), "{now}, not {expected}");
        }
    });
}

/// A rule with the kernel of `root_of_ratio`.
struct RootOfRatio;

impl Decision for RootOfRatio {
    fn on_host(&self, results: &mut [f32], sums: &mut [SumRange<'_>]) {
        let sums = sums[0].values();
        results[0] = if sums[0] == 0.0 { 1.0 } else { (sums[0] / sums[1]).sqrt() as f32 };
    }

    fn kernel(&self) -> (&'static str, Vec<Constant>) {
        ("root_of_ratio", Vec::new())
    }
}

pub(crate) fn decide(device: &Device) {
    cases(device, |case, rows, _| {
        let first = rows % 4;
        let all: Vec<f64> = numbers(case, first + 3).iter().map(|x| x * x + 0.01).collect();
        let (mut sums, mut result) = (Accumulator::from_vec(all.clone()), case.normals(1, 1));
        let range = SumRange { sums: &mut sums, first, count: 2 };
        device.decide(result.view_mut(), &mut [range], &RootOfRatio);
        result.expect_values(CLOSE, |_, _| (all[first] / all[first + 1]).sqrt());
        assert_eq!(*sums.values(), all, "the sums stay as they are");
    });
}

pub(crate) fn compare_averages(device: &Device) {
    cases(device, |case, blocks, cols| {
        let (blocks, first) = (1 + blocks % 5, case.below(3));
        let sums = numbers(case, first + blocks * cols + 1);
        // Among the averages are numbers that equal the limits.
        let average = |j: usize| {
            let sum: f64 = (0..blocks).map(|k| sums[first + k * cols + j]).sum();
            sum / blocks as f64 / 2.0
        };
        let limit = if cols == 0 { 0.1 } else { average(case.below(cols)) };
        let bands =
            [(limit, limit), (limit.next_down(), f64::INFINITY), (0.3, -0.2), (f64::NEG_INFINITY, limit)];
        for band in bands.map(|(low, high)| Band { low, high }) {
            let mut dst = case.normals(1, cols);
            let mut remote = Accumulator::from_vec(sums.clone());
            let averages = Averages { sums: &mut remote, first, blocks, count: Count::Known(2.0) };
            device.compare_averages(dst.view_mut(), averages, band);
            dst.expect(0.0, |_, j| match average(j) {
                x if x <= band.low => (1.0, 0.0),
                x if x > band.high => (-1.0, 0.0),
                _ => (0.0, 0.0),
            });
            assert_eq!(*remote.values(), sums, "the sums stay as they are");
        }
    });
}

pub(crate) fn compare_averages_by_sum(device: &Device) {
    cases(device, |case, blocks, cols| {
        let blocks = 1 + blocks % 5;
        let sums = numbers(case, blocks * cols);
        let band = Band { low: -0.2, high: 0.3 };
        // 2^25 + 1 is not an `f32`.
        for rows in [0.0, -2.0, 3.25, 0.1, 33_554_432.0] {
            for one_more in [false, true] {
                let mut counts = Accumulator::from_vec(vec![f64::NAN, rows]);
                let (count, divisor) = match one_more {
                    true => (Count::OneMore(&mut counts, 1), f64::from((1.0 + rows) as f32)),
                    false => (Count::Sum(&mut counts, 1), rows),
                };
                let (mut dst, mut remote) = (case.normals(1, cols), Accumulator::from_vec(sums.clone()));
                let averages = Averages { sums: &mut remote, first: 0, blocks, count };
                device.compare_averages(dst.view_mut(), averages, band);
                dst.expect(0.0, |_, j| {
                    let sum: f64 = (0..blocks).map(|k| sums[k * cols + j]).sum();
                    match sum / blocks as f64 / divisor {
                        _ if !one_more && rows <= 0.0 => (0.0, 0.0),
                        x if x <= band.low => (1.0, 0.0),
                        x if x > band.high => (-1.0, 0.0),
                        _ => (0.0, 0.0),
                    }
                });
            }
        }
    });
}

pub(crate) fn proportion_above(device: &Device) {
    cases(device, |case, rows, cols| {
        let (index, count) = (rows % 3, (1 + cols) as f32);
        // As `f32` this is not above 0.01, as `f64` it is.
        for (sum, count) in
            [(1.0, 100.0), (2.0, 100.0), (0.0, count), (count as f64, count), (16_777_217.0, 2e9)]
        {
            let mut sums =
                Accumulator::from_vec((0..4).map(|k| if k == index { sum } else { 1e9 }).collect());
            let mut dst = case.normals(1, 2);
            device.proportion_above(dst.view_mut(), &mut sums, index, count, 0.01);
            let proportion = sum as f32 / count;
            let above = if proportion > 0.01 { 1.0 } else { 0.0 };
            dst.expect(0.0, |_, k| ([proportion as f64, above][k], 0.0));
        }
    });
}

pub(crate) fn ratio_of_sums(device: &Device) {
    cases(device, |case, rows, cols| {
        let (above, below) = (rows % 3, cols % 3);
        let mut all = numbers(case, 3);
        for (times, element, denominator) in
            [(0.3f32, 0.7f32, 1.9), (-2.0, 1.0, -0.1), (1.0, 0.0, 0.0), (1.0, 2.0, 0.0), (0.0, 1.0, 3.0)]
        {
            all[below] = denominator;
            let factors = Matrix::from_slice(device, 1, 2, &[7.0, element]);
            let factor = Factor { times, element: factors.view().col_range(1..2) };
            let mut dst = case.normals(1, 1);
            let mut sums = Accumulator::from_vec(all.clone());
            let ratio = SumRatio { factor, sums: &mut sums, above, below, otherwise: 5.0 };
            device.ratio_of_sums(dst.view_mut(), ratio);
            let factor = times as f64 * element as f64;
            let ratio = (factor * all[above] / all[below]) as f32;
            let none = factor == 0.0 || denominator == 0.0;
            dst.expect(0.0, |_, _| (if none { 5.0 } else { ratio.into() }, 0.0));
        }
    });
}

pub(crate) fn root_of_ratio(device: &Device) {
    cases(device, |case, rows, _| {
        let first = rows % 4;
        let mut all: Vec<f64> = numbers(case, first + 3).iter().map(|x| x * x + 0.01).collect();
        for above in [all[first], 0.0, f64::NAN, f64::INFINITY] {
            all[first] = above;
            let mut dst = case.normals(1, 1);
            device.root_of_ratio(dst.view_mut(), &mut Accumulator::from_vec(all.clone()), first);
            let expected = if above == 0.0 { 1.0 } else { (above / all[first + 1]).sqrt() };
            dst.expect_values(CLOSE, |_, _| expected);
        }
    });
}

pub(crate) fn scale_by(device: &Device) {
    cases(device, |case, rows, cols| {
        for (times, element) in [(2.0, 0.25), (-1.0, 3.0), (1.0, 0.0), (1.0, 1.0)] {
            let mut dst = match element == 0.0 {
                true => case.operand(rows, cols, |_, _, _| f32::NAN),
                false => case.normals(rows, cols),
            };
            let factors = Matrix::from_slice(device, 1, 3, &[7.0, element, 7.0]);
            let element = factors.view().col_range(1..2);
            device.scale_by(dst.view_mut(), Factor { times, element });
            let factor = (times * factors.to_vec()[1]) as f64;
            dst.expect_values(CLOSE, |i, j| if factor == 0.0 { 0.0 } else { factor * dst.at(i, j) });
        }
    });
}

pub(crate) fn add_by(device: &Device) {
    cases(device, |case, rows, cols| {
        for (times, element) in [(2.0f32, 0.25f32), (-1.0, 3.0), (1.0, 0.0)] {
            let mut dst = case.normals(rows, cols);
            let src = match element == 0.0 {
                true => case.operand(rows, cols, |_, _, _| f32::NAN),
                false => case.normals(rows, cols),
            };
            let factors = Matrix::from_slice(device, 2, 1, &[7.0, element]);
            let alpha = (times * element) as f64;
            let element = factors.view().row_range(1..2);
            device.add_by(dst.view_mut(), Factor { times, element }, src.view());
            dst.expect(CLOSE, |i, j| match alpha == 0.0 {
                true => (dst.at(i, j), 0.0),
                false => {
                    (dst.at(i, j) + alpha * src.at(i, j), dst.at(i, j).abs() + (alpha * src.at(i, j)).abs())
                }
            });
        }
    });
}

/// Sums of a device scaled, added and taken, with parts on the host.
pub(crate) fn sums_on_the_device(device: &Device) {
    let ones = Matrix::from_slice(device, 4, 300, &[1.0; 1200]);
    let new = |start: f64, adds: usize| {
        let mut sums = Accumulator::from_vec(vec![start; 300]);
        (0..adds).for_each(|_| device.accumulate(&mut sums, 0, ones.view(), nnet3_matrix::ColumnTerm::Value));
        sums
    };
    for (own, other) in [(0, 0), (0, 2), (2, 0), (1, 2)] {
        let (mut sums, more) = (new(10.0, own), new(20.0, other));
        sums.add(0.5, &more);
        sums.scale(4.0);
        let expected = 4.0 * (10.0 + 4.0 * own as f64 + 0.5 * (20.0 + 4.0 * other as f64));
        assert_eq!(*sums.values(), [expected; 300]);
        assert_eq!(*more.values(), [20.0 + 4.0 * other as f64; 300]);
        let mut empty = Accumulator::default();
        empty.add(2.0, &more);
        assert_eq!(*empty.values(), [2.0 * more.values()[0]; 300]);
        assert_eq!(sums.take(7), [expected; 7]);
        assert_eq!(*sums.values(), [0.0; 300]);
        device.accumulate(&mut sums, 0, ones.view(), nnet3_matrix::ColumnTerm::Value);
        sums.scale(0.0);
        assert_eq!(*sums.values(), [0.0; 300]);
    }
}

/// Sums scaled and added by a number of the device, with parts on the host and without.
pub(crate) fn sums_by_a_factor(device: &Device) {
    let ones = Matrix::from_slice(device, 4, 300, &[1.0; 1200]);
    let new = |start: f64, adds: usize| {
        let mut sums = Accumulator::from_vec(vec![start; 300]);
        (0..adds).for_each(|_| device.accumulate(&mut sums, 0, ones.view(), nnet3_matrix::ColumnTerm::Value));
        sums
    };
    for (times, element) in [(2.0f32, 0.25f32), (-1.0, 0.1), (1.0, 0.0), (1.0, 1.0)] {
        let factors = Matrix::from_slice(device, 1, 2, &[7.0, element]);
        let factor = Factor { times, element: factors.view().col_range(1..2) };
        let value = f64::from(times * element);
        for start in [0.0, 20.0] {
            for (own, other) in [(0, 0), (0, 2), (2, 0), (1, 2)] {
                let (mut sums, more) = (new(10.0, own), new(start, other));
                device.add_sums_by(&mut sums, factor, &more);
                let mut expected = (10.0 + 4.0 * own as f64) + value * (start + 4.0 * other as f64);
                let near = |sums: &Accumulator, expected: f64| {
                    let size = 1e-14 * (10.0 + expected.abs());
                    sums.values()
                        .iter()
                        .for_each(|v| assert!((v - expected).abs() <= size, "{v}, not {expected}"));
                };
                near(&sums, expected);
                near(&more, start + 4.0 * other as f64);
                device.scale_sums_by(&mut sums, factor);
                expected *= value;
                near(&sums, expected);
                let mut empty = Accumulator::default();
                device.add_sums_by(&mut empty, factor, &more);
                assert!(empty.values().iter().all(|&v| v == value * more.values()[0]));
            }
            let mut spoilt = Accumulator::from_vec(vec![f64::NAN; 3]);
            device.scale_sums_by(&mut spoilt, factor);
            assert!(spoilt.values().iter().all(|&v| if value == 0.0 { v == 0.0 } else { v.is_nan() }));
        }
    }
}
