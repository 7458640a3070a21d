//! Statistics and self-repair of the tanh inside GRU components: they gather and repair during backprop.

use crate::declared::*;
use crate::{Component, Context, fields};
use kaldi_io::reader::KaldiReader;
use kaldi_io::text::format_g;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::{number, summarize};
use nnet3_matrix::{
    Accumulator, Activation, Averages, Backend, Band, ColumnTerm, Count, Factor, View, ViewMut,
};

const THRESHOLD: Field<f32> = field(
    "self-repair-threshold",
    "<SelfRepairThreshold>",
    "average derivative below which units are repaired",
)
.or(0.2)
.range_of_key(NOT_NEGATIVE);
const SCALE: Field<f32> = field("self-repair-scale", "<SelfRepairScale>", "size of the repair term")
    .or(1e-5)
    .range_of_key(NOT_NEGATIVE);

/// Proportion of minibatches with statistics and repair; repair terms are divided by it.
const PROBABILITY: f32 = 0.5;

/// Sums of a tanh's values and derivatives.
#[derive(Clone, Debug)]
pub(crate) struct TanhStats {
    value_sum: Accumulator,
    deriv_sum: Accumulator,
    /// At [`REPAIRED`] the units under repair, summed over minibatches; at [`COUNT`] the number of rows.
    totals: Accumulator,
    threshold: f32,
    scale: f32,
}

/// Places in [`TanhStats::totals`].
const REPAIRED: usize = 0;
const COUNT: usize = 1;

impl TanhStats {
    fn new(dim: usize, threshold: f32, scale: f32) -> TanhStats {
        TanhStats {
            value_sum: Accumulator::zeros(dim),
            deriv_sum: Accumulator::zeros(dim),
            totals: Accumulator::zeros(2),
            threshold,
            scale,
        }
    }

    /// Visits all from `<ValueAvg>` to `<SelfRepairScale>`.
    pub fn fields<C: Component>(
        f: &mut Fields<'_, C>,
        dim: usize,
        of: impl Fn(&C) -> &TanhStats + Copy,
    ) -> Result<TanhStats> {
        let mut stats = TanhStats::new(dim, 0.0, 0.0);
        if let Some(r) = f.reader() {
            stats.read(r)?;
        } else if let Some((w, c)) = f.writer() {
            of(c).write(w)?;
        }
        stats.threshold = f.get(&THRESHOLD, |c| of(c).threshold)?;
        stats.scale = f.get(&SCALE, |c| of(c).scale)?;
        f.note(|c, _| of(c).info());
        Ok(stats)
    }

    /// Reads the statistics.
    fn read(&mut self, r: &mut KaldiReader) -> Result<()> {
        let dim = self.value_sum.len();
        let mut read_average = |token: &str| -> Result<Accumulator> {
            let values = fields::read_stats(r, token, dim)?;
            fields::check(r, values.len() == dim, || {
                format!("{token}: expected {dim} elements, found none")
            })?;
            Ok(Accumulator::from_vec(values))
        };
        (self.value_sum, self.deriv_sum) = (read_average("<ValueAvg>")?, read_average("<DerivAvg>")?);
        let repaired = fields::read_f64(r, "<SelfRepairTotal>")?;
        let count = fields::read_f64(r, "<Count>")?;
        self.value_sum.scale(count);
        self.deriv_sum.scale(count);
        self.totals = Accumulator::from_vec(vec![repaired, count]);
        Ok(())
    }

