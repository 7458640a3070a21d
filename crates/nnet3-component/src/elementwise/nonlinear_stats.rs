//! Parts shared by Sigmoid, Tanh, RectifiedLinear, Softmax and LogSoftmax (`NonlinearComponent` of the reference).
//! These are dimension, self-repair settings and activation statistics, with their config keys, file form and info
//! text.

use crate::declared::*;
use crate::fields::{self};
use crate::parameters::{BLOCK_DIM, DIM};
use crate::tally::Tally;
use crate::{Component, Context, parameters};
use kaldi_io::reader::KaldiReader;
use kaldi_io::text::format_g;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::{number, summarize};
use nnet3_matrix::{
    Accumulator, Activation, Averages, Backend, Band, ColumnTerm, Count, Factor, View, ViewMut,
};

/// Value in files and configs of a threshold that is not set.
const UNSET: f32 = -1000.0;

const BLOCK: Field<usize> =
    BLOCK_DIM.meaning("self-repair sees blocks of this many columns (RectifiedLinear only)").written_if_set();
const LOWER_THRESHOLD: Field<f32> = field(
    "self-repair-lower-threshold",
    "<SelfRepairLowerThreshold>",
    "average derivative below which units are repaired",
)
.or(UNSET)
.or_by("unset")
.written_if_set();
const UPPER_THRESHOLD: Field<f32> = field(
    "self-repair-upper-threshold",
    "<SelfRepairUpperThreshold>",
    "average derivative above which units are repaired (RectifiedLinear only)",
)
.or(UNSET)
.or_by("unset")
.written_if_set();
const SCALE: Field<f32> =
    field("self-repair-scale", "<SelfRepairScale>", "size of the repair term, below 0.1; 0 is none")
        .or(0.0)
        .range_of_key(Range {
            contains: |scale| (0.0..0.1).contains(&scale),
            must: "be at least 0 and below 0.1",
            expected: "a number from 0 to 0.1",
        })
        .written_if_set();

fn threshold(value: f32) -> Option<f32> {
    if value == UNSET { None } else { Some(value) }
}

/// Dimension, self-repair settings and statistics of a nonlinearity.
#[derive(Clone, Debug)]
pub(crate) struct NonlinearStats {
    pub dim: usize,
    /// Divides `dim`; self-repair of RectifiedLinear treats the columns as blocks of this size.
    pub block_dim: usize,
    pub self_repair_lower_threshold: Option<f32>,
    pub self_repair_upper_threshold: Option<f32>,
    pub self_repair_scale: f32,
    /// Sums of outputs over `count` rows. Empty, as the other sums, until the first use.
    value_sum: Accumulator,
    deriv_sum: Accumulator,
    count: Tally,
    /// Sums of squared output derivatives over `oderiv_count` rows.
    oderiv_sumsq: Accumulator,
    oderiv_count: Tally,
    /// One sum.
    dims_self_repaired: Accumulator,
    dims_processed: Tally,
}

impl NonlinearStats {
    fn new(dim: usize, block_dim: usize) -> NonlinearStats {
        NonlinearStats {
            dim,
            block_dim,
            self_repair_lower_threshold: None,
            self_repair_upper_threshold: None,
            self_repair_scale: 0.0,
            value_sum: Accumulator::default(),
            deriv_sum: Accumulator::default(),
            count: Tally::default(),
            oderiv_sumsq: Accumulator::default(),
            oderiv_count: Tally::default(),
            dims_self_repaired: Accumulator::zeros(1),
            dims_processed: Tally::default(),
        }
    }

    // ---- fields ------------------------------------------------------------------------------------------------

