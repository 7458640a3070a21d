//! Filters over time and height, for convolutions: filters over time whose products are filters over height.
//!
//! A tile has some output times and some output heights. With tables A, B, G for time and A', B', G' for height, product
//! (i, j) multiplies the sum Σ_kl G_ik G'_jl W_kl of weights and the sum Σ_ab B_ia B'_jb x_ab of the tile's inputs.
//! Output (o, p) of the tile is the sum of A_oi A'_pj times product (i, j). Three by three taps take 16 products for 2 × 2
//! outputs in place of 36, and 36 for 4 × 4 in place of 144.
//!
//! Results are up to 1.6 times (outputs), 4.9 times (derivatives of inputs) and 3 times (of weights) as far from the exact
//! ones as sums of one product after the other, with 36 products for 4 × 4 outputs.
//!
//! Sums over time come first: they go over whole rows. Then the rows of all tiles at one height are a range of columns.
//! Tiles may stand out over the last height: what they lack counts as zero, and what they have too much is dropped.

use super::form::Form;
use super::tiles::{Runs, Tiles};
use super::{ROWS_OF_A_MIXTURE, WORK_OF_A_TERM, terms, weighted_sum};
use crate::Context;
use nnet3_matrix::{Backend, Gemm, Scratch, View, ViewMut};
use std::ops::Range;

/// With fewer filters, products of such short sums are too slow.
const LEAST_FILTERS: usize = 24;
/// Number of tiles in a product, about.
const ROWS_OF_A_PRODUCT: usize = 256;
/// Number of multiplications in a product that take as long as the start of a sum.
const WORK_OF_A_SUM: usize = 2000;

/// Output height h reads the input heights h · stride + first to h · stride + first + taps - 1, as far as they exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heights {
    pub input: usize,
    pub output: usize,
    pub stride: usize,
    pub taps: usize,
    pub first: i64,
}

impl Heights {
    /// True if some output reads each input height.
    fn reads_all(&self) -> bool {
        let end = ((self.output - 1) * self.stride + self.taps) as i64 + self.first;
        self.first <= 0 && self.stride <= self.taps && end >= self.input as i64
    }
}

/// The filter of a convolution. The first tap of output row r is input row r.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneFilter {
    time: &'static Form,
    height: &'static Form,
    tiles: Tiles,
    heights: Heights,
    /// Filters of input and output at each height.
    dim: usize,
    out_dim: usize,
}

impl PlaneFilter {
    /// Makes the filter of `taps` taps over time that are `step` rows apart, for `rows` output rows. Returns `None` if it
    /// does not pay, or if the numbers of taps are not two or three.
    pub fn new(
        backend: &dyn Backend,
        (taps, step, rows): (usize, usize, usize),
        heights: Heights,
        (dim, out_dim): (usize, usize),
    ) -> Option<PlaneFilter> {
        if !backend.is_host() || step == 0 || !heights.reads_all() || dim.min(out_dim) < LEAST_FILTERS {
            return None;
        }
        let filters = Form::of(taps, 1).flat_map(|time| {
            let tiles = time.tiles(step, rows);
            Form::of(heights.taps, heights.stride).map(move |height| PlaneFilter {
                time,
                height,
                tiles,
                heights,
                dim,
                out_dim,
            })
        });
        filters
            .filter(|filter| filter.tiles.count() > 0)
            .min_by_key(PlaneFilter::cost)
            .filter(|filter| filter.cost() < filter.plain_cost(rows))
    }

    /// Tiles over height.
    fn height_tiles(&self) -> usize {
        self.heights.output.div_ceil(self.height.outputs.len())
    }

    /// Most tiles over time in a portion.
    fn portion(&self) -> usize {
        ROWS_OF_A_PRODUCT.div_ceil(self.height_tiles()).min(self.tiles.count())
    }

