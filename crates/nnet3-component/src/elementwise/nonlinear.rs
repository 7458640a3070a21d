//! Sigmoid, Tanh, RectifiedLinear, Softmax and LogSoftmax components: nonlinearities without parameters that keep
//! activation statistics and, for the element-wise ones, repair saturated units.

use crate::capabilities::{Rectification, Statistics};
use crate::declared::*;
use crate::nonlinear_stats::{NonlinearStats, REPAIR_PROBABILITY};
use crate::parameters::{cached_rows, in_blocks_mut};
use crate::{Backprop, Component, ComponentType, Context, Propagate, Properties, Update};
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_matrix::backend::DerivBeforeRelu;
use nnet3_matrix::{Accumulator, Activation, Backend, Band, ColumnTerm, Factor, Map, View, ViewMut};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    ElementWise(Activation),
    Softmax,
    LogSoftmax,
}

const SIGMOID: Function = Function::ElementWise(Activation::Sigmoid);
const TANH: Function = Function::ElementWise(Activation::Tanh);
const RELU: Function = Function::ElementWise(Activation::Relu);

/// The smallest output of Softmax.
const SOFTMAX_FLOOR: f32 = 1e-20;

const fn kind(name: &'static str, purpose: &'static str, example: &'static str) -> ComponentType {
    ComponentType::of::<Nonlinear>(name, purpose, example)
}

const KINDS: [(Function, &ComponentType); 5] = [
    (SIGMOID, &kind("SigmoidComponent", "Logistic function 1 / (1 + exp(-x)) of each element.", "dim=6")),
    (TANH, &kind("TanhComponent", "Hyperbolic tangent of each element.", "dim=6")),
    (RELU, &kind("RectifiedLinearComponent", "max(x, 0) of each element.", "dim=6 block-dim=3")),
    (Function::Softmax, &kind("SoftmaxComponent", "Softmax of each row.", "dim=6")),
    (Function::LogSoftmax, &kind("LogSoftmaxComponent", "Logarithm of the softmax of each row.", "dim=6")),
];

pub const TYPES: &[&ComponentType] = &[KINDS[0].1, KINDS[1].1, KINDS[2].1, KINDS[3].1, KINDS[4].1];

/// A nonlinearity of rows of `stats.dim` columns.
#[derive(Clone, Debug)]
struct Nonlinear {
    function: Function,
    stats: NonlinearStats,
}

impl Nonlinear {
    /// Chooses the units whose average derivative is too small (or too large), if this minibatch repairs any. If the
    /// result has a size, `terms` marks those units.
    fn choose_repairs(
        &mut self,
        context: Context<'_>,
        activation: Activation,
        terms: ViewMut<'_>,
    ) -> Repairs {
        let stats = &mut self.stats;
        let relu = activation == Activation::Relu;
        if !stats.repairs_now(context) {
            return Repairs { processed: if relu { 0.0 } else { stats.dim as f64 }, size: None };
        }
        let default_lower = if activation == Activation::Tanh { 0.2 } else { 0.05 };
        let lower = stats.self_repair_lower_threshold.unwrap_or(default_lower) as f64;
        let upper = stats.self_repair_upper_threshold.unwrap_or(0.95) as f64;
        let size = stats.self_repair_scale / REPAIR_PROBABILITY;
        let band = match relu {
            true => Band { low: lower.min(upper), high: lower.max(upper) },
            // Below it, not at it.
            false => Band { low: lower.next_down(), high: f64::INFINITY },
        };
        stats.compare_derivatives(context, terms, band);
        Repairs { processed: terms.cols() as f64, size: Some(size) }
    }

