//! BackpropTruncationComponent: limits derivatives by row norm, and from time to time zeroes large ones, so that the
//! derivatives of recurrent networks do not explode.

use crate::capabilities::{Indexed, Statistics};
use crate::declared::*;
use crate::fields::{self};
use crate::parameters::DIM;
use crate::parameters::copy_unless_same;
use crate::registry::PrecomputedReader;
use crate::tally::Tally;
use crate::{
    Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties, Update, fit,
    precomputed,
};
use kaldi_io::reader::KaldiReader;
use kaldi_io::text::format_g;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::number;
use nnet3_matrix::{Accumulator, Backend, ColumnTerm, Factor, IndexTable, Map, View, ViewMut};

pub const TYPES: &[&ComponentType] = &[Truncation::TYPE];

const SCALE: Field<f32> =
    field("scale", "<Scale>", "multiplies outputs and derivatives").or(1.0).range_of_key(ABOVE_0).may_miss();
const CLIPPING_THRESHOLD: Field<f32> =
    field("clipping-threshold", "<ClippingThreshold>", "largest norm of a row of derivatives; 0 is no limit")
        .or(30.0)
        .range_of_key(FROM_0)
        .hidden();
const ZEROING_THRESHOLD: Field<f32> = field(
    "zeroing-threshold",
    "<ZeroingThreshold>",
    "norm above which rows at boundaries are zeroed; 0 is never",
)
.or(15.0)
.range_of_key(FROM_0)
.hidden();
const ZEROING_INTERVAL: Field<usize> =
    field("zeroing-interval", "<ZeroingInterval>", "a boundary comes after this many frames").or(20).hidden();
const RECURRENCE_INTERVAL: Field<usize> =
    field("recurrence-interval", "<RecurrenceInterval>", "frames between a frame and the one it depends on")
        .or(1)
        .hidden();

pub(crate) const PRECOMPUTED: &[PrecomputedReader] =
    &[("BackpropTruncationComponentPrecomputedIndexes", Zeroing::read)];

/// The value that replaces a threshold of 0.
const NO_LIMIT: f32 = 1e10;

#[derive(Clone, Debug)]
struct Truncation {
    dim: usize,
    scale: f32,
    clipping_threshold: f32,
    zeroing_threshold: f32,
    zeroing_interval: i32,
    recurrence_interval: i32,
    stats: Stats,
}

#[derive(Clone, Debug)]
struct Stats {
    /// Numbers of clipped rows and of zeroed rows (of `boundaries`).
    changed: Accumulator,
    /// The number of all rows.
    count: Tally,
    boundaries: Tally,
}

/// Places in [`Stats::changed`].
const CLIPPED: usize = 0;
const ZEROED: usize = 1;

impl Default for Stats {
    fn default() -> Stats {
        Stats { changed: Accumulator::zeros(2), count: Tally::default(), boundaries: Tally::default() }
    }
}

impl Truncation {
    fn scaled(&self, context: Context<'_>, dst: ViewMut<'_>, src: View<'_>) {
        match self.scale == 1.0 {
            true => copy_unless_same(context, dst, src),
            false => context.backend.copy_scaled(dst, self.scale, src),
        }
    }
}

/// The rows that are at boundaries.
#[derive(Clone, Debug)]
struct Zeroing {
    /// -1 for a row at a boundary, else 0.
    zeroing: Vec<f32>,
    /// Number of rows at boundaries.
    sum: f32,
    /// 0 for a row at a boundary, -1 for none.
    rows: IndexTable,
}

impl Zeroing {
    fn new(zeroing: Vec<f32>, sum: f32) -> Zeroing {
        let rows = zeroing.iter().map(|&zeroing| if zeroing == 0.0 { -1 } else { 0 });
        Zeroing { rows: IndexTable::new(rows.collect()), zeroing, sum }
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn PrecomputedIndexes>> {
        r.expect_token("<Zeroing>")?;
        let zeroing = kaldi_io::matrix::read_vector(r)?;
        let sum = fields::read_f32(r, "<ZeroingSum>")?;
        r.expect_token("</BackpropTruncationComponentPrecomputedIndexes>")?;
        Ok(Box::new(Zeroing::new(zeroing, sum)))
    }
}

impl PrecomputedIndexes for Zeroing {
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<BackpropTruncationComponentPrecomputedIndexes>")?;
        fields::write_vector(w, "<Zeroing>", &self.zeroing)?;
        fields::write_f32(w, "<ZeroingSum>", self.sum)?;
        w.write_token("</BackpropTruncationComponentPrecomputedIndexes>")?;
        Ok(())
    }
}