    /// The cost of the filter, in multiplications of a product.
    fn cost(&self) -> usize {
        let PlaneFilter { time, height, heights, dim, out_dim, .. } = *self;
        let (tiles, high) = (self.tiles.count(), self.height_tiles());
        let products = time.products() * height.products();
        let rows = tiles * high + ROWS_OF_A_MIXTURE;
        let sums_of_times =
            terms(&time.inputs) * heights.input * dim + terms(&time.outputs) * heights.output * out_dim;
        let sums_of_heights = terms(&height.inputs) * dim + terms(&height.outputs) * out_dim;
        let sums = sums_of_times + time.products() * high * sums_of_heights;
        let starts = time.products() * high * (height.products() + height.outputs.len());
        let rest = self.tiles.rows - tiles * time.outputs.len();
        products * rows * dim * out_dim
            + tiles * sums * WORK_OF_A_TERM
            + tiles.div_ceil(self.portion()) * starts * WORK_OF_A_SUM
            + self.plain_cost(rest)
    }

    /// The cost of plain products for so many rows. Their inputs are copied side by side.
    fn plain_cost(&self, rows: usize) -> usize {
        let inputs = rows * self.heights.output * self.time.taps * self.heights.taps * self.dim;
        inputs * (self.out_dim + 2 * WORK_OF_A_TERM)
    }

    /// Output rows that the filter leaves to plain products.
    pub fn rest(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        self.tiles.rest()
    }

    /// The place of product (i, j)'s weights.
    fn place(&self, i: usize, j: usize) -> Range<usize> {
        let number = i * self.height.products() + j;
        number * self.out_dim..(number + 1) * self.out_dim
    }

    /// Columns of a row of the weights that belong to tap `k` over time.
    fn tap_cols(&self, k: usize) -> Range<usize> {
        let width = self.heights.taps * self.dim;
        k * width..(k + 1) * width
    }

    /// The weights of all products, one below the other.
    fn mixed_weights<'w>(&self, context: Context<'w>, params: View<'_>) -> Scratch<'w> {
        let (backend, workspace) = (context.backend, context.workspace);
        let products = self.time.products() * self.height.products();
        let mut mixed = workspace.take(products * self.out_dim, self.dim);
        let mut of_time = workspace.take(self.out_dim, self.heights.taps * self.dim);
        let (all, of_time) = (mixed.view_mut(), of_time.view_mut());
        for i in 0..self.time.products() {
            let taps = self.time.weights(i).map(|(factor, k)| (factor, params.col_range(self.tap_cols(k))));
            weighted_sum(backend, of_time, taps, false);
            for j in 0..self.height.products() {
                let taps = self
                    .height
                    .weights(j)
                    .map(|(factor, l)| (factor, of_time.as_view().col_range(columns(l, self.dim))));
                weighted_sum(backend, all.row_range(self.place(i, j)), taps, false);
            }
        }
        mixed
    }

    /// Sets `to` to the sums of inputs that products (i, …) of these tiles read, with all heights side by side.
    fn sum_input_times(&self, backend: &dyn Backend, to: ViewMut<'_>, i: usize, runs: Runs, input: View<'_>) {
        for run in runs {
            let inputs = self.time.inputs[i]
                .iter()
                .map(|&(factor, k)| (factor, run.after(input, k * self.tiles.step)));
            weighted_sum(backend, to.row_range(run.numbers()), inputs, false);
        }
    }

    /// The derivatives of products (i, …) likewise.
    fn sum_deriv_times(&self, backend: &dyn Backend, to: ViewMut<'_>, i: usize, runs: Runs, deriv: View<'_>) {
        for run in runs {
            let derivs = Form::with_term(&self.time.outputs, i)
                .map(|(factor, o)| (factor, run.after(deriv, o * self.tiles.step)));
            weighted_sum(backend, to.row_range(run.numbers()), derivs, false);
        }
    }

