//! Natural gradient on both sides of a linear function, as Affine and Linear use it.

use super::winograd::Filter;
use super::{Context, Key, Kind};
use crate::config::ConfigLine;
use crate::error::Result;
use crate::natural_gradient::{ALIGNED, NaturalGradient, Piece, Way};
use kaldi_io::reader::KaldiReader;
use nnet3_matrix::{Transpose::No, Transpose::Yes, View, ViewMut};

/// Preconditioners of the inputs (extended by 1 if there is a bias) and of the output derivatives. They share all
/// settings but the rank.
#[derive(Clone, Debug)]
pub struct Preconditioners {
    pub input: NaturalGradient,
    pub output: NaturalGradient,
}

pub(super) const NUM_SAMPLES_HISTORY: Key = Key {
    name: "num-samples-history",
    kind: Kind::Float,
    default: "2000",
    meaning: "natural gradient: rows after which a minibatch's weight has fallen to 1/e",
};
pub(super) const ALPHA: Key = Key {
    name: "alpha",
    kind: Kind::Float,
    default: "4",
    meaning: "natural gradient: how much of the identity is mixed in",
};

/// The keys of [`Preconditioners::from_config`].
pub(super) const KEYS: [Key; 5] = [
    Key {
        name: "rank-in",
        kind: Kind::Int,
        default: "min(20, (input-dim+1)/2)",
        meaning: "natural gradient: rank on the input side",
    },
    Key {
        name: "rank-out",
        kind: Kind::Int,
        default: "min(80, (output-dim+1)/2)",
        meaning: "natural gradient: rank on the output side",
    },
    Key {
        name: "update-period",
        kind: Kind::Int,
        default: "4",
        meaning: "natural gradient: minibatches between updates of the Fisher matrix",
    },
    NUM_SAMPLES_HISTORY,
    ALPHA,
];

impl Preconditioners {
    pub fn new(
        rank_in: usize,
        rank_out: usize,
        update_period: usize,
        num_samples_history: f32,
        alpha: f32,
    ) -> Self {
        let with_rank = |rank| NaturalGradient::new(rank, update_period, num_samples_history, alpha);
        Preconditioners { input: with_rank(rank_in), output: with_rank(rank_out) }
    }

    /// Reads [`KEYS`].
    pub fn from_config(line: &mut ConfigLine, input_dim: usize, output_dim: usize) -> Result<Self> {
        let mut rank = |key: &str, default: usize| -> Result<usize> {
            match line.get_i32(key)? {
                Some(0) => Err(line.error(format!("{key} must not be 0; -1 means {default}"))),
                rank => Ok(rank.and_then(|rank| usize::try_from(rank).ok()).unwrap_or(default)),
            }
        };
        let rank_in = rank("rank-in", input_dim.div_ceil(2).min(20))?;
        let rank_out = rank("rank-out", output_dim.div_ceil(2).min(80))?;
        let period = line.get_dim("update-period")?.unwrap_or(4);
        let history = line.get_f32("num-samples-history")?.unwrap_or(2000.0);
        let alpha = line.get_f32("alpha")?.unwrap_or(4.0);
        let new = Preconditioners::new(rank_in, rank_out, period, history, alpha);
        match new.defect() {
            Some(defect) => Err(line.error(defect)),
            None => Ok(new),
        }
    }

    /// Fails if the settings that were read are unusable.
    pub fn check(self, r: &KaldiReader) -> Result<Self> {
        match self.defect() {
            Some(defect) => Err(r.error(defect).into()),
            None => Ok(self),
        }
    }

    fn defect(&self) -> Option<String> {
        self.input.defect().or(self.output.defect())
    }

    pub fn freeze(&mut self, freeze: bool) {
        self.input.freeze(freeze);
        self.output.freeze(freeze);
    }

