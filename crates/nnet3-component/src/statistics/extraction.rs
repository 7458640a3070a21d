//! StatisticsExtractionComponent: counts, sums and sums of squares over groups of frames.

use crate::capabilities::Indexed;
use crate::declared::*;
use crate::fields::{self};
use crate::parameters::INPUT_DIM;
use crate::parameters::cached_rows;
use crate::registry::PrecomputedReader;
use crate::row_ranges::{MOST_ROWS, Ranges, RangesBuilder, any_available, positions, sort_by_sequence};
use crate::{
    Available, Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties,
    Update, fit, precomputed,
};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::{Error, Result};
use nnet3_base::index::Index;
use nnet3_matrix::{IndexTable, View, ViewMut};

pub const TYPES: &[&ComponentType] = &[Extraction::TYPE];

const INPUT_PERIOD: Field<usize> =
    field("input-period", "<InputPeriod>", "frames between input rows").or(1).hidden();
const OUTPUT_PERIOD: Field<usize> =
    field("output-period", "<OutputPeriod>", "frames in a group; a multiple of input-period").or(1).hidden();
/// The token has the format's own spelling.
const INCLUDE_VARIANCE: Field<bool> =
    field("include-variance", "<IncludeVarinance>", "sums of squares too").or(true).hidden();

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[("StatisticsExtractionComponentPrecomputedIndexes", Groups::read)];

/// Statistics of groups of frames. The output has the count, the sum of x and, if wanted, that of x².
#[derive(Clone, Debug)]
pub(crate) struct Extraction {
    input_dim: usize,
    input_period: i32,
    output_period: i32,
    include_variance: bool,
}

impl Extraction {
    /// The inputs of the group that `output` belongs to.
    fn group(&self, output: Index) -> impl Iterator<Item = Index> {
        let first = output.t.div_euclid(self.output_period) as i64 * self.output_period as i64;
        let times = (first..first + self.output_period as i64).step_by(self.input_period as usize);
        times.filter_map(move |t| Some(Index { t: i32::try_from(t).ok()?, ..output }))
    }

    pub(crate) fn include_variance(&self) -> bool {
        self.include_variance
    }
    /// The output columns that hold sums, and perhaps sums of squares.
    pub(crate) fn sums(&self) -> std::ops::Range<usize> {
        1..1 + self.input_dim
    }
    pub(crate) fn square_sums(&self) -> std::ops::Range<usize> {
        1 + self.input_dim..1 + 2 * self.input_dim
    }
}

/// The rows that belong together in groups.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The input rows of each output row, and how many they are.
    forward: Ranges,
    counts: Vec<f32>,
    /// The output row of each input row; empty if there is no backprop.
    backward: IndexTable,
}

impl Extraction {
    /// Adds to `output`, or sets it.
    fn add_statistics(
        &self,
        context: Context<'_>,
        groups: &Groups,
        input: View<'_>,
        output: ViewMut<'_>,
        sets: bool,
    ) {
        let (backend, ranges) = (context.backend, groups.forward.table());
        let mut counts = context.workspace.take(output.rows(), 1);
        backend.upload(counts.view_mut(), &groups.counts);
        if groups.one_by_one(input.rows()) {
            for rows in cached_rows(backend, output.rows(), output.cols()) {
                let (input, output) = (input.row_range(rows.clone()), output.row_range(rows.clone()));
                let (count, counts) = (output.col_range(0..1), counts.view().row_range(rows));
                let sums = output.col_range(self.sums());
                if sets {
                    backend.copy(count, counts);
                    backend.copy(sums, input);
                } else {
                    backend.add(count, 1.0, counts);
                    backend.add(sums, 1.0, input);
                }
                match self.include_variance {
                    true if sets => backend.product(output.col_range(self.square_sums()), input, input),
                    true => backend.add_product(output.col_range(self.square_sums()), 1.0, input, input),
                    false => {}
                }
            }
            return;
        }
        if sets {
            backend.set(output, 0.0);
        }
        backend.add(output.col_range(0..1), 1.0, counts.view());
        backend.add_row_ranges(output.col_range(self.sums()), 1.0, input, ranges);
        if self.include_variance {
            let mut squares = context.workspace.take(input.rows(), input.cols());
            backend.product(squares.view_mut(), input, input);
            backend.add_row_ranges(output.col_range(self.square_sums()), 1.0, squares.view(), ranges);
        }
    }
}

impl Groups {
    /// True if output row i belongs to input row i alone, for each of `inputs` rows.
    pub(crate) fn one_by_one(&self, inputs: usize) -> bool {
        let mut ranges = self.forward.table().values().chunks(2).zip(0..);
        self.forward.count() == inputs && ranges.all(|(range, i)| range == [i, i + 1])
    }

