//! ClipGradientComponent: passes its input on and limits derivatives, by row norm or by element.

use super::fields::{self, key};
use super::nonlinear_stats::REPAIR_PROBABILITY;
use super::parameters::copy_unless_same;
use super::{Backprop, Component, ComponentType, Context, Kind, PrecomputedIndexes, Properties, Update};
use crate::component_boilerplate;
use crate::config::ConfigLine;
use crate::error::Result;
use crate::text::number;
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_matrix::{Map, View, ViewMut};

pub const TYPES: &[ComponentType] = &[ComponentType {
    name: "ClipGradientComponent",
    purpose: "Passes its input on and limits the size of derivatives, for recurrent networks.",
    keys: &[
        key("dim", Kind::Int, "", "number of columns of input and output"),
        key(
            "clipping-threshold",
            Kind::Float,
            "15",
            "largest norm or absolute value; 0 gives derivatives of zero",
        ),
        key("norm-based-clipping", Kind::Bool, "false", "limit the norms of rows instead of elements"),
        key(
            "self-repair-clipped-proportion-threshold",
            Kind::Float,
            "0.01",
            "proportion of clipped rows above which inputs are pulled towards zero; 1 or more is never",
        ),
        key("self-repair-target", Kind::Float, "0", "absolute value above which inputs are pulled"),
        key("self-repair-scale", Kind::Float, "1", "size of the pull, relative to the derivatives"),
    ],
    updatable: false,
    example: "dim=4 norm-based-clipping=true clipping-threshold=2",
    from_config: |line, _| ClipGradient::from_config(line),
    read: ClipGradient::read,
}];

#[derive(Clone, Debug)]
struct ClipGradient {
    dim: usize,
    clipping_threshold: f32,
    norm_based: bool,
    repair_threshold: f32,
    repair_target: f32,
    repair_scale: f32,
    /// Rows clipped, of `count` (row norms only).
    num_clipped: i32,
    count: i32,
    num_self_repaired: i32,
    num_backpropped: i32,
}

impl ClipGradient {
    fn from_config(line: &mut ConfigLine) -> Result<Box<dyn Component>> {
        Ok(Box::new(ClipGradient {
            dim: line.require_dim("dim")?,
            clipping_threshold: fields::get_at_least(line, "clipping-threshold", 0.0, 15.0)?,
            norm_based: line.get_bool("norm-based-clipping")?.unwrap_or(false),
            repair_threshold: fields::get_at_least(
                line,
                "self-repair-clipped-proportion-threshold",
                0.0,
                0.01,
            )?,
            repair_target: fields::get_at_least(line, "self-repair-target", 0.0, 0.0)?,
            repair_scale: fields::get_at_least(line, "self-repair-scale", 0.0, 1.0)?,
            num_clipped: 0,
            count: 0,
            num_self_repaired: 0,
            num_backpropped: 0,
        }))
    }

    /// Accepts files without the self-repair settings (off) or without the last two counts.
    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let mut c = ClipGradient {
            dim: fields::read_dim(r, "<Dim>")?,
            clipping_threshold: fields::read_f32(r, "<ClippingThreshold>")?,
            norm_based: fields::read_bool(r, "<NormBasedClipping>")?,
            repair_threshold: 1.0,
            repair_target: 0.0,
            repair_scale: 0.0,
            num_clipped: 0,
            count: 0,
            num_self_repaired: 0,
            num_backpropped: 0,
        };
        fields::check(r, c.clipping_threshold >= 0.0, || {
            format!("<ClippingThreshold>: expected a number of at least 0, found {}", c.clipping_threshold)
        })?;
        if r.accept_token("<SelfRepairClippedProportionThreshold>")? {
            c.repair_threshold = r.read_f32()?;
            c.repair_target = fields::read_f32(r, "<SelfRepairTarget>")?;
            c.repair_scale = fields::read_f32(r, "<SelfRepairScale>")?;
        }
        c.num_clipped = fields::read_i32(r, "<NumElementsClipped>")?;
        c.count = fields::read_i32(r, "<NumElementsProcessed>")?;
        if r.accept_token("<NumSelfRepaired>")? {
            c.num_self_repaired = r.read_i32()?;
            c.num_backpropped = fields::read_i32(r, "<NumBackpropped>")?;
        }
        r.expect_token("</ClipGradientComponent>")?;
        Ok(Box::new(c))
    }

    fn clipped_proportion(&self) -> f32 {
        if self.count > 0 { self.num_clipped as f32 / self.count as f32 } else { 0.0 }
    }

    /// Scales down rows with a norm above the threshold; returns how many there were, if `counted`.
    fn clip_rows(&self, context: Context<'_>, d: ViewMut<'_>, counted: bool) -> i32 {
        let mut factors = context.workspace.take(d.rows(), 1);
        let factor = factors.view_mut();
        let relative = 1.0 / (self.clipping_threshold * self.clipping_threshold);
        context.backend.row_dots(factor, relative, d.as_view(), d.as_view(), 0.0);
        let mut clipped = 0;
        if counted {
            let mut norms = context.workspace.floats(d.rows());
            context.backend.download_into(factor.as_view(), &mut norms);
            clipped = norms.iter().filter(|&&norm| norm >= 1.0).count() as i32;
        }
        context.backend.map(factor, factor.as_view(), Map::Floor(1.0));
        context.backend.map(factor, factor.as_view(), Map::Power(-0.5));
        context.backend.scale_rows(d, factor.as_view());
        clipped
    }

    /// Adds a term that shrinks large inputs, keeping the overall size of the derivative. Returns whether it did.
    fn repair_gradients(&self, context: Context<'_>, input: View<'_>, d: ViewMut<'_>) -> bool {
        if self.repair_threshold >= 1.0 || self.repair_scale <= 0.0 {
            return false;
        }
        // Before chance and statistics decide, so that the pool has them in every later run.
        let (backend, workspace) = (context.backend, context.workspace);
        let mut excess = workspace.take(input.rows(), input.cols());
        let mut sign = workspace.take(input.rows(), input.cols());
        let mut norms = workspace.take(input.rows(), 1);
        if self.count == 0 || context.random.uniform() > REPAIR_PROBABILITY {
            return false;
        }
        let proportion = self.clipped_proportion();
        if proportion <= self.repair_threshold {
            return false;
        }
        let (excess, sign, norms) = (excess.view_mut(), sign.view_mut(), norms.view_mut());
        backend.map(excess, input, Map::Abs);
        backend.map(excess, excess.as_view(), Map::Affine { scale: 1.0, offset: -self.repair_target });
        backend.map(excess, excess.as_view(), Map::Floor(0.0));
        backend.map(sign, input, Map::Sign);
        backend.multiply(excess, sign.as_view());

        let size_before = sum_of_row_norms(context, d.as_view(), norms);
        let excess_size = sum_of_row_norms(context, excess.as_view(), norms);
        if excess_size != 0.0 {
            let scale = self.repair_scale as f64 * proportion as f64 * size_before / excess_size;
            backend.add(d, -(scale / REPAIR_PROBABILITY as f64) as f32, excess.as_view());
        }
        let size_after = sum_of_row_norms(context, d.as_view(), norms);
        if size_after != 0.0 {
            backend.scale(d, (size_before / size_after) as f32);
        }
        true
    }
}

