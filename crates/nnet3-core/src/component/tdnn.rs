//! `TdnnComponent`: an affine function of the input at several time offsets (Peddinti, Povey and Khudanpur, "A time
//! delay neural network architecture for efficient modeling of long temporal contexts", 2015), without splicing.

use super::fields;
use super::grid::{self, Grid, shifted};
use super::parameters::*;
use super::preconditioners::{self, Preconditioners};
use super::updatable::{Updatable, UpdatableSettings};
use super::*;
use crate::config::ConfigLine;
use crate::natural_gradient::NaturalGradient;
use crate::text;
use nnet3_matrix::{Transpose::No, Transpose::Yes};

const NAME: &str = "TdnnComponent";
const PRECOMPUTED_NAME: &str = "TdnnComponentPrecomputedIndexes";
/// Minibatches between updates of the Fisher matrix; no key, not in files.
const UPDATE_PERIOD: usize = 4;

pub const TYPES: &[ComponentType] = &[ComponentType {
    name: NAME,
    purpose: "An affine function of the input at several time offsets.",
    keys: &[
        Key {
            name: "time-offsets",
            kind: Kind::IntList,
            default: "",
            meaning: "times of the input relative to the output's, in the order of the columns of W",
        },
        INPUT_DIM,
        OUTPUT_DIM,
        Key { name: "use-bias", kind: Kind::Bool, default: "true", meaning: "whether a bias is added" },
        stddev_key("param-stddev", "1/sqrt(input-dim * number of offsets)"),
        stddev_key("bias-stddev", "1"),
        BIAS_MEAN,
        ORTHONORMAL_CONSTRAINT,
        USE_NATURAL_GRADIENT,
        Key {
            name: "rank-in",
            kind: Kind::Int,
            default: "min(20, (input-dim * number of offsets + 1)/2)",
            meaning: "natural gradient: rank on the input side",
        },
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

pub const PRECOMPUTED: &[(&str, fn(&mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>>)] =
    &[(PRECOMPUTED_NAME, read_precomputed)];

pub(super) const ALPHA_IN: Key = Key {
    name: "alpha-in",
    kind: Kind::Float,
    default: "4",
    meaning: "natural gradient: how much of the identity is mixed in on the input side",
};
pub(super) const ALPHA_OUT: Key = Key {
    name: "alpha-out",
    kind: Kind::Float,
    default: "4",
    meaning: "natural gradient: how much of the identity is mixed in on the output side",
};

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

/// Where in the input the rows of each offset are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rows {
    stride: usize,
    /// First row, for each offset.
    offsets: Vec<usize>,
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

    /// Other parameters of the same offsets. Panics if they do not fit each other.
    pub fn set_params(&mut self, linear: Matrix, bias: Matrix) {
        assert!(!linear.is_empty() && linear.cols().is_multiple_of(self.time_offsets.len()), "{linear:?}");
        assert!(
            bias.is_empty() || (bias.rows() == 1 && bias.cols() == linear.rows()),
            "{linear:?} and {bias:?}"
        );
        (self.linear, self.bias) = (linear, bias);
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
            input: NaturalGradient::new(rank_in, UPDATE_PERIOD, history, alpha_in),
            output: NaturalGradient::new(rank_out, UPDATE_PERIOD, history, alpha_out),
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

    fn add_plain_gradient(&mut self, context: Context<'_>, args: &Backprop<'_>) {
        let (backend, rate) = (context.backend, self.settings.learning_rate);
        if !self.bias.is_empty() {
            backend.col_sums(self.bias.view_mut(), rate, args.out_deriv, 1.0);
        }
        for part in parts(args.indexes, args.in_value.cols()) {
            let rows = args.in_value.every(part.first, part.stride, args.out_deriv.rows());
            let block = self.linear.view_mut().col_range(part.columns);
            backend.gemm(block, rate, args.out_deriv, Yes, rows, No, 1.0);
        }
    }

    fn add_natural_gradient(&mut self, context: Context<'_>, args: &Backprop<'_>) {
        let (backend, rows, dim) = (context.backend, args.out_deriv.rows(), self.linear.cols());
        let mut inputs = context.workspace.take(rows, dim + !self.bias.is_empty() as usize);
        for part in parts(args.indexes, args.in_value.cols()) {
            let from = args.in_value.every(part.first, part.stride, rows);
            backend.copy(inputs.view_mut().col_range(part.columns), from);
        }
        let ones = dim..inputs.cols();
        backend.set(inputs.view_mut().col_range(ones.clone()), 1.0);
        let mut derivs = context.workspace.take(rows, self.linear.rows());
        backend.copy(derivs.view_mut(), args.out_deriv);

        let norm_in = self.natural_gradient.input.precondition(context, inputs.view_mut());
        let norm_out = self.natural_gradient.output.precondition(context, derivs.view_mut());
        let rate = self.settings.learning_rate * norm_in * norm_out;
        let (inputs, derivs) = (inputs.view(), derivs.view());
        backend.gemm(self.linear.view_mut(), rate, derivs, Yes, inputs.col_range(0..dim), No, 1.0);
        if !self.bias.is_empty() {
            backend.gemm(self.bias.view_mut(), rate, inputs.col_range(ones), Yes, derivs, No, 1.0);
        }
    }
}

/// What one offset reads.
struct Part {
    /// First row of the input.
    first: usize,
    stride: usize,
    /// Columns of W.
    columns: std::ops::Range<usize>,
}

/// The parts, offset by offset, of an input with `dim` columns.
fn parts(indexes: Option<&dyn PrecomputedIndexes>, dim: usize) -> impl Iterator<Item = Part> {
    let rows: &Rows = precomputed(indexes);
    let part = move |(k, &first)| Part { first, stride: rows.stride, columns: k * dim..(k + 1) * dim };
    rows.offsets.iter().enumerate().map(part)
}

// ---- offsets and natural gradient in config lines --------------------------------------------------------------

/// Integers separated by commas, none empty.
pub(super) fn get_integers(line: &mut ConfigLine, key: &str) -> Result<Option<Vec<i32>>> {
    let Some(value) = line.get_string(key) else { return Ok(None) };
    match kaldi_io::text::split_integers(&value, &[','], false) {
        Some(integers) => Ok(Some(integers)),
        None => {
            Err(line.error(format!("{key}={value}: expected integers separated by commas, such as -1,0,1")))
        }
    }
}

fn offsets_defect(offsets: &[i32]) -> Option<String> {
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable();
    if offsets.is_empty() {
        return Some("expected at least one offset".into());
    }
    let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!("offset {} occurs twice", repeated[0]))
}

/// A standard deviation; absent or negative means 1/sqrt(dim).
pub(super) fn get_stddev_or_default(line: &mut ConfigLine, key: &str, dim: usize) -> Result<f32> {
    let given = line.get_f32(key)?.filter(|stddev| *stddev >= 0.0);
    Ok(given.unwrap_or_else(|| (1.0 / (dim as f64).sqrt()) as f32))
}

/// A rank; absent or negative means half the dimension, at most `most`.
pub(super) fn get_rank(line: &mut ConfigLine, key: &str, dim: usize, most: usize) -> Result<usize> {
    let given = line.get_i32(key)?.and_then(|rank| usize::try_from(rank).ok());
    Ok(given.unwrap_or_else(|| dim.div_ceil(2).min(most)))
}

/// `<RankInOut>` and two ranks, greater than 0.
pub(super) fn read_ranks(r: &mut KaldiReader) -> Result<(usize, usize)> {
    r.expect_token("<RankInOut>")?;
    let (rank_in, rank_out) = (r.read_i32()?, r.read_i32()?);
    fields::check(r, rank_in > 0 && rank_out > 0, || {
        format!("<RankInOut>: expected two ranks greater than 0, found {rank_in} and {rank_out}")
    })?;
    Ok((rank_in as usize, rank_out as usize))
}

/// Fails if the settings are unusable.
pub(super) fn check_preconditioners(line: &ConfigLine, new: Preconditioners) -> Result<Preconditioners> {
    match new.input.defect().or(new.output.defect()) {
        Some(defect) => Err(line.error(defect)),
        None => Ok(new),
    }
}

fn natural_gradient_from_config(
    line: &mut ConfigLine,
    spliced_dim: usize,
    output_dim: usize,
) -> Result<Preconditioners> {
    let rank_in = get_rank(line, "rank-in", spliced_dim, 20)?;
    let rank_out = get_rank(line, "rank-out", output_dim, 80)?;
    let history = line.get_f32("num-samples-history")?.unwrap_or(2000.0);
    let alpha_in = line.get_f32("alpha-in")?.unwrap_or(4.0);
    let alpha_out = line.get_f32("alpha-out")?.unwrap_or(4.0);
    let new = Preconditioners {
        input: NaturalGradient::new(rank_in, UPDATE_PERIOD, history, alpha_in),
        output: NaturalGradient::new(rank_out, UPDATE_PERIOD, history, alpha_out),
    };
    check_preconditioners(line, new)
}

// ---- the component ---------------------------------------------------------------------------------------------

impl Component for Tdnn {
    crate::component_boilerplate!("TdnnComponent");
    parameter_methods!(linear, bias);

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

    fn is_computable(&self, output: Index, available: Available<'_>, used: Option<&mut Vec<Index>>) -> bool {
        let computable = self.time_offsets.iter().all(|&offset| available(shifted(output, offset)));
        if let (true, Some(used)) = (computable, used) {
            self.input_indexes(output, used);
        }
        computable
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

    fn propagate(
        &self,
        context: Context<'_>,
        indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
        if !self.bias.is_empty() {
            context.backend.set_rows(output, self.bias.view());
        }
        for part in parts(indexes, input.cols()) {
            let rows = input.every(part.first, part.stride, output.rows());
            let block = self.linear.view().col_range(part.columns);
            context.backend.gemm(output, 1.0, rows, No, block, Yes, 1.0);
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            for part in parts(args.indexes, in_deriv.cols()) {
                let rows = in_deriv.every(part.first, part.stride, args.out_deriv.rows());
                let block = self.linear.view().col_range(part.columns);
                context.backend.gemm(rows, 1.0, args.out_deriv, No, block, No, 1.0);
            }
        }
        match update.target(self) {
            None => {}
            Some(target) if target.settings.learning_rate == 0.0 => {}
            Some(target) if target.settings.is_gradient || !target.use_natural_gradient => {
                target.add_plain_gradient(context, &args)
            }
            Some(target) => target.add_natural_gradient(context, &args),
        }
    }

    fn orthonormal_constraint(&mut self) -> Option<(f32, &mut Matrix)> {
        Some((self.orthonormal_constraint, &mut self.linear))
    }
}

impl Updatable for Tdnn {
    updatable_methods!(linear, bias);

    fn freeze_natural_gradient(&mut self, freeze: bool) {
        self.natural_gradient.freeze(freeze);
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
    fn as_any(&self) -> &dyn Any {
        self
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
mod tests {
    use super::super::by_index::*;
    use super::super::testing::*;
    use super::*;

    #[test]
    fn derivatives_and_files() {
        let indexes = |times: &[i32]| times.iter().map(|&t| Index::new(0, t, 0)).collect::<Vec<_>>();
        for config in
            ["use-bias=true", "use-bias=false orthonormal-constraint=-1 max-change=0.75 l2-regularize=0.01"]
        {
            let config = format!("type=TdnnComponent input-dim=4 output-dim=3 time-offsets=-1,0,2 {config}");
            Check::new(&config).indexes(indexes(&[-1, 0, 2, 3, 5]), indexes(&[0, 3])).run();
        }
        check_component_one_row("type=TdnnComponent input-dim=1 output-dim=2 time-offsets=5 rank-in=1");
    }

    fn check_component_one_row(config: &str) {
        Check::new(config).indexes(vec![Index::new(3, 8, 0)], vec![Index::new(3, 3, 0)]).run();
    }

    /// y, its derivative and the gradient as sums over offsets, index by index.
    #[test]
    fn agrees_with_the_formula() {
        let random = Random::new(4);
        for _ in 0..200 {
            let offsets = some_offsets(&random, -4, 4);
            let (input_dim, output_dim) = (random.int(1, 4), random.int(1, 3));
            let list: Vec<String> = offsets.iter().rev().map(i32::to_string).collect();
            let config = format!(
                "type=TdnnComponent input-dim={input_dim} output-dim={output_dim} time-offsets={} use-bias={}",
                list.join(","),
                random.int(0, 1) == 0
            );
            let new = component(&config);
            let times = some_times(&random, random.int(-5, 5), random.int(6, 20), random.int(1, 3));
            let missing = random.int(-20, 20);
            let wanted = images_at(&random, &times);
            let available = |index: Index| index.t != missing;
            let computable = |index: &&Index| offsets.iter().all(|o| index.t + o != missing);
            if wanted.iter().filter(computable).count() == 0 {
                continue;
            }
            let trial = run(&*new, &wanted, &available, read_precomputed, &random);
            assert!(
                trial
                    .output
                    .keys()
                    .eq(wanted.iter().filter(computable).collect::<std::collections::BTreeSet<_>>())
            );
            compare(downcast(&*new), &trial);
        }
    }

    fn compare(tdnn: &Tdnn, trial: &Trial) {
        let (dim, rows, cols) = (tdnn.input_dim(), tdnn.linear.rows(), tdnn.linear.cols());
        let (weights, bias) = (tdnn.linear.to_vec(), tdnn.bias.to_vec());
        let (mut output, mut in_deriv) = (zeros_like(&trial.output), zeros_like(&trial.input));
        let mut gradient = vec![0.0; rows * cols + bias.len()];
        for (&index, y) in &mut output {
            for o in 0..rows {
                let e = trial.out_deriv[&index][o];
                if !bias.is_empty() {
                    y[o] += bias[o] as f64;
                    gradient[rows * cols + o] += e;
                }
                for c in 0..cols {
                    let at = Index { t: index.t + tdnn.time_offsets[c / dim], ..index };
                    let (w, x) = (weights[o * cols + c] as f64, trial.input[&at][c % dim]);
                    y[o] += w * x;
                    in_deriv.get_mut(&at).unwrap()[c % dim] += w * e;
                    gradient[o * cols + c] += x * e;
                }
            }
        }
        assert_rows_near(&trial.output, &output, "output");
        assert_rows_near(&trial.in_deriv, &in_deriv, "input derivative");
        assert_values_near(&trial.gradient, &gradient, "gradient");
    }

    /// With a frozen identity (a zero gradient first, then nothing learnt) the natural gradient is the plain one; in
    /// general it keeps the product of norms of a single row.
    #[test]
    fn natural_gradient_of_few_rows() {
        let config = "type=TdnnComponent input-dim=3 output-dim=4 time-offsets=-1,1 learning-rate=0.5";
        let new = component(config);
        let list = |times: &[i32]| times.iter().map(|&t| Index::new(0, t, 0)).collect::<Vec<_>>();
        let (inputs, outputs) = (list(&[-1, 0, 1, 2, 3]), list(&[0, 1, 2]));
        let indexes = new.precompute_indexes(&inputs, &outputs, true).unwrap();
        let random = Random::new(1);
        let harness = Harness::new();
        let (input, deriv) = (random_matrix(&random, 5, 3), random_matrix(&random, 3, 4));
        let forward = harness.forward(&*new, indexes.as_deref(), &input, 3);
        let change = |set_up: &dyn Fn(&mut Tdnn)| {
            let mut delta = new.clone_box();
            delta.scale(0.0);
            set_up(downcast_mut(&mut *delta));
            let update = Update::Other(&mut *delta);
            harness.backward(&mut *new.clone_box(), indexes.as_deref(), &input, &forward, &deriv, update);
            delta.as_updatable().unwrap().vectorize()
        };
        let plain = change(&|delta| delta.use_natural_gradient = false);
        let natural = change(&|_| {});
        let cosine: f32 = plain.iter().zip(&natural).map(|(a, b)| a * b).sum();
        let norms: f32 =
            [&plain, &natural].iter().map(|v| v.iter().map(|p| p * p).sum::<f32>().sqrt()).product();
        assert!(cosine / norms > 0.3 && cosine / norms < 0.9999, "cosine {}", cosine / norms);
        assert_eq!(change(&|delta| delta.settings.learning_rate = 0.0), vec![0.0; plain.len()]);
        let wide = change(&|delta| {
            delta.natural_gradient.input.alpha = 1e8;
            delta.natural_gradient.output.alpha = 1e8;
        });
        assert_near(&wide, &plain, 1e-3, "much smoothing gives the plain gradient");
    }

    #[test]
    fn wrong_configs_are_refused() {
        let base = "type=TdnnComponent input-dim=4 output-dim=3";
        refused(base, "'time-offsets' is missing");
        for (keys, part) in [
            ("time-offsets=1,2,1", "offset 1 occurs twice"),
            ("time-offsets=", "at least one offset"),
            ("time-offsets=1,,2", "separated by commas"),
            ("time-offsets=a", "separated by commas"),
            ("time-offsets=0 rank-in=0", "rank"),
            ("time-offsets=0 alpha-out=-1", "alpha"),
            ("time-offsets=0 num-samples-history=0", "num-samples-history"),
            ("time-offsets=0 update-period=3", "update-period"),
            ("time-offsets=0 learning-rate=-1", "learning-rate"),
        ] {
            refused(&format!("{base} {keys}"), part);
        }
        refused("type=TdnnComponent input-dim=0 output-dim=3 time-offsets=0", "input-dim=0");
        refused("type=TdnnComponent input-dim=2000000000 output-dim=2000000000 time-offsets=0", "too many");
    }

    const TEXT: &str = "<TdnnComponent> <LearningRate> 0.001 <TimeOffsets> [ -1 1 ]\n<LinearParams>  [\n  1 2 \n  3 4 ]\n\
                        <BiasParams>  [ 5 6 ]\n<OrthonormalConstraint> 0 <UseNaturalGradient> T <NumSamplesHistory> 2000 \
                        <AlphaInOut> 3 3 <RankInOut> 1 2 </TdnnComponent> ";

    #[test]
    fn older_and_broken_files() {
        let older = from_text(&TEXT.replace("<AlphaInOut> 3 3", "<Alpha> 3"));
        assert_eq!(written_text(&*older), TEXT);
        for (what, instead, part) in [
            ("[ -1 1 ]", "[ -1 1 0 ]", "2 columns for 3 time offsets"),
            ("[ -1 1 ]", "[ 1 1 ]", "occurs twice"),
            ("[ -1 1 ]", "[ ]", "at least one"),
            ("[ 5 6 ]", "[ 5 6 7 ]", "<BiasParams> 3 elements"),
            ("<RankInOut> 1 2", "<RankInOut> 1 -2", "greater than 0, found 1 and -2"),
            ("<NumSamplesHistory> 2000", "<NumSamplesHistory> 0", "num-samples-history"),
        ] {
            read_refused(&TEXT.replace(what, instead), part);
        }
    }

    #[test]
    fn indexes_that_do_not_fit_are_errors() {
        let new = component("type=TdnnComponent input-dim=1 output-dim=1 time-offsets=-1,1");
        let list = |times: &[i32]| times.iter().map(|&t| Index::new(0, t, 0)).collect::<Vec<_>>();
        for (inputs, outputs) in
            [(&[0, 1][..], &[0, 1][..]), (&[], &[0]), (&[-1, 1], &[0, 1, 3]), (&[1], &[0, 2])]
        {
            let (inputs, outputs) = (list(inputs), list(outputs));
            assert!(new.precompute_indexes(&inputs, &outputs, true).is_err(), "{inputs:?} {outputs:?}");
        }
    }
}