impl Declared for Truncation {
    const TYPE: &'static ComponentType = &ComponentType::of::<Truncation>(
        "BackpropTruncationComponent",
        "Multiplies by a number and limits derivatives, for recurrent networks.",
        "dim=4 scale=0.5 zeroing-interval=3",
    );

    fn fields(f: &mut Fields<'_, Truncation>) -> Result<Option<Truncation>> {
        let mut c = Truncation {
            dim: f.get(&DIM, |c| c.dim)?,
            scale: f.get(&SCALE, |c| c.scale)?,
            clipping_threshold: f.get(&CLIPPING_THRESHOLD, |c| c.clipping_threshold)?,
            zeroing_threshold: f.get(&ZEROING_THRESHOLD, |c| c.zeroing_threshold)?,
            zeroing_interval: f.get(&ZEROING_INTERVAL, |c| c.zeroing_interval as usize)? as i32,
            recurrence_interval: f.get(&RECURRENCE_INTERVAL, |c| c.recurrence_interval as usize)? as i32,
            stats: Stats::default(),
        };
        if let Some(r) = f.reader() {
            c.stats = Stats::read(r)?;
        } else if let Some((w, c)) = f.writer() {
            c.stats.write(w)?;
        }
        f.note(|c, _| c.info_of_statistics());
        f.done(c)
    }
}

impl Stats {
    fn read(r: &mut KaldiReader) -> Result<Stats> {
        let clipped = fields::read_f64(r, "<NumElementsClipped>")?;
        let changed = Accumulator::from_vec(vec![clipped, fields::read_f64(r, "<NumElementsZeroed>")?]);
        let count = Tally::new(fields::read_f64(r, "<NumElementsProcessed>")?);
        Ok(Stats { changed, count, boundaries: Tally::new(fields::read_f64(r, "<NumZeroingBoundaries>")?) })
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        let changed = self.changed.values();
        fields::write_f64(w, "<NumElementsClipped>", changed[CLIPPED])?;
        fields::write_f64(w, "<NumElementsZeroed>", changed[ZEROED])?;
        fields::write_f64(w, "<NumElementsProcessed>", self.count.value())?;
        fields::write_f64(w, "<NumZeroingBoundaries>", self.boundaries.value())
    }
}

impl Truncation {
    fn info_of_statistics(&self) -> String {
        let Stats { changed, count, boundaries } = &self.stats;
        let (changed, count, boundaries) = (changed.values(), count.value(), boundaries.value());
        let proportion = |part: f64, whole: f64| number(if whole > 0.0 { part / whole } else { 0.0 });
        format!(
            ", count={}, recurrence-interval={}, clipping-threshold={}, clipped-proportion={}, \
             zeroing-threshold={}, zeroing-interval={}, zeroed-proportion={}, count-zeroing-boundaries={}",
            format_g(count, 3),
            self.recurrence_interval,
            number(self.clipping_threshold as f64),
            proportion(changed[CLIPPED], count),
            number(self.zeroing_threshold as f64),
            self.zeroing_interval,
            proportion(changed[ZEROED], boundaries),
            boundaries as i32
        )
    }
}