    /// Decides about self-repair, which sets `terms`, and about statistics of derivatives of this many rows. `None` without a
    /// receiver of statistics.
    fn begin<'t>(
        &'t mut self,
        context: Context<'_>,
        activation: Activation,
        rows: usize,
        terms: ViewMut<'_>,
        update: Update<'t>,
    ) -> Option<DerivBeforeRelu<'t>> {
        let Repairs { processed, size } = self.choose_repairs(context, activation, terms);
        let stats = &mut update.target(self)?.stats;
        stats.count_repair(context, processed, size.map(|_| terms.as_view()));
        let squares = stats.begin_backprop(context, rows);
        Some(DerivBeforeRelu { squares, repair: size.unwrap_or(0.0), copy: None })
    }

    /// True if this call stores statistics of outputs: one out of two does, and the first one.
    fn stores_now(&self, context: Context<'_>) -> bool {
        context.random.int(0, 1) != 0 || self.stats.count().is_zero()
    }
}

/// Pushes the inputs of the units in `terms` towards a range where the average derivative is not too small (or too
/// large).
fn add_repairs(
    context: Context<'_>,
    activation: Activation,
    block_dim: usize,
    (size, terms): (f32, View<'_>),
    out_value: View<'_>,
    in_deriv: ViewMut<'_>,
) {
    let backend = context.backend;
    match activation {
        Activation::Sigmoid => {
            backend.add_scaled_cols(in_deriv, -2.0 * size, terms, out_value);
            backend.add_to_rows(in_deriv, size, terms);
        }
        Activation::Tanh => backend.add_scaled_cols(in_deriv, -size, terms, out_value),
        Activation::Relu => backend.add_to_rows(in_blocks_mut(in_deriv, block_dim), size, terms),
    }
}

/// Number of dimensions that self-repair examined, and the size of the repair term, if it is added.
struct Repairs {
    processed: f64,
    size: Option<f32>,
}

impl Declared for Nonlinear {
    const TYPE: &'static ComponentType = KINDS[0].1;

    fn component_type(&self) -> &'static ComponentType {
        KINDS.iter().find(|(function, _)| *function == self.function).map_or(Self::TYPE, |kind| kind.1)
    }

    fn fields(f: &mut Fields<'_, Nonlinear>) -> Result<Option<Nonlinear>> {
        let function = KINDS.iter().find(|(_, kind)| f.is(kind)).map_or(SIGMOID, |kind| kind.0);
        let stats = NonlinearStats::fields(f, |c| &c.stats)?;
        let has_upper = stats.self_repair_upper_threshold.is_some() && stats.self_repair_scale != 0.0;
        let is_meaningless = has_upper && matches!(function, SIGMOID | TANH) && f.is_config();
        f.check(!is_meaningless, || {
            "self-repair-upper-threshold has no meaning for this type: leave it out".to_string()
        })?;
        f.done(Nonlinear { function, stats })
    }
}

impl Component for Nonlinear {
    fn input_dim(&self) -> usize {
        self.stats.dim
    }
    fn output_dim(&self) -> usize {
        self.stats.dim
    }

    fn properties(&self) -> Properties {
        let common = Properties::SIMPLE | Properties::BACKPROP_NEEDS_OUTPUT | Properties::STORES_STATS;
        common
            | Properties::PROPAGATE_IN_PLACE.when(self.function != Function::LogSoftmax)
            | Properties::BACKPROP_IN_PLACE.when(self.function == Function::Softmax)
            | Properties::INPUT_CONTIGUOUS
                .when(self.function == RELU && self.stats.block_dim != self.stats.dim)
    }

    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn rectifies(&self) -> bool {
        self.function == RELU && self.stats.block_dim == self.stats.dim
    }

    fn is_log_softmax(&self) -> bool {
        self.function == Function::LogSoftmax
    }

