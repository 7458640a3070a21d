//! ClipGradientComponent: passes its input on and limits derivatives, by row norm or by element.

use crate::capabilities::Statistics;
use crate::declared::*;
use crate::fields::{self};
use crate::nonlinear_stats::REPAIR_PROBABILITY;
use crate::parameters::DIM;
use crate::parameters::copy_unless_same;
use crate::{Backprop, Component, ComponentType, Context, Propagate, Properties, Update};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::number;
use nnet3_matrix::{Accumulator, Backend, ColumnTerm, Factor, Map, SumRatio, View, ViewMut};

pub const TYPES: &[&ComponentType] = &[ClipGradient::TYPE];

const CLIPPING_THRESHOLD: Field<f32> = field(
    "clipping-threshold",
    "<ClippingThreshold>",
    "largest norm or absolute value; 0 gives derivatives of zero",
)
.or(15.0)
.range_of_key(FROM_0)
.hidden();
const NORM_BASED: Field<bool> =
    field("norm-based-clipping", "<NormBasedClipping>", "limit the norms of rows instead of elements")
        .or(false);
const REPAIR_THRESHOLD: Field<f32> = field(
    "self-repair-clipped-proportion-threshold",
    "<SelfRepairClippedProportionThreshold>",
    "proportion of clipped rows above which inputs are pulled towards zero; 1 or more is never",
)
.or(0.01)
.range_of_key(FROM_0)
.hidden();
const REPAIR_TARGET: Field<f32> =
    field("self-repair-target", "<SelfRepairTarget>", "absolute value above which inputs are pulled")
        .or(0.0)
        .range_of_key(FROM_0)
        .hidden();
const REPAIR_SCALE: Field<f32> =
    field("self-repair-scale", "<SelfRepairScale>", "size of the pull, relative to the derivatives")
        .or(1.0)
        .range_of_key(FROM_0)
        .hidden();

#[derive(Clone, Debug)]
struct ClipGradient {
    dim: usize,
    clipping_threshold: f32,
    norm_based: bool,
    repair_threshold: f32,
    repair_target: f32,
    repair_scale: f32,
    /// Two counts. [`CLIPPED`] is the number of clipped rows (row norms only). [`COUNT`] is the number of rows that
    /// `count` does not include. Both are integers in files; a device adds and scales without rounding.
    totals: Accumulator,
    count: i32,
    /// True if a device has changed the totals by a factor of its own, so that the host knows only `count` of the rows.
    counts_there: bool,
    /// In how many of `num_backpropped` backward passes there was self-repair.
    repaired: Accumulator,
    num_backpropped: i32,
    /// Scratch of self-repair: sums of row norms.
    sizes: Accumulator,
}

/// Places in [`ClipGradient::totals`].
const CLIPPED: usize = 0;
const COUNT: usize = 1;

/// Places in [`ClipGradient::sizes`].
const BEFORE: usize = 0;
const EXCESS: usize = 1;
const AFTER: usize = 2;

impl ClipGradient {
    fn set_totals(&mut self, clipped: i32, count: i32) {
        self.totals = Accumulator::from_vec(vec![clipped.into(), 0.0]);
        (self.count, self.counts_there) = (count, false);
    }

    /// Returns the number of clipped rows and of all rows, as in files. Waits for the device.
    fn totals(&self) -> (i32, i32) {
        let totals = self.totals.values();
        (totals[CLIPPED] as i32, self.count.saturating_add(totals[COUNT] as i32))
    }

    fn clipped_proportion(&self) -> f32 {
        let (clipped, count) = self.totals();
        if count > 0 { clipped as f32 / count as f32 } else { 0.0 }
    }

    fn repaired(&self) -> i32 {
        self.repaired.values()[0] as i32
    }

    /// Adds a number of rows times a factor of the device.
    fn count_times(&mut self, backend: &dyn Backend, rows: i32, factor: Factor<'_>) {
        if rows != 0 {
            let times = f64::from(rows) * f64::from(factor.times);
            backend.accumulate_row(&mut self.totals, COUNT, times, factor.element);
        }
        self.counts_there = true;
    }