impl Component for Truncation {
    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }
    fn properties(&self) -> Properties {
        Properties::PROPAGATE_IN_PLACE | Properties::BACKPROP_IN_PLACE
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }
    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        true
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        self.scaled(context, output, input);
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, update: Update<'_>) {
        let Some(d) = args.in_deriv else { return };
        let boundaries: &Zeroing = precomputed(args.indexes);
        let backend = context.backend;
        self.scaled(context, d, args.out_deriv);
        let [clipping, zeroing] =
            [self.clipping_threshold, self.zeroing_threshold].map(|t| if t > 0.0 { t } else { NO_LIMIT });

        let mut columns = context.workspace.take(3, d.rows());
        let columns = columns.view_mut();
        let [norm, zeroed, at_boundary] = [0, 1, 2].map(|i| columns.row(i).reshape(d.rows(), 1));
        backend.row_dots(norm, 1.0, d.as_view(), d.as_view(), 0.0);
        // -1 for the rows to zero.
        let mut one = context.workspace.take(1, 1);
        backend.set(one.view_mut(), 1.0);
        backend.copy_rows(at_boundary, -1.0, one.view(), &boundaries.rows);
        backend.map(zeroed, norm.as_view(), Map::Affine { scale: 1.0, offset: -zeroing * zeroing });
        backend.map(zeroed, zeroed.as_view(), Map::Heaviside);
        backend.multiply(zeroed, at_boundary.as_view());

        if let Some(Truncation { stats, .. }) = update.target(self) {
            let clipped = ColumnTerm::AtLeast(clipping * clipping);
            backend.accumulate(&mut stats.changed, CLIPPED, norm.as_view(), clipped);
            // The square of -1 is 1.
            backend.accumulate(&mut stats.changed, ZEROED, zeroed.as_view(), ColumnTerm::Square);
            stats.count.increase(d.rows() as f64);
            stats.boundaries.increase(boundaries.sum as f64);
        }

        backend.map(zeroed, zeroed.as_view(), Map::Affine { scale: 1.0, offset: 1.0 });
        let relative = Map::Affine { scale: 1.0 / (clipping * clipping), offset: 0.0 };
        backend.map(norm, norm.as_view(), relative);
        backend.map(norm, norm.as_view(), Map::Floor(1.0));
        backend.map(norm, norm.as_view(), Map::Power(-0.5));
        backend.multiply(norm, zeroed.as_view());
        backend.scale_rows(d, norm.as_view());
    }
}

impl Indexed for Truncation {
    /// Marks boundaries: a row is at one if a multiple of the interval lies between it and the frame that it depends
    /// on. The sequence number n shifts the boundaries, so that they differ between sequences.
    fn precompute_indexes(
        &self,
        _inputs: &[Index],
        outputs: &[Index],
        _need_backprop: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let at_boundary = |output: &Index| {
            let t = output.t as i64 - output.n as i64;
            let interval = |t: i64| t.div_euclid(self.zeroing_interval as i64);
            interval(t) != interval(t - self.recurrence_interval as i64)
        };
        let zeroing: Vec<f32> = outputs.iter().map(|o| if at_boundary(o) { -1.0 } else { 0.0 }).collect();
        let sum = -zeroing.iter().sum::<f32>();
        Ok(Some(Box::new(Zeroing::new(zeroing, sum))))
    }

    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        _backprop: bool,
    ) -> fit::Fit {
        fit::same_rows(input_rows, output_rows)?;
        let boundaries: &Zeroing = fit::own(indexes)?;
        fit::count("rows", boundaries.zeroing.len(), output_rows)
    }
}

impl Statistics for Truncation {
    fn scale_stats(&mut self, factor: f32) {
        let factor = factor as f64;
        self.stats.changed.scale(factor);
        [&mut self.stats.count, &mut self.stats.boundaries].into_iter().for_each(|count| count.scale(factor));
    }

    fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        let other: &Truncation = crate::downcast(other);
        let (alpha, stats) = (alpha as f64, &mut self.stats);
        stats.changed.add(alpha, &other.stats.changed);
        stats.count.add(alpha, &other.stats.count);
        stats.boundaries.add(alpha, &other.stats.boundaries);
    }

    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        let Stats { changed, count, boundaries } = &mut self.stats;
        let len = changed.len();
        keeper.sums(changed, len)?;
        count.keep(keeper)?;
        boundaries.keep(keeper)
    }

    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        let Stats { changed, count, boundaries } = &mut self.stats;
        backend.scale_sums_by(changed, factor);
        [count, boundaries].into_iter().for_each(|count| count.scale_by(backend, factor));
    }

    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        let (stats, more) = (&mut self.stats, &crate::downcast::<Truncation>(other).stats);
        backend.add_sums_by(&mut stats.changed, alpha, &more.changed);
        stats.count.add_by(backend, alpha, &more.count);
        stats.boundaries.add_by(backend, alpha, &more.boundaries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use nnet3_matrix::Matrix;

    fn rows(times: i32) -> Vec<Index> {
        (-2..times).map(|t| Index::new(0, t, 0)).collect()
    }

    #[test]
    fn derivatives_and_forms() {
        Check::new("type=BackpropTruncationComponent dim=3").indexes(rows(4), rows(4)).run();
        let config =
            "type=BackpropTruncationComponent dim=3 scale=0.5 clipping-threshold=0 zeroing-threshold=0";
        Check::new(config).indexes(rows(4), rows(4)).run();
    }

    #[test]
    fn refuses_bad_input() {
        let refused =
            |keys: &str, part: &str| refused(&format!("type=BackpropTruncationComponent {keys}"), part);
        refused("", "'dim' is missing");
        refused("dim=3 scale=0", "scale must be greater than 0");
        refused("dim=3 clipping-threshold=-1", "clipping-threshold");
        refused("dim=3 zeroing-interval=0", "zeroing-interval=0");
        refused("dim=3 recurrence-interval=-2", "recurrence-interval=-2");
        let start = "<BackpropTruncationComponent> <Dim> 2 <ClippingThreshold> 1 <ZeroingThreshold> 1 ";
        read_refused(&format!("{start}<ZeroingInterval> 0 "), "<ZeroingInterval>");
    }

    #[test]
    fn reads_older_form() {
        let rest = "<ClippingThreshold> 30 <ZeroingThreshold> 15 <ZeroingInterval> 20 <RecurrenceInterval> 3 \
                    <NumElementsClipped> 1 <NumElementsZeroed> 2 <NumElementsProcessed> 12345 \
                    <NumZeroingBoundaries> 8 </BackpropTruncationComponent> ";
        let c = from_text(&format!("<BackpropTruncationComponent> <Dim> 2 {rest}"));
        assert_eq!(written_text(&*c), format!("<BackpropTruncationComponent> <Dim> 2 <Scale> 1 {rest}"));
        assert_eq!(
            c.info(false),
            "BackpropTruncationComponent, dim=2, scale=1, count=1.23e+04, recurrence-interval=3, \
             clipping-threshold=30, clipped-proportion=8.10045e-05, zeroing-threshold=15, zeroing-interval=20, \
             zeroed-proportion=0.25, count-zeroing-boundaries=8"
        );
    }

    fn stored(indexes: &dyn PrecomputedIndexes) -> String {
        let mut w = KaldiWriter::in_memory(false);
        indexes.write(&mut w).unwrap();
        String::from_utf8(w.into_bytes()).unwrap()
    }

    #[test]
    fn truncates_by_hand() {
        let config = "type=BackpropTruncationComponent dim=2 scale=0.5 clipping-threshold=2.5 \
                      zeroing-threshold=1.5 zeroing-interval=3 recurrence-interval=1";
        let (harness, mut c) = (Harness::new(), component(config));
        let outputs: Vec<Index> =
            [(0, -3), (0, -2), (0, 0), (1, 1), (1, 3)].map(|(n, t)| Index::new(n, t, 0)).into();
        let indexes = c.precompute_indexes(&outputs, &outputs, true).unwrap().unwrap();
        let text = "<BackpropTruncationComponentPrecomputedIndexes> <Zeroing>  [ -1 0 -1 -1 0 ]\n\
                    <ZeroingSum> 3 </BackpropTruncationComponentPrecomputedIndexes> ";
        assert_eq!(stored(&*indexes), text);
        let mut r = KaldiReader::from_bytes("test", text.into());
        r.set_binary(false);
        r.read_token().unwrap();
        assert_eq!(stored(&*(PRECOMPUTED[0].1)(&mut r).unwrap()), text);

        // After scaling by 0.5 the rows have norms 5, 5, 1, 2, 2.
        let derivs = Matrix::from_vec(5, 2, vec![6.0, 8.0, 6.0, 8.0, 2.0, 0.0, 0.0, 4.0, 0.0, 4.0]);
        let forward = harness.forward(&*c, Some(&*indexes), &filled(5, 2, 2.0), 5);
        assert_eq!(forward.output.to_vec(), [1.0; 10]);
        let own = Update::Own;
        let d =
            harness.backward(&mut *c, Some(&*indexes), &filled(5, 2, 2.0), &forward, &derivs, own).to_vec();
        assert_near(&d, &[0.0, 0.0, 1.5, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0], 1e-6, "derivative");
        let counts =
            "<NumElementsClipped> 2 <NumElementsZeroed> 2 <NumElementsProcessed> 5 <NumZeroingBoundaries> 3 ";
        assert!(written_text(&*c).contains(counts), "{}", written_text(&*c));
        let same = c.clone();
        c.add(3.0, &*same);
        c.scale(0.25);
        assert!(written_text(&*c).contains(counts));
        c.zero_stats();
        assert!(written_text(&*c).contains("<NumElementsProcessed> 0 "));
    }
}
