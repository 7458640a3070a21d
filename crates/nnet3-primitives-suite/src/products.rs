//! gemm, gemm_with_bias, gemm_blocks, gram, products with weights in panels, of 32 and 8 bits.

use super::operand::form_of_factors;
use super::*;
use nnet3_matrix::bytes::rounded;
use nnet3_matrix::{Element, Gemm, GemmBlocks, Matrix, Start, Transpose, View, WeightForm};

/// Rounding of sums of products, relative to the sum of sizes. Units that multiply halves may add with fewer bits.
fn sum_rounding(form: Element) -> f64 {
    if form == Element::Half { 1e-5 } else { 2e-6 }
}

/// op(m) at (i, j), in the form of a product's factors.
fn op(m: &Operand, form: Element, t: Transpose, i: usize, j: usize) -> f64 {
    if t == Transpose::No { m.factor_at(form, i, j) } else { m.factor_at(form, j, i) }
}

fn check(case: &mut Case, m: usize, k: usize, n: usize) {
    let (ta, tb) =
        (case.one_of(&[Transpose::No, Transpose::Yes]), case.one_of(&[Transpose::No, Transpose::Yes]));
    let a = if ta == Transpose::No { case.normals(m, k) } else { case.normals(k, m) };
    let b = if tb == Transpose::No { case.normals(k, n) } else { case.normals(n, k) };
    let (alpha, beta) = (case.one_of(&[1.0, -0.6, 0.0]), case.one_of(&[0.0, 1.0, 0.4]));
    // With beta 0 the old contents must not reach the result.
    let mut c = if beta == 0.0 { case.operand(m, n, |_, _, _| f32::NAN) } else { case.normals(m, n) };
    let device = case.device.clone();
    device.gemm(Gemm { alpha, beta, ..Gemm::set(c.view_mut(), ta.of(a.view()), tb.of(b.view())) });
    let form = form_of_factors([&a, &b, &c]);
    c.expect(sum_rounding(form), |i, j| {
        let old = if beta == 0.0 { 0.0 } else { beta as f64 * c.at(i, j) };
        let terms = (0..k).map(|l| alpha as f64 * op(&a, form, ta, i, l) * op(&b, form, tb, l, j));
        terms.fold((old, old.abs()), |(sum, size), x| (sum + x, size + x.abs()))
    });
    a.expect_unchanged();
    b.expect_unchanged();
}

pub(crate) fn gemm(device: &Device) {
    cases(device, |case, rows, cols| {
        for _ in 0..6 {
            let other = case.one_of(&[0, 1, 2, 7, 31, 64, 65]);
            let (m, k, n) = case.one_of(&[(rows, other, cols), (rows, cols, other), (other, rows, cols)]);
            check(case, m, k, n);
        }
    });
}

/// Each row of the product plus the same row. Old contents must not reach the result. Sums may be empty.
fn check_with_bias(case: &mut Case, m: usize, k: usize, n: usize) {
    let either = [Transpose::No, Transpose::Yes];
    let (ta, tb, alpha) = (case.one_of(&either), case.one_of(&either), case.one_of(&[1.0, 1.0, -0.6, 0.0]));
    let a = if ta == Transpose::No { case.normals(m, k) } else { case.normals(k, m) };
    let b = if tb == Transpose::No { case.normals(k, n) } else { case.normals(n, k) };
    let (bias, mut c) = (case.normals(1, n), case.operand(m, n, |_, _, _| f32::NAN));
    let device = case.device.clone();
    let product = Gemm::set(c.view_mut(), ta.of(a.view()), tb.of(b.view())).times(alpha);
    device.gemm_with_bias(product.with_bias(bias.view()));
    let form = form_of_factors([&a, &b, &c]);
    c.expect(sum_rounding(form), |i, j| {
        let terms = (0..k).map(|l| alpha as f64 * op(&a, form, ta, i, l) * op(&b, form, tb, l, j));
        let term = bias.factor_at(c.form(), 0, j);
        terms.fold((term, term.abs()), |(sum, size), x| (sum + x, size + x.abs()))
    });
    [a, b, bias].iter().for_each(Operand::expect_unchanged);
}