    /// Visits all fields. Accepted older forms: without `<BlockDim>`, without the statistics of output derivatives,
    /// without any of the fields after them.
    pub fn fields<C: Component>(
        f: &mut Fields<'_, C>,
        of: impl Fn(&C) -> &NonlinearStats + Copy,
    ) -> Result<NonlinearStats> {
        let dim = f.get(&DIM, |c| of(c).dim)?;
        let block_dim = f.get_or(&BLOCK, dim, |c| of(c).block_dim)?;
        f.check_divides((&DIM, dim), (&BLOCK, block_dim))?;
        let mut s = NonlinearStats::new(dim, block_dim);
        if let Some((w, c)) = f.writer() {
            of(c).write_statistics(w)?;
        } else if let Some(r) = f.reader() {
            s.read_statistics(r)?;
        }
        let unset = |threshold: Option<f32>| threshold.unwrap_or(UNSET);
        let lower = f.get(&LOWER_THRESHOLD, |c| unset(of(c).self_repair_lower_threshold))?;
        let upper = f.get(&UPPER_THRESHOLD, |c| unset(of(c).self_repair_upper_threshold))?;
        (s.self_repair_lower_threshold, s.self_repair_upper_threshold) = (threshold(lower), threshold(upper));
        s.self_repair_scale = f.get(&SCALE, |c| of(c).self_repair_scale)?;
        f.note(|c, _| of(c).info_of_statistics());
        Ok(s)
    }

    fn read_statistics(&mut self, r: &mut KaldiReader) -> Result<()> {
        self.value_sum = Accumulator::from_vec(fields::read_stats(r, "<ValueAvg>", self.dim)?);
        self.deriv_sum = Accumulator::from_vec(fields::read_stats(r, "<DerivAvg>", self.dim)?);
        let (count, mut oderiv_count) = (fields::read_f64(r, "<Count>")?, 0.0);
        if r.accept_token("<OderivRms>")? {
            let rms = fields::stats(r, "<OderivRms>", self.dim)?;
            self.oderiv_sumsq = Accumulator::from_vec(rms.iter().map(|v| v * v).collect());
            oderiv_count = fields::read_f64(r, "<OderivCount>")?;
        }
        self.value_sum.scale(count);
        self.deriv_sum.scale(count);
        self.oderiv_sumsq.scale(oderiv_count);
        (self.count, self.oderiv_count) = (Tally::new(count), Tally::new(oderiv_count));
        if r.accept_token("<NumDimsSelfRepaired>")? {
            self.dims_self_repaired = Accumulator::from_vec(vec![r.read_f64()?]);
        }
        if r.accept_token("<NumDimsProcessed>")? {
            self.dims_processed = Tally::new(r.read_f64()?);
        }
        Ok(())
    }

    fn write_statistics(&self, w: &mut KaldiWriter) -> Result<()> {
        let (count, oderiv_count) = (self.count.value(), self.oderiv_count.value());
        fields::write_vector(w, "<ValueAvg>", &fields::averages(&self.value_sum, count))?;
        fields::write_vector(w, "<DerivAvg>", &fields::averages(&self.deriv_sum, count))?;
        fields::write_f64(w, "<Count>", count)?;
        let mean_squares = fields::averages(&self.oderiv_sumsq, oderiv_count);
        let rms: Vec<f32> = mean_squares.iter().map(|v| v.max(0.0).sqrt()).collect();
        fields::write_vector(w, "<OderivRms>", &rms)?;
        fields::write_f64(w, "<OderivCount>", oderiv_count)?;
        fields::write_f64(w, "<NumDimsSelfRepaired>", self.dims_self_repaired.values()[0])?;
        fields::write_f64(w, "<NumDimsProcessed>", self.dims_processed.value())
    }

