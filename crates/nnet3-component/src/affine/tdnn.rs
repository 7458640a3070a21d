//! `TdnnComponent`: an affine function of the input at several time offsets (Peddinti, Povey and Khudanpur, "A time
//! delay neural network architecture for efficient modeling of long temporal contexts", 2015), without splicing.

use super::arranged::Arranged;
use super::spliced::Times;
use crate::declared::*;
use crate::fields::{self, key};
use crate::grid::{self, Grid, shifted};
use crate::parameters::*;
use crate::preconditioners::*;
use crate::registry::PrecomputedReader;
use crate::tdnn_keys::*;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::winograd::Filter;
use crate::*;
use nnet3_base::text;
use nnet3_matrix::{Gemm, Start};
use std::mem::take;

const NAME: &str = "TdnnComponent";
const PRECOMPUTED_NAME: &str = "TdnnComponentPrecomputedIndexes";
/// Minibatches between updates of the Fisher matrix; no key, not in files.
const UPDATE_PERIOD: usize = 4;

pub const TYPES: &[&ComponentType] = &[Tdnn::TYPE];

const TIME_OFFSETS: Key = key(
    "time-offsets",
    Kind::IntList,
    "",
    "times of the input relative to the output's, in the order of the columns of W",
);
const USE_BIAS: Field<bool> = field("use-bias", "", "whether a bias is added").or(true);
const STDDEV: &str = "standard deviation of these initial parameters";
const PARAM_STDDEV: Field<f32> =
    field("param-stddev", "", STDDEV).or_by("1/sqrt(input-dim * number of offsets)");
const BIAS_STDDEV: Field<f32> = field("bias-stddev", "", STDDEV).or(1.0);

pub(crate) const PRECOMPUTED: &[PrecomputedReader] = &[(PRECOMPUTED_NAME, read_precomputed)];

/// y(n, t, x) = b + Σ_k W_k x(n, t + offset_k, x).
#[derive(Clone, Debug)]
pub struct Tdnn {
    settings: UpdatableSettings,
    time_offsets: Vec<i32>,
    /// O × (K I): the blocks W_k side by side.
    linear: Matrix,
    /// 1 × O, or 1 × 0: no bias.
    bias: Matrix,
    orthonormal_constraint: f32,
    use_natural_gradient: bool,
    natural_gradient: Preconditioners,
}

/// The input rows of each offset.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rows {
    stride: usize,
    /// First row, for each offset.
    offsets: Vec<usize>,
}

impl Rows {
    /// Distance in rows from an offset's first row to the next offset's, if it is constant.
    fn constant_step(&self) -> Option<usize> {
        let steps = self.offsets.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
        steps.reduce(|step, next| if step == next { step } else { None })?
    }
}

impl Tdnn {
    /// O × (K I), offset by offset.
    pub fn linear_params(&self) -> &Matrix {
        &self.linear
    }

    /// 1 × O, or empty if there is no bias.
    pub fn bias_params(&self) -> &Matrix {
        &self.bias
    }

    pub fn time_offsets(&self) -> &[i32] {
        &self.time_offsets
    }

    /// The same component with other parameters of the same offsets. Panics if they do not fit each other.
    pub fn with_params(&self, linear: Matrix, bias: Matrix) -> Tdnn {
        assert!(!linear.is_empty() && linear.cols().is_multiple_of(self.time_offsets.len()), "{linear:?}");
        assert!(
            bias.is_empty() || (bias.rows() == 1 && bias.cols() == linear.rows()),
            "{linear:?} and {bias:?}"
        );
        Tdnn { linear, bias, ..self.without_params() }
    }

    /// Returns a copy without parameters, which can still list the indexes it needs.
    fn without_params(&self) -> Tdnn {
        let (linear, bias, time_offsets) = (Matrix::empty(), Matrix::empty(), self.time_offsets.clone());
        Tdnn { settings: self.settings.clone(), linear, bias, time_offsets, ..*self }
    }