    fn as_rectification_mut(&mut self) -> Option<&mut dyn Rectification> {
        if self.rectifies() { Some(self) } else { None }
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        match self.function {
            Function::ElementWise(activation) => context.backend.activate(output, input, activation),
            Function::Softmax => {
                context.backend.softmax(output, input);
                context.backend.map(output, output.as_view(), Map::Floor(SOFTMAX_FLOOR));
            }
            Function::LogSoftmax => context.backend.log_softmax(output, input),
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let Function::ElementWise(activation) = self.function else {
            // Before the derivative, which may take the place of out_deriv.
            if let Some(target) = update.target(self) {
                target.stats.store_backprop(context, args.out_deriv);
            }
            let Some(in_deriv) = args.in_deriv else { return };
            return match self.function {
                Function::Softmax => {
                    context.backend.softmax_backward(in_deriv, args.out_value, args.out_deriv)
                }
                _ => context.backend.log_softmax_backward(in_deriv, args.out_value, args.out_deriv),
            };
        };
        let Some(in_deriv) = args.in_deriv else { return };
        if update.is_none() {
            return context.backend.activate_backward(in_deriv, args.out_value, args.out_deriv, activation);
        }
        let units = if activation == Activation::Relu { self.stats.block_dim } else { self.stats.dim };
        // Before chance and statistics decide, so that the pool has it in every later run.
        let mut terms = context.workspace.take(1, units);
        let block_dim = self.stats.block_dim;
        let rows = args.out_deriv.rows();
        let begun = self.begin(context, activation, rows, terms.view_mut(), update.reborrow());
        let Some(DerivBeforeRelu { mut squares, repair, .. }) = begun else { return };
        for rows in cached_rows(context.backend, in_deriv.rows(), in_deriv.cols()) {
            let (out_value, out_deriv) =
                (args.out_value.row_range(rows.clone()), args.out_deriv.row_range(rows.clone()));
            let in_deriv = in_deriv.row_range(rows);
            context.backend.activate_backward(in_deriv, out_value, out_deriv, activation);
            if repair != 0.0 {
                add_repairs(context, activation, block_dim, (repair, terms.view()), out_value, in_deriv);
            }
            if let Some(squares) = &mut squares {
                context.backend.accumulate(squares, 0, out_deriv, ColumnTerm::Square);
            }
        }
    }
}

impl Rectification for Nonlinear {
    fn begin_statistics(&mut self, context: Context<'_>, rows: usize) -> Option<[&mut Accumulator; 2]> {
        self.stores_now(context).then(|| self.stats.begin_store(rows, true))
    }

    fn begin_backprop<'t>(
        &'t mut self,
        context: Context<'_>,
        rows: usize,
        terms: ViewMut<'_>,
        update: Update<'t>,
    ) -> DerivBeforeRelu<'t> {
        match update {
            Update::None => DerivBeforeRelu::default(),
            update => self.begin(context, Activation::Relu, rows, terms, update).unwrap_or_default(),
        }
    }
}

impl Statistics for Nonlinear {
    /// The element-wise ones store on one call out of two, and always on the first; LogSoftmax never does.
    fn store_stats(&mut self, context: Context<'_>, _input: View<'_>, output: View<'_>, _memo: View<'_>) {
        match self.function {
            Function::ElementWise(activation) => {
                if self.stores_now(context) {
                    self.stats.store(context, output, Some(activation));
                }
            }
            Function::Softmax => self.stats.store(context, output, None),
            Function::LogSoftmax => {}
        }
    }

    fn scale_stats(&mut self, factor: f32) {
        self.stats.scale(factor);
    }

    fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        self.stats.add(alpha, &crate::downcast::<Nonlinear>(other).stats);
    }

    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.stats.keep(keeper)
    }

    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        self.stats.scale_by(backend, factor);
    }

    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        self.stats.add_by(backend, alpha, &crate::downcast::<Nonlinear>(other).stats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use nnet3_matrix::Matrix;

    fn away_from_zero(input: &mut [f32]) {
        for v in input.iter_mut().filter(|v| v.abs() < 0.05) {
            *v = 0.3;
        }
    }

    #[test]
    fn derivatives_and_forms() {
        check_component("type=SigmoidComponent dim=6 self-repair-lower-threshold=0.1");
        check_component("type=TanhComponent dim=6 self-repair-scale=0.001");
        check_component_with("type=RectifiedLinearComponent dim=6", away_from_zero);
        check_component_with("type=RectifiedLinearComponent dim=6 block-dim=2", away_from_zero);
        check_component("type=SoftmaxComponent dim=6");
        check_component("type=LogSoftmaxComponent dim=6");
    }

    #[test]
    fn refuses_bad_configs() {
        refused("type=SigmoidComponent", "'dim' is missing");
        refused("type=SigmoidComponent dim=0", "greater than 0");
        refused("type=TanhComponent dim=6 block-dim=4", "does not divide");
        refused("type=TanhComponent dim=6 foo=4", "foo=4");
        refused("type=RectifiedLinearComponent dim=6 self-repair-scale=0.1", "self-repair-scale");
        refused("type=RectifiedLinearComponent dim=6 self-repair-scale=nan", "self-repair-scale");
        refused("type=TanhComponent dim=6 self-repair-upper-threshold=0.5 self-repair-scale=0.01", "upper");
    }

    #[test]
    fn refuses_bad_files() {
        read_refused("<TanhComponent> <Dim> -1 ", "found -1");
        read_refused("<TanhComponent> <Dim> 2 <ValueAvg>  [ 1 ]\n", "<ValueAvg>: expected 2");
        read_refused("<RectifiedLinearComponent> <Dim> 4 <BlockDim> 3 ", "divide");
        read_refused(
            "<TanhComponent> <Dim> 2 <ValueAvg>  [ ]\n<DerivAvg>  [ ]\n<Count> 0 </SigmoidComponent> ",
            "found",
        );
    }

    #[test]
    fn reads_older_forms() {
        let text = "<TanhComponent> <Dim> 2 <ValueAvg>  [ 0.5 -1 ]\n<DerivAvg>  [ 0.25 0.125 ]\n<Count> 8 ";
        let old = from_text(&format!("{text}</TanhComponent> "));
        let expected = format!(
            "{text}<OderivRms>  [ ]\n<OderivCount> 0 <NumDimsSelfRepaired> 0 <NumDimsProcessed> 0 </TanhComponent> "
        );
        assert_eq!(written_text(&*old), expected);
        let later = from_text(&format!("{text}<NumDimsProcessed> 4 <SelfRepairScale> 0.5 </TanhComponent> "));
        assert!(written_text(&*later).contains("<NumDimsProcessed> 4 <SelfRepairScale> 0.5 "));
        assert_eq!(
            later.info(false),
            "TanhComponent, dim=2, self-repair-scale=0.5, count=8, self-repaired-proportion=0, \
             value-avg=[ 0.50 -1.0 ], deriv-avg=[ 0.25 0.12 ]"
        );
    }

    fn store(component: &mut dyn Component, harness: &Harness, rows: usize, values: &[f32]) {
        let output = Matrix::from_vec(rows, values.len() / rows, values.to_vec());
        component.store_stats(harness.context(), View::empty(), output.view(), View::empty());
    }

    #[test]
    fn statistics_by_hand() {
        let harness = Harness::new();
        let mut tanh = component("type=TanhComponent dim=2");
        store(&mut *tanh, &harness, 2, &[0.5, -1.0, 0.5, 0.0]);
        let text = written_text(&*tanh);
        assert!(text.contains("<ValueAvg>  [ 0.5 -0.5 ]\n<DerivAvg>  [ 0.75 0.5 ]\n<Count> 2 "), "{text}");

        let mut softmax = component("type=SoftmaxComponent dim=2");
        for _ in 0..3 {
            store(&mut *softmax, &harness, 1, &[0.25, 0.75]);
        }
        let text = written_text(&*softmax);
        assert!(text.contains("<ValueAvg>  [ 0.25 0.75 ]\n<DerivAvg>  [ ]\n<Count> 3 "), "{text}");

        let mut sum = softmax.clone();
        sum.add(2.0, &*softmax);
        assert!(written_text(&*sum).contains("<ValueAvg>  [ 0.25 0.75 ]\n<DerivAvg>  [ ]\n<Count> 9 "));
        sum.zero_stats();
        assert!(written_text(&*sum).contains("<ValueAvg>  [ 0 0 ]\n<DerivAvg>  [ ]\n<Count> 0 "));

        let mut log_softmax = component("type=LogSoftmaxComponent dim=2");
        store(&mut *log_softmax, &harness, 1, &[-1.0, -2.0]);
        assert!(written_text(&*log_softmax).contains("<Count> 0 "));
    }

    #[test]
    fn stores_on_half_of_the_calls() {
        let harness = Harness::new();
        let mut relu = component("type=RectifiedLinearComponent dim=1");
        for _ in 0..2000 {
            store(&mut *relu, &harness, 1, &[1.0]);
        }
        let count = crate::downcast::<Nonlinear>(&*relu).stats.count().value();
        assert!((900.0..1100.0).contains(&count), "{count}");
    }

    /// Backprop with statistics, until self-repair happened; the derivative it added.
    fn repaired(text: &str, output: &[f32]) -> (Vec<f32>, String) {
        let harness = Harness::new();
        let mut c = from_text(text);
        let zeros = filled(1, output.len(), 0.0);
        let forward =
            Forward { output: Matrix::from_vec(1, output.len(), output.to_vec()), memo: Matrix::empty() };
        loop {
            let deriv = harness.backward(&mut *c, None, &zeros, &forward, &zeros, Update::Own).to_vec();
            if deriv.iter().any(|&d| d != 0.0) {
                return (deriv, written_text(&*c));
            }
        }
    }

    #[test]
    fn self_repair_by_hand() {
        let stats =
            "<ValueAvg>  [ 0 0 0 0 ]\n<DerivAvg>  [ 0.01 0.5 0.97 0.02 ]\n<Count> 10 <SelfRepairScale> 0.01 ";
        let output = [0.75, 0.5, 0.5, 0.25];
        let form = |name: &str, extra: &str| format!("<{name}> <Dim> 4 {extra}{stats}</{name}> ");
        let (sigmoid, text) = repaired(&form("SigmoidComponent", ""), &output);
        assert_near(&sigmoid, &[-0.01, 0.0, 0.0, 0.01], 1e-6, "sigmoid");
        assert!(text.contains("<NumDimsSelfRepaired> 2 "), "{text}");
        let (tanh, _) = repaired(&form("TanhComponent", ""), &output);
        assert_near(&tanh, &[-0.015, 0.0, 0.0, -0.005], 1e-6, "tanh");
        let (relu, text) = repaired(&form("RectifiedLinearComponent", ""), &output);
        assert_near(&relu, &[0.02, 0.0, -0.02, 0.02], 1e-6, "relu");
        assert!(text.contains("<NumDimsSelfRepaired> 3 <NumDimsProcessed> 4 "), "{text}");
        // Averages over the two blocks: 0.49 and 0.26, of which the first is above the threshold set here.
        let stats = stats.replace("<SelfRepairScale>", "<SelfRepairUpperThreshold> 0.4 <SelfRepairScale>");
        let name = "RectifiedLinearComponent";
        let (relu, text) = repaired(&format!("<{name}> <Dim> 4 <BlockDim> 2 {stats}</{name}> "), &output);
        assert_near(&relu, &[-0.02, 0.0, -0.02, 0.0], 1e-6, "relu in blocks");
        assert!(text.contains("<NumDimsSelfRepaired> 1 <NumDimsProcessed> 2 "), "{text}");
    }

    #[test]
    fn output_derivative_statistics() {
        let harness = Harness::new();
        let mut c = component("type=LogSoftmaxComponent dim=2");
        let input = filled(2, 2, 0.0);
        let forward = harness.forward(&*c, None, &input, 2);
        let out_deriv = Matrix::from_vec(2, 2, vec![3.0, 0.0, 3.0, 4.0]);
        harness.backward(&mut *c, None, &input, &forward, &out_deriv, Update::None);
        assert!(written_text(&*c).contains("<OderivCount> 0 "));
        harness.backward(&mut *c, None, &input, &forward, &out_deriv, Update::Own);
        let text = written_text(&*c);
        assert!(text.contains("<OderivRms>  [ 3 2.828427 ]\n<OderivCount> 2 "), "{text}");
    }
}