    /// Columns of input `b` of the tiles at `high`, if the height exists.
    fn input_cols(&self, high: usize, b: usize) -> Option<Range<usize>> {
        let first = high * self.height.outputs.len() * self.heights.stride;
        let height = (first + b) as i64 + self.heights.first;
        let height = usize::try_from(height).ok().filter(|&height| height < self.heights.input)?;
        Some(columns(height, self.dim))
    }

    /// Columns of output `p` likewise.
    fn output_cols(&self, high: usize, p: usize) -> Option<Range<usize>> {
        let height = high * self.height.outputs.len() + p;
        (height < self.heights.output).then(|| columns(height, self.out_dim))
    }

    /// Sets `to` to the operand of product (i, j): rows of tiles for each height, from sums of [`PlaneFilter::sum_input_times`].
    fn sum_input_heights(&self, backend: &dyn Backend, to: ViewMut<'_>, j: usize, of_time: View<'_>) {
        for high in 0..self.height_tiles() {
            let inputs = self.height.inputs[j]
                .iter()
                .filter_map(|&(factor, b)| Some((factor, of_time.col_range(self.input_cols(high, b)?))));
            weighted_sum(backend, to.row_range(columns(high, of_time.rows())), inputs, false);
        }
    }

    /// The derivatives of product (i, j) likewise.
    fn sum_deriv_heights(&self, backend: &dyn Backend, to: ViewMut<'_>, j: usize, of_time: View<'_>) {
        for high in 0..self.height_tiles() {
            let derivs = Form::with_term(&self.height.outputs, j)
                .filter_map(|(factor, p)| Some((factor, of_time.col_range(self.output_cols(high, p)?))));
            weighted_sum(backend, to.row_range(columns(high, of_time.rows())), derivs, false);
        }
    }

    /// output = bias + convolution, but for the rows of [`PlaneFilter::rest`]. `params` has a row for each output filter;
    /// its columns are the taps over time, the taps over height and the input filters.
    pub fn forward(
        &self,
        context: Context<'_>,
        output: ViewMut<'_>,
        input: View<'_>,
        (params, bias): (View<'_>, View<'_>),
    ) {
        let (backend, workspace) = (context.backend, context.workspace);
        let (high, portion) = (self.height_tiles(), self.portion());
        let (times, heights) = (self.time.products(), self.height.products());
        let mixed = self.mixed_weights(context, params);
        let mut of_time = workspace.take(portion, input.cols());
        let mut operand = workspace.take(high * portion, self.dim);
        let mut products = workspace.take(heights * high * portion, self.out_dim);
        let mut of_heights = workspace.take(times * portion, output.cols());
        let (of_time, operand) = (of_time.view_mut(), operand.view_mut());
        let (products, of_heights) = (products.view_mut(), of_heights.view_mut());
        for (tiles, runs) in self.tiles.portions(portion) {
            let of_time = of_time.row_range(0..tiles);
            let operand = operand.row_range(0..high * tiles);
            let product = |j: usize| products.row_range(columns(j, high * tiles));
            let sum = |i: usize| of_heights.row_range(columns(i, tiles));
            for i in 0..times {
                self.sum_input_times(backend, of_time, i, runs, input);
                for j in 0..heights {
                    self.sum_input_heights(backend, operand, j, of_time.as_view());
                    let (weights, operand) = (mixed.view().row_range(self.place(i, j)), operand.as_view());
                    // Product (1, 1) is in every output, with factor 1.
                    match (i, j) {
                        (1, 1) => backend.gemm_with_bias(
                            Gemm::set(product(j), operand, weights.transposed()).with_bias(bias),
                        ),
                        _ => backend.gemm(Gemm::set(product(j), operand, weights.transposed())),
                    }
                }
                for (high, p, cols) in self.outputs() {
                    let terms = self.height.outputs[p]
                        .iter()
                        .map(|&(factor, j)| (factor, product(j).as_view().row_range(columns(high, tiles))));
                    weighted_sum(backend, sum(i).col_range(cols), terms, false);
                }
            }
            for run in runs {
                for (later, terms) in self.time.outputs.iter().enumerate() {
                    let terms =
                        terms.iter().map(|&(factor, i)| (factor, sum(i).as_view().row_range(run.numbers())));
                    weighted_sum(backend, run.after_mut(output, later * self.tiles.step), terms, false);
                }
            }
        }
    }

