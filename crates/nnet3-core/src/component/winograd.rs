//! Filters over time in two thirds of the multiplications.
//!
//! y(i) = Σ_k W_k x_k(i) for the two or three taps k of a TDNN, where x_{k+1}(i) = x_k(i + step): most inputs are read
//! by several outputs. A *tile* is four inputs x_0 … x_3, `step` rows one after the other, and the three (two taps) or two
//! (three taps) outputs that read no other. In place of six products four will do (S. Winograd, "Arithmetic Complexity of
//! Computations", 1980, F(3, 2) and F(2, 3); Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015):
//!
//! m_0 = W_0 (x_0 - x_2), m_1 = ½ (W_0 + W_1 + W_2) (x_1 + x_2), m_2 = ½ (W_0 - W_1 + W_2) (x_2 - x_1),
//! m_3 = W_last (x_3 - x_1), W_2 being 0 if there are two taps only, then
//!
//! * two taps: y_0 = m_0 + m_1 + m_2, y_1 = m_1 - m_2, y_2 = m_1 + m_2 + m_3;
//! * three taps: y_0 = m_0 + m_1 + m_2, y_1 = m_1 - m_2 + m_3.
//!
//! The derivatives go through the same tables, transposed. Results differ by rounding from those of the obvious products.

use super::Context;
use nnet3_matrix::{Backend, Scratch, Transpose::No, Transpose::Yes, View, ViewMut};
use std::ops::Range;

/// A number and what it is a factor of.
type Term = (f32, usize);

const PRODUCTS: usize = 4;
/// What of the tile's inputs each product reads.
const INPUTS: [&[Term]; PRODUCTS] =
    [&[(1.0, 0), (-1.0, 2)], &[(1.0, 1), (1.0, 2)], &[(1.0, 2), (-1.0, 1)], &[(1.0, 3), (-1.0, 1)]];
/// What of the products each output of the tile is, with two taps and with three.
const OUTPUTS_OF_TWO: [&[Term]; 3] =
    [&[(1.0, 0), (1.0, 1), (1.0, 2)], &[(1.0, 1), (-1.0, 2)], &[(1.0, 1), (1.0, 2), (1.0, 3)]];
const OUTPUTS_OF_THREE: [&[Term]; 2] = [&[(1.0, 0), (1.0, 1), (1.0, 2)], &[(1.0, 1), (-1.0, 2), (1.0, 3)]];
/// What of each tap's weights is in those of products 1 and 2.
const MIXED: [[f32; 3]; 2] = [[0.5, 0.5, 0.5], [0.5, -0.5, 0.5]];

/// Fewer tiles do not make up for the mixing of weights, nor fewer columns for the sums of rows.
const LEAST_TILES: usize = 128;
const LEAST_COLUMNS: usize = 64;
/// Tiles that are worked on at a time. Scratch memory is for as many always: few sizes, few pages that are touched for the first
/// time.
const MOST_TILES: usize = 512;

/// What is known of an affine component's input: its columns are those of two or three taps side by side, and what tap k + 1
/// holds in row i, tap k holds in row i + step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taps {
    pub count: usize,
    pub step: usize,
    /// Whether of the input's derivative only sums over elements matter of which the input has the same.
    pub summed: bool,
}

impl Taps {
    /// The filter that makes outputs of `linear`'s rows of an input with `linear`'s columns, if it pays.
    pub fn filter(&self, backend: &dyn Backend, rows: usize, linear: View<'_>) -> Option<Filter> {
        Filter::new(backend, self.count, self.step, rows, (linear.cols() / self.count, linear.rows()))
    }

    /// The taps of an input.
    pub fn of<'v>(&self, input: View<'v>) -> [View<'v>; 3] {
        std::array::from_fn(|k| if k < self.count { tap(input, k, self.count) } else { View::empty() })
    }

    /// The taps of an input's derivative; if there are two, the last one twice.
    pub fn of_mut<'v>(&self, in_deriv: ViewMut<'v>) -> [ViewMut<'v>; 3] {
        let dim = in_deriv.cols() / self.count;
        std::array::from_fn(|k| k.min(self.count - 1)).map(|k| in_deriv.col_range(k * dim..(k + 1) * dim))
    }
}

/// Which rows belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// 2 or 3.
    taps: usize,
    /// Rows from an output of a tile to the next.
    step: usize,
    /// Outputs.
    rows: usize,
}

/// Tiles whose first outputs are rows `row`, `row + stride`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    row: usize,
    stride: usize,
    tiles: usize,
    /// Number of the first one in its portion.
    first: usize,
}

