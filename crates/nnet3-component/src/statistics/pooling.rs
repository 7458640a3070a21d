//! StatisticsPoolingComponent: means and standard deviations over windows of extracted statistics (Snyder et al.,
//! "X-vectors: robust DNN embeddings for speaker recognition", 2018).

use crate::capabilities::Indexed;
use crate::declared::*;
use crate::parameters::INPUT_DIM;
use crate::registry::PrecomputedReader;
use crate::row_ranges::{MOST_ROWS, Ranges, RangesBuilder, any_available, positions, sort_by_sequence};
use crate::statistics::unsorted;
use crate::{
    Available, Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties,
    Update, fit, precomputed,
};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_matrix::{IndexTable, Map, View, ViewMut};
use std::ops::Range;

pub const TYPES: &[&ComponentType] = &[Pooling::TYPE];

const COLUMNS: Field<usize> =
    INPUT_DIM.meaning("columns of the input: a count, sums and, for deviations, sums of squares").hidden();
const INPUT_PERIOD: Field<usize> =
    field("input-period", "<InputPeriod>", "frames between input rows").or(1).hidden();
const LEFT_CONTEXT: Field<i32> =
    field("left-context", "<LeftContext>", "frames of the window before t; a multiple of input-period")
        .hidden();
const RIGHT_CONTEXT: Field<i32> =
    field("right-context", "<RightContext>", "frames of the window after t; a multiple of input-period")
        .hidden();
const LOG_COUNTS: Field<i32> = field(
    "num-log-count-features",
    "<NumLogCountFeatures>",
    "copies of the logarithm of the count at the front of the output",
)
.or(0)
.range(COUNT)
.hidden();
const OUTPUT_STDDEVS: Field<bool> =
    field("output-stddevs", "<OutputStddevs>", "standard deviations in place of mean squares")
        .or(false)
        .hidden();
const VARIANCE_FLOOR: Field<f32> =
    field("variance-floor", "<VarianceFloor>", "smallest variance, between 0 and 1").or(1e-10).hidden();

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[("StatisticsPoolingComponentPrecomputedIndexes", Windows::read)];

/// Pooling over windows. The output has log-counts, means, and mean squares or standard deviations.
#[derive(Clone, Debug)]
pub(crate) struct Pooling {
    input_dim: usize,
    input_period: i32,
    left_context: i32,
    right_context: i32,
    log_counts: usize,
    output_stddevs: bool,
    variance_floor: f32,
}

impl Pooling {
    /// Describes the fault of the settings, if there is one.
    fn wrong(&self) -> Option<String> {
        let (left, right, period) = (self.left_context, self.right_context, self.input_period);
        if left < 0 || right < 0 || (left, right) == (0, 0) {
            return Some(format!(
                "left-context and right-context must not be negative or both 0, found {left} and {right}"
            ));
        }
        if left % period != 0 || right % period != 0 {
            return Some(format!(
                "left-context {left} and right-context {right} must be multiples of {period}, the input-period"
            ));
        }
        if (left as i64 + right as i64) / period as i64 >= MOST_ROWS {
            return Some(format!(
                "left-context {left} and right-context {right}: more than {MOST_ROWS} rows"
            ));
        }
        if self.input_dim < 2 || (self.output_stddevs && self.input_dim.is_multiple_of(2)) {
            let twice = if self.output_stddevs { "twice " } else { "" };
            return Some(format!("input-dim must be 1 + {twice}that of features, found {}", self.input_dim));
        }
        let valid = self.variance_floor > 0.0 && self.variance_floor < 1.0;
        (!valid).then(|| {
            format!(
                "variance-floor: the variance floor must be between 0 and 1, found {}",
                self.variance_floor
            )
        })
    }

    /// The inputs in the window of `output`: none unless its time is a multiple of the period.
    fn window(&self, output: Index) -> impl Iterator<Item = Index> {
        let (t, period) = (output.t as i64, self.input_period);
        let end = if output.t % period == 0 { t + self.right_context as i64 + 1 } else { i64::MIN };
        let times = (t - self.left_context as i64..end).step_by(period as usize);
        times.filter_map(move |t| Some(Index { t: i32::try_from(t).ok()?, ..output }))
    }

