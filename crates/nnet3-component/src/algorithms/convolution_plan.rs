//! Plan of a convolution over time and height on matrices (`ConvolutionComputation` of the reference).
//!
//! Rows are ordered by time, then image. All input rows that one time offset reads are then a range of rows. If the
//! output has fewer times than the input, `ratio` consecutive input times of one image are consecutive rows. The plan
//! treats them as one row of `ratio` times the height. Each *step* of the plan gathers the heights that one such range
//! gives to each output height. It then multiplies them with a range of columns of the parameters. If a filter over time and
//! height pays (see [`crate::winograd`]), it does most of that with fewer multiplications.

mod file;

use crate::Context;
use crate::convolution_model::ConvolutionModel;
use crate::fit::{self, Fit};
use crate::grid::{Grid, Times, error, gcd};
use crate::winograd::{Heights, PlaneFilter};
use nnet3_base::error::{Error, Result};
use nnet3_base::index::Index;
use nnet3_matrix::{Backend, Gemm, IndexTable, View, ViewMut};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use file::read_precomputed;

pub(crate) const PRECOMPUTED_NAME: &str = "TimeHeightConvolutionComponentPrecomputedIndexes";

/// The grids of these lists, extended to all times that some output reads.
pub(crate) fn padded_grid(model: &ConvolutionModel, inputs: &[Index], outputs: &[Index]) -> Result<Grid> {
    let grid = Grid::of(inputs, outputs)?;
    let (mut input, mut output) = (grid.input, grid.output);
    let times: Vec<i64> = model.time_offsets.iter().map(|&(time, _)| time as i64).collect();
    let step = times.windows(2).fold(0, |step, pair| gcd(step, pair[1] - pair[0]));
    if step != 0 {
        let (first, last) = (output.start + times[0], output.last() + times[times.len() - 1]);
        let step = gcd(gcd(input.step, step), output.step);
        if input.start < first
            || input.last() > last
            || (input.start - first) % step != 0
            || (last - first) % step != 0
        {
            return Err(misfit(&grid));
        }
        input = Times { start: first, step, count: 1 + (last - first) / step };
    }
    if output.step == 0 {
        // One output time: any step fits.
        output.step = input.step;
    }
    let mut reorder = 1;
    if output.step != input.step {
        if input.step == 0 || output.step % input.step != 0 {
            return Err(misfit(&grid));
        }
        reorder = output.step / input.step;
        input.round_up(reorder);
    }
    Ok(Grid { images: grid.images, input, output, reorder })
}

fn misfit(grid: &Grid) -> Error {
    error(format!(
        "a convolution's input times {:?} do not fit its output times {:?}",
        grid.input, grid.output
    ))
}

/// The products that compute the outputs of one pair of grids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    filters_in: usize,
    filters_out: usize,
    /// The input height of the model times `ratio`.
    height_in: usize,
    height_out: usize,
    /// The number of input times, counted in rows of height `height_in`.
    times_in: usize,
    times_out: usize,
    images: usize,
    /// Largest matrix of gathered heights, (rows, columns); (0, 0) if none is needed.
    temporary: (usize, usize),
    /// Shared by copies.
    steps: Arc<[OffsetStep]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OffsetStep {
    /// Input time of the first output time.
    time_shift: usize,
    /// First column of the parameters.
    params_start: usize,
    /// For each output height and each offset of this step, the input height, or -1.
    height_map: Vec<i32>,
    gather: Gather,
}

/// The source of a step's columns in the input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gather {
    /// They are the same.
    All,
    /// Columns that follow each other.
    Range(Range<usize>),
    Map(IndexTable),
}

impl OffsetStep {
    /// The heights of a filter, if each output height reads a window of input heights.
    fn window(&self, height_in: usize, height_out: usize) -> Option<Heights> {
        let taps = self.height_map.len() / height_out;
        let known = || self.height_map.iter().enumerate().filter(|(_, height)| **height >= 0);
        // The output height, and the input height of its first tap.
        let start = |(i, &height): (usize, &i32)| ((i / taps) as i64, height as i64 - (i % taps) as i64);
        let ((output, input), (last, end)) = (start(known().next()?), start(known().next_back()?));
        let stride = match last - output {
            0 => 1,
            outputs => usize::try_from((end - input) / outputs).ok().filter(|&stride| stride > 0)?,
        };
        let first = input - output * stride as i64;
        let expected = |i: usize| {
            let height = (i / taps * stride + i % taps) as i64 + first;
            if (0..height_in as i64).contains(&height) { height } else { -1 }
        };
        let is_window = self.height_map.iter().enumerate().all(|(i, &height)| height as i64 == expected(i));
        is_window.then_some(Heights { input: height_in, output: height_out, stride, taps, first })
    }
}

