//! `TdnnComponent`: an affine function of the input at several time offsets (Peddinti, Povey and Khudanpur, "A time
//! delay neural network architecture for efficient modeling of long temporal contexts", 2015), without splicing.

use super::arranged::Arranged;
use crate::component::fields::{self, key};
use crate::component::grid::{self, Grid, shifted};
use crate::component::parameters::*;
use crate::component::preconditioners::NaturalGradientSettings;
use crate::component::preconditioners::Preconditioning;
use crate::component::preconditioners::{self, Preconditioners};
use crate::component::registry::PrecomputedReader;
use crate::component::tdnn_keys::*;
use crate::component::updatable::{Updatable, UpdatableSettings};
use crate::component::winograd::Filter;
use crate::component::*;
use crate::config::ConfigLine;
use crate::text;
use nnet3_matrix::{Start, Transpose::No};
use std::mem::take;

const NAME: &str = "TdnnComponent";
const PRECOMPUTED_NAME: &str = "TdnnComponentPrecomputedIndexes";
/// Minibatches between updates of the Fisher matrix; no key, not in files.
const UPDATE_PERIOD: usize = 4;

pub const TYPES: &[ComponentType] = &[ComponentType {
    name: NAME,
    purpose: "An affine function of the input at several time offsets.",
    keys: &[
        key(
            "time-offsets",
            Kind::IntList,
            "",
            "times of the input relative to the output's, in the order of the columns of W",
        ),
        INPUT_DIM,
        OUTPUT_DIM,
        key("use-bias", Kind::Bool, "true", "whether a bias is added"),
        stddev_key("param-stddev", "1/sqrt(input-dim * number of offsets)"),
        stddev_key("bias-stddev", "1"),
        BIAS_MEAN,
        ORTHONORMAL_CONSTRAINT,
        USE_NATURAL_GRADIENT,
        key(
            "rank-in",
            Kind::Int,
            "min(20, (input-dim * number of offsets + 1)/2)",
            "natural gradient: rank on the input side",
        ),
        preconditioners::KEYS[1],
        ALPHA_IN,
        ALPHA_OUT,
        preconditioners::NUM_SAMPLES_HISTORY,
    ],
    updatable: true,
    example: "input-dim=4 output-dim=3 time-offsets=-1,0,2",
    from_config: Tdnn::from_config,
    read: Tdnn::read,
}];

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
    pub(crate) fn linear_params(&self) -> &Matrix {
        &self.linear
    }

    /// 1 × O, or empty if there is no bias.
    pub(crate) fn bias_params(&self) -> &Matrix {
        &self.bias
    }

    pub fn time_offsets(&self) -> &[i32] {
        &self.time_offsets
    }

    /// The same component with other parameters of the same offsets. Panics if they do not fit each other.
    pub(crate) fn with_params(&self, linear: Matrix, bias: Matrix) -> Tdnn {
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

    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let Some(time_offsets) = get_integers(line, "time-offsets")? else {
            return Err(line.error("'time-offsets' is missing"));
        };
        if let Some(defect) = offsets_defect(&time_offsets) {
            return Err(line.error(format!("time-offsets: {defect}")));
        }
        let (input_dim, output_dim) = (line.require_dim("input-dim")?, line.require_dim("output-dim")?);
        let spliced_dim = input_dim.saturating_mul(time_offsets.len());
        let use_bias = line.get_bool("use-bias")?.unwrap_or(true);
        let stddev = get_stddev_or_default(line, "param-stddev", spliced_dim)?;
        let (bias_stddev, bias_mean) =
            (line.get_f32("bias-stddev")?.unwrap_or(1.0), line.get_f32("bias-mean")?.unwrap_or(0.0));
        let linear = normal_matrix(line, random, output_dim, spliced_dim, 0.0, stddev)?;
        let bias_dim = if use_bias { output_dim } else { 0 };
        let bias = normal_matrix(line, random, 1, bias_dim, bias_mean, bias_stddev)?;
        Ok(Box::new(Tdnn {
            settings,
            time_offsets,
            linear,
            bias,
            orthonormal_constraint: line.get_f32("orthonormal-constraint")?.unwrap_or(0.0),
            use_natural_gradient: line.get_bool("use-natural-gradient")?.unwrap_or(true),
            natural_gradient: natural_gradient_from_config(line, spliced_dim, output_dim)?,
        }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::read(r)?;
        r.expect_token("<TimeOffsets>")?;
        let time_offsets = r.read_i32_vector()?;
        if let Some(defect) = offsets_defect(&time_offsets) {
            return Err(r.error(format!("<TimeOffsets>: {defect}")).into());
        }
        r.expect_token("<LinearParams>")?;
        let linear = read_matrix(r)?;
        if linear.is_empty() || linear.cols() % time_offsets.len() != 0 {
            let (found, offsets) = (linear.cols(), time_offsets.len());
            return Err(r
                .error(format!("<LinearParams> has {found} columns for {offsets} time offsets"))
                .into());
        }
        r.expect_token("<BiasParams>")?;
        let bias = read_row(r)?;
        if !bias.is_empty() && bias.cols() != linear.rows() {
            let (rows, dim) = (linear.rows(), bias.cols());
            return Err(r
                .error(format!("<LinearParams> has {rows} rows, but <BiasParams> {dim} elements"))
                .into());
        }
        r.expect_token("<OrthonormalConstraint>")?;
        let orthonormal_constraint = r.read_f32()?;
        r.expect_token("<UseNaturalGradient>")?;
        let use_natural_gradient = r.read_bool()?;
        r.expect_token("<NumSamplesHistory>")?;
        let history = r.read_f32()?;
        let (alpha_in, alpha_out) = if r.accept_token("<Alpha>")? {
            let alpha = r.read_f32()?;
            (alpha, alpha)
        } else {
            r.expect_token("<AlphaInOut>")?;
            (r.read_f32()?, r.read_f32()?)
        };
        let (rank_in, rank_out) = read_ranks(r)?;
        let natural_gradient = Preconditioners {
            input: NaturalGradientSettings::new(rank_in, UPDATE_PERIOD, history, alpha_in),
            output: NaturalGradientSettings::new(rank_out, UPDATE_PERIOD, history, alpha_out),
        };
        let natural_gradient = natural_gradient.check(r)?;
        r.expect_token("</TdnnComponent>")?;
        Ok(Box::new(Tdnn {
            settings,
            time_offsets,
            linear,
            bias,
            orthonormal_constraint,
            use_natural_gradient,
            natural_gradient,
        }))
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

    /// Sets `output`; without a bias it adds to it, unless it is to be set.
    fn add_products(
        &self,
        context: Context<'_>,
        indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        sets: bool,
    ) {
        let start = match (self.bias.is_empty(), sets) {
            (false, _) => Start::Row(self.bias.view()),
            (true, true) => Start::Zero,
            (true, false) => Start::Output,
        };
        multiply(context, indexes, Weights::Plain(self.linear.view()), input, output, start);
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

// ---- offsets and natural gradient in config lines --------------------------------------------------------------

fn offsets_defect(offsets: &[i32]) -> Option<String> {
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    if offsets.is_empty() {
        return Some("expected at least one offset".into());
    }
    let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!("offset {} occurs twice", repeated[0]))
}

fn natural_gradient_from_config(
    line: &mut ConfigLine,
    spliced_dim: usize,
    output_dim: usize,
) -> Result<Preconditioners> {
    let rank_in = get_rank(line, "rank-in", spliced_dim, 20)?;
    let rank_out = get_rank(line, "rank-out", output_dim, 80)?;
    let history = line.get_f32("num-samples-history")?.unwrap_or(2000.0);
    let alpha_in = fields::get_at_least(line, "alpha-in", 0.0, 4.0)?;
    let alpha_out = fields::get_at_least(line, "alpha-out", 0.0, 4.0)?;
    let new = Preconditioners {
        input: NaturalGradientSettings::new(rank_in, UPDATE_PERIOD, history, alpha_in),
        output: NaturalGradientSettings::new(rank_out, UPDATE_PERIOD, history, alpha_out),
    };
    check_preconditioners(line, new)
}

// ---- the component ---------------------------------------------------------------------------------------------

impl Component for Tdnn {
    fn type_name(&self) -> &'static str {
        "TdnnComponent"
    }
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

    fn info(&self, detailed: bool) -> String {
        let mut out = self.settings.info(self);
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

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, NAME)?;
        w.write_token("<TimeOffsets>")?;
        w.write_i32_vector(&self.time_offsets)?;
        write_linear_and_bias(w, &self.linear, &self.bias)?;
        w.write_token("<OrthonormalConstraint>")?;
        w.write_f32(self.orthonormal_constraint)?;
        w.write_token("<UseNaturalGradient>")?;
        w.write_bool(self.use_natural_gradient)?;
        let Preconditioners { input, output } = &self.natural_gradient;
        w.write_token("<NumSamplesHistory>")?;
        w.write_f32(input.num_samples_history)?;
        w.write_token("<AlphaInOut>")?;
        w.write_f32(input.alpha)?;
        w.write_f32(output.alpha)?;
        w.write_token("<RankInOut>")?;
        w.write_i32(input.rank as i32)?;
        w.write_i32(output.rank as i32)?;
        w.write_token("</TdnnComponent>")?;
        Ok(())
    }

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

    fn propagate(
        &self,
        context: Context<'_>,
        indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
        self.add_products(context, indexes, input, output, false);
    }

    fn sets_output(&self) -> bool {
        true
    }

    fn propagate_setting(
        &self,
        context: Context<'_>,
        indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
        self.add_products(context, indexes, input, output, true);
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
        let products = RowProducts { input, deriv, first: offsets, stride, taps: None };
        update.products(context, Products::Rows(products));
        let dims = (self.input_dim(), self.output_dim());
        let filter = filter(context, args.indexes, dims, args.out_deriv.rows());
        if let (Some(filter), Some(in_deriv)) = (&filter, args.in_deriv) {
            let mut taps = [in_deriv; 3];
            for (tap, part) in taps.iter_mut().zip(parts(args.indexes, in_deriv.cols())) {
                *tap = in_deriv.every(part.first, part.stride, args.out_deriv.rows());
            }
            filter.backward_data(context, &taps, args.out_deriv, self.linear.view());
        } else if let Some(in_deriv) = args.in_deriv {
            let out_deriv = args.out_deriv;
            for block in row_blocks(context.backend, out_deriv.rows(), in_deriv.cols(), out_deriv.cols()) {
                for part in parts(args.indexes, in_deriv.cols()) {
                    let first = part.first + block.start * part.stride;
                    let rows = in_deriv.every(first, part.stride, block.len());
                    let linear = self.linear.view().col_range(part.columns);
                    context.backend.gemm(rows, 1.0, out_deriv.row_range(block.clone()), No, linear, No, 1.0);
                }
            }
        }
    }

    fn orthonormal_constraint(&mut self) -> Option<(f32, &mut Matrix)> {
        Some((self.orthonormal_constraint, &mut self.linear))
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
