//! `RestrictedAttentionComponent`: multi-head attention over a window of relative positions, with a learnt bias for
//! each position in place of position encodings. (Povey, Hadian, Ghahremani, Li and Khudanpur, "A time-restricted
//! self-attention layer for ASR", 2018.)

use super::fields::{self};
use super::grid::{self, Grid, Times, gcd, shifted};
use super::registry::PrecomputedReader;
use super::tally::Tally;
use super::*;
use crate::declared::*;
use crate::parameters::stddev_for;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::number;
use nnet3_matrix::{Accumulator, Backend, ColumnTerm, Factor, Map};
use std::ops::Range;

const NAME: &str = "RestrictedAttentionComponent";
const PRECOMPUTED_NAME: &str = "RestrictedAttentionComponentPrecomputedIndexes";

pub const TYPES: &[&ComponentType] = &[Attention::TYPE];

const NUM_HEADS: Field<usize> = field("num-heads", "<NumHeads>", "number of heads").or(1);
const KEY_DIM: Field<usize> =
    field("key-dim", "<KeyDim>", "dimension of keys and queries of a head").hidden();
const VALUE_DIM: Field<usize> =
    field("value-dim", "<ValueDim>", "dimension of the values of a head").hidden();
const NUM_LEFT: Field<i32> = field("num-left-inputs", "<NumLeftInputs>", "positions before the present one")
    .range_in_files(COUNT)
    .hidden();
const NUM_RIGHT: Field<i32> = field(
    "num-right-inputs",
    "<NumRightInputs>",
    "positions after the present one; one on some side is needed",
)
.range_in_files(COUNT)
.hidden();
const TIME_STRIDE: Field<usize> =
    field("time-stride", "<TimeStride>", "times from one position to the next").or(1);
const NUM_LEFT_REQUIRED: Field<i32> = field(
    "num-left-inputs-required",
    "<NumLeftInputsRequired>",
    "of the positions before, those without which there is no output; the others count as zeros if missing",
)
.or_by("num-left-inputs")
.range_in_files(COUNT);
const NUM_RIGHT_REQUIRED: Field<i32> =
    field("num-right-inputs-required", "<NumRightInputsRequired>", "the same for the positions after")
        .or_by("num-right-inputs")
        .range_in_files(COUNT);
const OUTPUT_CONTEXT: Field<bool> =
    field("output-context", "<OutputContext>", "whether the attention weights are part of the output")
        .or(true);
const KEY_SCALE: Field<f32> =
    field("key-scale", "<KeyScale>", "factor of products of keys and queries, above 0 to 1")
        .or_by("1/sqrt(key-dim)");

pub(crate) const PRECOMPUTED: &[PrecomputedReader] = &[(PRECOMPUTED_NAME, read_precomputed)];

/// Smallest weight for the entropy's logarithm; smaller weights are raised to it.
const SMALLEST: f32 = 1e-20;

/// c = softmax over positions o of (key_scale · query · key(t + o) + bias\[o\]). The output is Σ_o c\[o\] · value(t +
/// o), optionally followed by c.
#[derive(Clone, Debug)]
pub(crate) struct Attention {
    num_heads: usize,
    key_dim: usize,
    value_dim: usize,
    num_left: usize,
    num_right: usize,
    time_stride: usize,
    num_left_required: usize,
    num_right_required: usize,
    output_context: bool,
    key_scale: f32,
    /// Rows of the statistics.
    stats_count: Tally,
    /// A sum for each head; empty until the first use.
    entropy: Accumulator,
    /// Sums of weights, head by head, position by position; empty until the first use.
    posterior: Accumulator,
}

/// The grids of one input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Io {
    num_images: i64,
    input: Times,
    output: Times,
}

/// The columns that belong to one head.
struct Columns {
    key: Range<usize>,
    value: Range<usize>,
    query: Range<usize>,
    bias: Range<usize>,
    out_value: Range<usize>,
    /// Empty without output-context.
    out_context: Range<usize>,
    /// The columns of the matrix of weights that belong to the context.
    context: Range<usize>,
}

impl Attention {
    /// Describes the defect of the settings, if there is one.
    fn defect(&self) -> Option<String> {
        if self.num_left + self.num_right == 0 {
            return Some("num-left-inputs and num-right-inputs: the window needs a position before or after the present one".into());
        }
        if self.num_left_required > self.num_left || self.num_right_required > self.num_right {
            return Some("more positions are required than the window has".into());
        }
        if self.key_scale.is_nan() || self.key_scale <= 0.0 {
            return Some(format!("the key scale must be greater than 0, found {}", self.key_scale));
        }
        let columns = self.num_heads as u128 * (2 * self.key_dim + self.value_dim + self.context()) as u128;
        let window = self.context() as u128 * self.time_stride as u128;
        (columns.max(window) > i32::MAX as u128).then(|| {
            format!("num-heads, num-left-inputs, …: {columns} columns are too many, or {window} times")
        })
    }

