//! Normalisation together with the steps around it.

use super::operand::CLOSE;
use super::*;
use nnet3_matrix::backend::{Bypass, DerivBeforeRelu, NormalizedDeriv, NormalizedSum};
use nnet3_matrix::{Accumulator, Activation, ColumnTerm, IndexTable};

/// Rounding of sums in several `f32` lanes, relative to the sum of sizes.
const SUM: f64 = 1e-6;

fn contents(device: &Device, operand: &mut Operand) -> Vec<f32> {
    device.download(operand.view_mut().as_view())
}

/// A matrix of masks, and the number of one for each row.
fn masks(case: &mut Case, rows: usize, cols: usize) -> (Operand, IndexTable) {
    let count = 1 + case.below(5);
    let numbers = IndexTable::new((0..rows).map(|_| case.below(count) as i32).collect());
    (case.normals(count, cols), numbers)
}

fn with_large(device: &Device, mut check: impl FnMut(&mut Case, usize, usize)) {
    cases(device, &mut check);
    // Threads of a GPU take several rows each; columns are more than find a place at once.
    for (rows, cols) in [(300, 500), (1031, 130), (70, 4500)] {
        check(&mut Case::new(device, 11), rows, cols);
    }
}

/// With or without masks, another term and numbers of its rows, rectification, values; in place or not.
fn check_normalized_sum(case: &mut Case, rows: usize, cols: usize) {
    let device = case.device.clone();
    let moments = case.normals(3, cols);
    let [masked, bypassed, picked, keeps, rectifies] = [(); 5].map(|()| case.below(2) == 0);
    let in_place = case.below(3);
    let others = if picked { 1 + case.below(20) } else { rows };
    let other = case.normals(others, cols);
    let (masks, numbers) = masks(case, rows, cols);
    let (mut dst, mut values, src) =
        (case.normals(rows, cols), case.normals(rows, cols), case.normals(rows, cols));
    let picks = IndexTable::new((0..rows).map(|_| case.below(others.max(1) + 1) as i32 - 1).collect());
    let (dst_view, values_view) = (dst.view_mut(), values.view_mut());
    let terms = NormalizedSum {
        src: match in_place {
            0 if keeps => values_view.as_view(),
            1 => dst_view.as_view(),
            _ => src.view(),
        },
        rectifies,
        moments: moments.view(),
        masks: masked.then(|| (masks.view(), &numbers)),
        bypass: bypassed.then(|| Bypass {
            matrix: other.view(),
            factor: 0.66,
            rows: picked.then_some(&picks),
        }),
    };
    device.normalized_sum(dst_view, keeps.then_some(values_view), &terms);
    let value = |i: usize, j: usize| {
        let x = match in_place {
            0 if keeps => values.at(i, j),
            1 => dst.at(i, j),
            _ => src.at(i, j),
        };
        let x = if rectifies { x.max(0.0) } else { x };
        let (mean, scale) = (moments.at(0, j), moments.at(2, j));
        ((x - mean) * scale, (x.abs() + mean.abs()) * scale.abs())
    };
    match keeps {
        true => values.expect(CLOSE, value),
        false => values.expect_unchanged(),
    }
    dst.expect(CLOSE, |i, j| {
        let (value, size) = value(i, j);
        let mask = if masked { masks.at(numbers.values()[i] as usize, j) } else { 1.0 };
        let from = if picked { picks.values()[i] } else { i as i32 };
        let term = if from < 0 || !bypassed { 0.0 } else { 0.66f32 as f64 * other.at(from as usize, j) };
        (term + mask * value, term.abs() + size * mask.abs())
    });
}

pub(crate) fn normalized_sum(device: &Device) {
    with_large(device, check_normalized_sum);
}

/// Moments are those of the rectified matrix; sums those of separate primitives, to the last digit.
pub(crate) fn rectified_moments(device: &Device) {
    with_large(device, |case, rows, cols| {
        if rows == 0 {
            return;
        }
        let src = case.normals(rows, cols);
        let (factor, epsilon) = (case.one_of(&[1.0, 4.0]), case.one_of(&[1e-3, 0.5]));
        let mut rectified = case.operand_in(src.form(), rows, cols, |_, i, j| src.at(i, j).max(0.0) as f32);
        let (mut moments, mut steps) = (case.normal_floats(3, cols), case.normal_floats(3, cols));
        let mut sums = [(); 2].map(|()| Accumulator::zeros(cols));
        let [values, above] = &mut sums;
        let given = (case.below(3) > 0).then_some([values, above]);
        let adds = given.is_some();
        device.rectified_moments(moments.view_mut(), src.view(), factor, epsilon, given);
        device.moments(steps.view_mut(), rectified.view_mut().as_view(), factor, epsilon);
        let expected = contents(device, &mut steps);
        // Sums of few rows are rounded otherwise. Scales depend on differences.
        let tolerance = if rows > 64 && cols > 32 { 0.0 } else { 1e-4 };
        moments.expect(tolerance, |k, j| {
            let value = expected[k * cols + j] as f64;
            (value, value.abs() * (1.0 + if k == 2 { value * value } else { 0.0 }))
        });
        let mut separate = [(); 2].map(|()| Accumulator::zeros(cols));
        if adds {
            let view = rectified.view_mut().as_view();
            device.accumulate(&mut separate[0], 0, view, ColumnTerm::Value);
            device.accumulate(&mut separate[1], 0, view, ColumnTerm::Derivative(Activation::Relu));
        }
        for (found, expected) in sums.iter().zip(&separate) {
            for (a, b) in found.values().iter().zip(expected.values().iter()) {
                assert!((a - b).abs() <= 1e-6 * b.abs(), "{a}, not {b}");
            }
        }
    });
}

