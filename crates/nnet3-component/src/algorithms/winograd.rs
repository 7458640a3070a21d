//! Filters over time with as little as half of the multiplications.
//!
//! y(i) = Σ_k W_k x_k(i) for the two or three taps k of a TDNN, where x_{k+1}(i) = x_k(i + step): most inputs are read
//! by several outputs. A *tile* is m outputs, `step` rows one after the other, and the n = m + taps - 1 inputs that
//! they read. The tile needs n products in place of m · taps (A. Toom, 1963; S. Winograd, "Arithmetic Complexity of
//! Computations", 1980; Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015). A product of
//! polynomials is known from its values at n - 1 points and its leading coefficient. A filter is the transpose of such
//! a product. Product j multiplies a sum of weights and a sum of inputs, and each output is a sum of products:
//!
//! m_j = (Σ_k G_jk W_k) (Σ_i B_ji x_i), y_o = Σ_j A_oj m_j.
//!
//! The derivatives go through the same tables, transposed. Results differ from those of the plain products by
//! rounding. For inputs of similar size they are 1.4 to 3.2 times as far from the exact ones as BLAS's. An output
//! is rounded relative to all inputs of its tile, also those that it does not read.

mod form;
mod plane;
mod tiles;

use crate::{Context, Weights};
use form::{Form, MOST_TERMS, Term};
use nnet3_matrix::{Backend, Gemm, Scratch, Start, View, ViewMut};
pub(super) use plane::{Heights, PlaneFilter};
use tiles::{Runs, Tiles};

/// With fewer tiles, the saving does not make up for the mixing of weights; with fewer columns, not for the sums of rows.
const LEAST_TILES: usize = 128;
const LEAST_COLUMNS: usize = 64;
/// Number of rows whose product with the weights takes as long as one mixing of weights.
const ROWS_OF_A_MIXTURE: usize = 32;
/// Number of multiplications in a product that take as long as one element of a sum.
const WORK_OF_A_TERM: usize = 6;
/// Number of tiles processed together. Scratch memory always has this size: then there are few sizes, and few new
/// pages.
const MOST_TILES: usize = 256;

/// Structure of an affine component's input: its columns are those of two or three taps side by side. Row i of tap k +
/// 1 equals row i + step of tap k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taps {
    pub count: usize,
    pub step: usize,
    /// True if the blocks of the input's derivative are only added to the source rows that they share. Then only the
    /// sums must be right.
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
    pub(crate) fn of_mut<'v>(&self, in_deriv: ViewMut<'v>) -> [ViewMut<'v>; 3] {
        let dim = in_deriv.cols() / self.count;
        std::array::from_fn(|k| k.min(self.count - 1)).map(|k| in_deriv.col_range(k * dim..(k + 1) * dim))
    }
}

/// The rows that belong together in a filter over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    form: &'static Form,
    tiles: Tiles,
}

impl Filter {
    /// Makes the filter of `taps` taps of `dim` columns each, for `rows` outputs of `out_dim` columns. Returns `None`
    /// if it does not pay, or if the number of taps is not two or three.
    pub fn new(
        backend: &dyn Backend,
        taps: usize,
        step: usize,
        rows: usize,
        (dim, out_dim): (usize, usize),
    ) -> Option<Filter> {
        // On other devices than the host, and in bf16, products do not dominate the time.
        if !backend.is_host() || backend.in_floats().is_some() {
            return None;
        }
        if step == 0 || dim.min(out_dim) < LEAST_COLUMNS {
            return None;
        }
        let filters = Form::of(taps, 1).map(|form| Filter { form, tiles: form.tiles(step, rows) });
        filters
            .filter(|filter| filter.tiles.count() >= LEAST_TILES)
            .min_by_key(|filter| filter.cost(dim, out_dim))
            .filter(|filter| filter.cost(dim, out_dim) < rows * taps * dim * out_dim)
    }

    /// The cost of the filter, in multiplications of a product.
    fn cost(&self, dim: usize, out_dim: usize) -> usize {
        let form = self.form;
        let sums = terms(&form.inputs) * dim + terms(&form.outputs) * out_dim;
        let products = self.products() + form.mixtures.len() * ROWS_OF_A_MIXTURE;
        products * dim * out_dim + self.tiles.count() * sums * WORK_OF_A_TERM
    }