impl Run {
    /// The rows that are `later` rows after those of the tiles' first outputs.
    fn after<'v>(&self, view: View<'v>, later: usize) -> View<'v> {
        view.every(self.row + later, self.stride, self.tiles)
    }

    fn after_mut<'v>(&self, view: ViewMut<'v>, later: usize) -> ViewMut<'v> {
        view.every(self.row + later, self.stride, self.tiles)
    }

    /// Numbers of its tiles in the portion.
    fn numbers(&self) -> Range<usize> {
        self.first..self.first + self.tiles
    }
}

impl Filter {
    /// The filter of this many taps, of `dim` columns each, for `rows` outputs of `out_dim` columns. None where it does not
    /// pay, and where there are other than two or three taps.
    pub fn new(
        backend: &dyn Backend,
        taps: usize,
        step: usize,
        rows: usize,
        (dim, out_dim): (usize, usize),
    ) -> Option<Filter> {
        // Elsewhere than on the host, products are not what takes time.
        backend.cached_elements()?;
        let fits = (2..=3).contains(&taps) && step > 0 && dim.min(out_dim) >= LEAST_COLUMNS;
        let filter = Filter { taps, step, rows };
        (fits && filter.tiles() >= LEAST_TILES).then_some(filter)
    }

    fn outputs(&self) -> &'static [&'static [Term]] {
        if self.taps == 2 { &OUTPUTS_OF_TWO } else { &OUTPUTS_OF_THREE }
    }

    /// Rows that `step` tiles fill without gaps.
    fn block(&self) -> usize {
        self.outputs().len() * self.step
    }

    /// Tiles after the last whole block.
    fn late_tiles(&self) -> usize {
        (self.rows % self.block()).saturating_sub(self.block() - self.step)
    }

    fn tiles(&self) -> usize {
        self.rows / self.block() * self.step + self.late_tiles()
    }

    fn portions(&self) -> impl Iterator<Item = (usize, Runs)> + use<> {
        let (step, block, tiles) = (self.step, self.block(), self.tiles());
        (0..tiles).step_by(MOST_TILES).map(move |start| {
            let end = tiles.min(start + MOST_TILES);
            (end - start, Runs { step, block, start, next: start, end })
        })
    }

    /// Rows that are in no tile.
    fn rest(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, step, late) = (self.rows, self.step, self.late_tiles());
        let first = rows - rows % self.block();
        let (parts, width) = if late == 0 { (1, self.block()) } else { (self.outputs().len(), step) };
        let part = move |k| first + k * width + late..rows.min(first + (k + 1) * width);
        (0..parts).map(part).filter(|rows| !rows.is_empty())
    }

    /// The tap that reads input `k` of a tile as its first output or a later one, and rows from the first output to that one.
    fn reader(&self, k: usize) -> (usize, usize) {
        let tap = k.min(self.taps - 1);
        (tap, (k - tap) * self.step)
    }

    /// Weights of products 1 and 2, one above the other.
    fn mixed_weights<'w>(&self, context: Context<'w>, linear: View<'_>) -> Scratch<'w> {
        let mut mixed = context.workspace.take(2 * linear.rows(), linear.cols() / self.taps);
        for (to, factors) in halves(mixed.view_mut()).into_iter().zip(MIXED) {
            let taps = (0..self.taps).map(|k| (factors[k], tap(linear, k, self.taps)));
            weighted_sum(context.backend, to, taps, false);
        }
        mixed
    }

    fn weights<'v>(&self, linear: View<'v>, mixed: View<'v>) -> [View<'v>; PRODUCTS] {
        let half = linear.rows();
        [
            tap(linear, 0, self.taps),
            mixed.row_range(0..half),
            mixed.row_range(half..2 * half),
            tap(linear, self.taps - 1, self.taps),
        ]
    }

    /// What product `k` of these tiles reads of their inputs.
    fn sum_inputs(&self, backend: &dyn Backend, to: ViewMut<'_>, k: usize, runs: Runs, taps: &[View<'_>]) {
        for run in runs {
            let inputs = INPUTS[k].iter().map(|&(factor, input)| {
                let (tap, later) = self.reader(input);
                (factor, run.after(taps[tap], later))
            });
            weighted_sum(backend, to.row_range(run.numbers()), inputs, false);
        }
    }

    /// The derivative of product `k` of these tiles.
    fn sum_derivs(&self, backend: &dyn Backend, to: ViewMut<'_>, k: usize, runs: Runs, out_deriv: View<'_>) {
        for run in runs {
            let derivs = self.outputs().iter().enumerate().filter_map(|(output, terms)| {
                let &(factor, _) = terms.iter().find(|term| term.1 == k)?;
                Some((factor, run.after(out_deriv, output * self.step)))
            });
            weighted_sum(backend, to.row_range(run.numbers()), derivs, false);
        }
    }

    /// output = Σ_k x_k W_kᵀ + bias, or with `adds` output += that. `taps` are the x_k, R × D each, `linear` the W_k side by
    /// side, O × K D; `bias`, 1 × O, may be empty.
    pub fn forward(
        &self,
        context: Context<'_>,
        output: ViewMut<'_>,
        taps: &[View<'_>],
        linear: View<'_>,
        bias: View<'_>,
        adds: bool,
    ) {
        let backend = context.backend;
        let mixed = self.mixed_weights(context, linear);
        let weights = self.weights(linear, mixed.view());
        let mut sums = context.workspace.take(MOST_TILES, taps[0].cols());
        let mut products = context.workspace.take(PRODUCTS * MOST_TILES, output.cols());
        let (sums, products) = (sums.view_mut(), products.view_mut());
        for (tiles, runs) in self.portions() {
            let sums = sums.row_range(0..tiles);
            let product = |k: usize| products.row_range(k * MOST_TILES..k * MOST_TILES + tiles);
            for (k, &weights) in weights.iter().enumerate() {
                self.sum_inputs(backend, sums, k, runs, taps);
                // Product 1 is in every output, with factor 1.
                let with_bias = k == 1 && !bias.is_empty();
                if with_bias {
                    backend.set_rows(product(k), bias);
                }
                let beta = if with_bias { 1.0 } else { 0.0 };
                backend.gemm(product(k), 1.0, sums.as_view(), No, weights, Yes, beta);
            }
            for run in runs {
                for (later, terms) in self.outputs().iter().enumerate() {
                    let terms = terms
                        .iter()
                        .map(|&(factor, k)| (factor, product(k).as_view().row_range(run.numbers())));
                    weighted_sum(backend, run.after_mut(output, later * self.step), terms, adds);
                }
            }
        }
        for rows in self.rest() {
            let output = output.row_range(rows.clone());
            let mut beta = if adds { 1.0 } else { 0.0 };
            if !bias.is_empty() {
                match adds {
                    true => backend.add_to_rows(output, 1.0, bias),
                    false => backend.set_rows(output, bias),
                }
                beta = 1.0;
            }
            for (k, input) in taps.iter().enumerate().take(self.taps) {
                let linear = tap(linear, k, self.taps);
                backend.gemm(output, 1.0, input.row_range(rows.clone()), No, linear, Yes, beta);
                beta = 1.0;
            }
        }
    }

    /// Adds the derivatives with respect to the inputs: to `in_derivs`, the rows that the taps have read.
    pub fn backward_data(
        &self,
        context: Context<'_>,
        in_derivs: &[ViewMut<'_>],
        out_deriv: View<'_>,
        linear: View<'_>,
    ) {
        let backend = context.backend;
        let mixed = self.mixed_weights(context, linear);
        let weights = self.weights(linear, mixed.view());
        let mut sums = context.workspace.take(MOST_TILES, out_deriv.cols());
        let mut products = context.workspace.take(PRODUCTS * MOST_TILES, in_derivs[0].cols());
        let (sums, products) = (sums.view_mut(), products.view_mut());
        for (tiles, runs) in self.portions() {
            let sums = sums.row_range(0..tiles);
            let product = |k: usize| products.row_range(k * MOST_TILES..k * MOST_TILES + tiles);
            for (k, &weights) in weights.iter().enumerate() {
                self.sum_derivs(backend, sums, k, runs, out_deriv);
                backend.gemm(product(k), 1.0, sums.as_view(), No, weights, No, 0.0);
            }
            for run in runs {
                for input in 0..PRODUCTS {
                    let terms = INPUTS.iter().enumerate().filter_map(|(k, terms)| {
                        let &(factor, _) = terms.iter().find(|term| term.1 == input)?;
                        Some((factor, product(k).as_view().row_range(run.numbers())))
                    });
                    let (tap, later) = self.reader(input);
                    weighted_sum(backend, run.after_mut(in_derivs[tap], later), terms, true);
                }
            }
        }
        for rows in self.rest() {
            for (k, in_deriv) in in_derivs.iter().enumerate().take(self.taps) {
                let (in_deriv, derivs) =
                    (in_deriv.row_range(rows.clone()), out_deriv.row_range(rows.clone()));
                backend.gemm(in_deriv, 1.0, derivs, No, tap(linear, k, self.taps), No, 1.0);
            }
        }
    }

    /// Adds `rate` × the derivative with respect to the weights to `linear_deriv`.
    pub fn backward_params(
        &self,
        context: Context<'_>,
        linear_deriv: ViewMut<'_>,
        rate: f32,
        out_deriv: View<'_>,
        taps: &[View<'_>],
    ) {
        let backend = context.backend;
        let (out_dim, dim) = (out_deriv.cols(), taps[0].cols());
        let own = |k: usize| linear_deriv.col_range(k * dim..(k + 1) * dim);
        let mut mixed = context.workspace.zeros(2 * out_dim, dim);
        let [first, second] = halves(mixed.view_mut());
        let weights = [own(0), first, second, own(self.taps - 1)];
        let mut inputs = context.workspace.take(MOST_TILES, dim);
        let mut derivs = context.workspace.take(MOST_TILES, out_dim);
        let (inputs, derivs) = (inputs.view_mut(), derivs.view_mut());
        for (tiles, runs) in self.portions() {
            let (inputs, derivs) = (inputs.row_range(0..tiles), derivs.row_range(0..tiles));
            for (k, &weights) in weights.iter().enumerate() {
                self.sum_inputs(backend, inputs, k, runs, taps);
                self.sum_derivs(backend, derivs, k, runs, out_deriv);
                backend.gemm(weights, rate, derivs.as_view(), Yes, inputs.as_view(), No, 1.0);
            }
        }
        for k in 0..self.taps {
            let terms =
                [first, second].into_iter().zip(MIXED).map(|(half, factors)| (factors[k], half.as_view()));
            weighted_sum(backend, own(k), terms, true);
        }
        for rows in self.rest() {
            for (k, input) in taps.iter().enumerate().take(self.taps) {
                let (input, derivs) = (input.row_range(rows.clone()), out_deriv.row_range(rows.clone()));
                backend.gemm(own(k), rate, derivs, Yes, input, No, 1.0);
            }
        }
    }
}

/// The runs of a portion.
#[derive(Clone, Copy, Debug)]
struct Runs {
    step: usize,
    block: usize,
    /// Tiles of the portion.
    start: usize,
    end: usize,
    next: usize,
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let (tile, left) = (self.next, self.end - self.next);
        let row = tile / self.step * self.block + tile % self.step;
        let (stride, tiles) = match self.step {
            1 => (self.block, left),
            step => (1, left.min(step - tile % step)),
        };
        self.next += tiles;
        (tiles > 0).then_some(Run { row, stride, tiles, first: tile - self.start })
    }
}

/// The columns of one of several taps.
fn tap(linear: View<'_>, k: usize, taps: usize) -> View<'_> {
    let dim = linear.cols() / taps;
    linear.col_range(k * dim..(k + 1) * dim)
}

fn halves(mixed: ViewMut<'_>) -> [ViewMut<'_>; 2] {
    let rows = mixed.rows() / 2;
    [mixed.row_range(0..rows), mixed.row_range(rows..2 * rows)]
}

/// As [`Backend::weighted_sum`], of at most four terms.
fn weighted_sum<'v>(
    backend: &dyn Backend,
    to: ViewMut<'_>,
    terms: impl Iterator<Item = (f32, View<'v>)>,
    adds: bool,
) {
    let mut list = [(0.0, View::empty()); 4];
    let mut count = 0;
    for term in terms {
        list[count] = term;
        count += 1;
    }
    backend.weighted_sum(to, &list[..count], adds);
}

#[cfg(test)]
mod tests {
    use super::super::testing::Harness;
    use super::*;
    use crate::random::Random;
    use nnet3_matrix::Matrix;

    const DIM: usize = 5;
    const OUT_DIM: usize = 4;

    fn assert_close(found: &Matrix, expected: &Matrix, filter: &Filter) {
        let (found, expected) = (found.to_vec(), expected.to_vec());
        let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs()));
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() <= 1e-5 * size, "{filter:?}, {i}: {found}, expected {expected}");
        }
    }

    /// All that it does, against a product for each tap, in one matrix of inputs in which the taps are `step` rows apart.
    fn check(filter: Filter) {
        let (harness, random) = (Harness::new(), Random::new(filter.rows as i32));
        let context = harness.context();
        let backend = context.backend;
        let normal = |rows, cols| Matrix::from_vec(rows, cols, random.normal_vec(rows * cols, 0.0, 1.0));
        let Filter { taps, step, rows } = filter;
        let (input, linear) = (normal(rows + (taps - 1) * step, DIM), normal(OUT_DIM, taps * DIM));
        let (bias, out_deriv) = (normal(1, OUT_DIM), normal(rows, OUT_DIM));
        let tap_rows = |k: usize| k * step..k * step + rows;
        let views: Vec<_> = (0..taps).map(|k| input.view().row_range(tap_rows(k))).collect();

        for (bias, adds) in
            [(bias.view(), false), (bias.view(), true), (View::empty(), false), (View::empty(), true)]
        {
            let mut found = normal(rows, OUT_DIM);
            let mut expected =
                if adds { found.clone() } else { Matrix::zeros(input.device(), rows, OUT_DIM) };
            filter.forward(context, found.view_mut(), &views, linear.view(), bias, adds);
            if !bias.is_empty() {
                backend.add_to_rows(expected.view_mut(), 1.0, bias);
            }
            for (k, input) in views.iter().enumerate() {
                backend.gemm(expected.view_mut(), 1.0, *input, No, tap(linear.view(), k, taps), Yes, 1.0);
            }
            assert_close(&found, &expected, &filter);
        }

        let mut found = normal(input.rows(), DIM);
        let mut expected = found.clone();
        let whole = found.view_mut();
        let into: Vec<_> = (0..taps).map(|k| whole.row_range(tap_rows(k))).collect();
        filter.backward_data(context, &into, out_deriv.view(), linear.view());
        for k in 0..taps {
            let into = expected.view_mut().row_range(tap_rows(k));
            backend.gemm(into, 1.0, out_deriv.view(), No, tap(linear.view(), k, taps), No, 1.0);
        }
        assert_close(&found, &expected, &filter);

        let mut found = normal(OUT_DIM, taps * DIM);
        let mut expected = found.clone();
        filter.backward_params(context, found.view_mut(), 0.3, out_deriv.view(), &views);
        for (k, input) in views.iter().enumerate() {
            let into = expected.view_mut().col_range(k * DIM..(k + 1) * DIM);
            backend.gemm(into, 0.3, out_deriv.view(), Yes, *input, No, 1.0);
        }
        assert_close(&found, &expected, &filter);
    }

    #[test]
    fn results_are_those_of_a_product_for_each_tap() {
        for taps in [2, 3] {
            for step in 1..=5 {
                for rows in 1..=40 {
                    check(Filter { taps, step, rows });
                }
            }
            // Several portions.
            for (step, rows) in [(1, 4 * MOST_TILES), (96, 3011), (3 * MOST_TILES, 10 * MOST_TILES)] {
                check(Filter { taps, step, rows });
            }
        }
    }

    /// Every row is in one tile, or in the rest.
    #[test]
    fn tiles_and_rest_are_all_rows() {
        for taps in [2, 3] {
            for step in 1..=7 {
                for rows in 0..=60 {
                    let filter = Filter { taps, step, rows };
                    let mut seen = vec![0; rows];
                    let mut tiles = 0;
                    for (count, runs) in filter.portions() {
                        tiles += count;
                        for run in runs {
                            let first = (0..run.tiles).map(|tile| run.row + tile * run.stride);
                            let all = first.flat_map(|row| (0..5 - taps).map(move |k| row + k * step));
                            all.for_each(|row| seen[row] += 1);
                        }
                    }
                    filter.rest().flatten().for_each(|row| seen[row] += 1);
                    assert_eq!(seen, vec![1; rows], "{filter:?}");
                    assert_eq!(tiles, filter.tiles());
                }
            }
        }
    }

    #[test]
    fn only_where_it_pays() {
        let new = |taps, step, rows, dims| Filter::new(&*nnet3_matrix::cpu(), taps, step, rows, dims);
        assert!(new(3, 8, 1000, (128, 256)).is_some() && new(2, 1, 1000, (256, 128)).is_some());
        assert_eq!(new(1, 8, 1000, (128, 128)), None);
        assert_eq!(new(4, 8, 1000, (128, 128)), None);
        assert_eq!(new(3, 0, 1000, (128, 128)), None);
        assert_eq!(new(3, 8, 240, (128, 128)), None);
        assert_eq!(new(3, 8, 1000, (40, 1024)), None);
    }
}