    /// For each output height the number of its tile, its place in the tile, and its columns.
    fn outputs(&self) -> impl Iterator<Item = (usize, usize, Range<usize>)> + use<'_> {
        let places =
            (0..self.height_tiles()).flat_map(|high| (0..self.height.outputs.len()).map(move |p| (high, p)));
        places.filter_map(|(high, p)| Some((high, p, self.output_cols(high, p)?)))
    }

    /// Adds the derivative with respect to the input.
    pub(crate) fn backward_data(
        &self,
        context: Context<'_>,
        in_deriv: ViewMut<'_>,
        out_deriv: View<'_>,
        params: View<'_>,
    ) {
        let (backend, workspace) = (context.backend, context.workspace);
        let (high, portion) = (self.height_tiles(), self.portion());
        let (times, heights) = (self.time.products(), self.height.products());
        let mixed = self.mixed_weights(context, params);
        let mut of_time = workspace.take(portion, out_deriv.cols());
        let mut operand = workspace.take(high * portion, self.out_dim);
        let mut products = workspace.take(heights * high * portion, self.dim);
        let mut of_heights = workspace.take(times * portion, in_deriv.cols());
        let (of_time, operand) = (of_time.view_mut(), operand.view_mut());
        let (products, of_heights) = (products.view_mut(), of_heights.view_mut());
        for (tiles, runs) in self.tiles.portions(portion) {
            let of_time = of_time.row_range(0..tiles);
            let operand = operand.row_range(0..high * tiles);
            let product = |j: usize| products.row_range(columns(j, high * tiles));
            let sum = |i: usize| of_heights.row_range(columns(i, tiles));
            for i in 0..times {
                self.sum_deriv_times(backend, of_time, i, runs, out_deriv);
                for j in 0..heights {
                    self.sum_deriv_heights(backend, operand, j, of_time.as_view());
                    let weights = mixed.view().row_range(self.place(i, j));
                    backend.gemm(Gemm::set(product(j), operand, weights));
                }
                // Tiles overlap. Heights are reached in order, each one by its first tile before others.
                let mut reached = 0;
                for (high, b) in
                    (0..high).flat_map(|high| (0..self.height.products()).map(move |b| (high, b)))
                {
                    let Some(cols) = self.input_cols(high, b) else { continue };
                    let adds = cols.start < reached;
                    reached = reached.max(cols.end);
                    let terms = Form::with_term(&self.height.inputs, b)
                        .map(|(factor, j)| (factor, product(j).as_view().row_range(columns(high, tiles))));
                    weighted_sum(backend, sum(i).col_range(cols), terms, adds);
                }
            }
            for run in runs {
                for k in 0..times {
                    let terms = Form::with_term(&self.time.inputs, k)
                        .map(|(factor, i)| (factor, sum(i).as_view().row_range(run.numbers())));
                    weighted_sum(backend, run.after_mut(in_deriv, k * self.tiles.step), terms, true);
                }
            }
        }
    }

    /// Adds `rate` × the derivative with respect to the weights.
    pub(crate) fn backward_params(
        &self,
        context: Context<'_>,
        params_deriv: ViewMut<'_>,
        rate: f32,
        input: View<'_>,
        out_deriv: View<'_>,
    ) {
        let (backend, workspace) = (context.backend, context.workspace);
        let (high, portion) = (self.height_tiles(), self.portion());
        let (times, heights) = (self.time.products(), self.height.products());
        let mut mixed = workspace.zeros(times * heights * self.out_dim, self.dim);
        let mut inputs_of_time = workspace.take(portion, input.cols());
        let mut derivs_of_time = workspace.take(portion, out_deriv.cols());
        let mut inputs = workspace.take(high * portion, self.dim);
        let mut derivs = workspace.take(high * portion, self.out_dim);
        let mixed = mixed.view_mut();
        let (inputs_of_time, derivs_of_time) = (inputs_of_time.view_mut(), derivs_of_time.view_mut());
        let (inputs, derivs) = (inputs.view_mut(), derivs.view_mut());
        for (tiles, runs) in self.tiles.portions(portion) {
            let inputs_of_time = inputs_of_time.row_range(0..tiles);
            let derivs_of_time = derivs_of_time.row_range(0..tiles);
            let (inputs, derivs) = (inputs.row_range(0..high * tiles), derivs.row_range(0..high * tiles));
            for i in 0..times {
                self.sum_input_times(backend, inputs_of_time, i, runs, input);
                self.sum_deriv_times(backend, derivs_of_time, i, runs, out_deriv);
                for j in 0..heights {
                    self.sum_input_heights(backend, inputs, j, inputs_of_time.as_view());
                    self.sum_deriv_heights(backend, derivs, j, derivs_of_time.as_view());
                    let to = mixed.row_range(self.place(i, j));
                    backend.gemm(Gemm::add(to, derivs.transposed(), inputs).times(rate));
                }
            }
        }
        let mut of_time = workspace.take(self.out_dim, self.heights.taps * self.dim);
        let of_time = of_time.view_mut();
        for i in 0..times {
            for tap in 0..self.heights.taps {
                let terms = (0..heights).flat_map(|j| {
                    let own = self.height.weights(j).find(|&(_, l)| l == tap);
                    own.map(|(factor, _)| (factor, mixed.as_view().row_range(self.place(i, j))))
                });
                weighted_sum(backend, of_time.col_range(columns(tap, self.dim)), terms, false);
            }
            for (factor, k) in self.time.weights(i) {
                backend.add(params_deriv.col_range(self.tap_cols(k)), factor, of_time.as_view());
            }
        }
    }
}