/// The masked derivative, the normalised input, and the size of its terms.
struct Way<'a> {
    deriv: &'a Operand,
    input: &'a Operand,
    moments: &'a Operand,
    masks: Option<(&'a Operand, &'a IndexTable)>,
}

impl Way<'_> {
    fn masked(&self, i: usize, j: usize) -> f64 {
        let mask = self.masks.map_or(1.0, |(masks, numbers)| masks.at(numbers.values()[i] as usize, j));
        self.deriv.at(i, j) * mask
    }

    fn normalized(&self, i: usize, j: usize) -> (f64, f64) {
        let (x, mean, scale) = (self.input.at(i, j).max(0.0), self.moments.at(0, j), self.moments.at(2, j));
        ((x - mean) * scale, (x + mean.abs()) * scale.abs())
    }

    fn terms(&self) -> NormalizedDeriv<'_> {
        NormalizedDeriv {
            out_deriv: self.deriv.view(),
            masks: self.masks.map(|(masks, numbers)| (masks.view(), numbers)),
            input: self.input.view(),
            moments: self.moments.view(),
        }
    }
}

pub(crate) fn normalized_deriv_sums(device: &Device) {
    with_large(device, |case, rows, cols| {
        if rows == 0 {
            return;
        }
        let (deriv, input, moments) =
            (case.normals(rows, cols), case.normals(rows, cols), case.normals(3, cols));
        let (masks, numbers) = masks(case, rows, cols);
        let masks = (case.below(2) == 0).then_some((&masks, &numbers));
        let way = Way { deriv: &deriv, input: &input, moments: &moments, masks };
        let mut sums = case.normals(3, cols);
        device.normalized_deriv_sums(sums.view_mut(), -0.3, &way.terms());
        sums.expect(SUM, |k, j| {
            let terms = (0..rows).map(|i| match k {
                0 => (way.masked(i, j), way.masked(i, j).abs()),
                _ => {
                    let (y, size) = way.normalized(i, j);
                    (way.masked(i, j) * y, way.masked(i, j).abs() * size)
                }
            });
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), (x, s)| (sum + x, size + s));
            let scale = moments.at(2, j);
            match k {
                0 => (sum / rows as f64, size / rows as f64),
                1 => (-0.3f32 as f64 * sum * scale, size * scale.abs()),
                _ => (sums.at(k, j), 0.0),
            }
        });
    });
}

/// With or without masks, sums of squares, a repair and a copy.
pub(crate) fn normalized_deriv(device: &Device) {
    with_large(device, |case, rows, cols| {
        let (deriv, input, moments) =
            (case.normals(rows, cols), case.normals(rows, cols), case.normals(3, cols));
        let (masks, numbers) = masks(case, rows, cols);
        let masks = (case.below(2) == 0).then_some((&masks, &numbers));
        let way = Way { deriv: &deriv, input: &input, moments: &moments, masks };
        let sums = case.normals(3, cols);
        let (mut dst, mut copy) = (case.normals(rows, cols), case.normals(rows, cols));
        let mut squares = Accumulator::from_vec(vec![1.5; cols]);
        let [adds, copies] = [(); 2].map(|()| case.below(2) == 0);
        let repair = case.one_of(&[0.0, 0.25]);
        let rest = DerivBeforeRelu {
            squares: adds.then_some(&mut squares),
            repair,
            copy: copies.then(|| (copy.view_mut(), 0.66)),
        };
        device.normalized_deriv(dst.view_mut(), sums.view(), &way.terms(), rest);
        let before = |i: usize, j: usize| {
            let (y, size) = way.normalized(i, j);
            let (e, scale, [mean, factor, _]) =
                (way.masked(i, j), moments.at(2, j), [0, 1, 2].map(|k| sums.at(k, j)));
            let d = (e - mean) * scale + factor * y;
            (d, (e.abs() + mean.abs()) * scale.abs() + factor.abs() * size)
        };
        dst.expect(2.0 * CLOSE, |i, j| {
            let (d, size) = before(i, j);
            let term = repair as f64 * sums.at(2, j);
            let passed = if input.at(i, j) > 0.0 { d } else { 0.0 };
            (passed + term, size + term.abs())
        });
        match copies {
            true => copy.expect_values(CLOSE, |i, j| 0.66f32 as f64 * deriv.at(i, j)),
            false => copy.expect_unchanged(),
        }
        for (j, found) in squares.values().iter().enumerate() {
            let terms = (0..if adds { rows } else { 0 }).map(|i| before(i, j));
            let (sum, size) = terms.fold((1.5, 0.0), |(sum, size), (d, s)| (sum + d * d, size + s * s));
            assert!((found - sum).abs() <= 2.0 * SUM * size, "{found}, not {sum}");
        }
    });
}