pub(crate) fn gemm_with_bias(device: &Device) {
    cases(device, |case, rows, cols| {
        for _ in 0..3 {
            let other = case.one_of(&[0, 1, 2, 7, 31, 64, 65]);
            let (m, k, n) = case.one_of(&[(rows, other, cols), (rows, cols, other), (other, rows, cols)]);
            check_with_bias(case, m, k, n);
        }
        // One row, and sums of many terms for few results.
        check_with_bias(case, 1, cols, rows);
        check_with_bias(case, 1 + rows % 20, 1100, 1 + cols % 30);
    });
}

pub(crate) fn gram(device: &Device) {
    cases(device, |case, rows, cols| {
        let a = case.normals(rows, cols);
        let mut c = case.operand(cols, cols, |_, _, _| f32::NAN);
        device.gram(c.view_mut(), a.view());
        let form = form_of_factors([&a, &a, &c]);
        c.expect(sum_rounding(form), |i, j| {
            let terms = (0..rows).map(|l| a.factor_at(form, l, i) * a.factor_at(form, l, j));
            terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()))
        });
    });
}

/// A column of a matrix as a factor and as the product; both factors the same matrix; empty sums.
pub(crate) fn gemm_edge_cases(device: &Device) {
    cases(device, |case, rows, cols| {
        let x = case.normals(rows, cols);
        let mut gram = case.normals(rows, rows);
        device.gemm(Gemm::set(gram.view_mut(), x.view(), x.view().transposed()));
        let form = form_of_factors([&x, &x, &gram]);
        gram.expect(sum_rounding(form), |i, j| {
            let terms = (0..cols).map(|l| x.factor_at(form, i, l) * x.factor_at(form, j, l));
            terms.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()))
        });
        if cols == 0 {
            gram.expect(0.0, |_, _| (0.0, 0.0));
        }
        let vectors = case.normals(rows.max(cols), 3);
        let mut out = Matrix::zeros(device, rows, 2);
        let view = out.view_mut().col_range(1..2);
        let factor = vectors.view().sub(0..cols, 1..2);
        device.gemm(Gemm::add(view, x.view(), factor));
        for (i, pair) in out.to_vec().chunks(2).enumerate() {
            let form = form_of_factors([&x, &vectors, &vectors]);
            let want: f64 = (0..cols).map(|l| x.factor_at(form, i, l) * vectors.factor_at(form, l, 1)).sum();
            assert!(pair[0] == 0.0 && (pair[1] as f64 - want).abs() < 1e-6 * (1 + cols) as f64);
        }
    });
}

/// A few rows by the rows of a matrix, which devices may do in their own way.
pub(crate) fn gemm_of_few_rows(device: &Device) {
    cases(device, |case, _, cols| {
        let (m, k, cols) = (1 + case.below(9), 1 + case.below(100), 700 + cols);
        let (a, b) = (case.normals(m, k), case.normals(cols, k));
        let (alpha, beta) = (case.one_of(&[1.0, -0.6]), case.one_of(&[0.0, 1.0, 0.4]));
        let mut c =
            if beta == 0.0 { case.operand(m, cols, |_, _, _| f32::NAN) } else { case.normals(m, cols) };
        device.gemm(Gemm { alpha, beta, ..Gemm::set(c.view_mut(), a.view(), b.view().transposed()) });
        let form = form_of_factors([&a, &b, &c]);
        c.expect(sum_rounding(form), |i, j| {
            let old = if beta == 0.0 { 0.0 } else { beta as f64 * c.at(i, j) };
            let terms = (0..k).map(|l| alpha as f64 * a.factor_at(form, i, l) * b.factor_at(form, j, l));
            terms.fold((old, old.abs()), |(sum, size), x| (sum + x, size + x.abs()))
        });
    });
}