    /// The grids of these lists, in the order of rows that [`Rows`] supposes.
    fn grid(inputs: &[Index], outputs: &[Index]) -> Result<Grid> {
        let mut grid = Grid::of(inputs, outputs)?;
        if grid.output.step == 0 {
            // One output time: any step fits.
            grid.input.step = grid.input.step.max(1);
            grid.output.step = grid.input.step;
        }
        if grid.input.step == 0 || grid.output.step % grid.input.step != 0 {
            return Err(grid::error(format!(
                "{NAME}: input times {:?} for output times {:?}",
                grid.input, grid.output
            )));
        }
        grid.reorder = grid.output.step / grid.input.step;
        grid.input.round_up(grid.reorder);
        Ok(grid)
    }

    fn rows(&self, grid: &Grid) -> Result<Rows> {
        let first_row = |&offset: &i32| {
            let position = grid.input.position(grid.output.start + offset as i64)?;
            let row = position - position % grid.reorder;
            let row = row * grid.num_images() + position % grid.reorder;
            let fits = position >= 0
                && row + (grid.output.count * grid.num_images() - 1) * grid.reorder < {
                    grid.input.count * grid.num_images()
                };
            fits.then_some(row as usize)
        };
        match self.time_offsets.iter().map(first_row).collect() {
            Some(offsets) => Ok(Rows { stride: grid.reorder as usize, offsets }),
            None => Err(grid::error(format!(
                "{NAME}: input times {:?} are not those of output times {:?} with offsets {:?}",
                grid.input, grid.output, self.time_offsets
            ))),
        }
    }
}

/// output = start + Σ over offsets of the offset's input rows · its weights.
pub(super) fn multiply(
    context: Context<'_>,
    indexes: Option<&dyn PrecomputedIndexes>,
    weights: Weights<'_>,
    input: View<'_>,
    output: ViewMut<'_>,
    start: Start<'_>,
) {
    if let Some(filter) = filter(context, indexes, (input.cols(), weights.outputs()), output.rows()) {
        let taps = taps(indexes, input, output.rows());
        return filter.forward(context, output, &taps, weights, start);
    }
    if let Weights::Plain(linear) = weights
        && times(indexes, (input.cols(), linear.rows()), output.rows())
            .forward(context, output, input, linear, start)
    {
        return;
    }
    let taps = parts(indexes, input.cols()).map(|part| input.every(part.first, part.stride, output.rows()));
    weights.multiply(context.backend, output, start, taps);
}

/// Returns a filter with fewer multiplications, if there is one that pays; `dims` are the input and output dimensions.
fn filter(
    context: Context<'_>,
    indexes: Option<&dyn PrecomputedIndexes>,
    dims: (usize, usize),
    outputs: usize,
) -> Option<Filter> {
    let rows: &Rows = precomputed(indexes);
    let step = rows.constant_step().filter(|step| step.is_multiple_of(rows.stride))?;
    Filter::new(context.backend, rows.offsets.len(), step / rows.stride, outputs, dims)
}

/// The times of a layer with this many outputs.
fn times(indexes: Option<&dyn PrecomputedIndexes>, dims: (usize, usize), outputs: usize) -> Times<'_> {
    let rows: &Rows = precomputed(indexes);
    Times { first: &rows.offsets, stride: rows.stride, outputs, dims }
}

/// The input rows of one offset.
struct Part {
    /// First row of the input.
    first: usize,
    stride: usize,
    /// Columns of W.
    columns: std::ops::Range<usize>,
}

/// Returns the input rows of each offset (at most three) for these outputs.
fn taps<'v>(indexes: Option<&dyn PrecomputedIndexes>, input: View<'v>, outputs: usize) -> [View<'v>; 3] {
    let mut taps = [View::empty(); 3];
    for (tap, part) in taps.iter_mut().zip(parts(indexes, input.cols())) {
        *tap = input.every(part.first, part.stride, outputs);
    }
    taps
}

/// The parts, offset by offset, of an input with `dim` columns.
fn parts(indexes: Option<&dyn PrecomputedIndexes>, dim: usize) -> impl Iterator<Item = Part> + Clone {
    let rows: &Rows = precomputed(indexes);
    let part = move |(k, &first)| Part { first, stride: rows.stride, columns: k * dim..(k + 1) * dim };
    rows.offsets.iter().enumerate().map(part)
}

// ---- fields ----------------------------------------------------------------------------------------------------