    /// Writes the statistics.
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        let [repaired, count] = self.totals();
        fields::write_vector(w, "<ValueAvg>", &fields::averages(&self.value_sum, count))?;
        fields::write_vector(w, "<DerivAvg>", &fields::averages(&self.deriv_sum, count))?;
        fields::write_f64(w, "<SelfRepairTotal>", repaired)?;
        fields::write_f64(w, "<Count>", count)
    }

    /// Describes the statistics.
    fn info(&self) -> String {
        let [repaired, count] = self.totals();
        if count <= 0.0 {
            return String::new();
        }
        let dim = self.value_sum.len() as f64;
        format!(
            ", count={}, self-repaired-proportion={}, value-avg={}, deriv-avg={}",
            format_g(count, 3),
            number(repaired / (count * dim)),
            summarize(&fields::averages(&self.value_sum, count)),
            summarize(&fields::averages(&self.deriv_sum, count))
        )
    }

    /// The number of units under repair, summed over minibatches, and the number of rows.
    fn totals(&self) -> [f64; 2] {
        let totals = self.totals.values();
        [totals[REPAIRED], totals[COUNT]]
    }

    /// On one call out of two: adds the tanh's output `h` to the statistics. Then pulls `deriv` (with respect to its
    /// input) towards 0 for units with a small average derivative.
    pub(crate) fn store_and_repair(&mut self, context: Context<'_>, h: View<'_>, deriv: ViewMut<'_>) {
        // Before chance decides, so that the pool has it in every later run.
        let mut repaired = context.workspace.take(1, self.value_sum.len());
        let mut one = context.workspace.take(1, 1);
        if context.random.uniform() > PROBABILITY {
            return;
        }
        let backend = context.backend;
        backend.set(one.view_mut(), 1.0);
        backend.accumulate_row(&mut self.totals, COUNT, h.rows() as f64, one.view());
        backend.accumulate(&mut self.value_sum, 0, h, ColumnTerm::Value);
        backend.accumulate(&mut self.deriv_sum, 0, h, ColumnTerm::Derivative(Activation::Tanh));
        // Below it, not at it.
        let band = Band { low: (self.threshold as f64).next_down(), high: f64::INFINITY };
        let count = Count::Sum(&mut self.totals, COUNT);
        let averages = Averages { sums: &mut self.deriv_sum, first: 0, blocks: 1, count };
        backend.compare_averages(repaired.view_mut(), averages, band);
        let ones = repaired.view();
        backend.accumulate_dot(&mut self.totals, REPAIRED, 1.0, ones, ones);
        backend.add_scaled_cols(deriv, -self.scale / PROBABILITY, repaired.view(), h);
    }

    /// Takes or puts back all sums.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        let dim = self.value_sum.len();
        self.all_mut().into_iter().zip([dim, dim, 2]).try_for_each(|(sums, len)| keeper.sums(sums, len))
    }

    /// Multiplies all sums; 0 gives exact zeros.
    pub fn scale(&mut self, factor: f32) {
        self.all_mut().into_iter().for_each(|sums| sums.scale(factor as f64));
    }

    pub fn add(&mut self, alpha: f32, other: &TanhStats) {
        self.all_mut().into_iter().zip(other.all()).for_each(|(sums, more)| sums.add(alpha as f64, more));
    }

    /// As [`TanhStats::scale`], by a factor that lies on the device.
    pub fn scale_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        self.all_mut().into_iter().for_each(|sums| backend.scale_sums_by(sums, factor));
    }

    /// As [`TanhStats::add`], with an alpha that lies on the device. An alpha of 0 adds zero.
    pub fn add_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &TanhStats) {
        let pairs = self.all_mut().into_iter().zip(other.all());
        pairs.for_each(|(sums, more)| backend.add_sums_by(sums, alpha, more));
    }

    fn all(&self) -> [&Accumulator; 3] {
        [&self.value_sum, &self.deriv_sum, &self.totals]
    }

    fn all_mut(&mut self) -> [&mut Accumulator; 3] {
        [&mut self.value_sum, &mut self.deriv_sum, &mut self.totals]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use nnet3_matrix::Matrix;

    fn stats(threshold: f32) -> TanhStats {
        TanhStats::new(2, threshold, 0.25)
    }

    /// Unit 0 is far out (average derivative 0.19), unit 1 is not (0.75): only the first is repaired.
    #[test]
    fn statistics_and_repair_by_hand() {
        let harness = Harness::new();
        let h = Matrix::from_vec(2, 2, vec![0.9, 0.5, -0.9, 0.5]);
        let (mut stats, mut calls) = (stats(0.2), 0);
        for _ in 0..1000 {
            let mut deriv = filled(2, 2, 1.0);
            let before = stats.totals();
            stats.store_and_repair(harness.context(), h.view(), deriv.view_mut());
            if stats.totals() != before {
                calls += 1;
                assert_near(&deriv.to_vec(), &[1.0 - 0.5 * 0.9, 1.0, 1.0 + 0.5 * 0.9, 1.0], 1e-6, "repaired");
            } else {
                assert_eq!(deriv.to_vec(), [1.0; 4]);
            }
        }
        assert!((440..560).contains(&calls), "{calls} of 1000");
        let rows = 2.0 * calls as f64;
        assert_eq!(stats.totals(), [calls as f64, rows]);
        assert!(
            stats.value_sum.values()[0].abs() < 1e-3
                && (stats.value_sum.values()[1] - 0.5 * rows).abs() < 1e-3
        );
        assert!((stats.deriv_sum.values()[0] - 0.19 * rows).abs() < 1e-3);

        stats.scale(0.0);
        stats.totals = Accumulator::from_vec(vec![3.0, 8.0]);
        assert!(
            stats.info().contains(", count=8, self-repaired-proportion=0.1875, value-avg=[ 0 0 ]"),
            "{}",
            stats.info()
        );
    }

    #[test]
    fn stored_form() {
        let mut first = stats(0.5);
        first.value_sum = Accumulator::from_vec(vec![4.0, 2.0]);
        first.deriv_sum = Accumulator::from_vec(vec![1.0, 3.0]);
        first.totals = Accumulator::from_vec(vec![7.0, 4.0]);
        let mut doubled = stats(0.5);
        doubled.add(2.0, &first);
        doubled.scale(0.5);
        let mut w = KaldiWriter::in_memory(false);
        doubled.write(&mut w).unwrap();
        let text = String::from_utf8(w.into_bytes()).unwrap();
        let expected = "<ValueAvg>  [ 1 0.5 ]\n<DerivAvg>  [ 0.25 0.75 ]\n<SelfRepairTotal> 7 <Count> 4 ";
        assert_eq!(text, expected);
        let mut again = stats(0.5);
        again.read(&mut KaldiReader::from_bytes("test", text.into_bytes())).unwrap();
        assert_eq!(format!("{again:?}"), format!("{first:?}"));
    }
}