/// Factors side by side, below each other, overlapping, or the same each time; the products are side by side, or below each
/// other with gaps.
pub(crate) fn gemm_blocks(device: &Device) {
    cases(device, |case, rows, cols| {
        let (m, n, k, count) = (1 + rows % 9, 1 + cols % 11, 1 + (rows + cols) % 7, case.below(5));
        let (ta, tb) =
            (case.one_of(&[Transpose::No, Transpose::Yes]), case.one_of(&[Transpose::No, Transpose::Yes]));
        let (alpha, beta) = (case.one_of(&[1.0, -0.6, 0.0]), case.one_of(&[0.0, 1.0, 0.4]));
        let shape = |t, rows, cols| if t == Transpose::No { (rows, cols) } else { (cols, rows) };
        let (shape_a, shape_b) = (shape(ta, m, k), shape(tb, k, n));
        let apart =
            |case: &mut Case, (rows, cols)| case.one_of(&[(0, cols), (rows, 0), (1, 0), (0, 0), (0, 1)]);
        let (step_a, step_b) = (apart(case, shape_a), apart(case, shape_b));
        let (step_c, every) = case.one_of(&[((0, n + 1), 2), ((m, 0), 1), ((0, n), 1), ((2 * m, 0), 2)]);
        let whole = |case: &mut Case, (rows, cols): (usize, usize), every: usize, step: (usize, usize)| {
            let last = count.saturating_sub(1);
            case.normals(1 + (rows - 1) * every + last * step.0, cols + last * step.1)
        };
        let (a, b) = (whole(case, shape_a, 1, step_a), whole(case, shape_b, 1, step_b));
        let mut c = whole(case, (m, n), every, step_c);
        let blocks = c.view_mut().blocks((m, n), every, step_c, count);
        let (a_blocks, b_blocks) =
            (a.view().blocks(shape_a, 1, step_a, count), b.view().blocks(shape_b, 1, step_b, count));
        let device = case.device.clone();
        device.gemm_blocks(GemmBlocks {
            alpha,
            beta,
            ..GemmBlocks::set(blocks, ta.of(a_blocks), tb.of(b_blocks))
        });
        let form = form_of_factors([&a, &b, &c]);
        let element = |x: &Operand, t, step: (usize, usize), q: usize, i: usize, j: usize| {
            let (i, j) = if t == Transpose::No { (i, j) } else { (j, i) };
            x.factor_at(form, q * step.0 + i, q * step.1 + j)
        };
        c.expect(sum_rounding(form), |row, col| {
            let place = |q: usize| {
                let (down, right) = (row.checked_sub(q * step_c.0)?, col.checked_sub(q * step_c.1)?);
                (down % every == 0 && down / every < m && right < n).then_some((q, down / every, right))
            };
            let Some((q, i, j)) = (0..count).find_map(place) else { return (c.at(row, col), 0.0) };
            let old = if beta == 0.0 { 0.0 } else { beta as f64 * c.at(row, col) };
            let terms = (0..k)
                .map(|l| alpha as f64 * element(&a, ta, step_a, q, i, l) * element(&b, tb, step_b, q, l, j));
            terms.fold((old, old.abs()), |(sum, size), x| (sum + x, size + x.abs()))
        });
        a.expect_unchanged();
        b.expect_unchanged();
    });
}

/// All remainders of tiles and panels, one tap or several, all or some of the terms; a row's sums do not depend on the
/// other rows. Devices without panels are skipped.
pub(crate) fn products_with_panels(device: &Device) {
    let Some(panels) = device.panels() else { return };
    cases(device, |case, rows, cols| {
        let dim = 1 + case.below(70);
        let (terms, count) =
            case.one_of(&[(dim, 1), (3 * dim, 3), (2 * dim + 5, 1), (2 * dim, 1), (11 * dim, 11)]);
        let (some, few) = (1 + case.below(40), 1 + case.below(9));
        let rows = case.one_of(&[rows, some, few]);
        let w = case.normals(cols, terms);
        let arranged =
            panels.arrange(Matrix::from_vec(cols, terms, device.download(w.view())), WeightForm::Float);
        // Of a product of one tap some terms may be left out.
        let first = if count == 1 { terms - dim } else { 0 };
        let weights = arranged.view().term_range(first..first + count * dim);
        let x: Vec<Operand> = (0..count).map(|_| case.normals(rows, dim)).collect();
        let taps: Vec<View<'_>> = x.iter().map(Operand::view).collect();
        let bias = case.normals(1, cols);
        let start = case.one_of(&[Start::Zero, Start::Row(bias.view()), Start::Output]);
        let mut output = match start {
            Start::Output => case.normals(rows, cols),
            _ => case.operand(rows, cols, |_, _, _| f32::NAN),
        };
        let mut first_row = Matrix::from_vec(1, cols, vec![0.0; cols]);
        if rows > 0 {
            device.copy(first_row.view_mut(), output.view().row(0));
        }
        panels.multiply(output.view_mut(), start, &mut taps.iter().copied(), weights);
        output.expect(2e-6, |i, j| {
            let old = match start {
                Start::Zero => 0.0,
                Start::Row(_) => bias.at(0, j),
                Start::Output => output.at(i, j),
            };
            let term = |k: usize| x[k / dim].at(i, k % dim) * w.at(j, first + k);
            (0..count * dim).map(term).fold((old, old.abs()), |(sum, size), x| (sum + x, size + x.abs()))
        });
        if rows > 0 {
            let mut taps = taps.iter().map(|tap| tap.row(0));
            panels.multiply(first_row.view_mut(), start, &mut taps, weights);
            assert!(first_row.to_vec() == device.download(output.view().row(0)), "a row by itself");
        }
    });
}