impl Gather {
    fn new(height_map: &[i32], height_in: usize, filters: usize) -> Gather {
        let first = height_map[0];
        let contiguous =
            first >= 0 && height_map.iter().enumerate().all(|(i, &h)| h == first.wrapping_add(i as i32));
        if !contiguous {
            let columns = |&height: &i32| {
                (0..filters as i32).map(move |f| if height < 0 { -1 } else { height * filters as i32 + f })
            };
            return Gather::Map(IndexTable::new(height_map.iter().flat_map(columns).collect()));
        }
        match height_map.len() == height_in {
            true => Gather::All,
            false => Gather::Range(first as usize * filters..(first as usize + height_map.len()) * filters),
        }
    }
}

/// One step on some of the output times.
struct StepTimes<'p> {
    step: &'p OffsetStep,
    /// True if no other step comes before it at these times.
    is_first: bool,
    inputs: Range<usize>,
    outputs: Range<usize>,
}

impl Plan {
    /// The number of output times.
    pub fn times_out(&self) -> usize {
        self.times_out
    }

    /// Makes the plan for a grid that [`padded_grid`] has made.
    pub fn new(model: &ConvolutionModel, grid: &Grid, max_memory_mb: f32) -> Result<Plan> {
        let ratio = grid.reorder;
        let mut plan = Plan {
            filters_in: model.filters_in,
            filters_out: model.filters_out,
            height_in: model.height_in * ratio as usize,
            height_out: model.height_out,
            times_in: (grid.input.count / ratio) as usize,
            times_out: grid.output.count as usize,
            images: grid.images.len(),
            temporary: (0, 0),
            steps: Arc::new([]),
        };
        let mut places = Vec::new();
        for &(time, _) in &model.offsets {
            match grid.input.position(grid.output.start + time as i64) {
                Some(position) if position >= 0 => places.push((position / ratio, position % ratio)),
                _ => return Err(error(format!("a convolution's input does not have time offset {time}"))),
            }
        }
        let (mut first, mut steps) = (0, Vec::new());
        for chunk in places.chunk_by(|a, b| a.0 == b.0) {
            let offsets = first..first + chunk.len();
            steps.push(plan.step(model, &places, offsets)?);
            first += chunk.len();
        }
        plan.steps = steps.into();
        plan.choose_temporary(max_memory_mb);
        Ok(plan)
    }

    /// Returns the step for `offsets`, which read the same (appended) time. `places` holds that time and the remainder
    /// for each offset.
    fn step(
        &self,
        model: &ConvolutionModel,
        places: &[(i64, i64)],
        offsets: Range<usize>,
    ) -> Result<OffsetStep> {
        let height = |output: usize, offset: usize| match model.height(output, model.offsets[offset].1) {
            Some(height) => (places[offset].1 as usize * model.height_in + height) as i32,
            None => -1,
        };
        let time_shift = places[offsets.start].0 as usize;
        if time_shift + self.times_out > self.times_in {
            return Err(error("a convolution's input has fewer times than its output reads".into()));
        }
        let height_map: Vec<i32> = (0..self.height_out)
            .flat_map(|output| offsets.clone().map(move |offset| height(output, offset)))
            .collect();
        let gather = Gather::new(&height_map, self.height_in, self.filters_in);
        Ok(OffsetStep { time_shift, params_start: offsets.start * self.filters_in, height_map, gather })
    }

    fn temporary_cols(&self) -> usize {
        let gathered = self.steps.iter().filter(|step| step.gather != Gather::All);
        gathered.map(|step| step.height_map.len() * self.filters_in).max().unwrap_or(0)
    }

    /// Chooses the number of output times computed together: as many as fit into the memory limit, in pieces of equal
    /// length.
    fn choose_temporary(&mut self, max_memory_mb: f32) {
        let cols = self.temporary_cols();
        if cols == 0 {
            return;
        }
        let rows = self.times_out * self.images;
        let megabytes = (4.0 * (rows as f64 / 1000.0) * (cols as f64 / 1000.0)) as f32;
        let pieces = ((1.0 + (megabytes / max_memory_mb) as f64) as usize).clamp(1, self.times_out);
        self.temporary = (self.times_out.div_ceil(pieces) * self.images, cols);
    }

