//! Natural gradient on both sides of a linear function: inputs and output derivatives are preconditioned.

use super::{Affine, Plain, Rule, Target};
use crate::natural_gradient::{
    ALIGNED, NaturalGradient, Preconditioning, correction_moves_less, restore_norms,
};
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_component::gradient::{Piece, PieceRows, Products, RowProducts, Rows};
use nnet3_component::preconditioners::Preconditioners;
use nnet3_component::winograd::Filter;
use nnet3_component::{Component, Context};
use nnet3_matrix::{Factor, Gemm, View, ViewMut};

/// Estimates for the inputs (extended by 1 if there is a bias) and for the output derivatives.
#[derive(Clone)]
pub(crate) struct BothSides {
    input: NaturalGradient,
    output: NaturalGradient,
}

impl Rule for BothSides {
    fn products(&mut self, context: Context<'_>, to: Affine<'_>, products: &Products<'_>) {
        match products {
            Products::Rows(rows) if self.corrects_there(context, &to, rows.deriv.rows()) => self
                .add_corrected_there(context, to, rows.pieces(), Some(rows), rows.deriv, |linear| {
                    rows.multiply(context, linear, 1.0, 0.0)
                }),
            Products::Pieces { pieces, deriv } if self.corrects_there(context, &to, deriv.rows()) => self
                .add_corrected_there(context, to, pieces.iter().cloned(), None, *deriv, |linear| {
                    for Piece { x, columns } in *pieces {
                        x.gradient(context, linear.col_range(columns.clone()), 1.0, *deriv, 0.0);
                    }
                }),
            Products::Rows(rows) => {
                let way = match rows.filter(context, to.linear.as_view()) {
                    Some((filter, taps)) => InputProduct::Filter(filter, taps),
                    None => InputProduct::Copy,
                };
                self.add_gradient(context, to, rows.pieces(), way, rows.deriv);
            }
            Products::Pieces { pieces, deriv } => {
                let way = match pieces.iter().any(|piece| piece.x.is_whole()) {
                    true => InputProduct::Corrected,
                    false => InputProduct::AsTheyAre,
                };
                self.add_gradient(context, to, pieces.iter().cloned(), way, *deriv);
            }
            Products::Blocks { .. } | Products::Patches { .. } => self.add_whole(context, to, products),
        }
    }

    fn rows(&mut self, context: Context<'_>, to: Target<'_>, rows: Rows<'_>) {
        Plain.rows(context, to, rows);
    }

    fn dense(&mut self, context: Context<'_>, to: Target<'_>, gradient: ViewMut<'_>) {
        Plain.dense(context, to, gradient);
    }

    fn keep(&mut self, keeper: &mut Keeper<'_>, target: &dyn Component) -> Result<()> {
        let shape = |name: &str| {
            let parameters = target.parameters();
            let found = parameters.iter().find(|p| p.name == name).map(|p| (p.value.rows(), p.value.cols()));
            found.unwrap_or_default()
        };
        let ((rows, cols), (_, biases)) = (shape("linear"), shape("bias"));
        self.input.keep(keeper, &[cols + usize::from(biases > 0)])?;
        self.output.keep(keeper, &[rows])
    }

    fn estimates<'s>(&'s mut self, out: &mut Vec<&'s mut NaturalGradient>) {
        out.extend([&mut self.input, &mut self.output]);
    }

    fn freeze(&mut self, freeze: bool) {
        self.input.freeze(freeze);
        self.output.freeze(freeze);
    }
}

impl BothSides {
    pub fn new(settings: Preconditioners) -> BothSides {
        let Preconditioners { input, output } = settings;
        BothSides { input: NaturalGradient::new(input), output: NaturalGradient::new(output) }
    }

    /// Preconditions the gradient of this minibatch, (linear, bias): its rows, then its columns.
    fn add_whole(&mut self, context: Context<'_>, to: Affine<'_>, products: &Products<'_>) {
        let Affine { linear, bias, rate } = to;
        let (backend, rows, cols) = (context.backend, linear.rows(), linear.cols());
        let width = cols + bias.is_some() as usize;
        let mut gradient = context.workspace.zeros(rows, width);
        let mut transposed = context.workspace.take(width, rows);
        if bias.is_some() {
            let last = transposed.view_mut().row(cols);
            backend.col_sums(last, 1.0, products.derivs(), 0.0);
            backend.copy_transposed(gradient.view_mut().col_range(cols..width), last.as_view());
        }
        products.add_to_linear(context, gradient.view_mut().col_range(0..cols), 1.0);

        let norm_in = self.input.precondition(context, gradient.view_mut());
        backend.copy_transposed(transposed.view_mut(), gradient.view());
        let norm_out = self.output.precondition(context, transposed.view_mut());
        backend.copy_transposed(gradient.view_mut(), transposed.view());
        let rate = rate * norm_in * norm_out;
        backend.add(linear, rate, gradient.view().col_range(0..cols));
        if let Some(bias) = bias {
            backend.add(bias, rate, transposed.view().row(cols));
        }
    }