    /// Sets `chosen` (1 × 2) to the proportion of clipped rows, and to 1 if it is above the threshold, else 0.
    fn choose_repair(&mut self, backend: &dyn Backend, chosen: ViewMut<'_>) {
        if !self.counts_there {
            let count = self.count as f32;
            return backend.proportion_above(chosen, &mut self.totals, CLIPPED, count, self.repair_threshold);
        }
        let count = std::mem::take(&mut self.count);
        if count != 0 {
            self.totals.add(1.0, &Accumulator::from_vec(vec![0.0, count.into()]));
        }
        let (proportion, above) = (chosen.col_range(0..1), chosen.col_range(1..2));
        backend.set(above, 1.0);
        let factor = Factor { times: 1.0, element: above.as_view() };
        let sums = &mut self.totals;
        let clipped = SumRatio { factor, sums, above: CLIPPED, below: COUNT, otherwise: 0.0 };
        backend.ratio_of_sums(proportion, clipped);
        let difference = Map::Affine { scale: 1.0, offset: -self.repair_threshold };
        backend.map(above, proportion.as_view(), difference);
        backend.map(above, above.as_view(), Map::Heaviside);
    }

    /// Scales down rows with a norm above the threshold, which are counted in `totals`.
    fn clip_rows(&self, context: Context<'_>, d: ViewMut<'_>, totals: Option<&mut Accumulator>) {
        let mut factors = context.workspace.take(d.rows(), 1);
        let (backend, factor) = (context.backend, factors.view_mut());
        let relative = 1.0 / (self.clipping_threshold * self.clipping_threshold);
        backend.row_dots(factor, relative, d.as_view(), d.as_view(), 0.0);
        if let Some(totals) = totals {
            backend.accumulate(totals, CLIPPED, factor.as_view(), ColumnTerm::AtLeast(1.0));
        }
        backend.map(factor, factor.as_view(), Map::Floor(1.0));
        backend.map(factor, factor.as_view(), Map::Power(-0.5));
        backend.scale_rows(d, factor.as_view());
    }

    /// Adds a term that shrinks large inputs, keeping the overall size of the derivative. `chosen` (1 × 2) gets the
    /// proportion of clipped rows, and 1 if that made it do so, else 0.
    fn repair_gradients(
        &mut self,
        context: Context<'_>,
        input: View<'_>,
        d: ViewMut<'_>,
        chosen: ViewMut<'_>,
    ) {
        let (backend, workspace) = (context.backend, context.workspace);
        backend.set(chosen, 0.0);
        if self.repair_threshold >= 1.0 || self.repair_scale <= 0.0 {
            return;
        }
        // Before chance and statistics decide, so that the pool has them in every later run.
        let mut excess = workspace.take(input.rows(), input.cols());
        let mut sign = workspace.take(input.rows(), input.cols());
        let mut columns = workspace.take(2, input.rows());
        let mut factor = workspace.take(1, 1);
        let none = self.count == 0 && !self.counts_there;
        if none || context.random.uniform() > REPAIR_PROBABILITY || self.count < 0 {
            return;
        }
        self.choose_repair(backend, chosen);
        let proportion = chosen.col_range(0..1);
        let repairs = Factor { times: 1.0, element: chosen.as_view().col_range(1..2) };
        if backend.value_at_once(repairs) == Some(0.0) {
            return;
        }
        let (excess, sign, columns) = (excess.view_mut(), sign.view_mut(), columns.view_mut());
        backend.map(excess, input, Map::Abs);
        backend.map(excess, excess.as_view(), Map::Affine { scale: 1.0, offset: -self.repair_target });
        backend.map(excess, excess.as_view(), Map::Floor(0.0));
        backend.map(sign, input, Map::Sign);
        backend.multiply(excess, sign.as_view());

        let sizes = &mut self.sizes;
        sizes.scale(0.0);
        backend.set(columns.row(1), 1.0);
        add_row_norms(context, sizes, BEFORE, d.as_view(), columns);
        add_row_norms(context, sizes, EXCESS, excess.as_view(), columns);
        let factor = factor.view_mut();
        let by = |times| Factor { times, element: factor.as_view() };
        // The repair is zero if the proportion of clipped rows is small enough.
        backend.multiply(proportion, repairs.element);
        let pull = Factor { times: self.repair_scale, element: proportion.as_view() };
        let pull = SumRatio { factor: pull, sums: sizes, above: BEFORE, below: EXCESS, otherwise: 0.0 };
        backend.ratio_of_sums(factor, pull);
        backend.add_by(d, by(-1.0 / REPAIR_PROBABILITY), excess.as_view());
        add_row_norms(context, sizes, AFTER, d.as_view(), columns);
        let kept = SumRatio { factor: repairs, sums: sizes, above: BEFORE, below: AFTER, otherwise: 1.0 };
        backend.ratio_of_sums(factor, kept);
        backend.scale_by(d, by(1.0));
    }
}