/// Columns or rows of part `k` of many of this width.
fn columns(k: usize, width: usize) -> Range<usize> {
    k * width..(k + 1) * width
}

#[cfg(test)]
mod tests {
    use super::super::form::FORMS;
    use super::*;
    use crate::testing::Harness;
    use nnet3_base::random::Random;
    use nnet3_matrix::Matrix;

    /// A filter, numbers for it, and a slow convolution of these.
    struct Trial {
        filter: PlaneFilter,
        input: Vec<f32>,
        params: Vec<f32>,
        bias: Vec<f32>,
        out_deriv: Vec<f32>,
    }

    impl Trial {
        fn new(filter: PlaneFilter) -> Trial {
            let PlaneFilter { time, tiles, heights, dim, out_dim, .. } = filter;
            let random = Random::new((tiles.rows * 100 + heights.output) as i32);
            let normal = |len: usize| random.normal_vec(len, 0.0, 1.0);
            Trial {
                filter,
                input: normal((tiles.rows + (time.taps - 1) * tiles.step) * heights.input * dim),
                params: normal(out_dim * time.taps * heights.taps * dim),
                bias: normal(out_dim),
                out_deriv: normal(tiles.rows * heights.output * out_dim),
            }
        }

        /// Calls a function for each product of an element of the input with a parameter, with their numbers and that of the
        /// output.
        fn for_each_product(&self, mut call: impl FnMut(usize, usize, usize)) {
            let PlaneFilter { time, tiles, heights, dim, out_dim, .. } = self.filter;
            let taps = time.taps * heights.taps;
            for (row, h) in (0..tiles.rows).flat_map(|row| (0..heights.output).map(move |h| (row, h))) {
                for tap in 0..taps {
                    let (k, l) = (tap / heights.taps, tap % heights.taps);
                    let from = (h * heights.stride + l) as i64 + heights.first;
                    let Some(from) = usize::try_from(from).ok().filter(|&from| from < heights.input) else {
                        continue;
                    };
                    for (o, f) in (0..out_dim).flat_map(|o| (0..dim).map(move |f| (o, f))) {
                        let x = ((row + k * tiles.step) * heights.input + from) * dim + f;
                        call(x, (o * taps + tap) * dim + f, (row * heights.output + h) * out_dim + o);
                    }
                }
            }
        }