    fn info_of_statistics(&self) -> String {
        let mut out = String::new();
        let [count, oderiv_count, processed] =
            [&self.count, &self.oderiv_count, &self.dims_processed].map(Tally::value);
        if count > 0.0 && self.value_sum.len() == self.dim {
            let repaired = match processed > 0.0 {
                true => self.dims_self_repaired.values()[0] / processed,
                false => 0.0,
            };
            out += &format!(", count={}, self-repaired-proportion={}", format_g(count, 3), number(repaired));
            out += &format!(", value-avg={}", summarize(&fields::averages(&self.value_sum, count)));
            if self.deriv_sum.len() == self.dim {
                out += &format!(", deriv-avg={}", summarize(&rounded(&self.deriv_sum, count, |v| v)));
            }
        }
        if oderiv_count > 0.0 && self.oderiv_sumsq.len() == self.dim {
            let rms = rounded(&self.oderiv_sumsq, oderiv_count, |v| v.max(0.0).sqrt());
            out += &format!(", oderiv-rms={}, oderiv-count={}", summarize(&rms), number(oderiv_count));
        }
        out
    }

    // ---- statistics --------------------------------------------------------------------------------------------

    pub fn count(&self) -> &Tally {
        &self.count
    }

    /// Adds the rows of `output`, and of the derivative of `activation` there if given.
    pub fn store(&mut self, context: Context<'_>, output: View<'_>, activation: Option<Activation>) {
        let [values, derivs] = self.begin_store(output.rows(), activation.is_some());
        for rows in parameters::cached_rows(context.backend, output.rows(), output.cols()) {
            let output = output.row_range(rows);
            context.backend.accumulate(values, 0, output, ColumnTerm::Value);
            if let Some(activation) = activation {
                context.backend.accumulate(derivs, 0, output, ColumnTerm::Derivative(activation));
            }
        }
    }

    /// Counts rows of outputs, and of derivatives if `with_derivs`. Returns the sums over rows of both: the caller must add to
    /// them.
    pub(crate) fn begin_store(&mut self, rows: usize, with_derivs: bool) -> [&mut Accumulator; 2] {
        if self.value_sum.len() != self.dim {
            self.value_sum = Accumulator::zeros(self.dim);
            self.count = Tally::default();
        }
        if with_derivs && self.deriv_sum.len() != self.dim {
            self.deriv_sum = Accumulator::zeros(self.dim);
            self.value_sum.scale(0.0);
            self.count = Tally::default();
        }
        self.count.increase(rows as f64);
        [&mut self.value_sum, &mut self.deriv_sum]
    }

    /// Adds the squares of output derivatives, on three calls out of four; always on the first.
    pub(crate) fn store_backprop(&mut self, context: Context<'_>, out_deriv: View<'_>) {
        if let Some(squares) = self.begin_backprop(context, out_deriv.rows()) {
            context.backend.accumulate(squares, 0, out_deriv, ColumnTerm::Square);
        }
    }

    /// Decides if [`NonlinearStats::store_backprop`] adds to the statistics this time. If it does, counts the rows and returns the
    /// sums of squares over rows: the caller must add all rows to them.
    pub(crate) fn begin_backprop(&mut self, context: Context<'_>, rows: usize) -> Option<&mut Accumulator> {
        if context.random.int(0, 3) == 0 && !self.oderiv_count.is_zero() {
            return None;
        }
        if self.oderiv_sumsq.len() != self.dim {
            self.oderiv_sumsq = Accumulator::zeros(self.dim);
            self.oderiv_count = Tally::default();
        }
        self.oderiv_count.increase(rows as f64);
        Some(&mut self.oderiv_sumsq)
    }

    /// Counts `processed` dimensions as examined by self-repair, and those with nonzero `terms` (±1) as repaired.
    pub(crate) fn count_repair(&mut self, context: Context<'_>, processed: f64, terms: Option<View<'_>>) {
        self.dims_processed.increase(processed);
        if let Some(terms) = terms {
            context.backend.accumulate_dot(&mut self.dims_self_repaired, 0, 1.0, terms, terms);
        }
    }

    /// True if this minibatch's derivatives are repaired: one in two is, as soon as there are statistics.
    pub(crate) fn repairs_now(&self, context: Context<'_>) -> bool {
        self.can_repair() && context.random.uniform() <= REPAIR_PROBABILITY
    }