    /// True if a device corrects the gradient of this many rows.
    fn corrects_there(&self, context: Context<'_>, to: &Affine<'_>, rows: usize) -> bool {
        let width = to.linear.cols() + usize::from(to.bias.is_some());
        let (Some(input), Some(output)) = (self.input.side(width), self.output.side(to.linear.rows())) else {
            return false;
        };
        context.backend.low_rank().is_some() && rows > 0 && correction_moves_less(rows, [input, output])
    }

    /// As [`BothSides::add_gradient`], on a device that corrects the gradient G = Eᵀ X, bias included. With W of the inputs X and V
    /// of the derivatives E: Êᵀ X̂ = (I - Vᵀ V) G (I - Wᵀ W). `product` sets its argument to the gradient of the linear part. `rows` are
    /// the same as the pieces of the input, if known.
    fn add_corrected_there<'a>(
        &mut self,
        context: Context<'_>,
        to: Affine<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
        rows: Option<&RowProducts<'_>>,
        deriv: View<'_>,
        product: impl FnOnce(ViewMut<'_>),
    ) {
        let Affine { linear, bias, rate } = to;
        let (backend, workspace) = (context.backend, context.workspace);
        let (out_dim, dim) = (linear.rows(), linear.cols());
        let width = dim + usize::from(bias.is_some());
        let mut plain = workspace.take(out_dim, width.next_multiple_of(ALIGNED));
        let plain = plain.view_mut().col_range(0..width);
        let (plain_linear, plain_bias) = (plain.col_range(0..dim), plain.col_range(dim..width));
        product(plain_linear);

        let of_input = self.input.observe_there(
            context,
            input.clone(),
            rows,
            bias.is_some(),
            |sums, index| match rows {
                Some(rows) => rows.add_energy(context, sums, index),
                None => input.for_each(|piece| piece.x.add_energy(context, sums, index)),
            },
        );
        let derivs = Piece { x: PieceRows::Dense(deriv), columns: 0..out_dim };
        let of_output = self.output.observe_there(
            context,
            std::iter::once(derivs),
            None,
            false,
            |sums, index| match bias {
                Some(_) => backend.col_sums_and_square(plain_bias, sums, index, deriv),
                None => backend.accumulate_dot(sums, index, 1.0, deriv, deriv),
            },
        );
        let mut factor = workspace.take(1, 1);
        let sides = [(&mut self.input, &of_input), (&mut self.output, &of_output)];
        restore_norms(context, factor.view_mut(), sides);

        // G - (G Wᵀ) W - Vᵀ (V G - V (G Wᵀ) W), as one product of [G Wᵀ, Vᵀ] and [W; V G - V (G Wᵀ) W].
        let (w, v) = (of_input.w(), of_output.w());
        let (rank, all) = (w.rows(), w.rows() + v.rows());
        let mut left = workspace.take(out_dim, all);
        let mut right = workspace.take(all, width.next_multiple_of(ALIGNED));
        let (left, right) = (left.view_mut(), right.view_mut().col_range(0..width));
        let (of_w, of_v) = (left.col_range(0..rank), right.row_range(rank..all));
        backend.gemm(Gemm::set(of_w, plain, w.transposed()));
        backend.gemm(Gemm::set(of_v, v, plain));
        let mut of_both = workspace.take(v.rows(), rank);
        backend.gemm(Gemm::set(of_both.view_mut(), v, of_w));
        backend.gemm(Gemm::add(of_v, of_both.view(), w).times(-1.0));
        backend.copy(right.row_range(0..rank), w);
        backend.copy_transposed(left.col_range(rank..all), v);
        backend.gemm(Gemm::add(plain, left, right).times(-1.0));

        let factor = Factor { times: rate, element: factor.view() };
        backend.add_by(linear, factor, plain_linear.as_view());
        if let Some(bias) = bias {
            backend.add_by(bias.reshape(out_dim, 1), factor, plain_bias.as_view());
        }
        self.input.learn_there(context, of_input);
        self.output.learn_there(context, of_output);
    }