    /// All steps at these output times.
    fn pieces(&self, times_out: Range<usize>) -> impl Iterator<Item = StepTimes<'_>> {
        let images = self.images;
        let times = if self.temporary.0 == 0 { self.times_out } else { self.temporary.0 / images };
        times_out.clone().step_by(times).flat_map(move |start| {
            let end = (start + times).min(times_out.end);
            self.steps.iter().enumerate().map(move |(k, step)| StepTimes {
                step,
                is_first: k == 0,
                inputs: (start + step.time_shift) * images..(end + step.time_shift) * images,
                outputs: start * images..end * images,
            })
        })
    }

    /// The filter that computes most outputs with fewer multiplications, and the input row of its first tap, if it pays.
    pub(crate) fn filter(&self, backend: &dyn Backend) -> Option<(PlaneFilter, usize)> {
        let [first, second, ..] = &*self.steps else { return None };
        let shift = second.time_shift.checked_sub(first.time_shift)?;
        let heights = first.window(self.height_in, self.height_out)?;
        let follows = |(k, step): (usize, &OffsetStep)| {
            step.height_map == first.height_map
                && step.time_shift == first.time_shift + k * shift
                && step.params_start == k * heights.taps * self.filters_in
        };
        if !self.steps.iter().enumerate().all(follows) {
            return None;
        }
        let times = (self.steps.len(), shift * self.images, self.times_out * self.images);
        let filter = PlaneFilter::new(backend, times, heights, (self.filters_in, self.filters_out))?;
        Some((filter, first.time_shift * self.images))
    }

    /// The output times that are left to plain products.
    fn rest(&self, filter: Option<(PlaneFilter, usize)>) -> impl Iterator<Item = Range<usize>> + use<> {
        let images = self.images;
        let all = filter.is_none().then_some(0..self.times_out);
        let rows = filter.into_iter().flat_map(|(filter, _)| filter.rest());
        rows.map(move |rows| rows.start / images..rows.end / images).chain(all)
    }

    fn input_shape(&self) -> (usize, usize) {
        (self.times_in * self.images, self.height_in * self.filters_in)
    }

    /// Output heights as rows.
    fn output_rows(&self, output: &View<'_>, rows: Range<usize>) -> (usize, usize) {
        assert_eq!(output.cols(), self.height_out * self.filters_out, "columns of a convolution's output");
        (rows.len() * self.height_out, self.filters_out)
    }

    /// output = bias + convolution, the same bias (1 × filters) at each height. Input and output are contiguous, as in the
    /// next two methods.
    pub fn forward(
        &self,
        context: Context<'_>,
        output: ViewMut<'_>,
        input: View<'_>,
        (params, bias): (View<'_>, View<'_>),
    ) {
        let (rows, cols) = self.input_shape();
        let input = input.reshape(rows, cols);
        let filter = self.filter(context.backend);
        if let Some((filter, first)) = filter {
            filter.forward(context, output, input.row_range(first..rows), (params, bias));
        }
        for times in self.rest(filter) {
            self.forward_plain(context, times, output, input, (params, bias));
        }
    }

    fn forward_plain(
        &self,
        context: Context<'_>,
        times: Range<usize>,
        output: ViewMut<'_>,
        input: View<'_>,
        (params, bias): (View<'_>, View<'_>),
    ) {
        let mut temporary = context.workspace.take(self.temporary.0, self.temporary.1);
        for StepTimes { step, is_first, inputs, outputs } in self.pieces(times) {
            let (rows, filters) = self.output_rows(&output.as_view(), outputs.clone());
            let gathered = self.gather(context.backend, step, input.row_range(inputs), temporary.view_mut());
            let weights = params.col_range(self.params(step));
            let output = output.row_range(outputs).reshape(rows, filters);
            match is_first {
                true => context
                    .backend
                    .gemm_with_bias(Gemm::set(output, gathered, weights.transposed()).with_bias(bias)),
                false => context.backend.gemm(Gemm::add(output, gathered, weights.transposed())),
            }
        }
    }

    /// Adds the derivative with respect to the input.
    pub(crate) fn backward_data(
        &self,
        context: Context<'_>,
        in_deriv: ViewMut<'_>,
        out_deriv: View<'_>,
        params: View<'_>,
    ) {
        let (rows, cols) = self.input_shape();
        let in_deriv = in_deriv.reshape(rows, cols);
        let filter = self.filter(context.backend);
        if let Some((filter, first)) = filter {
            filter.backward_data(context, in_deriv.row_range(first..rows), out_deriv, params);
        }
        for times in self.rest(filter) {
            self.backward_data_plain(context, times, in_deriv, out_deriv, params);
        }
    }

    fn backward_data_plain(
        &self,
        context: Context<'_>,
        times: Range<usize>,
        in_deriv: ViewMut<'_>,
        out_deriv: View<'_>,
        params: View<'_>,
    ) {
        let backend = context.backend;
        let mut temporary = context.workspace.take(self.temporary.0, self.temporary.1);
        for StepTimes { step, inputs, outputs, .. } in self.pieces(times) {
            let (rows, filters) = self.output_rows(&out_deriv, outputs.clone());
            let weights = params.col_range(self.params(step));
            let into = in_deriv.row_range(inputs);
            let deriv = out_deriv.row_range(outputs).reshape(rows, filters);
            if step.gather == Gather::All {
                backend.gemm(Gemm::add(into.reshape(rows, weights.cols()), deriv, weights));
                continue;
            }
            let gathered = self.part(step, into.rows(), temporary.view_mut());
            backend.gemm(Gemm::set(gathered.reshape(rows, weights.cols()), deriv, weights));
            match &step.gather {
                Gather::All => {}
                Gather::Range(columns) => {
                    backend.add(into.col_range(columns.clone()), 1.0, gathered.as_view())
                }
                Gather::Map(columns) => backend.add_to_cols(into, gathered.as_view(), columns),
            }
        }
    }

    /// The rows of the derivative, seen as rows of output heights.
    pub fn heights<'v>(&self, out_deriv: View<'v>) -> View<'v> {
        let filters = self.filters_out;
        out_deriv.reshape(out_deriv.rows() * out_deriv.cols() / filters, filters)
    }

    /// Adds `rate` × the derivative with respect to the parameters.
    pub(crate) fn backward_params(
        &self,
        context: Context<'_>,
        params_deriv: ViewMut<'_>,
        rate: f32,
        input: View<'_>,
        out_deriv: View<'_>,
    ) {
        let (rows, cols) = self.input_shape();
        let input = input.reshape(rows, cols);
        let filter = self.filter(context.backend);
        if let Some((filter, first)) = filter {
            filter.backward_params(context, params_deriv, rate, input.row_range(first..rows), out_deriv);
        }
        for times in self.rest(filter) {
            self.backward_params_plain(context, times, params_deriv, rate, input, out_deriv);
        }
    }

    fn backward_params_plain(
        &self,
        context: Context<'_>,
        times: Range<usize>,
        params_deriv: ViewMut<'_>,
        rate: f32,
        input: View<'_>,
        out_deriv: View<'_>,
    ) {
        let mut temporary = context.workspace.take(self.temporary.0, self.temporary.1);
        for StepTimes { step, inputs, outputs, .. } in self.pieces(times) {
            let (rows, filters) = self.output_rows(&out_deriv, outputs.clone());
            let gathered = self.gather(context.backend, step, input.row_range(inputs), temporary.view_mut());
            let deriv = out_deriv.row_range(outputs).reshape(rows, filters);
            context.backend.gemm(
                Gemm::add(params_deriv.col_range(self.params(step)), deriv.transposed(), gathered)
                    .times(rate),
            );
        }
    }

    /// The step's columns of the parameters.
    fn params(&self, step: &OffsetStep) -> Range<usize> {
        step.params_start..step.params_start + step.height_map.len() / self.height_out * self.filters_in
    }

    /// Takes the part of `temporary` that the step's columns need.
    fn part<'t>(&self, step: &OffsetStep, rows: usize, temporary: ViewMut<'t>) -> ViewMut<'t> {
        let (len, cols) = (temporary.rows() * temporary.cols(), step.height_map.len() * self.filters_in);
        temporary.reshape(1, len).col_range(0..rows * cols).reshape(rows, cols)
    }

    /// Collects the columns that the step reads from some input rows, with output heights as rows.
    fn gather<'t>(
        &self,
        backend: &dyn Backend,
        step: &OffsetStep,
        input: View<'t>,
        temporary: ViewMut<'t>,
    ) -> View<'t> {
        let shape = (input.rows() * self.height_out, self.params(step).len());
        match &step.gather {
            Gather::All => return input.reshape(shape.0, shape.1),
            Gather::Range(columns) => {
                backend.copy(self.part(step, input.rows(), temporary), input.col_range(columns.clone()))
            }
            Gather::Map(columns) => {
                backend.copy_cols(self.part(step, input.rows(), temporary), input, columns)
            }
        }
        self.part(step, input.rows(), temporary).as_view().reshape(shape.0, shape.1)
    }

    /// Checks that this plan, which may come from a file, belongs to this model and these numbers of rows.
    pub(crate) fn check_fit(&self, model: &ConvolutionModel, input_rows: usize, output_rows: usize) -> Fit {
        fit::count("input filters", self.filters_in, model.filters_in)?;
        fit::count("output filters", self.filters_out, model.filters_out)?;
        fit::count("output heights", self.height_out, model.height_out)?;
        fit::require(self.height_in.is_multiple_of(model.height_in), || {
            let (found, expected) = (self.height_in, model.height_in);
            format!("the precomputed indexes have input height {found}, not a multiple of {expected}")
        })?;
        let rows = |times: usize| times.saturating_mul(self.images);
        fit::count(
            "input rows",
            rows(self.times_in).saturating_mul(self.height_in / model.height_in),
            input_rows,
        )?;
        fit::count("output rows", rows(self.times_out), output_rows)?;
        let cols = model.param_cols();
        fit::require(self.steps.iter().all(|step| self.params(step).end <= cols), || {
            format!("the precomputed indexes read beyond the {cols} columns of parameters")
        })
    }
}