    pub fn info(&self) -> String {
        format!(
            ", rank-in={}, rank-out={}, num-samples-history={}, update-period={}, alpha={}",
            self.input.rank,
            self.output.rank,
            crate::text::number(self.input.num_samples_history as f64),
            self.input.update_period,
            crate::text::number(self.input.alpha as f64)
        )
    }

    /// Adds `rate` × the preconditioned gradient: with X̂ the preconditioned rows of `input` (and a 1 if there is a
    /// bias), Ê those of `deriv`, (linear, bias) += rate · γ · Êᵀ X̂, γ the factors that keep both norms.
    pub fn add_gradient(
        &mut self,
        context: Context<'_>,
        linear: ViewMut<'_>,
        bias: Option<ViewMut<'_>>,
        input: View<'_>,
        deriv: View<'_>,
        rate: f32,
    ) {
        let whole = Piece { x: input, columns: 0..input.cols() };
        self.add_gradient_of(context, linear, bias, std::iter::once(whole), None, deriv, rate);
    }

    /// [`Preconditioners::add_gradient`] for an input in pieces, which together have the columns of `linear`; `filter` if it
    /// has taps that make one.
    #[allow(clippy::too_many_arguments)]
    pub fn add_gradient_of<'a>(
        &mut self,
        context: Context<'_>,
        linear: ViewMut<'_>,
        bias: Option<ViewMut<'_>>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
        filter: Option<(Filter, [View<'_>; 3])>,
        deriv: View<'_>,
        rate: f32,
    ) {
        let (backend, workspace, (out_dim, dim)) =
            (context.backend, context.workspace, (deriv.cols(), linear.cols()));
        let way = self.output.way(context, deriv.rows(), out_dim, dim);
        if way == Way::Rows {
            let mut derivs = workspace.take(deriv.rows(), out_dim);
            let derivs = derivs.view_mut();
            let norm = self.output.fill_and_precondition(context, derivs, |derivs, rows| {
                backend.copy(derivs, deriv.row_range(rows))
            });
            let sum = Gradient { linear, bias, derivs: derivs.as_view(), rate: rate * norm };
            return self.add_of_input(context, sum, input, filter);
        }
        // With W of the derivatives E: Êᵀ X̂ = (I - Wᵀ W) Eᵀ X̂
        let seen = match way {
            Way::Products => self.output.observe_products(context, deriv),
            _ => self.output.observe(context, std::iter::once(Piece { x: deriv, columns: 0..out_dim })),
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
        self.add_of_input(context, sum, input, filter);
        let mut excess = workspace.take(seen.w().rows(), dim + 1);
        let excess = excess.view_mut();
        let (excess, excess_bias) = (excess.col_range(0..dim), excess.col_range(dim..dim + 1));
        backend.gemm(excess, 1.0, seen.w(), No, plain.as_view(), No, 0.0);
        backend.gemm(linear, -1.0, seen.w(), Yes, excess.as_view(), No, 1.0);
        backend.add(linear, 1.0, plain.as_view());
        if let Some((plain, bias)) = plain_bias {
            backend.gemm(excess_bias, 1.0, seen.w(), No, plain.as_view(), Yes, 0.0);
            backend.gemm(bias, -1.0, excess_bias.as_view(), Yes, seen.w(), No, 1.0);
            backend.add(bias, 1.0, plain.as_view());
        }
        self.output.learn(context, seen);
    }

    fn add_of_input<'a>(
        &mut self,
        context: Context<'_>,
        sum: Gradient<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
        filter: Option<(Filter, [View<'_>; 3])>,
    ) {
        match filter {
            None => self.add_of_copy(context, sum, input),
            Some((filter, taps)) => self.add_filtered(context, sum, input, filter, &taps),
        }
    }

    /// Of a preconditioned copy of the input.
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
                backend.copy(values.row_range(rows.clone()).col_range(columns), x.row_range(rows.clone()));
            }
            backend.set(ones.row_range(rows), 1.0);
        });
        backend.gemm(linear, rate * norm, derivs, Yes, values.as_view(), No, 1.0);
        if let Some(bias) = bias {
            backend.gemm(bias, rate * norm, ones.as_view(), Yes, derivs, No, 1.0);
        }
    }

    /// Of the input as it is, whose rows are those of a filter; then what is too much is taken away.
    fn add_filtered<'a>(
        &mut self,
        context: Context<'_>,
        sum: Gradient<'_>,
        input: impl Iterator<Item = Piece<'a>> + Clone,
        filter: Filter,
        taps: &[View<'_>],
    ) {
        let (backend, Gradient { linear, bias, derivs, rate }) = (context.backend, sum);
        let (rows, dim) = (derivs.rows(), linear.cols());
        let mut ones = context.workspace.take(rows, 1);
        backend.set(ones.view_mut(), 1.0);
        let one = bias.is_some().then(|| Piece { x: ones.view(), columns: dim..dim + 1 });
        // Pieces with the shorter life of the ones.
        #[allow(clippy::map_identity)]
        let input = input.map(|Piece { x, columns }| Piece { x, columns }).chain(one);
        let seen = self.input.observe(context, input);
        let rate = rate * seen.factor;
        filter.backward_params(context, linear, rate, derivs, taps);
        // Êᵀ (X - X̂) = (Hᵀ Ê)ᵀ W; below it the sums of Ê's rows.
        let rank = seen.w().rows();
        let mut products = context.workspace.take(rank + 1, derivs.cols());
        let products = products.view_mut();
        backend.gemm(products, 1.0, seen.h_and_one(), Yes, derivs, No, 0.0);
        let (excess, sums) =
            (products.as_view().row_range(0..rank), products.as_view().row_range(rank..rank + 1));
        backend.gemm(linear, -rate, excess, Yes, seen.w().col_range(0..dim), No, 1.0);
        if let Some(bias) = bias {
            backend.add(bias, rate, sums);
            backend.gemm(bias, -rate, seen.w().col_range(dim..dim + 1), Yes, excess, No, 1.0);
        }
        self.input.learn(context, seen);
    }
}