/// `norms` is scratch, one for each row.
fn sum_of_row_norms(context: Context<'_>, m: View<'_>, norms: ViewMut<'_>) -> f64 {
    context.backend.row_dots(norms, 1.0, m, m, 0.0);
    context.backend.map(norms, norms.as_view(), Map::SquareRoot);
    context.backend.sum(norms.as_view())
}

impl Component for ClipGradient {
    component_boilerplate!("ClipGradientComponent");

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
    fn info(&self, _detailed: bool) -> String {
        let number = |v: f32| number(v as f64);
        let mut out = format!(
            "ClipGradientComponent, dim={}, norm-based-clipping={}, clipping-threshold={}, clipped-proportion={}",
            self.dim,
            self.norm_based,
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
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<ClipGradientComponent>")?;
        fields::write_dim(w, "<Dim>", self.dim)?;
        fields::write_f32(w, "<ClippingThreshold>", self.clipping_threshold)?;
        fields::write_bool(w, "<NormBasedClipping>", self.norm_based)?;
        fields::write_f32(w, "<SelfRepairClippedProportionThreshold>", self.repair_threshold)?;
        fields::write_f32(w, "<SelfRepairTarget>", self.repair_target)?;
        fields::write_f32(w, "<SelfRepairScale>", self.repair_scale)?;
        fields::write_i32(w, "<NumElementsClipped>", self.num_clipped)?;
        fields::write_i32(w, "<NumElementsProcessed>", self.count)?;
        fields::write_i32(w, "<NumSelfRepaired>", self.num_self_repaired)?;
        fields::write_i32(w, "<NumBackpropped>", self.num_backpropped)?;
        w.write_token("</ClipGradientComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
        copy_unless_same(context, output, input);
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, update: Update<'_>) {
        let Some(d) = args.in_deriv else { return };
        let counted = !update.is_none();
        if self.clipping_threshold == 0.0 {
            return context.backend.set(d, 0.0);
        }
        copy_unless_same(context, d, args.out_deriv);
        let (mut clipped, mut rows) = (0, 0);
        if self.norm_based {
            clipped = self.clip_rows(context, d, counted);
            rows = d.rows() as i32;
        } else {
            context.backend.map(d, d.as_view(), Map::Ceiling(self.clipping_threshold));
            context.backend.map(d, d.as_view(), Map::Floor(-self.clipping_threshold));
        }
        if !counted {
            return;
        }
        // The reference counts this minibatch before it decides about self-repair, if it counts in the component itself.
        if matches!(update, Update::Own) {
            self.num_clipped = self.num_clipped.saturating_add(clipped);
            self.count = self.count.saturating_add(rows);
            (clipped, rows) = (0, 0);
        }
        let repaired = self.repair_gradients(context, args.in_value, d) as i32;
        if let Some(target) = update.target(self) {
            target.num_clipped = target.num_clipped.saturating_add(clipped);
            target.count = target.count.saturating_add(rows);
            target.num_backpropped = target.num_backpropped.saturating_add(1);
            target.num_self_repaired = target.num_self_repaired.saturating_add(repaired);
        }
    }

    fn zero_stats(&mut self) {
        (self.num_clipped, self.count, self.num_self_repaired, self.num_backpropped) = (0, 0, 0, 0);
    }
    /// Integers, so rounded towards zero; the counts of self-repair stay.
    fn scale(&mut self, factor: f32) {
        self.count = (self.count as f32 * factor) as i32;
        self.num_clipped = (self.num_clipped as f32 * factor) as i32;
    }
    fn add(&mut self, alpha: f32, other: &dyn Component) {
        let other: &ClipGradient = super::downcast(other);
        self.count = (self.count as f32 + alpha * other.count as f32) as i32;
        self.num_clipped = (self.num_clipped as f32 + alpha * other.num_clipped as f32) as i32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::testing::*;
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
        // Half of the rows were clipped. Derivative (1, 0) has norm 1; the excess of the input (3, 1) over 1 is (2, 0):
        // the pull is 0.4 · 0.5 · 1 / 2 / 0.5 · (2, 0) = (0.4, 0), and the norm is restored.
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