    /// The output columns of all statistics.
    pub(crate) fn statistics(&self) -> Range<usize> {
        self.log_counts..self.output_dim()
    }
    fn means(&self) -> Range<usize> {
        self.log_counts..self.log_counts + (self.input_dim - 1) / 2
    }
    fn stddevs(&self) -> Range<usize> {
        self.means().end..self.output_dim()
    }

    /// count = the number of frames in each window.
    fn sum_counts(&self, context: Context<'_>, count: ViewMut<'_>, input: View<'_>, windows: &Windows) {
        context.backend.set(count, 0.0);
        context.backend.add_row_ranges(count, 1.0, input.col_range(0..1), windows.forward.table());
    }

    /// Turns the sums in `output` into the component's output; `input` tells the counts.
    pub(crate) fn finish(
        &self,
        context: Context<'_>,
        windows: &Windows,
        input: View<'_>,
        output: ViewMut<'_>,
    ) {
        let backend = context.backend;
        let mut columns = context.workspace.take(2, output.rows());
        let columns = columns.view_mut();
        let [count, of_count] = [0, 1].map(|i| columns.row(i).reshape(output.rows(), 1));
        self.sum_counts(context, count, input, windows);
        backend.map(of_count, count.as_view(), Map::Inverse);
        backend.scale_rows(output.col_range(self.statistics()), of_count.as_view());

        if self.log_counts > 0 {
            backend.map(of_count, count.as_view(), Map::Log { floor: f32::MIN_POSITIVE });
            for i in 0..self.log_counts {
                backend.copy(output.col_range(i..i + 1), of_count.as_view());
            }
        }
        if self.output_stddevs {
            let (mean, stddev) = (output.col_range(self.means()).as_view(), output.col_range(self.stddevs()));
            backend.add_product(stddev, -1.0, mean, mean);
            backend.map(stddev, stddev.as_view(), Map::Floor(self.variance_floor));
            backend.map(stddev, stddev.as_view(), Map::SquareRoot);
        }
    }

    /// derivs = the derivatives of each window's sums. The floor of variances is ignored.
    pub(crate) fn derivs_of_sums(
        &self,
        context: Context<'_>,
        windows: &Windows,
        args: &Backprop<'_>,
        derivs: ViewMut<'_>,
    ) {
        let backend = context.backend;
        backend.copy(derivs, args.out_deriv.col_range(self.statistics()));
        if self.output_stddevs {
            let dim = (self.input_dim - 1) / 2;
            let (mean_deriv, square_deriv) = (derivs.col_range(0..dim), derivs.col_range(dim..2 * dim));
            backend.divide(square_deriv, args.out_value.col_range(self.stddevs()));
            backend.scale(square_deriv, 0.5);
            backend.add_product(
                mean_deriv,
                -2.0,
                args.out_value.col_range(self.means()),
                square_deriv.as_view(),
            );
        }
        let mut count = context.workspace.take(derivs.rows(), 1);
        let count = count.view_mut();
        match self.log_counts {
            0 => self.sum_counts(context, count, args.in_value, windows),
            _ => backend.map(count, args.out_value.col_range(0..1), Map::Exp),
        }
        backend.map(count, count.as_view(), Map::Inverse);
        backend.scale_rows(derivs, count.as_view());
    }
}

/// The rows that belong together in windows.
#[derive(Debug)]
pub(crate) struct Windows {
    /// The input rows of each output row.
    pub(crate) forward: Ranges,
    /// The output rows that use each input row; empty if there is no backprop.
    backward: Ranges,
    /// The same as `backward`, if each input row is used at most once.
    single: Option<IndexTable>,
}