/// What a gradient is added to, and the preconditioned derivatives that it is made of.
struct Gradient<'a> {
    linear: ViewMut<'a>,
    bias: Option<ViewMut<'a>>,
    derivs: View<'a>,
    rate: f32,
}

/// Natural gradient updates of components, against the dense form in `f64`.
#[cfg(test)]
pub(super) mod tests {
    use super::{Filter, NaturalGradient, Piece, Preconditioners, Way};
    use crate::component::Update;
    use crate::component::testing::{Harness, component, relative_difference};
    use crate::natural_gradient::oracle::Dense;
    use crate::random::Random;
    use nalgebra::DMatrix;
    use nnet3_matrix::Matrix;

    /// What an update may add to the parameters, worked out from input rows and output derivatives.
    pub(in crate::component) type Oracle<'a> = &'a mut dyn FnMut(&DMatrix<f64>, &DMatrix<f64>) -> Vec<f64>;

    fn dense(m: &Matrix) -> DMatrix<f64> {
        DMatrix::from_row_iterator(m.rows(), m.cols(), m.to_vec().iter().map(|&v| v as f64))
    }

    /// Rows with a mean, whose columns differ in size.
    fn rows(random: &Random, rows: usize, cols: usize) -> Matrix {
        let mut data = random.normal_vec(rows * cols, 0.0, 1.0);
        for row in data.chunks_exact_mut(cols) {
            let common = random.normal();
            row.iter_mut().enumerate().for_each(|(k, v)| *v = (*v + common + 0.3) / (1.0 + k as f32));
        }
        Matrix::from_vec(rows, cols, data)
    }