    /// Number of rows that are multiplied with the weights of one tap. Without a filter it is rows · taps.
    pub fn products(&self) -> usize {
        let (form, tiles) = (self.form, self.tiles.count());
        let rest = self.tiles.rows - tiles * form.outputs.len();
        tiles * form.products() + rest * form.taps
    }

    /// The first output of a tile that reads input `k`: its tap for `k`, and its distance in rows from the tile's
    /// first output.
    fn reader(&self, k: usize) -> (usize, usize) {
        let tap = k.min(self.form.taps - 1);
        (tap, (k - tap) * self.tiles.step)
    }

    /// The mixed weights of the products that do not use a single tap's; each product has a row.
    fn mixed_weights<'w>(&self, context: Context<'w>, weights: Weights<'_>) -> Scratch<'w> {
        let form = self.form;
        let first = weights.tap(0, form.taps);
        let mut mixed = context.workspace.take(form.mixtures.len(), first.outputs() * first.terms());
        let all = mixed.view_mut();
        for (j, factors) in form.mixtures.iter().enumerate() {
            for (part, to) in first.parts_like(all.row(j)).into_iter().enumerate() {
                let taps = (0..form.taps).map(|k| (factors[k], weights.tap(k, form.taps).parts()[part]));
                weighted_sum(context.backend, to, taps, false);
            }
        }
        mixed
    }

    /// The weights of product `j`.
    fn weights<'v>(&self, weights: Weights<'v>, mixed: View<'v>, j: usize) -> Weights<'v> {
        let taps = self.form.taps;
        match j {
            0 => weights.tap(0, taps),
            j if j + 1 == self.form.products() => weights.tap(taps - 1, taps),
            j => weights.tap(0, taps).like(mixed.row(j - 1)),
        }
    }