    /// Adds the gradient: (linear, bias) += rate · γ · Êᵀ X̂. X̂ are the preconditioned rows of the input, with an
    /// extra column of ones if there is a bias. The input comes in pieces that together have the columns of the linear
    /// part. Ê are the preconditioned rows of `deriv`. The factors γ keep both norms.
    fn add_gradient<'a>(
        &mut self,
        context: Context<'_>,
        to: Affine<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
        way: InputProduct<'_>,
        deriv: View<'_>,
    ) {
        let Affine { linear, bias, rate } = to;
        // The products of preconditioning are small, and differences of them matter.
        let backend = context.in_floats().backend;
        let (workspace, (out_dim, dim)) = (context.workspace, (deriv.cols(), linear.cols()));
        let chosen = self.output.preconditioning(context, deriv.rows(), out_dim, dim);
        if chosen == Preconditioning::Rows {
            let mut derivs = workspace.take(deriv.rows(), out_dim);
            let derivs = derivs.view_mut();
            let norm = self.output.fill_and_precondition(context, derivs, |derivs, rows| {
                backend.copy(derivs, deriv.row_range(rows))
            });
            let sum = Gradient { linear, bias, derivs: derivs.as_view(), rate: rate * norm };
            return self.add_of_input(context, sum, input, way);
        }
        // With W of the derivatives E: Êᵀ X̂ = (I - Wᵀ W) Eᵀ X̂
        let seen = match chosen {
            Preconditioning::Products => self.output.observe_products(context, deriv),
            _ => self
                .output
                .observe(context, std::iter::once(Piece { x: PieceRows::Dense(deriv), columns: 0..out_dim })),
        };
        let mut plain = workspace.zeros(out_dim, dim);
        let mut plain_bias = workspace.zeros(1, out_dim);
        let plain = plain.view_mut();
        let plain_bias = bias.map(|to| (plain_bias.view_mut(), to));
        let sum = Gradient {
            linear: plain,
            bias: plain_bias.map(|(plain, _)| plain),
            derivs: deriv,
            rate: rate * seen.factor,
        };
        self.add_of_input(context, sum, input, way);
        let mut excess = workspace.take(seen.w().rows(), dim + 1);
        let excess = excess.view_mut();
        let (excess, excess_bias) = (excess.col_range(0..dim), excess.col_range(dim..dim + 1));
        backend.gemm(Gemm::set(excess, seen.w(), plain));
        backend.gemm(Gemm::add(linear, seen.w().transposed(), excess).times(-1.0));
        backend.add(linear, 1.0, plain.as_view());
        if let Some((plain, bias)) = plain_bias {
            backend.gemm(Gemm::set(excess_bias, seen.w(), plain.transposed()));
            backend.gemm(Gemm::add(bias, excess_bias.transposed(), seen.w()).times(-1.0));
            backend.add(bias, 1.0, plain.as_view());
        }
        self.output.learn(context, seen);
    }

    fn add_of_input<'a>(
        &mut self,
        context: Context<'_>,
        sum: Gradient<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
        way: InputProduct<'_>,
    ) {
        match way {
            InputProduct::Copy => {
                let width = sum.linear.cols() + sum.bias.is_some() as usize;
                let (rows, others) = (sum.derivs.rows(), sum.derivs.cols());
                match self.input.preconditioning(context, rows, width, others) {
                    Preconditioning::Rows => self.add_of_copy(context, sum, input),
                    _ => self.add_corrected(context, sum, input),
                }
            }
            InputProduct::Filter(filter, taps) => {
                self.add_as_it_is(context, sum, input, |linear, rate, derivs| {
                    filter.backward_params(context, linear, rate, derivs, &taps);
                })
            }
            InputProduct::AsTheyAre => {
                self.add_as_it_is(context, sum, input.clone(), |linear, rate, derivs| {
                    for Piece { x, columns } in input {
                        x.gradient(context, linear.col_range(columns), rate, derivs, 1.0);
                    }
                })
            }
            InputProduct::Corrected => self.add_corrected(context, sum, input),
        }
    }

    /// Adds Êᵀ X and subtracts the correction: with W of the inputs X, Êᵀ X̂ = Êᵀ X (I - Wᵀ W).
    fn add_corrected<'a>(
        &mut self,
        context: Context<'_>,
        sum: Gradient<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
    ) {
        let (backend, workspace) = (context.in_floats().backend, context.workspace);
        let Gradient { linear, bias, derivs, rate } = sum;
        let (out_dim, dim) = (derivs.cols(), linear.cols());
        let mut ones = workspace.take(derivs.rows(), 1);
        backend.set(ones.view_mut(), 1.0);
        let one = bias.is_some().then(|| Piece { x: PieceRows::Dense(ones.view()), columns: dim..dim + 1 });
        // Pieces with the shorter lifetime of the ones.
        #[allow(clippy::map_identity)]
        let with_one = input.clone().map(|Piece { x, columns }| Piece { x, columns }).chain(one);
        let seen = self.input.observe(context, with_one);
        let rate = rate * seen.factor;
        let mut plain = workspace.take(out_dim, dim.next_multiple_of(ALIGNED));
        let plain = plain.view_mut().col_range(0..dim);
        for Piece { x, columns } in input {
            x.gradient(context, plain.col_range(columns), rate, derivs, 0.0);
        }
        let (w, last) = (seen.w().col_range(0..dim), seen.w().col_range(dim..seen.w().cols()));
        let mut excess = workspace.take(out_dim, seen.w().rows());
        let excess = excess.view_mut();
        backend.gemm(Gemm::set(excess, plain, w.transposed()));
        if let Some(bias) = bias {
            let mut sums = workspace.take(1, out_dim);
            backend.col_sums(sums.view_mut(), rate, derivs, 0.0);
            backend.gemm(Gemm::add(excess, sums.view().transposed(), last.transposed()));
            backend.add(bias, 1.0, sums.view());
            backend.gemm(Gemm::add(bias, last.transposed(), excess.transposed()).times(-1.0));
        }
        backend.gemm(Gemm::add(linear, excess, w).times(-1.0));
        backend.add(linear, 1.0, plain.as_view());
        self.input.learn(context, seen);
    }

    /// Adds the product with a preconditioned copy of the input.
    fn add_of_copy<'a>(
        &mut self,
        context: Context<'_>,
        sum: Gradient<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
    ) {
        let (backend, Gradient { linear, bias, derivs, rate }) = (context.backend, sum);
        let (rows, dim) = (derivs.rows(), linear.cols());
        let width = dim + bias.is_some() as usize;
        let mut copy = context.workspace.take(rows, width.next_multiple_of(ALIGNED));
        let copy = copy.view_mut().col_range(0..width);
        let (values, ones) = (copy.col_range(0..dim), copy.col_range(dim..width));
        let norm = self.input.fill_and_precondition(context, copy, |_, rows| {
            for Piece { x, columns } in input.clone() {
                x.row_range(rows.clone()).copy_to(context, values.row_range(rows.clone()).col_range(columns));
            }
            backend.set(ones.row_range(rows), 1.0);
        });
        backend.gemm(Gemm::add(linear, derivs.transposed(), values).times(rate * norm));
        if let Some(bias) = bias {
            backend.gemm(Gemm::add(bias, ones.transposed(), derivs).times(rate * norm));
        }
    }

    /// Adds the product with the unchanged input, then subtracts the correction. `product` adds the product with the
    /// given derivatives to the linear part.
    fn add_as_it_is<'a>(
        &mut self,
        context: Context<'_>,
        sum: Gradient<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
        product: impl FnOnce(ViewMut<'_>, f32, View<'_>),
    ) {
        let (backend, Gradient { linear, bias, derivs, rate }) = (context.in_floats().backend, sum);
        let (rows, dim) = (derivs.rows(), linear.cols());
        let mut ones = context.workspace.take(rows, 1);
        backend.set(ones.view_mut(), 1.0);
        let one = bias.is_some().then(|| Piece { x: PieceRows::Dense(ones.view()), columns: dim..dim + 1 });
        // Pieces with the shorter lifetime of the ones.
        #[allow(clippy::map_identity)]
        let input = input.map(|Piece { x, columns }| Piece { x, columns }).chain(one);
        let seen = self.input.observe(context, input);
        let rate = rate * seen.factor;
        product(linear, rate, derivs);
        // Êᵀ (X - X̂) = (Hᵀ Ê)ᵀ W; below it the sums of Ê's rows.
        let rank = seen.w().rows();
        let mut products = context.workspace.take(rank + 1, derivs.cols());
        let products = products.view_mut();
        backend.gemm(Gemm::set(products, seen.h_and_one().transposed(), derivs));
        let (excess, sums) =
            (products.as_view().row_range(0..rank), products.as_view().row_range(rank..rank + 1));
        backend.gemm(Gemm::add(linear, excess.transposed(), seen.w().col_range(0..dim)).times(-rate));
        if let Some(bias) = bias {
            backend.add(bias, rate, sums);
            backend.gemm(Gemm::add(bias, seen.w().col_range(dim..dim + 1).transposed(), excess).times(-rate));
        }
        self.input.learn(context, seen);
    }
}