    fn can_repair(&self) -> bool {
        self.self_repair_scale != 0.0 && !self.count.is_zero() && self.deriv_sum.len() == self.dim
    }

    /// Sets `terms` by the average derivative of each column of a block, over rows and blocks: +1 if it is too small, -1 if it is
    /// too large, else 0. With blocks of another size than `terms` each column is one of its own. A count below 0, as the first
    /// step of backstitch can leave, turns the signs, as in the reference.
    pub(crate) fn compare_derivatives(&mut self, context: Context<'_>, terms: ViewMut<'_>, band: Band) {
        let blocks = self.dim / terms.cols();
        let known = self.count.known();
        let count = match known {
            Some(count) => Count::Known(count),
            None => Count::Sum(self.count.on_device(), 0),
        };
        let averages = Averages { sums: &mut self.deriv_sum, first: 0, blocks, count };
        context.backend.compare_averages(terms, averages, band);
        if known.is_some_and(|count| count < 0.0) {
            context.backend.scale(terms, -1.0);
        }
    }

    pub fn scale(&mut self, factor: f32) {
        let factor = factor as f64;
        self.sums_mut().into_iter().for_each(|sums| sums.scale(factor));
        self.counts_mut().into_iter().for_each(|count| count.scale(factor));
    }

    pub fn add(&mut self, alpha: f32, other: &NonlinearStats) {
        let alpha = alpha as f64;
        self.sums_mut().into_iter().zip(other.sums()).for_each(|(sums, more)| sums.add(alpha, more));
        self.counts_mut().into_iter().zip(other.counts()).for_each(|(count, more)| count.add(alpha, more));
    }

    /// As [`NonlinearStats::scale`], by a factor that lies on the device.
    pub fn scale_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        self.sums_mut().into_iter().for_each(|sums| backend.scale_sums_by(sums, factor));
        self.counts_mut().into_iter().for_each(|count| count.scale_by(backend, factor));
    }

    /// As [`NonlinearStats::add`], with an alpha that lies on the device. An alpha of 0 adds zero.
    pub fn add_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &NonlinearStats) {
        let sums = self.sums_mut().into_iter().zip(other.sums());
        sums.for_each(|(sums, more)| backend.add_sums_by(sums, alpha, more));
        let counts = self.counts_mut().into_iter().zip(other.counts());
        counts.for_each(|(count, more)| count.add_by(backend, alpha, more));
    }

    /// Takes or puts back all sums and counts.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        let lens = [self.dim, self.dim, self.dim, 1];
        self.sums_mut().into_iter().zip(lens).try_for_each(|(sums, len)| keeper.sums(sums, len))?;
        self.counts_mut().into_iter().try_for_each(|count| count.keep(keeper))
    }

    fn sums(&self) -> [&Accumulator; 4] {
        [&self.value_sum, &self.deriv_sum, &self.oderiv_sumsq, &self.dims_self_repaired]
    }
    fn sums_mut(&mut self) -> [&mut Accumulator; 4] {
        [&mut self.value_sum, &mut self.deriv_sum, &mut self.oderiv_sumsq, &mut self.dims_self_repaired]
    }
    fn counts(&self) -> [&Tally; 3] {
        [&self.count, &self.oderiv_count, &self.dims_processed]
    }
    fn counts_mut(&mut self) -> [&mut Tally; 3] {
        [&mut self.count, &mut self.oderiv_count, &mut self.dims_processed]
    }
}

/// Proportion of minibatches with self-repair; its terms are divided by this.
pub(crate) const REPAIR_PROBABILITY: f32 = 0.5;

/// Averages formed in double precision.
fn rounded(sums: &Accumulator, count: f64, f: impl Fn(f64) -> f64) -> Vec<f32> {
    sums.values().iter().map(|&sum| f(sum / count) as f32).collect()
}