        fn is_rest(&self, row: usize) -> bool {
            self.filter.rest().any(|rows| rows.contains(&row))
        }

        /// Output, derivatives of the input and of the parameters, without the rows of the rest.
        fn slow(&self) -> [Vec<f64>; 3] {
            let width = self.filter.heights.output * self.filter.out_dim;
            let mut output: Vec<f64> = (0..self.out_deriv.len())
                .map(|y| match self.is_rest(y / width) {
                    true => 0.0,
                    false => self.bias[y % self.filter.out_dim] as f64,
                })
                .collect();
            let (mut in_deriv, mut gradient) = (vec![0.0; self.input.len()], vec![0.0; self.params.len()]);
            self.for_each_product(|x, w, y| {
                if !self.is_rest(y / width) {
                    output[y] += self.input[x] as f64 * self.params[w] as f64;
                    in_deriv[x] += self.out_deriv[y] as f64 * self.params[w] as f64;
                    gradient[w] += self.out_deriv[y] as f64 * self.input[x] as f64;
                }
            });
            [output, in_deriv, gradient]
        }

        fn filtered(&self) -> [Vec<f32>; 3] {
            let harness = Harness::new();
            let context = harness.context();
            let PlaneFilter { tiles, heights, dim, out_dim, .. } = self.filter;
            let matrix = |data: &[f32], cols: usize| Matrix::from_vec(data.len() / cols, cols, data.to_vec());
            let input = matrix(&self.input, heights.input * dim);
            let (params, bias) =
                (matrix(&self.params, self.params.len() / out_dim), matrix(&self.bias, out_dim));
            let out_deriv = matrix(&self.out_deriv, heights.output * out_dim);
            let zeros = |rows, cols| Matrix::zeros(input.device(), rows, cols);
            let mut output = zeros(tiles.rows, heights.output * out_dim);
            let (mut in_deriv, mut gradient) =
                (zeros(input.rows(), input.cols()), zeros(params.rows(), params.cols()));
            self.filter.forward(context, output.view_mut(), input.view(), (params.view(), bias.view()));
            self.filter.backward_data(context, in_deriv.view_mut(), out_deriv.view(), params.view());
            self.filter.backward_params(context, gradient.view_mut(), 1.0, input.view(), out_deriv.view());
            [output.to_vec(), in_deriv.to_vec(), gradient.to_vec()]
        }
    }

    fn forms() -> impl Iterator<Item = (&'static Form, &'static Form)> {
        let times = FORMS.iter().filter(|form| form.stride == 1);
        times.flat_map(|time| FORMS.iter().map(move |height| (time, height)))
    }