impl Windows {
    fn new(forward: Ranges, backward: Ranges) -> Windows {
        let single = backward.singles().map(IndexTable::new);
        Windows { forward, backward, single }
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
        let forward = Ranges::read(r, "<ForwardIndexes>")?;
        let backward = Ranges::read(r, "<BackwardIndexes>")?;
        r.expect_token("</StatisticsPoolingComponentPrecomputedIndexes>")?;
        Ok(Box::new(Windows::new(forward, backward)))
    }
}

impl PrecomputedIndexes for Windows {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<StatisticsPoolingComponentPrecomputedIndexes>")?;
        self.forward.write(w, "<ForwardIndexes>")?;
        self.backward.write(w, "<BackwardIndexes>")?;
        w.write_token("</StatisticsPoolingComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

impl Declared for Pooling {
    const TYPE: &'static ComponentType = &ComponentType::of::<Pooling>(
        "StatisticsPoolingComponent",
        "Means and standard deviations over windows of extracted statistics.",
        "input-dim=5 left-context=2 right-context=2 output-stddevs=true num-log-count-features=1",
    );

    fn fields(f: &mut Fields<'_, Pooling>) -> Result<Option<Pooling>> {
        f.note_dims();
        let c = Pooling {
            input_dim: f.get(&COLUMNS, |c| c.input_dim)?,
            input_period: f.get(&INPUT_PERIOD, |c| c.input_period as usize)? as i32,
            left_context: f.get(&LEFT_CONTEXT, |c| c.left_context)?,
            right_context: f.get(&RIGHT_CONTEXT, |c| c.right_context)?,
            log_counts: f.get(&LOG_COUNTS, |c| c.log_counts as i32)? as usize,
            output_stddevs: f.get(&OUTPUT_STDDEVS, |c| c.output_stddevs)?,
            variance_floor: f.get(&VARIANCE_FLOOR, |c| c.variance_floor)?,
        };
        f.refuse(|| c.wrong())?;
        f.done(c)
    }
}

impl Component for Pooling {
    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.input_dim - 1 + self.log_counts
    }
    fn properties(&self) -> Properties {
        Properties::REORDERS_INDEXES
            | Properties::BACKPROP_ADDS
            | Properties::BACKPROP_NEEDS_OUTPUT.when(self.output_stddevs || self.log_counts > 0)
            | Properties::BACKPROP_NEEDS_INPUT.when(self.log_counts == 0)
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        true
    }

    fn propagate(&self, context: Context<'_>, Propagate { indexes, input, output, .. }: Propagate<'_>) {
        let (backend, windows) = (context.backend, precomputed::<Windows>(indexes));
        let sums = output.col_range(self.statistics());
        backend.set(sums, 0.0);
        backend.add_row_ranges(sums, 1.0, input.col_range(1..self.input_dim), windows.forward.table());
        self.finish(context, windows, input, output);
    }

    fn sets_in_deriv(&self) -> bool {
        true
    }

    /// Counts have no derivative, so their columns are ignored.
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let (backend, windows) = (context.backend, precomputed::<Windows>(args.indexes));
        let mut derivs = context.workspace.take(args.out_deriv.rows(), self.input_dim - 1);
        let derivs = derivs.view_mut();
        self.derivs_of_sums(context, windows, &args, derivs);
        let statistics = in_deriv.col_range(1..self.input_dim);
        match &windows.single {
            Some(rows) if args.sets => {
                backend.set(in_deriv.col_range(0..1), 0.0);
                return backend.copy_rows(statistics, 1.0, derivs.as_view(), rows);
            }
            _ if args.sets => backend.set(in_deriv, 0.0),
            _ => {}
        }
        backend.add_row_ranges(statistics, 1.0, derivs.as_view(), windows.backward.table());
    }
}