fn offsets_defect(offsets: &[i32]) -> Option<String> {
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    if offsets.is_empty() {
        return Some("expected at least one offset".into());
    }
    let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!("offset {} occurs twice", repeated[0]))
}

// ---- the component ---------------------------------------------------------------------------------------------

impl Declared for Tdnn {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<Tdnn>(
        NAME,
        "An affine function of the input at several time offsets.",
        "input-dim=4 output-dim=3 time-offsets=-1,0,2",
    );

    fn fields(f: &mut Fields<'_, Tdnn>) -> Result<Option<Tdnn>> {
        let settings = f.settings(|c| &c.settings)?;
        let time_offsets = Tdnn::offsets_of(f)?;
        let (input_dim, output_dim) = (f.key(&INPUT_DIM)?, f.key(&OUTPUT_DIM)?);
        let spliced_dim = input_dim.saturating_mul(time_offsets.len());
        let use_bias = f.key(&USE_BIAS)?;
        let initial = Initial {
            shape: (output_dim, spliced_dim),
            stddev: take_stddev(f, &PARAM_STDDEV, spliced_dim)?,
            bias_dim: if use_bias { output_dim } else { 0 },
            bias_stddev: f.key(&BIAS_STDDEV)?,
            bias_mean: f.key(&BIAS_MEAN)?,
        };
        let (linear, bias) = Tdnn::parameters_of(f, initial, time_offsets.len())?;
        let orthonormal_constraint = f.get(&ORTHONORMAL_CONSTRAINT.hidden(), |c| c.orthonormal_constraint)?;
        let use_natural_gradient = f.get(&USE_NATURAL_GRADIENT.hidden(), |c| c.use_natural_gradient)?;
        let mut natural_gradient = take_natural_gradient(f, spliced_dim, output_dim)?;
        natural_gradient.store_history(f, |c| c.natural_gradient.input)?;
        natural_gradient.store_alphas(f, |c| c.natural_gradient)?;
        natural_gradient.store_ranks(f, |c| c.natural_gradient)?;
        f.refuse(|| natural_gradient.defect())?;
        f.note(|c, detailed| c.info_of_parameters(detailed));
        f.done(Tdnn {
            settings,
            time_offsets,
            linear,
            bias,
            orthonormal_constraint,
            use_natural_gradient,
            natural_gradient,
        })
    }
}

impl Tdnn {
    fn offsets_of(f: &mut Fields<'_, Tdnn>) -> Result<Vec<i32>> {
        f.document(&TIME_OFFSETS);
        let offsets = if let Some((line, _)) = f.config() {
            get_integers(line, TIME_OFFSETS.name)?.ok_or_else(|| line.error("'time-offsets' is missing"))?
        } else if let Some(r) = f.reader() {
            r.expect_token("<TimeOffsets>")?;
            r.read_i32_vector()?
        } else if let Some((w, c)) = f.writer() {
            w.write_token("<TimeOffsets>")?;
            w.write_i32_vector(&c.time_offsets)?;
            Vec::new()
        } else {
            Vec::new()
        };
        f.refuse(|| offsets_defect(&offsets).map(|defect| format!("time-offsets: {defect}")))?;
        Ok(offsets)
    }

    /// Visits linear part and bias: in a file, or random numbers.
    fn parameters_of(f: &mut Fields<'_, Tdnn>, initial: Initial, offsets: usize) -> Result<(Matrix, Matrix)> {
        if let Some((line, random)) = f.config() {
            return initial.draw(line, random);
        }
        let linear = f.matrix("<LinearParams>", |c| &c.linear)?;
        let (rows, cols) = (linear.rows(), linear.cols());
        f.check(!linear.is_empty() && cols.is_multiple_of(offsets), || {
            format!("<LinearParams> has {cols} columns for {offsets} time offsets")
        })?;
        let bias = f.vector("<BiasParams>", |c| &c.bias)?;
        f.check(bias.is_empty() || bias.cols() == rows, || {
            format!("<LinearParams> has {rows} rows, but <BiasParams> {} elements", bias.cols())
        })?;
        Ok((linear, bias))
    }