    #[test]
    fn results_are_those_of_a_convolution() {
        let all = [
            (1, 1, 1, -1),
            (4, 4, 1, -1),
            (5, 5, 1, 0),
            (9, 9, 1, -1),
            (7, 5, 1, 0),
            (3, 6, 1, -2),
            (8, 4, 2, -1),
            (9, 4, 2, 0),
            (5, 2, 2, 0),
            (16, 8, 2, -1),
            (9, 3, 3, 0),
        ];
        let (mut trials, mut rests) = (0, 0);
        for (time, height) in forms() {
            for (input, output, stride, first) in all {
                let heights = Heights { input, output, stride, taps: height.taps, first };
                if !heights.reads_all() || (stride != height.stride && height.outputs.len() > 1) {
                    continue;
                }
                for (step, rows) in [(1, 4), (1, 9), (2, 11), (3, 24), (5, 23), (300, 1300)] {
                    let tiles = time.tiles(step, rows);
                    if tiles.count() == 0 || (rows > 1000 && output > 5) {
                        continue;
                    }
                    let trial = Trial::new(PlaneFilter { time, height, tiles, heights, dim: 3, out_dim: 2 });
                    let names = ["output", "input derivative", "gradient"];
                    for ((found, expected), name) in trial.filtered().iter().zip(trial.slow()).zip(names) {
                        let size = expected.iter().fold(1.0f64, |size, x| size.max(x.abs()));
                        for (i, (&found, expected)) in found.iter().zip(&expected).enumerate() {
                            let filter = trial.filter;
                            assert!(
                                (found as f64 - expected).abs() <= 2e-5 * size,
                                "{name} {i}: {found}, expected {expected}; {filter:?}"
                            );
                        }
                    }
                    trials += 1;
                    rests += usize::from(trial.filter.rest().next().is_some());
                }
            }
        }
        assert!(trials > 300 && rests > 100, "{trials} {rests}");
    }

    /// The root mean square of the errors must be like that of sums of one product after the other.
    #[test]
    fn roundings_are_small() {
        for (time, height) in forms() {
            let (stride, taps) = (height.stride, height.taps);
            let heights = Heights { input: 12 * stride, output: 12, stride, taps, first: -1 };
            let tiles = time.tiles(1, 12);
            let trial = Trial::new(PlaneFilter { time, height, tiles, heights, dim: 64, out_dim: 4 });
            let mut plain =
                [trial.slow()[0].len(), trial.input.len(), trial.params.len()].map(|n| vec![0f32; n]);
            plain[0].iter_mut().enumerate().for_each(|(y, sum)| *sum = trial.bias[y % 4]);
            trial.for_each_product(|x, w, y| {
                plain[0][y] += trial.input[x] * trial.params[w];
                plain[1][x] += trial.out_deriv[y] * trial.params[w];
                plain[2][w] += trial.out_deriv[y] * trial.input[x];
            });
            let error = |found: &[f32], exact: &[f64]| {
                found.iter().zip(exact).map(|(&x, &y)| (x as f64 - y).powi(2)).sum::<f64>().sqrt()
            };
            let exact = trial.slow();
            for (k, found) in trial.filtered().iter().enumerate() {
                let (filtered, plain) = (error(found, &exact[k]), error(&plain[k], &exact[k]));
                assert!(filtered < 6.0 * plain, "{trial:?}", trial = trial.filter);
            }
        }
    }

    #[test]
    fn only_where_it_pays() {
        let new = |taps, rows, heights, dims| {
            PlaneFilter::new(&*nnet3_matrix::cpu(), (taps, 64, rows), heights, dims)
        };
        let same = |height| Heights { input: height, output: height, stride: 1, taps: 3, first: -1 };
        let outputs =
            |filter: Option<PlaneFilter>| filter.map(|f| (f.time.outputs.len(), f.height.outputs.len()));
        assert_eq!(outputs(new(3, 64 * 48, same(40), (64, 64))), Some((4, 4)));
        assert_eq!(outputs(new(3, 64 * 2, same(10), (64, 64))).map(|(times, _)| times), Some(2));
        assert_eq!(outputs(new(3, 64, same(40), (64, 64))), Some((1, 4)));
        let half = Heights { output: 20, stride: 2, ..same(40) };
        assert_eq!(outputs(new(3, 64 * 48, half, (64, 128))), Some((4, 3)));
        assert_eq!(
            outputs(new(3, 64 * 48, Heights { input: 59, stride: 3, ..half }, (64, 128))),
            Some((4, 1))
        );
        // Few filters; an input height that no output reads; a tap too many.
        assert_eq!(new(3, 64 * 48, same(40), (16, 32)), None);
        assert_eq!(new(3, 64 * 48, Heights { input: 42, ..same(40) }, (64, 64)), None);
        assert_eq!(new(4, 64 * 48, same(40), (64, 64)), None);
    }
}