    /// Number of input rows of each output row.
    pub(crate) fn counts(&self) -> &[f32] {
        &self.counts
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
        let forward = Ranges::read(r, "<ForwardIndexes>")?;
        r.expect_token("<Counts>")?;
        let counts = kaldi_io::matrix::read_vector(r)?;
        fields::check(r, counts.len() == forward.count(), || {
            format!("<Counts>: expected {} elements, found {}", forward.count(), counts.len())
        })?;
        r.expect_token("<BackwardIndexes>")?;
        let backward = r.read_i32_vector()?;
        fields::check(r, backward.iter().all(|&row| row >= 0 && (row as usize) < forward.count()), || {
            format!("<BackwardIndexes>: expected numbers of {} rows", forward.count())
        })?;
        r.expect_token("</StatisticsExtractionComponentPrecomputedIndexes>")?;
        Ok(Box::new(Groups { forward, counts, backward: IndexTable::new(backward) }))
    }
}

impl PrecomputedIndexes for Groups {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<StatisticsExtractionComponentPrecomputedIndexes>")?;
        self.forward.write(w, "<ForwardIndexes>")?;
        fields::write_vector(w, "<Counts>", &self.counts)?;
        w.write_token("<BackwardIndexes>")?;
        w.write_i32_vector(self.backward.values())?;
        w.write_token("</StatisticsExtractionComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

impl Declared for Extraction {
    const TYPE: &'static ComponentType = &ComponentType::of::<Extraction>(
        "StatisticsExtractionComponent",
        "Counts, sums and sums of squares over groups of frames.",
        "input-dim=3 input-period=1 output-period=2",
    );

    fn fields(f: &mut Fields<'_, Extraction>) -> Result<Option<Extraction>> {
        f.note_dims();
        let input_dim = f.get(&INPUT_DIM.hidden(), |c| c.input_dim)?;
        let input_period = f.get(&INPUT_PERIOD, |c| c.input_period as usize)? as i32;
        let output_period = f.get(&OUTPUT_PERIOD, |c| c.output_period as usize)? as i32;
        f.refuse(|| wrong_periods(input_period, output_period))?;
        let include_variance = f.get(&INCLUDE_VARIANCE, |c| c.include_variance)?;
        f.done(Extraction { input_dim, input_period, output_period, include_variance })
    }
}

impl Component for Extraction {
    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        1 + self.input_dim * if self.include_variance { 2 } else { 1 }
    }
    fn properties(&self) -> Properties {
        Properties::PROPAGATE_ADDS
            | Properties::REORDERS_INDEXES
            | Properties::BACKPROP_NEEDS_INPUT.when(self.include_variance)
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        true
    }

    fn propagate(&self, context: Context<'_>, args: Propagate<'_>) {
        self.add_statistics(context, precomputed(args.indexes), args.input, args.output, args.sets);
    }

    fn sets_output(&self) -> bool {
        true
    }

    /// The count has no derivative, so its column is ignored.
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let groups = precomputed::<Groups>(args.indexes);
        let (backend, rows) = (context.backend, &groups.backward);
        if groups.one_by_one(in_deriv.rows()) {
            for rows in cached_rows(backend, in_deriv.rows(), in_deriv.cols()) {
                let (in_deriv, out_deriv) =
                    (in_deriv.row_range(rows.clone()), args.out_deriv.row_range(rows.clone()));
                backend.copy(in_deriv, out_deriv.col_range(self.sums()));
                if self.include_variance {
                    let squares = out_deriv.col_range(self.square_sums());
                    backend.add_product(in_deriv, 2.0, squares, args.in_value.row_range(rows));
                }
            }
            return;
        }
        backend.copy_rows(in_deriv, 1.0, args.out_deriv.col_range(self.sums()), rows);
        if self.include_variance {
            let mut doubled = context.workspace.take(in_deriv.rows(), in_deriv.cols());
            backend.copy_rows(doubled.view_mut(), 2.0, args.out_deriv.col_range(self.square_sums()), rows);
            backend.add_product(in_deriv, 1.0, doubled.view(), args.in_value);
        }
    }
}