/// Does the same as [`products_with_panels`] with weights of eight bits. The results are sums of the rounded weights,
/// up to half a step for each term.
pub(super) fn products_with_weights_of_eight_bits(device: &Device) {
    let Some(panels) = device.panels() else { return };
    cases(device, |case, rows, cols| {
        let dim = 1 + case.below(70);
        let (terms, count) =
            case.one_of(&[(dim, 1), (3 * dim, 3), (2 * dim + 5, 1), (2 * dim, 1), (11 * dim, 11)]);
        let (some, few) = (1 + case.below(150), 1 + case.below(9));
        let rows = case.one_of(&[rows, some, few]);
        let w = case.normals(cols, terms);
        let weights = device.download(w.view());
        let rounded: Vec<f64> = weights
            .chunks(terms)
            .flat_map(|row| {
                let (scale, numbers) = rounded(row);
                numbers.map(move |n| f64::from(n) * f64::from(scale))
            })
            .collect();
        let arranged = panels.arrange(Matrix::from_vec(cols, terms, weights), WeightForm::Int8);
        let first = if count == 1 { terms - dim } else { 0 };
        let weights = arranged.view().term_range(first..first + count * dim);
        assert!(cols == 0 || weights.form() == WeightForm::Int8);
        let x: Vec<Operand> = (0..count).map(|_| case.normals(rows, dim)).collect();
        let taps: Vec<View<'_>> = x.iter().map(Operand::view).collect();
        let bias = case.normals(1, cols);
        let start = case.one_of(&[Start::Zero, Start::Row(bias.view()), Start::Output]);
        let mut output = case.normals(rows, cols);
        let before = device.download(output.view());
        let mut one = Matrix::from_vec(1, cols, before[..if rows > 0 { cols } else { 0 }].to_vec());
        panels.multiply(output.view_mut(), start, &mut taps.iter().copied(), weights);
        let found = device.download(output.view());
        let term = |i: usize, k: usize| x[k / dim].at(i, k % dim);
        for i in 0..rows {
            let all = || (0..count * dim).map(|k| term(i, k));
            let range = all().fold(0.0, f64::max) - all().fold(0.0, f64::min);
            for j in 0..cols {
                let old = match start {
                    Start::Zero => 0.0,
                    Start::Row(_) => bias.at(0, j),
                    Start::Output => f64::from(before[i * cols + j]),
                };
                let weight = |k: usize| rounded[j * terms + first + k];
                let expected = old + (0..count * dim).map(|k| term(i, k) * weight(k)).sum::<f64>();
                let size = (0..count * dim).map(|k| weight(k).abs()).sum::<f64>();
                let error = (expected - f64::from(found[i * cols + j])).abs();
                let most = 0.5 * range / 253.0 * size + 1e-5 * (old.abs() + expected.abs() + size);
                assert!(
                    error <= most,
                    "{rows} x {dim} x {count}, {i}, {j}: {error} of {expected}, at most {most}"
                );
            }
        }
        if rows > 0 {
            let mut taps = taps.iter().map(|tap| tap.row(0));
            panels.multiply(one.view_mut(), start, &mut taps, weights);
            assert!(one.to_vec() == found[..cols], "a row by itself");
        }
    });
}