    /// Positions of the window.
    fn context(&self) -> usize {
        self.num_left + 1 + self.num_right
    }

    fn columns(&self, head: usize) -> Columns {
        let context = self.context();
        let output_context = if self.output_context { context } else { 0 };
        let start = head * (2 * self.key_dim + self.value_dim + context);
        let value = start + self.key_dim..start + self.key_dim + self.value_dim;
        let query = value.end..value.end + self.key_dim;
        let out_start = head * (self.value_dim + output_context);
        Columns {
            key: start..value.start,
            bias: query.end..query.end + context,
            value,
            query,
            out_value: out_start..out_start + self.value_dim,
            out_context: out_start + self.value_dim..out_start + self.value_dim + output_context,
            context: head * context..(head + 1) * context,
        }
    }

    /// The inputs of the whole window and whether each is required.
    fn window(&self, output: Index) -> impl Iterator<Item = (Index, bool)> {
        let (left, right) = (self.num_left as i64, self.num_right as i64);
        let required = -(self.num_left_required as i64)..=self.num_right_required as i64;
        (-left..=right).map(move |position| {
            // A window is shorter than 2^31 times.
            let offset = (position * self.time_stride as i64) as i32;
            (shifted(output, offset), required.contains(&position))
        })
    }

    /// Grids with one step, the input's covering the windows of all outputs.
    fn grid(&self, inputs: &[Index], outputs: &[Index]) -> Result<Grid> {
        let mut grid = Grid::of(inputs, outputs)?;
        let stride = self.time_stride as i64;
        let step = gcd(gcd(grid.input.step, grid.output.step), stride);
        grid.input.refine(step);
        grid.output.refine(step);
        let (first_out, last_out) = (grid.output.start, grid.output.last());
        let first = first_out - stride * self.num_left as i64;
        let last = last_out + stride * self.num_right as i64;
        let first_required = first_out - stride * self.num_left_required as i64;
        let last_required = last_out + stride * self.num_right_required as i64;
        let Times { start: first_in, .. } = grid.input;
        let last_in = grid.input.last();
        let covers = first_in <= first_required && last_in >= last_required;
        if !covers || first_in < first || last_in > last || (first_in - first) % step != 0 {
            return Err(grid::error(format!(
                "{NAME}: input times {first_in} to {last_in} for output times {first_out} to {last_out}"
            )));
        }
        grid.input = Times { start: first, step, count: 1 + (last - first) / step };
        Ok(grid)
    }

    /// Rows from one position to the next, and the first row of the present positions.
    fn rows(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
    ) -> (usize, usize) {
        let io: &Io = precomputed(indexes);
        let shift = (input_rows - output_rows) / (self.context() - 1);
        (shift, (io.num_images * (io.output.start - io.input.start) / io.output.step) as usize)
    }
}