/// Adds the sum of all rows' norms to `sizes[index]`. `columns` has a first row of scratch and a second of ones, with an
/// element for each row of `m`.
fn add_row_norms(
    context: Context<'_>,
    sizes: &mut Accumulator,
    index: usize,
    m: View<'_>,
    columns: ViewMut<'_>,
) {
    let norms = columns.row(0).reshape(m.rows(), 1);
    context.backend.row_dots(norms, 1.0, m, m, 0.0);
    context.backend.map(norms, norms.as_view(), Map::SquareRoot);
    let ones = columns.row(1).reshape(m.rows(), 1);
    context.backend.accumulate_dot(sizes, index, 1.0, norms.as_view(), ones.as_view());
}

impl Declared for ClipGradient {
    const TYPE: &'static ComponentType = &ComponentType::of::<ClipGradient>(
        "ClipGradientComponent",
        "Passes its input on and limits the size of derivatives, for recurrent networks.",
        "dim=4 norm-based-clipping=true clipping-threshold=2",
    );

    fn fields(f: &mut Fields<'_, ClipGradient>) -> Result<Option<ClipGradient>> {
        let dim = f.get(&DIM, |c| c.dim)?;
        let clipping_threshold = f.get(&CLIPPING_THRESHOLD, |c| c.clipping_threshold)?;
        let norm_based = f.get(&NORM_BASED, |c| c.norm_based)?;
        f.check(clipping_threshold >= 0.0, || {
            format!("<ClippingThreshold>: expected a number of at least 0, found {clipping_threshold}")
        })?;
        let (repair_threshold, repair_target, repair_scale) = match ClipGradient::is_without_repair(f)? {
            true => (1.0, 0.0, 0.0),
            false => (
                f.get(&REPAIR_THRESHOLD, |c| c.repair_threshold)?,
                f.get(&REPAIR_TARGET, |c| c.repair_target)?,
                f.get(&REPAIR_SCALE, |c| c.repair_scale)?,
            ),
        };
        let mut c = ClipGradient {
            dim,
            clipping_threshold,
            norm_based,
            repair_threshold,
            repair_target,
            repair_scale,
            totals: Accumulator::zeros(2),
            count: 0,
            counts_there: false,
            repaired: Accumulator::zeros(1),
            num_backpropped: 0,
            sizes: Accumulator::zeros(3),
        };
        if let Some(r) = f.reader() {
            c.read_statistics(r)?;
        } else if let Some((w, c)) = f.writer() {
            c.write_statistics(w)?;
        }
        f.note(|c, _| c.info_of_clipping());
        f.done(c)
    }
}

impl ClipGradient {
    /// True if an older file has no settings of self-repair. The statistics come next then.
    fn is_without_repair(f: &mut Fields<'_, ClipGradient>) -> Result<bool> {
        match f.reader() {
            Some(r) => Ok(r.peek_token()? == Some(b'N')),
            None => Ok(false),
        }
    }

    /// Accepts files without the last two counts.
    fn read_statistics(&mut self, r: &mut KaldiReader) -> Result<()> {
        let clipped = fields::read_i32(r, "<NumElementsClipped>")?;
        self.set_totals(clipped, fields::read_i32(r, "<NumElementsProcessed>")?);
        if r.accept_token("<NumSelfRepaired>")? {
            self.repaired = Accumulator::from_vec(vec![r.read_i32()?.into()]);
            self.num_backpropped = fields::read_i32(r, "<NumBackpropped>")?;
        }
        Ok(())
    }

    fn write_statistics(&self, w: &mut KaldiWriter) -> Result<()> {
        let (clipped, count) = self.totals();
        fields::write_i32(w, "<NumElementsClipped>", clipped)?;
        fields::write_i32(w, "<NumElementsProcessed>", count)?;
        fields::write_i32(w, "<NumSelfRepaired>", self.repaired())?;
        fields::write_i32(w, "<NumBackpropped>", self.num_backpropped)
    }

    fn info_of_clipping(&self) -> String {
        let number = |v: f32| number(v as f64);
        let mut out = format!(
            ", clipping-threshold={}, clipped-proportion={}",
            number(self.clipping_threshold),
            number(self.clipped_proportion())
        );
        if self.repair_scale != 0.0 {
            out += &format!(
                ", self-repair-clipped-proportion-threshold={}, self-repair-target={}, self-repair-scale={}",
                number(self.repair_threshold),
                number(self.repair_target),
                number(self.repair_scale)
            );
        }
        out
    }
}