    fn info_of_parameters(&self, detailed: bool) -> String {
        let mut out = String::new();
        if self.orthonormal_constraint != 0.0 {
            out += &format!(", orthonormal-constraint={}", text::number(self.orthonormal_constraint as f64));
        }
        let offsets: Vec<String> = self.time_offsets.iter().map(i32::to_string).collect();
        out += &format!(", time-offsets={}", offsets.join(","));
        out += &text::matrix_stats("linear-params", &self.linear, detailed);
        out += &match self.bias.is_empty() {
            true => ", has-bias=false".to_string(),
            false => text::mean_stats("bias", &self.bias.to_vec()),
        };
        if !self.use_natural_gradient {
            return out + ", use-natural-gradient=false";
        }
        let Preconditioners { input, output } = &self.natural_gradient;
        out + &format!(
            ", rank-in={}, rank-out={}, num-samples-history={}, update-period={}, alpha-in={}, alpha-out={}",
            input.rank,
            output.rank,
            text::number(input.num_samples_history as f64),
            input.update_period,
            text::number(input.alpha as f64),
            text::number(output.alpha as f64)
        )
    }
}

/// Takes the keys of natural gradient.
fn take_natural_gradient(
    f: &mut Fields<'_, Tdnn>,
    spliced_dim: usize,
    output_dim: usize,
) -> Result<Preconditioners> {
    let rank_in = RANK_IN.or_by("min(20, (input-dim * number of offsets + 1)/2)");
    let rank_in = take_half_rank(f, &rank_in, spliced_dim, 20)?;
    let rank_out = take_half_rank(f, &RANK_OUT.or_by("min(80, (output-dim+1)/2)"), output_dim, 80)?;
    let [alpha_in, alpha_out] = ALPHAS_IN_OUT;
    let (alpha_in, alpha_out) = (f.key(&alpha_in)?, f.key(&alpha_out)?);
    let history = f.key(&NUM_SAMPLES_HISTORY)?;
    Ok(Preconditioners {
        input: NaturalGradientSettings::new(rank_in, UPDATE_PERIOD, history, alpha_in),
        output: NaturalGradientSettings::new(rank_out, UPDATE_PERIOD, history, alpha_out),
    })
}

impl Component for Tdnn {
    fn center(&self) -> Option<std::result::Result<std::ops::Range<usize>, &'static str>> {
        let width = self.linear.cols() / self.time_offsets.len();
        let zero = self.time_offsets.iter().position(|&offset| offset == 0);
        Some(zero.map(|k| k * width..(k + 1) * width).ok_or("there is no time offset 0"))
    }
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.linear), ("bias", &self.bias)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.linear), ("bias", &mut self.bias)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.linear.cols() / self.time_offsets.len()
    }
    fn output_dim(&self) -> usize {
        self.linear.rows()
    }
    fn properties(&self) -> Properties {
        Properties::UPDATABLE
            | Properties::REORDERS_INDEXES
            | Properties::BACKPROP_ADDS
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::PROPAGATE_ADDS.when(self.bias.is_empty())
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, args: Propagate<'_>) {
        let start = match (self.bias.is_empty(), args.sets) {
            (false, _) => Start::Row(self.bias.view()),
            (true, true) => Start::Zero,
            (true, false) => Start::Output,
        };
        let weights = Weights::Plain(self.linear.view());
        multiply(context, args.indexes, weights, args.input, args.output, start);
    }

    fn sets_output(&self) -> bool {
        true
    }

    fn weights_mut(&mut self) -> Option<&mut Matrix> {
        Some(&mut self.linear)
    }
    fn arranged(&mut self, how: Arrangement<'_>) -> Option<Box<dyn Component>> {
        let of = (self.type_name(), self.properties());
        let (linear, bias) = (take(&mut self.linear), take(&mut self.bias));
        let arranged = Arranged::new(of, how, linear, bias);
        Some(Box::new(arranged.with_indexes_of(self.without_params())))
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let Rows { stride, ref offsets } = *precomputed(args.indexes);
        let (input, deriv) = (args.in_value, args.out_deriv);
        let dims = (self.input_dim(), self.output_dim());
        let times = times(args.indexes, dims, deriv.rows());
        let interleaved = times.interleaved(context, deriv, self.linear.view());
        let interleaved = interleaved.as_ref().map(|derivs| derivs.view());
        let of_input = interleaved.map(|derivs| DerivsOfInput { derivs, top: times.top() });
        let products = RowProducts { input, deriv, first: offsets, stride, taps: None, of_input };
        update.products(context, Products::Rows(products));
        let filter = filter(context, args.indexes, dims, args.out_deriv.rows());
        if let (Some(filter), Some(in_deriv)) = (&filter, args.in_deriv) {
            let mut taps = [in_deriv; 3];
            for (tap, part) in taps.iter_mut().zip(parts(args.indexes, in_deriv.cols())) {
                *tap = in_deriv.every(part.first, part.stride, args.out_deriv.rows());
            }
            filter.backward_data(context, &taps, args.out_deriv, self.linear.view());
        } else if let Some(in_deriv) = args.in_deriv {
            let (out_deriv, linear) = (args.out_deriv, self.linear.view());
            if times.backward_data(context, in_deriv, out_deriv, linear, interleaved) {
                return;
            }
            for block in row_blocks(context.backend, out_deriv.rows(), in_deriv.cols(), out_deriv.cols()) {
                for part in parts(args.indexes, in_deriv.cols()) {
                    let first = part.first + block.start * part.stride;
                    let rows = in_deriv.every(first, part.stride, block.len());
                    let linear = linear.col_range(part.columns);
                    context.backend.gemm(Gemm::add(rows, out_deriv.row_range(block.clone()), linear));
                }
            }
        }
    }

    fn orthonormal_constraint(&mut self) -> Option<(f32, &mut Matrix)> {
        Some((self.orthonormal_constraint, &mut self.linear))
    }
}