impl Declared for Attention {
    const TYPE: &'static ComponentType = &ComponentType::of::<Attention>(
        NAME,
        "Multi-head attention over a window of times; columns of the input, head by head: key, value, query and a \
         bias for each position; of the output: value and the attention weights.",
        "num-heads=2 key-dim=3 value-dim=2 num-left-inputs=1 num-right-inputs=2 time-stride=3 \
         num-left-inputs-required=0 num-right-inputs-required=0",
    );

    fn fields(f: &mut Fields<'_, Attention>) -> Result<Option<Attention>> {
        f.note_dims();
        let num_heads = f.get(&NUM_HEADS, |c| c.num_heads)?;
        let key_dim = f.get(&KEY_DIM, |c| c.key_dim)?;
        let value_dim = f.get(&VALUE_DIM, |c| c.value_dim)?;
        let num_left = f.get(&NUM_LEFT, |c| c.num_left as i32)?;
        let num_right = f.get(&NUM_RIGHT, |c| c.num_right as i32)?;
        let time_stride = f.get(&TIME_STRIDE, |c| c.time_stride)?;
        f.note(|c, _| c.info_of_dims());
        let required = |given: i32, all: i32| if given >= 0 { given } else { all };
        let num_left_required = f.get_or(&NUM_LEFT_REQUIRED, num_left, |c| c.num_left_required as i32)?;
        let num_left_required = required(num_left_required, num_left);
        let num_right_required = f.get_or(&NUM_RIGHT_REQUIRED, num_right, |c| c.num_right_required as i32)?;
        let num_right_required = required(num_right_required, num_right);
        for (field, all, required) in
            [(&NUM_LEFT, num_left, num_left_required), (&NUM_RIGHT, num_right, num_right_required)]
        {
            f.check(!f.is_config() || (0..=all).contains(&required), || {
                let key = field.key;
                format!("{key}={all}: expected at least 0, and at least those required ({required})")
            })?;
        }
        let output_context = f.get(&OUTPUT_CONTEXT, |c| c.output_context)?;
        let default_scale = stddev_for(key_dim);
        let mut key_scale = f.get_or(&KEY_SCALE, default_scale, |c| c.key_scale)?;
        if f.is_config() {
            if key_scale < 0.0 {
                key_scale = default_scale;
            }
            f.check(key_scale > 0.0 && key_scale <= 1.0, || {
                format!("key-scale: expected a number above 0, at most 1, found {key_scale}")
            })?;
        }
        let mut c = Attention {
            num_heads,
            key_dim,
            value_dim,
            num_left: num_left as usize,
            num_right: num_right as usize,
            time_stride,
            num_left_required: num_left_required as usize,
            num_right_required: num_right_required as usize,
            output_context,
            key_scale,
            stats_count: Tally::default(),
            entropy: Accumulator::default(),
            posterior: Accumulator::default(),
        };
        if let Some(r) = f.reader() {
            c.stats_count = Tally::new(fields::read_f64(r, "<StatsCount>")?);
        }
        f.refuse(|| c.defect())?;
        if let Some(r) = f.reader() {
            c.read_statistics(r)?;
        } else if let Some((w, c)) = f.writer() {
            c.write_statistics(w)?;
        }
        f.note(|c, _| c.info_of_statistics());
        f.done(c)
    }
}

impl Attention {
    fn read_statistics(&mut self, r: &mut KaldiReader) -> Result<()> {
        self.entropy = Accumulator::from_vec(fields::read_stats(r, "<EntropyStats>", self.num_heads)?);
        r.expect_token("<PosteriorStats>")?;
        let posterior = kaldi_io::matrix::DenseMatrix::<f64>::read(r)?;
        let (rows, cols, heads, context) = (posterior.rows, posterior.cols, self.num_heads, self.context());
        fields::check(r, posterior.data.is_empty() || (rows, cols) == (heads, context), || {
            format!("<PosteriorStats>: expected {heads} x {context} elements, found {rows} x {cols}")
        })?;
        self.posterior = Accumulator::from_vec(posterior.data);
        Ok(())
    }

    fn write_statistics(&self, w: &mut KaldiWriter) -> Result<()> {
        fields::write_f64(w, "<StatsCount>", self.stats_count.value())?;
        w.write_token("<EntropyStats>")?;
        kaldi_io::matrix::write_vector(w, &self.entropy.values())?;
        w.write_token("<PosteriorStats>")?;
        let data = self.posterior.values().to_vec();
        let (rows, cols) = if data.is_empty() { (0, 0) } else { (self.num_heads, self.context()) };
        Ok(kaldi_io::matrix::DenseMatrix { rows, cols, data }.write(w)?)
    }

    fn info_of_dims(&self) -> String {
        format!(
            ", key-dim={}, value-dim={}, num-left-inputs={}, num-right-inputs={}, context-dim={}",
            self.key_dim,
            self.value_dim,
            self.num_left,
            self.num_right,
            self.context()
        )
    }

    fn info_of_statistics(&self) -> String {
        let count = self.stats_count.value();
        if count == 0.0 {
            return String::new();
        }
        let averages =
            |sums: &[f64]| -> String { sums.iter().map(|sum| number(sum / count) + ",").collect() };
        let mut out = format!(", entropy={}", averages(&self.entropy.values()));
        for (head, sums) in self.posterior.values().chunks(self.context()).enumerate().take(5) {
            out += &format!(" posterior-stats[{head}]={}", averages(sums));
        }
        out + &format!(" stats-count={}", number(count))
    }
}

impl Component for Attention {
    fn input_dim(&self) -> usize {
        self.num_heads * (2 * self.key_dim + self.value_dim + self.context())
    }
    fn output_dim(&self) -> usize {
        self.num_heads * (self.value_dim + if self.output_context { self.context() } else { 0 })
    }
    fn properties(&self) -> Properties {
        Properties::REORDERS_INDEXES
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::PROPAGATE_ADDS
            | Properties::BACKPROP_ADDS
            | Properties::STORES_STATS
            | Properties::USES_MEMO
    }