impl Component for ClipGradient {
    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::PROPAGATE_IN_PLACE
            | Properties::BACKPROP_IN_PLACE
            | Properties::BACKPROP_NEEDS_INPUT
    }
    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        true
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let Some(d) = args.in_deriv else { return };
        if self.clipping_threshold == 0.0 {
            return context.backend.set(d, 0.0);
        }
        copy_unless_same(context, d, args.out_deriv);
        if self.norm_based {
            // The totals leave the target meanwhile: it may be this object.
            let mut totals = update.reborrow().target(self).map(|target| std::mem::take(&mut target.totals));
            self.clip_rows(context, d, totals.as_mut());
            if let (Some(target), Some(totals)) = (update.reborrow().target(self), totals) {
                target.totals = totals;
                // Before self-repair is decided about, as in the reference.
                target.count = target.count.saturating_add(d.rows() as i32);
            }
        } else {
            context.backend.map(d, d.as_view(), Map::Ceiling(self.clipping_threshold));
            context.backend.map(d, d.as_view(), Map::Floor(-self.clipping_threshold));
        }
        if update.is_none() {
            return;
        }
        let mut chosen = context.workspace.take(1, 2);
        self.repair_gradients(context, args.in_value, d, chosen.view_mut());
        if let Some(target) = update.target(self) {
            let repaired = chosen.view().col_range(1..2);
            context.backend.accumulate_row(&mut target.repaired, 0, 1.0, repaired);
            target.num_backpropped = target.num_backpropped.saturating_add(1);
        }
    }
}

impl Statistics for ClipGradient {
    fn zero_stats(&mut self) {
        self.totals.scale(0.0);
        self.repaired.scale(0.0);
        (self.count, self.counts_there, self.num_backpropped) = (0, false, 0);
    }

    /// Scales the counts of rows, which are integers and so rounded towards zero; the counts of self-repair stay.
    fn scale_stats(&mut self, factor: f32) {
        if factor == 0.0 {
            self.totals.scale(0.0);
            return (self.count, self.counts_there) = (0, false);
        }
        let (clipped, count) = self.totals();
        self.set_totals((clipped as f32 * factor) as i32, (count as f32 * factor) as i32);
    }

    fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        let (clipped, count) = self.totals();
        let (more, more_rows) = crate::downcast::<ClipGradient>(other).totals();
        let sum = |a: i32, b: i32| (a as f32 + alpha * b as f32) as i32;
        self.set_totals(sum(clipped, more), sum(count, more_rows));
    }

    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        keeper.sums(&mut self.totals, 2)?;
        // Files may have a negative count.
        let mut count = f64::from(self.count);
        keeper.number(&mut count)?;
        self.count = count as i32;
        keeper.flag(&mut self.counts_there)?;
        keeper.sums(&mut self.repaired, 1)?;
        let mut backpropped = f64::from(self.num_backpropped);
        keeper.number(&mut backpropped)?;
        self.num_backpropped = backpropped as i32;
        Ok(())
    }

    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        if let Some(factor) = backend.value_at_once(factor) {
            return self.scale_stats(factor);
        }
        if self.count != 0 || self.counts_there {
            backend.scale_sums_by(&mut self.totals, factor);
            let count = std::mem::take(&mut self.count);
            self.count_times(backend, count, factor);
        }
    }

    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        if let Some(alpha) = backend.value_at_once(alpha) {
            if alpha != 0.0 {
                self.add_stats(alpha, other);
            }
            return;
        }
        let other: &ClipGradient = crate::downcast(other);
        if other.count != 0 || other.counts_there {
            backend.add_sums_by(&mut self.totals, alpha, &other.totals);
            self.count_times(backend, other.count, alpha);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use nnet3_matrix::Matrix;

    #[test]
    fn derivatives_and_forms() {
        check_component("type=ClipGradientComponent dim=4");
        check_component("type=ClipGradientComponent dim=4 norm-based-clipping=true self-repair-scale=0");
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=ClipGradientComponent", "'dim' is missing");
        refused("type=ClipGradientComponent dim=4 clipping-threshold=-1", "clipping-threshold");
        refused("type=ClipGradientComponent dim=4 self-repair-scale=nan", "self-repair-scale");
        let negative = "<ClipGradientComponent> <Dim> 2 <ClippingThreshold> -2 <NormBasedClipping> F ";
        read_refused(negative, "<ClippingThreshold>");
    }

    #[test]
    fn reads_older_forms() {
        let start = "<ClipGradientComponent> <Dim> 2 <ClippingThreshold> 3 <NormBasedClipping> T ";
        let counts = "<NumElementsClipped> 1 <NumElementsProcessed> 4 ";
        let repair = "<SelfRepairClippedProportionThreshold> 1 <SelfRepairTarget> 0 <SelfRepairScale> 0 ";
        let end = "<NumSelfRepaired> 0 <NumBackpropped> 0 </ClipGradientComponent> ";
        let c = from_text(&format!("{start}{counts}</ClipGradientComponent> "));
        assert_eq!(written_text(&*c), format!("{start}{repair}{counts}{end}"));
        assert!(
            c.info(false).ends_with("clipping-threshold=3, clipped-proportion=0.25"),
            "{}",
            c.info(false)
        );
    }

    fn backward(c: &mut dyn Component, input: &[f32], deriv: &[f32]) -> Vec<f32> {
        let harness = Harness::new();
        let input = Matrix::from_vec(input.len() / 2, 2, input.to_vec());
        let forward = harness.forward(c, None, &input, input.rows());
        let deriv = Matrix::from_vec(input.rows(), 2, deriv.to_vec());
        harness.backward(c, None, &input, &forward, &deriv, Update::Own).to_vec()
    }

    #[test]
    fn clips_by_hand() {
        let mut c = component("type=ClipGradientComponent dim=2 clipping-threshold=2 self-repair-scale=0");
        assert_eq!(backward(&mut *c, &[0.0; 2], &[-3.0, 1.0]), [-2.0, 1.0]);
        assert!(
            written_text(&*c).contains("<NumElementsProcessed> 0 <NumSelfRepaired> 0 <NumBackpropped> 1 ")
        );
        let mut c = component("type=ClipGradientComponent dim=2 clipping-threshold=0");
        assert_eq!(backward(&mut *c, &[0.0; 2], &[-3.0, 1.0]), [0.0, 0.0]);

        let by_norm = "type=ClipGradientComponent dim=2 clipping-threshold=2.5 norm-based-clipping=true";
        let mut c = component(&format!("{by_norm} self-repair-scale=0"));
        let clipped = backward(&mut *c, &[0.0; 4], &[3.0, 4.0, 1.0, 0.0]);
        assert_near(&clipped, &[1.5, 2.0, 1.0, 0.0], 1e-6, "clipped");
        let text = written_text(&*c);
        assert!(text.contains("<NumElementsClipped> 1 <NumElementsProcessed> 2 "), "{text}");
        let same = c.clone();
        c.add(1.0, &*same);
        c.scale(0.5);
        assert_eq!(written_text(&*c), text);
        c.zero_stats();
        assert!(written_text(&*c).contains("<NumElementsClipped> 0 <NumElementsProcessed> 0 "));
    }

    #[test]
    fn self_repair_by_hand() {
        // Half of the rows were clipped. Derivative (1, 0) has norm 1. The excess of the input (3, 1) over 1 is (2, 0).
        // The pull is 0.4 · 0.5 · 1 / 2 / 0.5 · (2, 0) = (0.4, 0), and the norm is restored.
        let text = "<ClipGradientComponent> <Dim> 2 <ClippingThreshold> 5 <NormBasedClipping> F \
                    <SelfRepairClippedProportionThreshold> 0.1 <SelfRepairTarget> 1 <SelfRepairScale> 0.4 \
                    <NumElementsClipped> 1 <NumElementsProcessed> 2 </ClipGradientComponent> ";
        let harness = Harness::new();
        let mut c = from_text(text);
        let input = Matrix::from_vec(1, 2, vec![3.0, 1.0]);
        let forward = harness.forward(&*c, None, &input, 1);
        let out_deriv = Matrix::from_vec(1, 2, vec![0.6, 0.8]);
        let (plain, pulled) = ([0.6, 0.8], [0.2, 0.8].map(|v: f32| v / 0.68f32.sqrt()));
        let mut repaired = 0;
        for _ in 0..50 {
            let deriv = harness.backward(&mut *c, None, &input, &forward, &out_deriv, Update::Own).to_vec();
            if relative_difference(&deriv, &plain) > 1e-6 {
                assert_near(&deriv, &pulled, 1e-6, "repaired");
                repaired += 1;
            }
        }
        assert!((10..40).contains(&repaired), "{repaired}");
        let text = written_text(&*c);
        assert!(text.contains(&format!("<NumSelfRepaired> {repaired} <NumBackpropped> 50 ")), "{text}");
    }
}