impl Indexed for Extraction {
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        inputs.extend(self.group(output));
    }

    fn has_optional_inputs(&self) -> bool {
        self.output_period > self.input_period
    }

    fn is_computable(&self, output: Index, available: Available<'_>, used: Option<&mut Vec<Index>>) -> bool {
        any_available(self.group(output), available, used)
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
        let mut forward = RangesBuilder::new(outputs.len());
        let mut backward = vec![-1; inputs.len()];
        for (i, &output) in outputs.iter().enumerate() {
            for row in self.group(output).filter_map(|input| rows.get(&input).copied()) {
                if backward[row] != -1 || !forward.extend(i, row) {
                    return Err(unsorted("StatisticsExtractionComponent"));
                }
                backward[row] = i as i32;
            }
        }
        let forward = forward.finish().filter(|_| !backward.contains(&-1));
        let Some(forward) = forward else { return Err(unsorted("StatisticsExtractionComponent")) };
        let counts = forward.lengths().map(|length| length as f32).collect();
        let backward = IndexTable::new(if need_backprop { backward } else { Vec::new() });
        Ok(Some(Box::new(Groups { forward, counts, backward })))
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        backprop: bool,
    ) -> fit::Fit {
        let groups: &Groups = fit::own(indexes)?;
        fit::ranges("output rows", &groups.forward, output_rows, input_rows)?;
        match backprop {
            true => fit::count("input rows of backprop", groups.backward.len(), input_rows),
            false => Ok(()),
        }
    }
}

fn wrong_periods(input: i32, output: i32) -> Option<String> {
    match output % input == 0 && ((output / input) as i64) < MOST_ROWS {
        true => None,
        false => Some(format!(
            "output-period {output}: expected a multiple of the input-period {input}, at most {MOST_ROWS} times as long"
        )),
    }
}

/// The error for lists that are not those which the compiler makes for this component.
pub(crate) fn unsorted(type_name: &str) -> Error {
    Error::network(format!("{type_name}: the input rows do not fit the output rows"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_index::{self, assert_rows_near, images_at, some_times, zeros_like};
    use crate::testing::*;
    use nnet3_base::random::Random;

    #[test]
    fn derivatives_and_forms() {
        let inputs: Vec<Index> = (-4..6).flat_map(|t| [Index::new(1, t, 0), Index::new(0, t, 0)]).collect();
        let outputs = (-2..3).flat_map(|t| [Index::new(0, 2 * t, 0), Index::new(1, 2 * t, 0)]).collect();
        let config = "type=StatisticsExtractionComponent input-dim=2 output-period=2";
        Check::new(config).indexes(inputs, outputs).run();
    }

    #[test]
    fn refuses_bad_input() {
        let refused =
            |keys: &str, part: &str| refused(&format!("type=StatisticsExtractionComponent {keys}"), part);
        refused("", "'input-dim' is missing");
        refused("input-dim=2 input-period=2 output-period=3", "multiple");
        refused("input-dim=2 input-period=0", "greater than 0");
        let start = "<StatisticsExtractionComponent> <InputDim> 2 <InputPeriod> 2 <OutputPeriod> 3 ";
        read_refused(start, "multiple");
        let c = component("type=StatisticsExtractionComponent input-dim=2");
        let (a, b) = (Index::new(0, 0, 0), Index::new(0, 1, 0));
        assert!(c.precompute_indexes(&[a, b], &[a], true).is_err());
        assert!(c.precompute_indexes(&[a], &[a, b], true).is_err());
        assert!(c.precompute_indexes(&[a], &[a, a], true).is_err());
    }

    #[test]
    fn sums_by_index() {
        let random = Random::new(1);
        for round in 0..10 {
            let (step, variance) = (1 + round % 2, round % 3 != 0);
            let keys = format!("input-period={step} output-period={} include-variance={variance}", 3 * step);
            let c = component(&format!("type=StatisticsExtractionComponent input-dim=2 {keys}"));
            // One output from each group.
            let wanted = images_at(&random, &[-6 * step, -3 * step + 1, 0, 3 * step + 2]);
            let times = some_times(&random, -6 * step, 9 * step, step);
            let trial = by_index::run(&*c, &wanted, &|i| times.contains(&i.t), PRECOMPUTED[0].1, &random);
            let (mut output, mut in_deriv) = (zeros_like(&trial.output), zeros_like(&trial.in_deriv));
            for (index, sums) in output.iter_mut() {
                for (input, x) in &trial.input {
                    let same = (input.n, input.x) == (index.n, index.x);
                    if same && input.t.div_euclid(3 * step) == index.t.div_euclid(3 * step) {
                        sums[0] += 1.0;
                        for j in 0..2 {
                            sums[1 + j] += x[j];
                            let deriv = &trial.out_deriv[index];
                            let d = &mut in_deriv.get_mut(input).unwrap()[j];
                            *d = deriv[1 + j];
                            if variance {
                                sums[3 + j] += x[j] * x[j];
                                *d += 2.0 * x[j] * deriv[3 + j];
                            }
                        }
                    }
                }
            }
            assert_rows_near(&trial.output, &output, "output");
            assert_rows_near(&trial.in_deriv, &in_deriv, "input derivative");
        }
    }
}