    fn memo_shape(&self, _: Option<&dyn PrecomputedIndexes>, output_rows: usize) -> (usize, usize) {
        (output_rows, self.num_heads * self.context())
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }
    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    /// The memo is c, head by head.
    fn propagate(&self, context: Context<'_>, Propagate { indexes, input, output, memo, .. }: Propagate<'_>) {
        let (backend, (shift, first)) = (context.backend, self.rows(indexes, input.rows(), output.rows()));
        let present = input.row_range(first..first + output.rows());
        for head in 0..self.num_heads {
            let at = self.columns(head);
            let c = memo.col_range(at.context);
            backend.banded_dots(
                c,
                self.key_scale,
                present.col_range(at.query),
                input.col_range(at.key),
                shift,
            );
            backend.add(c, 1.0, present.col_range(at.bias));
            backend.softmax(c, c.as_view());
            backend.banded_apply(
                output.col_range(at.out_value),
                1.0,
                c.as_view(),
                input.col_range(at.value),
                shift,
            );
            if self.output_context {
                backend.add(output.col_range(at.out_context), 1.0, c.as_view());
            }
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let (backend, input, rows) = (context.backend, args.in_value, args.out_deriv.rows());
        let (shift, first) = self.rows(args.indexes, input.rows(), rows);
        let present = input.row_range(first..first + rows);
        let present_deriv = in_deriv.row_range(first..first + rows);
        // Derivatives with respect to c, then with respect to the input of the softmax.
        let mut derivs = context.workspace.take(rows, self.context());
        for head in 0..self.num_heads {
            let (at, derivs) = (self.columns(head), derivs.view_mut());
            let (c, value_deriv) = (args.memo.col_range(at.context), args.out_deriv.col_range(at.out_value));
            backend.banded_dots(derivs, 1.0, value_deriv, input.col_range(at.value.clone()), shift);
            if self.output_context {
                backend.add(derivs, 1.0, args.out_deriv.col_range(at.out_context));
            }
            backend.softmax_backward(derivs, c, derivs.as_view());
            let derivs = derivs.as_view();
            let (key, query) = (input.col_range(at.key.clone()), present.col_range(at.query.clone()));
            backend.add(present_deriv.col_range(at.bias), 1.0, derivs);
            backend.banded_apply(present_deriv.col_range(at.query), self.key_scale, derivs, key, shift);
            backend.banded_scatter(in_deriv.col_range(at.key), self.key_scale, derivs, query, shift);
            backend.banded_scatter(in_deriv.col_range(at.value), 1.0, c, value_deriv, shift);
        }
    }
}

impl Indexed for Attention {
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        inputs.extend(self.window(output).map(|(input, _)| input));
    }

    fn has_optional_inputs(&self) -> bool {
        (self.num_left_required, self.num_right_required) != (self.num_left, self.num_right)
    }

    fn is_computable(&self, output: Index, available: Available<'_>, used: Option<&mut Vec<Index>>) -> bool {
        let computable = self.window(output).all(|(input, required)| !required || available(input));
        if let (true, Some(used)) = (computable, used) {
            used.extend(self.window(output).map(|(input, _)| input).filter(|&input| available(input)));
        }
        computable
    }

    fn reorder_indexes(&self, inputs: &mut Vec<Index>, outputs: &mut Vec<Index>) -> Result<()> {
        (*inputs, *outputs) = self.grid(inputs, outputs)?.arrange(inputs, outputs)?;
        Ok(())
    }

    fn precompute_indexes(
        &self,
        inputs: &[Index],
        outputs: &[Index],
        _: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let grid = self.grid(inputs, outputs)?;
        grid.check_arranged(inputs, outputs)?;
        Ok(Some(Box::new(Io { num_images: grid.num_images(), input: grid.input, output: grid.output })))
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        _backprop: bool,
    ) -> fit::Fit {
        let Io { num_images, input, output } = fit::own(indexes)?;
        let rows = |times: &Times| usize::try_from(num_images.saturating_mul(times.count)).unwrap_or(0);
        fit::count("input rows", rows(input), input_rows)?;
        fit::count("output rows", rows(output), output_rows)?;
        let stride = self.time_stride as i64;
        let reaches = output.start - input.start == stride * self.num_left as i64
            && input.last() - output.last() == stride * self.num_right as i64;
        fit::require(reaches && stride % input.step == 0, || {
            format!(
                "the precomputed indexes have input times {input:?} and output times {output:?}, another context"
            )
        })
    }
}

