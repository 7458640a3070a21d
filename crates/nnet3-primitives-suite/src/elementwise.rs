//! Element by element.

use super::operand::{CLOSE, large_cases};
use super::*;
use nnet3_matrix::{Activation, IndexTable, Map, Matrix};

const ACTIVATIONS: [Activation; 3] = [Activation::Sigmoid, Activation::Tanh, Activation::Relu];

fn value_of(f: Activation, x: f64) -> f64 {
    match f {
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => x.tanh(),
        Activation::Relu => x.max(0.0),
    }
}

pub(crate) fn derivative_of(f: Activation, y: f64) -> f64 {
    match f {
        Activation::Sigmoid => y * (1.0 - y),
        Activation::Tanh => 1.0 - y * y,
        Activation::Relu => (y > 0.0) as u32 as f64,
    }
}

pub(crate) fn map(device: &Device) {
    let away = |x: f64| if x.abs() >= 0.3 { x } else { 0.3f32 as f64 * if x >= 0.0 { 1.0 } else { -1.0 } };
    type Exact = fn(f64) -> f64;
    let functions: [(Map, Exact); 12] = [
        (Map::Exp, |x| x.exp()),
        (Map::Heaviside, |x| (x > 0.0) as u32 as f64),
        (Map::Abs, |x| x.abs()),
        (Map::Sign, |x| if x > 0.0 { 1.0 } else { -1.0 }),
        (Map::Square, |x| x * x),
        (Map::Log { floor: 1e-3 }, |x| x.max(1e-3f32 as f64).ln()),
        (Map::Inverse, |x| 1.0 / x),
        (Map::Floor(0.2), |x| x.max(0.2f32 as f64)),
        (Map::Ceiling(0.2), |x| x.min(0.2f32 as f64)),
        (Map::Affine { scale: 1.5, offset: 0.25 }, |x| 1.5 * x + 0.25),
        (Map::SquareRoot, |x| x.sqrt()),
        (Map::Power(-0.5), |x| x.powf(-0.5)),
    ];
    cases(device, |case, rows, cols| {
        for (f, exact) in functions.into_iter().chain([(Map::AwayFromZero { epsilon: 0.3 }, away as Exact)]) {
            let scale = if f == Map::Exp { 10.0 } else { 1.0 };
            let positive = matches!(f, Map::SquareRoot | Map::Power(_));
            let mut make = |zeros: bool| {
                case.operand(rows, cols, |case, _, _| {
                    let x = case.normal() * scale;
                    let x = if zeros && case.below(10) == 0 { 0.0 } else { x };
                    if positive { x.abs() } else { x }
                })
            };
            let (mut dst, src, mut both) = (make(true), make(true), make(true));
            device.map(dst.view_mut(), src.view(), f);
            dst.expect(CLOSE, |i, j| {
                (exact(src.at(i, j)), exact(src.at(i, j)).abs() + (scale == 1.0) as u32 as f64 * 0.5)
            });
            let view = both.view_mut();
            device.map(view, view.as_view(), f);
            both.expect(CLOSE, |i, j| (exact(both.at(i, j)), exact(both.at(i, j)).abs() + 0.5));
        }
    });
}

pub(crate) fn activate(device: &Device) {
    cases(device, |case, rows, cols| {
        for f in ACTIVATIONS {
            let (mut dst, mut src) =
                (case.normals(rows, cols), case.operand(rows, cols, |c, _, _| 4.0 * c.normal()));
            device.activate(dst.view_mut(), src.view(), f);
            dst.expect_values(CLOSE, |i, j| value_of(f, src.at(i, j)));
            let view = src.view_mut();
            device.activate(view, view.as_view(), f);
            src.expect_values(CLOSE, |i, j| value_of(f, src.at(i, j)));
        }
    });
}

/// Element-wise work on large matrices, of each kind: with matrices, functions, rows, columns, numbers of rows.
pub(crate) fn many_elements(device: &Device) {
    large_cases(device, |case, rows, cols| {
        let mut dst = case.normals(rows, cols);
        let (src, row, col) = (case.normals(rows, cols), case.normals(1, cols), case.normals(rows, 1));
        let numbers: Vec<i32> = (0..rows).map(|_| case.below(rows + 1) as i32 - 1).collect();
        device.add(dst.view_mut(), 0.5, src.view());
        dst.expect(CLOSE, |i, j| (dst.at(i, j) + 0.5 * src.at(i, j), 2.0));
        let mut dst = case.normals(rows, cols);
        device.activate(dst.view_mut(), src.view(), Activation::Tanh);
        dst.expect_values(CLOSE, |i, j| src.at(i, j).tanh());
        let mut dst = case.normals(rows, cols);
        device.map(dst.view_mut(), src.view(), Map::Floor(0.25));
        dst.expect(0.0, |i, j| (src.at(i, j).max(0.25), 0.0));
        let mut dst = case.normals(rows, cols);
        device.scale_rows(dst.view_mut(), col.view());
        dst.expect_values(CLOSE, |i, j| dst.at(i, j) * col.at(i, 0));
        let mut dst = case.normals(rows, cols);
        device.scale_cols(dst.view_mut(), row.view());
        dst.expect_values(CLOSE, |i, j| dst.at(i, j) * row.at(0, j));
        let mut dst = case.normals(rows, cols);
        device.add_rows(dst.view_mut(), -2.0, src.view(), &IndexTable::new(numbers.clone()));
        dst.expect(CLOSE, |i, j| {
            let new = if numbers[i] < 0 { 0.0 } else { -2.0 * src.at(numbers[i] as usize, j) };
            (dst.at(i, j) + new, dst.at(i, j).abs() + new.abs())
        });
    });
}