impl Indexed for Pooling {
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        inputs.extend(self.window(output));
    }

    fn has_optional_inputs(&self) -> bool {
        true
    }

    fn is_computable(&self, output: Index, available: Available<'_>, used: Option<&mut Vec<Index>>) -> bool {
        any_available(self.window(output), available, used)
    }

    fn reorder_indexes(&self, inputs: &mut Vec<Index>, outputs: &mut Vec<Index>) -> Result<()> {
        sort_by_sequence(inputs);
        sort_by_sequence(outputs);
        Ok(())
    }

    fn precompute_indexes(
        &self,
        inputs: &[Index],
        outputs: &[Index],
        need_backprop: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let rows = positions(inputs);
        let (mut forward, mut backward) =
            (RangesBuilder::new(outputs.len()), RangesBuilder::new(inputs.len()));
        for (i, &output) in outputs.iter().enumerate() {
            for row in self.window(output).filter_map(|input| rows.get(&input).copied()) {
                if !forward.extend(i, row) || !backward.extend(row, i) {
                    return Err(unsorted("StatisticsPoolingComponent"));
                }
            }
        }
        let (Some(forward), Some(backward)) = (forward.finish(), backward.finish()) else {
            return Err(unsorted("StatisticsPoolingComponent"));
        };
        let backward = if need_backprop { backward } else { Ranges::new(&[]) };
        Ok(Some(Box::new(Windows::new(forward, backward))))
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        backprop: bool,
    ) -> fit::Fit {
        let windows: &Windows = fit::own(indexes)?;
        fit::ranges("output rows", &windows.forward, output_rows, input_rows)?;
        match backprop {
            true => fit::ranges("input rows of backprop", &windows.backward, input_rows, output_rows),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_index::{images_at, some_times};
    use crate::testing::*;
    use nnet3_base::random::Random;
    use nnet3_matrix::Matrix;

    #[test]
    fn forms() {
        for keys in ["", "num-log-count-features=2", "output-stddevs=true variance-floor=0.01"] {
            let config =
                format!("type=StatisticsPoolingComponent input-dim=5 left-context=2 right-context=0 {keys}");
            round_trip(&*component(&config));
        }
    }

    #[test]
    fn refuses_bad_input() {
        let refused =
            |keys: &str, part: &str| refused(&format!("type=StatisticsPoolingComponent {keys}"), part);
        refused("", "'input-dim' is missing");
        refused("input-dim=5 right-context=2", "'left-context' is missing");
        refused("input-dim=5 left-context=0 right-context=0", "both 0");
        refused("input-dim=5 left-context=-1 right-context=3", "negative");
        refused("input-dim=5 left-context=2 right-context=3 input-period=2", "multiples of 2");
        refused("input-dim=4 left-context=2 right-context=3 output-stddevs=true", "1 + twice");
        refused("input-dim=1 left-context=2 right-context=3", "1 + that");
        refused("input-dim=5 left-context=2 right-context=3 variance-floor=0", "variance floor");
        refused("input-dim=5 left-context=2 right-context=3 num-log-count-features=-1", "num-log-count");
        let start =
            "<StatisticsPoolingComponent> <InputDim> 5 <InputPeriod> 2 <LeftContext> 1 <RightContext> 2 ";
        let end =
            "<NumLogCountFeatures> 0 <OutputStddevs> F <VarianceFloor> 0.1 </StatisticsPoolingComponent> ";
        read_refused(&format!("{start}{end}"), "multiples of 2");
    }

    /// Compares with the mean and the deviation of each window by their definitions, and with the derivative for fixed
    /// counts.
    #[test]
    fn windows_by_definition() {
        let (random, harness) = (Random::new(1), Harness::new());
        for round in 0..12 {
            let (step, logs, stddevs) = (1 + round % 2, (round % 3) as usize, round % 4 < 2);
            let keys = format!("input-period={step} num-log-count-features={logs} output-stddevs={stddevs}");
            let contexts = format!("left-context={} right-context={}", 2 * step, step);
            let mut c = component(&format!("type=StatisticsPoolingComponent input-dim=3 {contexts} {keys}"));
            let times = some_times(&random, -2 * step, 5 * step, step);
            let wanted = images_at(&random, &(-2..4).map(|t| t * step + round / 6).collect::<Vec<i32>>());
            let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
            for output in wanted {
                if c.is_computable(output, &|i| times.contains(&i.t), Some(&mut inputs)) {
                    assert!(output.t % step == 0);
                    outputs.push(output);
                }
            }
            inputs.sort();
            inputs.dedup();
            c.reorder_indexes(&mut inputs, &mut outputs).unwrap();
            let indexes = c.precompute_indexes(&inputs, &outputs, true).unwrap().unwrap();
            let indexes = stored(&*indexes);

            let mut statistics = Vec::new();
            for _ in &inputs {
                let (count, mean) = (random.int(1, 4) as f32, random.normal());
                statistics.push([count, count * mean, count * (mean * mean + random.uniform() + 0.1)]);
            }
            let input = Matrix::from_vec(inputs.len(), 3, statistics.concat());
            let out_deriv = random_matrix(&random, outputs.len(), c.output_dim());
            let forward = harness.forward(&*c, Some(&*indexes), &input, outputs.len());
            let in_deriv =
                harness.backward(&mut *c, Some(&*indexes), &input, &forward, &out_deriv, Update::None);

            let (mut output, mut derivs) = (Vec::new(), vec![0.0; 3 * inputs.len()]);
            for (index, e) in outputs.iter().zip(out_deriv.to_vec().chunks(2 + logs)) {
                let near = |i: &Index| (-2 * step..=step).contains(&(i.t - index.t));
                let inside =
                    |&row: &usize| (inputs[row].n, inputs[row].x) == (index.n, index.x) && near(&inputs[row]);
                let rows: Vec<usize> = (0..inputs.len()).filter(inside).collect();
                let sum = |j: usize| rows.iter().map(|&row| statistics[row][j]).sum::<f32>();
                let (count, mean, square) = (sum(0), sum(1) / sum(0), sum(2) / sum(0));
                let stddev = (square - mean * mean).sqrt();
                output.extend(std::iter::repeat_n(count.ln(), logs));
                output.extend([mean, if stddevs { stddev } else { square }]);
                let through_stddev = if stddevs { e[logs + 1] * 0.5 / stddev } else { e[logs + 1] };
                let through_mean = if stddevs { e[logs] - 2.0 * mean * through_stddev } else { e[logs] };
                for row in rows {
                    derivs[3 * row + 1] += through_mean / count;
                    derivs[3 * row + 2] += through_stddev / count;
                }
            }
            assert_near(&forward.output.to_vec(), &output, 1e-5, "output");
            assert_near(&in_deriv.to_vec(), &derivs, 1e-5, "input derivative");
        }
    }

    /// Writes the indexes and reads them back.
    fn stored(indexes: &dyn PrecomputedIndexes) -> Box<dyn PrecomputedIndexes> {
        let mut w = KaldiWriter::in_memory(true);
        indexes.write(&mut w).unwrap();
        let mut r = KaldiReader::from_bytes("test", w.into_bytes());
        r.set_binary(true);
        assert_eq!(r.read_token().unwrap(), format!("<{}>", PRECOMPUTED[0].0));
        let again = (PRECOMPUTED[0].1)(&mut r).unwrap();
        assert_eq!(format!("{again:?}"), format!("{indexes:?}"));
        again
    }

    #[test]
    fn pools_by_hand() {
        let config = "type=StatisticsPoolingComponent input-dim=3 left-context=1 right-context=1 \
                      output-stddevs=true num-log-count-features=1";
        let (harness, c) = (Harness::new(), component(config));
        let inputs: Vec<Index> = (0..2).map(|t| Index::new(0, t, 0)).collect();
        let indexes = c.precompute_indexes(&inputs, &inputs[..1], false).unwrap();
        // Counts, sums and sums of squares: 4 frames with mean 1 and mean square 5.
        let input = Matrix::from_vec(2, 3, vec![1.0, 1.0, 5.0, 3.0, 3.0, 15.0]);
        let output = harness.forward(&*c, indexes.as_deref(), &input, 1).output.to_vec();
        assert_near(&output, &[4f32.ln(), 1.0, 2.0], 1e-6, "output");
    }
}