impl Statistics for Attention {
    /// Statistics are stored on two calls out of three.
    fn store_stats(&mut self, context: Context<'_>, _: View<'_>, _: View<'_>, memo: View<'_>) {
        if self.entropy.len() != self.num_heads || self.posterior.is_empty() {
            self.entropy = Accumulator::zeros(self.num_heads);
            self.posterior = Accumulator::zeros(self.num_heads * self.context());
            self.stats_count = Tally::default();
        }
        // Before chance decides, so that the pool has them in every later run.
        let mut logs = context.workspace.take(memo.rows(), memo.cols());
        let mut entropies = context.workspace.take(1, memo.cols());
        let mut heads = context.workspace.take(self.num_heads, 1);
        if context.random.int(0, 2) == 0 {
            return;
        }
        let backend = context.backend;
        backend.accumulate(&mut self.posterior, 0, memo, ColumnTerm::Value);
        backend.map(logs.view_mut(), memo, Map::Log { floor: SMALLEST });
        backend.col_dots(entropies.view_mut(), -1.0, memo, logs.view(), 0.0);
        backend.row_sums(
            heads.view_mut(),
            1.0,
            entropies.view().reshape(self.num_heads, self.context()),
            0.0,
        );
        backend.accumulate(&mut self.entropy, 0, heads.view().reshape(1, self.num_heads), ColumnTerm::Value);
        self.stats_count.increase(memo.rows() as f64);
    }

    fn scale_stats(&mut self, factor: f32) {
        let factor = factor as f64;
        self.entropy.scale(factor);
        self.posterior.scale(factor);
        self.stats_count.scale(factor);
    }

    fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        let (alpha, other) = (alpha as f64, downcast::<Self>(other));
        self.entropy.add(alpha, &other.entropy);
        self.posterior.add(alpha, &other.posterior);
        self.stats_count.add(alpha, &other.stats_count);
    }

    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        keeper.sums(&mut self.entropy, self.num_heads)?;
        let len = self.num_heads * self.context();
        keeper.sums(&mut self.posterior, len)?;
        self.stats_count.keep(keeper)
    }

    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        backend.scale_sums_by(&mut self.entropy, factor);
        backend.scale_sums_by(&mut self.posterior, factor);
        self.stats_count.scale_by(backend, factor);
    }

    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        let other = downcast::<Self>(other);
        backend.add_sums_by(&mut self.entropy, alpha, &other.entropy);
        backend.add_sums_by(&mut self.posterior, alpha, &other.posterior);
        self.stats_count.add_by(backend, alpha, &other.stats_count);
    }
}

// ---- precomputed indexes ---------------------------------------------------------------------------------------

impl PrecomputedIndexes for Io {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        let Io { num_images, input, output } = self;
        w.write_token("<RestrictedAttentionComponentPrecomputedIndexes>")?;
        w.write_token("<Io>")?;
        w.write_token("<ConvCompIo>")?;
        // The last is the number of consecutive times of one image: always 1 here.
        let values =
            [*num_images, input.start, input.step, input.count, output.start, output.step, output.count, 1];
        for value in values {
            w.write_i32(value as i32)?;
        }
        w.write_token("</ConvCompIo>")?;
        w.write_token("</RestrictedAttentionComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

fn read_precomputed(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
    r.expect_token("<Io>")?;
    r.expect_token("<ConvCompIo>")?;
    let mut values = [0; 8];
    for value in &mut values {
        *value = r.read_i32()? as i64;
    }
    let [num_images, start_in, step_in, count_in, start_out, step_out, count_out, reorder] = values;
    let input = Times { start: start_in, step: step_in, count: count_in };
    let output = Times { start: start_out, step: step_out, count: count_out };
    let good = num_images > 0
        && step_in > 0
        && step_in == step_out
        && count_out > 0
        && reorder == 1
        && start_in <= start_out
        && output.last() <= input.last()
        && (start_out - start_in) % step_in == 0;
    fields::check(r, good, || {
        format!("<ConvCompIo>: grids of attention that do not fit each other: {values:?}")
    })?;
    r.expect_token("</ConvCompIo>")?;
    r.expect_token("</RestrictedAttentionComponentPrecomputedIndexes>")?;
    Ok(Box::new(Io { num_images, input, output }))
}

#[cfg(test)]
mod tests;