    /// Runs 20 minibatches of 40 rows with rate 0.1, and compares the sum of updates with the oracle's.
    pub(in crate::component) fn follows(config: &str, tolerance: f64, oracle: Oracle<'_>) {
        let (harness, random) = (Harness::new(), Random::new(9));
        let mut own = component(config);
        let mut delta = own.clone();
        delta.scale(0.0);
        delta.as_updatable_mut().unwrap().set_underlying_learning_rate(0.1);
        let mut wanted = vec![0.0; own.as_updatable().unwrap().num_parameters()];
        for _ in 0..20 {
            let input = rows(&random, 40, own.input_dim());
            let out_deriv = rows(&random, 40, own.output_dim());
            let forward = harness.forward(&*own, None, &input, 40);
            harness.backward(&mut *own, None, &input, &forward, &out_deriv, Update::Other(&mut *delta));
            let step = oracle(&dense(&input), &dense(&out_deriv));
            wanted.iter_mut().zip(step).for_each(|(w, s)| *w += 0.1 * s);
        }
        let wanted: Vec<f32> = wanted.iter().map(|&v| v as f32).collect();
        let difference = relative_difference(&delta.as_updatable().unwrap().vectorize(), &wanted);
        assert!(difference < tolerance, "{config}: {difference}");
    }

    /// The sums of columns as one row.
    pub(in crate::component) fn col_sums(m: &DMatrix<f64>) -> Vec<f64> {
        m.row_sum().iter().copied().collect()
    }

    /// Elements row by row.
    pub(in crate::component) fn by_rows(m: &DMatrix<f64>) -> Vec<f64> {
        m.transpose().iter().copied().collect()
    }

    fn with_ones(x: &DMatrix<f64>) -> DMatrix<f64> {
        x.clone().insert_column(x.ncols(), 1.0)
    }

    /// In each of the ways for output derivatives.
    #[test]
    fn affine_updates() {
        for (input_dim, output_dim, way) in
            [(9, 7, Way::Products), (9, 30, Way::Gradient), (150, 7, Way::Rows)]
        {
            let (rank_in, rank_out) = (5, 4);
            let config = format!(
                "type=NaturalGradientAffineComponent input-dim={input_dim} output-dim={output_dim} rank-in={rank_in} rank-out={rank_out}"
            );
            let harness = Harness::new();
            let taken =
                NaturalGradient::with_rank(rank_out, 4).way(harness.context(), 40, output_dim, input_dim);
            assert_eq!(taken, way, "{config}");
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

    /// The gradient through a filter is that of preconditioned copies, with a bias and without, over some updates of the
    /// estimates.
    #[test]
    fn filtered_gradients_are_the_same() {
        const DIM: usize = 96;
        const ROWS: usize = 500;
        let (harness, random) = (Harness::new(), Random::new(3));
        let context = harness.context();
        for (taps, step, with_bias) in [(2, 5, true), (3, 20, true), (3, 1, false)] {
            let filter = Filter::new(context.backend, taps, step, ROWS, (DIM, DIM)).unwrap();
            let mut new = [(); 2].map(|_| Preconditioners::new(20, 30, 4, 2000.0, 4.0));
            for minibatch in 0..14 {
                let (input, deriv) = (rows(&random, ROWS + (taps - 1) * step, DIM), rows(&random, ROWS, DIM));
                let tap = |k: usize| input.view().row_range(k * step..k * step + ROWS);
                let views = [tap(0), tap(1), tap(taps - 1)];
                let gradients = [None, Some((filter, views))].map(|filter| {
                    let preconditioners = &mut new[filter.is_some() as usize];
                    let mut linear = Matrix::zeros(input.device(), DIM, taps * DIM);
                    let mut bias = Matrix::zeros(input.device(), 1, if with_bias { DIM } else { 0 });
                    let pieces = (0..taps).map(|k| Piece { x: tap(k), columns: k * DIM..(k + 1) * DIM });
                    let to_bias = with_bias.then(|| bias.view_mut());
                    let to = linear.view_mut();
                    preconditioners.add_gradient_of(context, to, to_bias, pieces, filter, deriv.view(), 0.1);
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