/// Far out there is no overflow, near zero no loss of accuracy, and NaN stays.
pub(crate) fn activate_extremes(device: &Device) {
    let x = [
        1e-30,
        -1e-30,
        1e-6,
        -0.01,
        30.0,
        -30.0,
        86.0,
        -86.0,
        200.0,
        -200.0,
        3e38,
        -3e38,
        f32::INFINITY,
        -f32::INFINITY,
    ];
    for f in ACTIVATIONS {
        let mut m = Matrix::from_slice(device, 1, x.len(), &x);
        let view = m.view_mut();
        device.activate(view, view.as_view(), f);
        for (x, y) in x.into_iter().zip(m.to_vec()) {
            let want = value_of(f, x as f64);
            assert!(
                (y as f64 - want).abs() <= CLOSE * want.abs() + 1.2e-38 || y as f64 == want,
                "{f:?}({x}) = {y}"
            );
        }
        let mut m = Matrix::from_slice(device, 1, 3, &[1.0, f32::NAN, 2.0]);
        let view = m.view_mut();
        device.activate(view, view.as_view(), f);
        assert!(m.to_vec()[1].is_nan() && !m.to_vec()[2].is_nan(), "{f:?} hides NaN");
    }
}

pub(crate) fn activate_backward(device: &Device) {
    cases(device, |case, rows, cols| {
        for f in ACTIVATIONS {
            let want = |y: f64, e: f64| (e * derivative_of(f, y), e.abs());
            let (mut y, mut e, mut dst) =
                (case.normals(rows, cols), case.normals(rows, cols), case.normals(rows, cols));
            device.activate_backward(dst.view_mut(), y.view(), e.view(), f);
            dst.expect(2e-6, |i, j| want(y.at(i, j), e.at(i, j)));
            let mut copy = case.operand_in(e.form(), rows, cols, |_, i, j| e.at(i, j) as f32);
            let view = copy.view_mut();
            device.activate_backward(view, y.view(), view.as_view(), f);
            copy.expect(2e-6, |i, j| want(y.at(i, j), e.at(i, j)));
            let view = y.view_mut();
            device.activate_backward(view, view.as_view(), e.view(), f);
            y.expect(2e-6, |i, j| want(y.at(i, j), e.at(i, j)));
            let view = e.view_mut();
            device.activate_backward(view, view.as_view(), view.as_view(), f);
            e.expect(2e-6, |i, j| want(e.at(i, j), e.at(i, j)));
        }
    });
}

pub(crate) fn product(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, mut a, b) =
            (case.normals(rows, cols), case.normals(rows, cols), case.normals(rows, cols));
        device.product(dst.view_mut(), a.view(), b.view());
        dst.expect_values(CLOSE, |i, j| a.at(i, j) * b.at(i, j));
        let view = a.view_mut();
        device.product(view, view.as_view(), b.view());
        a.expect_values(CLOSE, |i, j| a.at(i, j) * b.at(i, j));
    });
}

pub(crate) fn multiply(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, cols));
        device.multiply(dst.view_mut(), src.view());
        dst.expect_values(CLOSE, |i, j| dst.at(i, j) * src.at(i, j));
    });
}

pub(crate) fn divide(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, cols));
        device.divide(dst.view_mut(), src.view());
        dst.expect_values(CLOSE, |i, j| dst.at(i, j) / src.at(i, j));
    });
}

pub(crate) fn add_product(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, a, b) = (case.normals(rows, cols), case.normals(rows, cols), case.normals(rows, cols));
        let other = if case.below(3) == 0 { &a } else { &b };
        device.add_product(dst.view_mut(), 0.7, a.view(), other.view());
        dst.expect(CLOSE, |i, j| {
            let product = 0.7 * a.at(i, j) * other.at(i, j);
            (dst.at(i, j) + product, dst.at(i, j).abs() + product.abs())
        });
    });
}

pub(crate) fn multiply_by_ratio(device: &Device) {
    cases(device, |case, rows, cols| {
        let x = case.operand(rows, cols, |case, _, _| if case.below(4) == 0 { 0.0 } else { case.normal() });
        let (mut dst, mut e, y) =
            (case.normals(rows, cols), case.normals(rows, cols), case.normals(rows, cols));
        let want = |e: f64, y: f64, x: f64| if x == 0.0 { e } else { e * (y / x) };
        device.multiply_by_ratio(dst.view_mut(), e.view(), y.view(), x.view());
        dst.expect_values(CLOSE, |i, j| want(e.at(i, j), y.at(i, j), x.at(i, j)));
        let view = e.view_mut();
        device.multiply_by_ratio(view, view.as_view(), y.view(), x.view());
        e.expect_values(CLOSE, |i, j| want(e.at(i, j), y.at(i, j), x.at(i, j)));
    });
}

pub(crate) fn add_where_equal(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, a, b) = (case.normals(rows, cols), case.normals(rows, cols), case.normals(rows, cols));
        let c = case.operand(
            rows,
            cols,
            |case, i, j| if case.below(2) == 0 { a.at(i, j) as f32 } else { case.normal() },
        );
        device.add_where_equal(dst.view_mut(), a.view(), c.view(), b.view());
        dst.expect(CLOSE, |i, j| {
            let extra = if a.at(i, j) == c.at(i, j) { b.at(i, j) } else { 0.0 };
            (dst.at(i, j) + extra, dst.at(i, j).abs() + extra.abs())
        });
    });
}

pub(crate) fn max_with(device: &Device) {
    cases(device, |case, rows, cols| {
        let (mut dst, src) = (case.normals(rows, cols), case.normals(rows, cols));
        device.max_with(dst.view_mut(), src.view());
        dst.expect(0.0, |i, j| (dst.at(i, j).max(src.at(i, j)), 0.0));
    });
}