/// Method for the product of derivatives with preconditioned rows of the input.
enum InputProduct<'a> {
    /// With a copy of the input.
    Copy,
    /// With the unchanged input, through a filter over its taps.
    Filter(Filter, [View<'a>; 3]),
    /// With the unchanged input; the correction is a product with it, too.
    AsTheyAre,
    /// With the unchanged input; the correction is a product with the gradient.
    Corrected,
}

/// The destination of a gradient, and the preconditioned derivatives that are its factor.
struct Gradient<'a> {
    linear: ViewMut<'a>,
    bias: Option<ViewMut<'a>>,
    derivs: View<'a>,
    rate: f32,
}

/// Natural gradient updates of components, against the dense form in `f64`.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Rules;
    use crate::natural_gradient::oracle::Dense;
    use nalgebra::DMatrix;
    use nnet3_base::random::Random;
    use nnet3_component::Update;
    use nnet3_component::preconditioners::NaturalGradientSettings;
    use nnet3_component::testing::{Harness, component, relative_difference};
    use nnet3_matrix::Matrix;

    /// Computes the expected additions to the parameters from input rows and output derivatives.
    pub(crate) type Oracle<'a> = &'a mut dyn FnMut(&DMatrix<f64>, &DMatrix<f64>) -> Vec<f64>;

    fn dense(m: &Matrix) -> DMatrix<f64> {
        DMatrix::from_row_iterator(m.rows(), m.cols(), m.to_vec().iter().map(|&v| v as f64))
    }

    /// Rows with a nonzero mean; the columns differ in size.
    fn rows(random: &Random, rows: usize, cols: usize) -> Matrix {
        let mut data = random.normal_vec(rows * cols, 0.0, 1.0);
        for row in data.chunks_exact_mut(cols) {
            let common = random.normal();
            row.iter_mut().enumerate().for_each(|(k, v)| *v = (*v + common + 0.3) / (1.0 + k as f32));
        }
        Matrix::from_vec(rows, cols, data)
    }

    /// Runs 20 minibatches of 40 rows with rate 0.1, and compares the sum of updates with the oracle's.
    pub(crate) fn follows(config: &str, tolerance: f64, oracle: Oracle<'_>) {
        let (harness, random) = (Harness::new(), Random::new(9));
        let mut own = component(config);
        let mut delta = own.clone();
        delta.scale(0.0);
        delta.as_updatable_mut().unwrap().set_underlying_learning_rate(0.1);
        let mut rules = Rules::of(&*own);
        let mut wanted = vec![0.0; own.as_updatable().unwrap().num_parameters()];
        for _ in 0..20 {
            let input = rows(&random, 40, own.input_dim());
            let out_deriv = rows(&random, 40, own.output_dim());
            let forward = harness.forward(&*own, None, &input, 40);
            harness.backward(
                &mut *own,
                None,
                &input,
                &forward,
                &out_deriv,
                Update::to(&mut *delta, &mut rules),
            );
            let step = oracle(&dense(&input), &dense(&out_deriv));
            wanted.iter_mut().zip(step).for_each(|(w, s)| *w += 0.1 * s);
        }
        let wanted: Vec<f32> = wanted.iter().map(|&v| v as f32).collect();
        let difference = relative_difference(&delta.as_updatable().unwrap().vectorize(), &wanted);
        assert!(difference < tolerance, "{config}: {difference}");
    }

    /// The sums of columns as one row.
    pub(crate) fn col_sums(m: &DMatrix<f64>) -> Vec<f64> {
        m.row_sum().iter().copied().collect()
    }

    /// Elements row by row.
    pub(crate) fn by_rows(m: &DMatrix<f64>) -> Vec<f64> {
        m.transpose().iter().copied().collect()
    }

    fn with_ones(x: &DMatrix<f64>) -> DMatrix<f64> {
        x.clone().insert_column(x.ncols(), 1.0)
    }

    /// Compares affine updates in each of the ways for output derivatives.
    #[test]
    fn affine_updates() {
        for (input_dim, output_dim, expected) in [
            (9, 7, Preconditioning::Products),
            (9, 30, Preconditioning::Gradient),
            (150, 7, Preconditioning::Rows),
        ] {
            let (rank_in, rank_out) = (5, 4);
            let config = format!(
                "type=NaturalGradientAffineComponent input-dim={input_dim} output-dim={output_dim} rank-in={rank_in} rank-out={rank_out}"
            );
            let harness = Harness::new();
            let taken = NaturalGradient::new(NaturalGradientSettings::with_rank(rank_out, 4))
                .preconditioning(harness.context(), 40, output_dim, input_dim);
            assert_eq!(taken, expected, "{config}");
            let mut input = Dense::new(rank_in, input_dim + 1, 4, 2000.0, 4.0);
            let mut output = Dense::new(rank_out, output_dim, 4, 2000.0, 4.0);
            follows(&config, 3e-6, &mut |x, e| {
                let (x, e) = (input.precondition(&with_ones(x), false), output.precondition(e, false));
                let both = e.transpose() * x;
                let (linear, bias) = (both.columns(0, input_dim).into_owned(), both.column(input_dim));
                by_rows(&linear).into_iter().chain(bias.iter().copied()).collect()
            });
        }
    }

    #[test]
    fn linear_updates() {
        let config = "type=LinearComponent input-dim=9 output-dim=7 rank-in=3 rank-out=2 update-period=2 alpha=2 \
                      num-samples-history=500 use-natural-gradient=false";
        let mut input = Dense::new(3, 9, 2, 500.0, 2.0);
        let mut output = Dense::new(2, 7, 2, 500.0, 2.0);
        follows(config, 3e-6, &mut |x, e| {
            by_rows(&(output.precondition(e, false).transpose() * input.precondition(x, false)))
        });
    }

    /// The gradient through a filter must be that of preconditioned copies, with a bias and without, over some updates
    /// of the estimates.
    #[test]
    fn filtered_gradients_are_the_same() {
        const DIM: usize = 96;
        const ROWS: usize = 500;
        let (harness, random) = (Harness::new(), Random::new(3));
        let context = harness.context();
        for (taps, step, with_bias) in [(2, 5, true), (3, 20, true), (3, 1, false)] {
            let filter = Filter::new(context.backend, taps, step, ROWS, (DIM, DIM)).unwrap();
            let mut new = [(); 2].map(|_| BothSides::new(Preconditioners::new(20, 30, 4, 2000.0, 4.0)));
            for minibatch in 0..14 {
                let (input, deriv) = (rows(&random, ROWS + (taps - 1) * step, DIM), rows(&random, ROWS, DIM));
                let tap = |k: usize| input.view().row_range(k * step..k * step + ROWS);
                let views = [tap(0), tap(1), tap(taps - 1)];
                let gradients = [InputProduct::Copy, InputProduct::Filter(filter, views)].map(|way| {
                    let rule = &mut new[matches!(way, InputProduct::Filter(..)) as usize];
                    let mut linear = Matrix::zeros(input.device(), DIM, taps * DIM);
                    let mut bias = Matrix::zeros(input.device(), 1, if with_bias { DIM } else { 0 });
                    let pieces = (0..taps)
                        .map(|k| Piece { x: PieceRows::Dense(tap(k)), columns: k * DIM..(k + 1) * DIM });
                    let to_bias = with_bias.then(|| bias.view_mut());
                    let to = Affine { linear: linear.view_mut(), bias: to_bias, rate: 0.1 };
                    rule.add_gradient(context, to, pieces, way, deriv.view());
                    (linear.to_vec(), bias.to_vec())
                });
                let [(linear, bias), (filtered, filtered_bias)] = &gradients;
                let difference = relative_difference(filtered, linear);
                assert!(difference < 1e-5, "{taps} taps, minibatch {minibatch}: {difference}");
                if with_bias {
                    let difference = relative_difference(filtered_bias, bias);
                    assert!(difference < 2e-5, "{taps} taps, minibatch {minibatch}: bias, {difference}");
                }
            }
        }
    }
}