    /// Sets `to` to the sum of inputs that product `k` of these tiles reads.
    fn sum_inputs(&self, backend: &dyn Backend, to: ViewMut<'_>, k: usize, runs: Runs, taps: &[View<'_>]) {
        for run in runs {
            let inputs = self.form.inputs[k].iter().map(|&(factor, input)| {
                let (tap, later) = self.reader(input);
                (factor, run.after(taps[tap], later))
            });
            weighted_sum(backend, to.row_range(run.numbers()), inputs, false);
        }
    }

    /// The derivative of product `k` of these tiles.
    fn sum_derivs(&self, backend: &dyn Backend, to: ViewMut<'_>, k: usize, runs: Runs, out_deriv: View<'_>) {
        for run in runs {
            let derivs = Form::with_term(&self.form.outputs, k)
                .map(|(factor, output)| (factor, run.after(out_deriv, output * self.tiles.step)));
            weighted_sum(backend, to.row_range(run.numbers()), derivs, false);
        }
    }

    /// output = start + Σ_k x_k W_kᵀ. `taps` are the x_k, R × D each, `weights` the W_k side by side, O × K D.
    pub fn forward(
        &self,
        context: Context<'_>,
        output: ViewMut<'_>,
        taps: &[View<'_>],
        weights: Weights<'_>,
        start: Start<'_>,
    ) {
        let backend = context.backend;
        if !weights.can_be_mixed() {
            let taps = taps[..self.form.taps].iter().map(|tap| tap.row_range(0..output.rows()));
            return weights.multiply(backend, output, start, taps);
        }
        let adds = matches!(start, Start::Output);
        let mixed = self.mixed_weights(context, weights);
        let mut sums = context.workspace.take(MOST_TILES, taps[0].cols());
        let mut products = context.workspace.take(self.form.products() * MOST_TILES, output.cols());
        let (sums, products) = (sums.view_mut(), products.view_mut());
        for (tiles, runs) in self.tiles.portions(MOST_TILES) {
            let sums = sums.row_range(0..tiles);
            let product = |k: usize| products.row_range(k * MOST_TILES..k * MOST_TILES + tiles);
            for k in 0..self.form.products() {
                self.sum_inputs(backend, sums, k, runs, taps);
                // Product 1 is in every output, with factor 1.
                let start = match start {
                    Start::Row(row) if k == 1 => Start::Row(row),
                    _ => Start::Zero,
                };
                let weights = self.weights(weights, mixed.view(), k);
                weights.multiply(backend, product(k), start, std::iter::once(sums.as_view()));
            }
            for run in runs {
                for (later, terms) in self.form.outputs.iter().enumerate() {
                    let terms = terms
                        .iter()
                        .map(|&(factor, k)| (factor, product(k).as_view().row_range(run.numbers())));
                    weighted_sum(backend, run.after_mut(output, later * self.tiles.step), terms, adds);
                }
            }
        }
        for rows in self.tiles.rest() {
            let taps = taps.iter().take(self.form.taps).map(|tap| tap.row_range(rows.clone()));
            weights.multiply(backend, output.row_range(rows.clone()), start, taps);
        }
    }

    /// Adds the derivatives with respect to the inputs: to `in_derivs`, the rows that the taps have read.
    pub(crate) fn backward_data(
        &self,
        context: Context<'_>,
        in_derivs: &[ViewMut<'_>],
        out_deriv: View<'_>,
        linear: View<'_>,
    ) {
        let backend = context.backend;
        let weights = Weights::Plain(linear);
        let mixed = self.mixed_weights(context, weights);
        let mut sums = context.workspace.take(MOST_TILES, out_deriv.cols());
        let mut products = context.workspace.take(self.form.products() * MOST_TILES, in_derivs[0].cols());
        let (sums, products) = (sums.view_mut(), products.view_mut());
        for (tiles, runs) in self.tiles.portions(MOST_TILES) {
            let sums = sums.row_range(0..tiles);
            let product = |k: usize| products.row_range(k * MOST_TILES..k * MOST_TILES + tiles);
            for k in 0..self.form.products() {
                self.sum_derivs(backend, sums, k, runs, out_deriv);
                let [weights, _] = self.weights(weights, mixed.view(), k).parts();
                backend.gemm(Gemm::set(product(k), sums, weights));
            }
            for run in runs {
                for input in 0..self.form.products() {
                    let terms = Form::with_term(&self.form.inputs, input)
                        .map(|(factor, k)| (factor, product(k).as_view().row_range(run.numbers())));
                    let (tap, later) = self.reader(input);
                    weighted_sum(backend, run.after_mut(in_derivs[tap], later), terms, true);
                }
            }
        }
        for rows in self.tiles.rest() {
            for (k, in_deriv) in in_derivs.iter().enumerate().take(self.form.taps) {
                let (in_deriv, derivs) =
                    (in_deriv.row_range(rows.clone()), out_deriv.row_range(rows.clone()));
                backend.gemm(Gemm::add(in_deriv, derivs, tap(linear, k, self.form.taps)));
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
        let form = self.form;
        let own = |k: usize| linear_deriv.col_range(k * dim..(k + 1) * dim);
        let mut mixed = context.workspace.zeros(form.mixtures.len() * out_dim, dim);
        let mixed = mixed.view_mut();
        let mixture = |j: usize| mixed.row_range(j * out_dim..(j + 1) * out_dim);
        let weights = |j: usize| match j {
            0 => own(0),
            j if j + 1 == form.products() => own(form.taps - 1),
            j => mixture(j - 1),
        };
        let mut inputs = context.workspace.take(MOST_TILES, dim);
        let mut derivs = context.workspace.take(MOST_TILES, out_dim);
        let (inputs, derivs) = (inputs.view_mut(), derivs.view_mut());
        for (tiles, runs) in self.tiles.portions(MOST_TILES) {
            let (inputs, derivs) = (inputs.row_range(0..tiles), derivs.row_range(0..tiles));
            for k in 0..form.products() {
                self.sum_inputs(backend, inputs, k, runs, taps);
                self.sum_derivs(backend, derivs, k, runs, out_deriv);
                backend.gemm(Gemm::add(weights(k), derivs.transposed(), inputs).times(rate));
            }
        }
        for k in 0..form.taps {
            let terms =
                form.mixtures.iter().enumerate().map(|(j, factors)| (factors[k], mixture(j).as_view()));
            weighted_sum(backend, own(k), terms, true);
        }
        for rows in self.tiles.rest() {
            for (k, input) in taps.iter().enumerate().take(self.form.taps) {
                let (input, derivs) = (input.row_range(rows.clone()), out_deriv.row_range(rows.clone()));
                backend.gemm(Gemm::add(own(k), derivs.transposed(), input).times(rate));
            }
        }
    }
}

/// The columns of one of several taps.
fn tap(linear: View<'_>, k: usize, taps: usize) -> View<'_> {
    let dim = linear.cols() / taps;
    linear.col_range(k * dim..(k + 1) * dim)
}

/// Sources and destinations of the sums of a table, for each element.
fn terms(rows: &[Vec<Term>]) -> usize {
    rows.iter().map(|row| row.len() + 1).sum()
}

/// As [`nnet3_matrix::backend::WholeMatrices::weighted_sum`], with at most [`MOST_TERMS`] terms; without terms the sum is zero.
fn weighted_sum<'v>(
    backend: &dyn Backend,
    to: ViewMut<'_>,
    terms: impl Iterator<Item = (f32, View<'v>)>,
    adds: bool,
) {
    let mut list = [(0.0, View::empty()); MOST_TERMS];
    let mut count = 0;
    for term in terms {
        list[count] = term;
        count += 1;
    }
    match (count, adds) {
        (0, true) => {}
        (0, false) => backend.set(to, 0.0),
        _ => backend.weighted_sum(to, &list[..count], adds),
    }
}

#[cfg(test)]
mod tests {
    use super::form::FORMS;
    use super::*;
    use crate::testing::Harness;
    use nnet3_base::random::Random;
    use nnet3_matrix::{Matrix, WeightForm};

    const DIM: usize = 5;
    const OUT_DIM: usize = 4;

    fn assert_close(found: &Matrix, expected: &Matrix, filter: &Filter) {
        let (found, expected) = (found.to_vec(), expected.to_vec());
        let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs()));
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() <= 1e-5 * size, "{filter:?}, {i}: {found}, expected {expected}");
        }
    }

    /// Compares all that a filter does with a product for each tap, in one matrix of inputs in which the taps are `step`
    /// rows apart.
    fn check(filter: Filter) {
        let (harness, random) = (Harness::new(), Random::new(filter.tiles.rows as i32));
        let context = harness.context();
        let backend = context.backend;
        let normal = |rows, cols| Matrix::from_vec(rows, cols, random.normal_vec(rows * cols, 0.0, 1.0));
        let Filter { form, tiles: Tiles { step, rows, .. } } = filter;
        let taps = form.taps;
        let (input, linear) = (normal(rows + (taps - 1) * step, DIM), normal(OUT_DIM, taps * DIM));
        let (bias, out_deriv) = (normal(1, OUT_DIM), normal(rows, OUT_DIM));
        let tap_rows = |k: usize| k * step..k * step + rows;
        let views: Vec<_> = (0..taps).map(|k| input.view().row_range(tap_rows(k))).collect();

        let arranged =
            backend.panels().expect("the host has them").arrange(linear.clone(), WeightForm::Float);
        let all_weights = [Weights::Plain(linear.view()), Weights::Panels(arranged.view())];
        for start in [Start::Zero, Start::Row(bias.view()), Start::Output] {
            let old = normal(rows, OUT_DIM);
            let mut expected = if matches!(start, Start::Output) {
                old.clone()
            } else {
                Matrix::zeros(input.device(), rows, OUT_DIM)
            };
            if let Start::Row(bias) = start {
                backend.add_to_rows(expected.view_mut(), 1.0, bias);
            }
            for (k, input) in views.iter().enumerate() {
                backend.gemm(Gemm::add(
                    expected.view_mut(),
                    *input,
                    tap(linear.view(), k, taps).transposed(),
                ));
            }
            for weights in all_weights {
                let mut found = old.clone();
                filter.forward(context, found.view_mut(), &views, weights, start);
                assert_close(&found, &expected, &filter);
            }
        }

        let mut found = normal(input.rows(), DIM);
        let mut expected = found.clone();
        let whole = found.view_mut();
        let into: Vec<_> = (0..taps).map(|k| whole.row_range(tap_rows(k))).collect();
        filter.backward_data(context, &into, out_deriv.view(), linear.view());
        for k in 0..taps {
            let into = expected.view_mut().row_range(tap_rows(k));
            backend.gemm(Gemm::add(into, out_deriv.view(), tap(linear.view(), k, taps)));
        }
        assert_close(&found, &expected, &filter);

        let mut found = normal(OUT_DIM, taps * DIM);
        let mut expected = found.clone();
        filter.backward_params(context, found.view_mut(), 0.3, out_deriv.view(), &views);
        for (k, input) in views.iter().enumerate() {
            let into = expected.view_mut().col_range(k * DIM..(k + 1) * DIM);
            backend.gemm(Gemm::add(into, out_deriv.view().transposed(), *input).times(0.3));
        }
        assert_close(&found, &expected, &filter);
    }

    #[test]
    fn results_are_those_of_a_product_for_each_tap() {
        for form in FORMS.iter().filter(|form| form.stride == 1) {
            for step in 1..=5 {
                for rows in 1..=40 {
                    check(Filter { form, tiles: form.tiles(step, rows) });
                }
            }
            // Several portions.
            for (step, rows) in [(1, 4 * MOST_TILES), (96, 3011), (3 * MOST_TILES, 10 * MOST_TILES)] {
                check(Filter { form, tiles: form.tiles(step, rows) });
            }
        }
    }

    /// The root mean squares of the errors must be like those of one product for each tap.
    #[test]
    fn roundings_are_small() {
        const DIM: usize = 128;
        const ROWS: usize = 240;
        let (harness, random) = (Harness::new(), Random::new(1));
        let context = harness.context();
        let normal = |rows, cols| random.normal_vec(rows * cols, 0.0, 1.0);
        for form in FORMS.iter().filter(|form| form.stride == 1) {
            let taps = form.taps;
            let (input, linear) = (normal(ROWS + taps - 1, DIM), normal(OUT_DIM, taps * DIM));
            let sum = |row: usize, out: usize| {
                let terms = input[row * DIM..].iter().zip(&linear[out * taps * DIM..][..taps * DIM]);
                terms.map(|(&x, &w)| x as f64 * w as f64).sum::<f64>()
            };
            let (x, w) = (
                Matrix::from_vec(ROWS + taps - 1, DIM, input.clone()),
                Matrix::from_vec(OUT_DIM, taps * DIM, linear.clone()),
            );
            let views: Vec<_> = (0..taps).map(|k| x.view().row_range(k..k + ROWS)).collect();
            let mut filtered = Matrix::zeros(x.device(), ROWS, OUT_DIM);
            let filter = Filter { form, tiles: form.tiles(1, ROWS) };
            filter.forward(context, filtered.view_mut(), &views, Weights::Plain(w.view()), Start::Zero);
            let mut plain = Matrix::zeros(x.device(), ROWS, OUT_DIM);
            for (k, view) in views.iter().enumerate() {
                context.backend.gemm(Gemm::add(plain.view_mut(), *view, tap(w.view(), k, taps).transposed()));
            }
            let error = |m: Matrix| {
                let errors = m.to_vec().into_iter().enumerate();
                errors.map(|(e, v)| (v as f64 - sum(e / OUT_DIM, e % OUT_DIM)).powi(2)).sum::<f64>().sqrt()
            };
            let (filtered, plain) = (error(filtered), error(plain));
            assert!(
                filtered < 4.0 * plain,
                "{taps} taps, {} products: {filtered:e} {plain:e}",
                form.products()
            );
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
        let outputs = |rows, dim| new(3, 100, rows, (dim, dim)).map(|filter| filter.form.outputs.len());
        // All rows in tiles, or as many as possible.
        assert_eq!([400, 600, 800, 900, 1200].map(|rows| outputs(rows, 256)), [2, 3, 4, 3, 4].map(Some));
        // Sums count where rows are short.
        assert_eq!((outputs(1200, 64), outputs(1200, 1024)), (Some(3), Some(4)));
        assert_eq!(new(3, 8, 1000, (40, 1024)), None);
    }
}