impl Indexed for Tdnn {
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        inputs.extend(self.time_offsets.iter().map(|&offset| shifted(output, offset)));
    }

    fn reorder_indexes(&self, inputs: &mut Vec<Index>, outputs: &mut Vec<Index>) -> Result<()> {
        (*inputs, *outputs) = Tdnn::grid(inputs, outputs)?.arrange(inputs, outputs)?;
        Ok(())
    }

    fn precompute_indexes(
        &self,
        inputs: &[Index],
        outputs: &[Index],
        _: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let grid = Tdnn::grid(inputs, outputs)?;
        grid.check_arranged(inputs, outputs)?;
        Ok(Some(Box::new(self.rows(&grid)?)))
    }

    fn draws_of_precomputing(&self, _: &dyn PrecomputedIndexes, _: bool) -> usize {
        1
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        _backprop: bool,
    ) -> fit::Fit {
        let rows: &Rows = fit::own(indexes)?;
        fit::count("time offsets", rows.offsets.len(), self.time_offsets.len())?;
        let after_first = rows.stride.saturating_mul(output_rows.saturating_sub(1));
        fit::require(rows.offsets.iter().all(|row| row.saturating_add(after_first) < input_rows), || {
            format!("the precomputed indexes read beyond the {input_rows} input rows")
        })
    }
}

impl Updatable for Tdnn {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        match self.use_natural_gradient {
            true => Preconditioning::BothSides(self.natural_gradient),
            false => Preconditioning::None,
        }
    }
}

// ---- precomputed indexes ---------------------------------------------------------------------------------------

impl PrecomputedIndexes for Rows {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<TdnnComponentPrecomputedIndexes>")?;
        w.write_token("<RowStride>")?;
        w.write_i32(self.stride as i32)?;
        w.write_token("<RowOffsets>")?;
        let offsets: Vec<i32> = self.offsets.iter().map(|&row| row as i32).collect();
        w.write_i32_vector(&offsets)?;
        w.write_token("</TdnnComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

fn read_precomputed(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
    let stride = fields::read_dim(r, "<RowStride>")?;
    r.expect_token("<RowOffsets>")?;
    let offsets: std::result::Result<Vec<usize>, _> =
        r.read_i32_vector()?.into_iter().map(usize::try_from).collect();
    let offsets = offsets.map_err(|_| r.error("<RowOffsets>: expected rows, found a negative number"))?;
    r.expect_token("</TdnnComponentPrecomputedIndexes>")?;
    Ok(Box::new(Rows { stride, offsets }))
}

#[cfg(test)]
mod tests;
