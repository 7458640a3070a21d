//! `CompositeComponent`: a sequence of simple components run as one. Backprop computes the values between them again,
//! in chunks of rows, so that they need not be kept.

use super::updatable::{Updatable, UpdatableSettings};
use super::*;
use crate::declared::*;
use nnet3_base::config::ConfigLine;
use nnet3_base::snapshot::Keeper;
use nnet3_matrix::Scratch;

const NAME: &str = "CompositeComponent";
const MOST_PARTS: usize = 100_000;

pub const TYPES: &[&ComponentType] = &[Composite::TYPE];

const MAX_ROWS_PROCESS: Field<i32> = field(
    "max-rows-process",
    "<MaxRowsProcess>",
    "more rows than this are processed in pieces; 0 is no limit",
)
.or(4096)
.hidden();
const NUM_COMPONENTS: Field<usize> = field("num-components", "<NumComponents>", "number of parts").hidden();
const COMPONENT1: Key = key(
    "component1",
    Kind::String,
    "",
    "quoted config line of the first part, such as 'type=AffineComponent input-dim=…'; component2 … likewise",
);

#[derive(Clone)]
pub struct Composite {
    settings: UpdatableSettings,
    max_rows_process: i32,
    /// The parts, at least one; the output dimension of each is the input dimension of the next.
    parts: Vec<Box<dyn Component>>,
}

impl Composite {
    /// Fails with a reason if the parts cannot be run one after another.
    fn new(
        settings: UpdatableSettings,
        max_rows_process: i32,
        parts: Vec<Box<dyn Component>>,
    ) -> std::result::Result<Composite, String> {
        for (i, part) in parts.iter().enumerate() {
            let properties = part.properties();
            if !properties.contains(Properties::SIMPLE) || properties.contains(Properties::RANDOM) {
                return Err(format!(
                    "{} cannot be part of a {NAME}: it is random or not simple",
                    part.type_name()
                ));
            }
            if i > 0 && parts[i - 1].output_dim() != part.input_dim() {
                let (above, below) = (part.input_dim(), parts[i - 1].output_dim());
                return Err(format!(
                    "component{} takes {above} columns, but component{i} gives {below}",
                    i + 1
                ));
            }
        }
        match parts.is_empty() {
            true => Err("a sequence of components must not be empty".to_string()),
            false => Ok(Composite { settings, max_rows_process, parts }),
        }
    }

    pub fn parts(&self) -> &[Box<dyn Component>] {
        &self.parts
    }

    /// Replaces a part by one of the same dimensions.
    pub fn set_part(&mut self, i: usize, part: Box<dyn Component>) {
        let old = &self.parts[i];
        assert!(part.properties().contains(Properties::SIMPLE));
        assert_eq!((part.input_dim(), part.output_dim()), (old.input_dim(), old.output_dim()));
        self.parts[i] = part;
    }

    fn last(&self) -> usize {
        self.parts.len() - 1
    }

    /// First row and number of rows of each piece.
    fn pieces(&self, rows: usize) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let most = usize::try_from(self.max_rows_process).ok().filter(|&n| n > 0).unwrap_or(rows.max(1));
        (0..rows).step_by(most).map(move |first| first..rows.min(first + most))
    }

    /// Runs part `i`. Returns scratch memory with its memo and output.
    fn run_part<'w>(&self, context: Context<'w>, i: usize, input: View<'_>) -> (Scratch<'w>, Scratch<'w>) {
        let (part, rows) = (&self.parts[i], input.rows());
        let mut output = match part.properties().contains(Properties::PROPAGATE_ADDS) {
            true => context.workspace.zeros(rows, part.output_dim()),
            false => context.workspace.take(rows, part.output_dim()),
        };
        let mut memo = self.memo(context, i, rows);
        let args =
            Propagate { indexes: None, input, output: output.view_mut(), memo: memo.view_mut(), sets: false };
        part.propagate(context, args);
        (output, memo)
    }

    fn memo<'w>(&self, context: Context<'w>, i: usize, rows: usize) -> Scratch<'w> {
        let (rows, cols) = self.parts[i].memo_shape(None, rows);
        context.workspace.take(rows, cols)
    }

    fn propagate_piece(&self, context: Context<'_>, input: View<'_>, output: ViewMut<'_>) {
        let mut value: Option<Scratch<'_>> = None;
        for i in 0..self.last() {
            match &mut value {
                Some(value) if self.parts[i].properties().contains(Properties::PROPAGATE_IN_PLACE) => {
                    let mut memo = self.memo(context, i, input.rows());
                    let view = value.view_mut();
                    let args = Propagate {
                        indexes: None,
                        input: view.as_view(),
                        output: view,
                        memo: memo.view_mut(),
                        sets: false,
                    };
                    self.parts[i].propagate(context, args);
                }
                _ => {
                    let below = value.as_ref().map_or(input, |value| value.view());
                    value = Some(self.run_part(context, i, below).0);
                }
            }
        }
        let mut memo = self.memo(context, self.last(), input.rows());
        let below = value.as_ref().map_or(input, |value| value.view());
        let args = Propagate { indexes: None, input: below, output, memo: memo.view_mut(), sets: false };
        self.parts[self.last()].propagate(context, args);
    }

    /// Number of parts that must be run again before backprop.
    fn parts_to_repeat(&self) -> usize {
        let last = self.parts[self.last()].properties();
        if last.contains(Properties::USES_MEMO) {
            return self.parts.len();
        }
        let below = self.last().checked_sub(1).map(|i| self.parts[i].properties());
        let skip_below = below.is_some_and(|below| {
            !below.contains(Properties::BACKPROP_NEEDS_OUTPUT)
                && !below.contains(Properties::USES_MEMO)
                && !below.contains(Properties::STORES_STATS)
                && !last.contains(Properties::BACKPROP_NEEDS_INPUT)
                && !last.contains(Properties::STORES_STATS)
        });
        self.last() - skip_below as usize
    }

    /// Runs part `i` again if necessary, and backprop of the parts from the last down to `i`. `args` are those of the
    /// piece; `in_value` is the input of part `i`. Returns the derivative with respect to that input; for part 0 it
    /// goes to the destination in `args`.
    fn backprop_from<'w>(
        &mut self,
        context: Context<'w>,
        i: usize,
        in_value: View<'_>,
        args: &Backprop<'_>,
        update: &mut Update<'_>,
    ) -> Option<Scratch<'w>> {
        let repeated = (i < self.parts_to_repeat()).then(|| self.run_part(context, i, in_value));
        let (value, memo) = repeated
            .as_ref()
            .map_or((View::empty(), View::empty()), |(value, memo)| (value.view(), memo.view()));
        let is_last = i == self.last();
        let above = (!is_last).then(|| self.backprop_from(context, i + 1, value, args, update)).flatten();
        let out_value = if is_last { args.out_value } else { value };
        let properties = self.parts[i].properties();
        if let (true, Some(target)) =
            (properties.contains(Properties::STORES_STATS), self.target_part(update, i))
        {
            target.store_stats(context, in_value, out_value, memo);
        }
        let rows = args.in_value.rows();
        let mut below = (i > 0).then(|| match properties.contains(Properties::BACKPROP_ADDS) {
            true => context.workspace.zeros(rows, self.parts[i].input_dim()),
            false => context.workspace.take(rows, self.parts[i].input_dim()),
        });
        let in_deriv = if i == 0 { args.in_deriv } else { below.as_mut().map(|below| below.view_mut()) };
        if in_deriv.is_some() || properties.contains(Properties::UPDATABLE) {
            let out_deriv = above.as_ref().map_or(args.out_deriv, |above| above.view());
            let args = Backprop {
                name: args.name,
                indexes: None,
                in_value,
                out_value,
                out_deriv,
                memo,
                in_deriv,
                sets: false,
                taps: None,
            };
            self.backprop_part(context, i, args, update);
        }
        below
    }

    /// The part that corresponds to part `i` in the object that `update` names.
    fn target_part<'t>(&'t mut self, update: &'t mut Update<'_>, i: usize) -> Option<&'t mut dyn Component> {
        match update {
            Update::None => None,
            Update::Own => Some(&mut *self.parts[i]),
            Update::Other { target, .. } => Some(&mut *downcast_mut::<Composite>(&mut **target).parts[i]),
        }
    }

    fn backprop_part(&mut self, context: Context<'_>, i: usize, args: Backprop<'_>, update: &mut Update<'_>) {
        let update = match update {
            Update::None => Update::None,
            Update::Own => Update::Own,
            Update::Other { target, gradients } => {
                Update::to(&mut *downcast_mut::<Composite>(&mut **target).parts[i], gradients.part(i))
            }
        };
        self.parts[i].backprop(context, args, update);
    }

    fn updatable_parts(&self) -> impl Iterator<Item = &dyn Updatable> {
        self.parts.iter().filter_map(|part| part.as_updatable())
    }

    fn updatable_parts_mut(&mut self) -> impl Iterator<Item = &mut dyn Updatable> {
        self.parts.iter_mut().filter_map(|part| part.as_updatable_mut())
    }
}

impl Declared for Composite {
    const TYPE: &'static ComponentType = &ComponentType::of::<Composite>(
        NAME,
        "A sequence of simple components run as one; saves memory by computing inner values twice. Rates and limits \
         are keys of the parts.",
        "num-components=2 max-rows-process=3 component1='type=AffineComponent input-dim=4 output-dim=3' \
         component2='type=PerElementScaleComponent dim=3'",
    );

    fn fields(f: &mut Fields<'_, Composite>) -> Result<Option<Composite>> {
        // The common keys are those of the parts.
        let settings = match f.reader() {
            Some(r) => UpdatableSettings::read(r)?,
            None => UpdatableSettings::default(),
        };
        if let Some((w, c)) = f.writer() {
            c.settings.write(w)?;
        }
        let max_rows_process = f.get(&MAX_ROWS_PROCESS, |c| c.max_rows_process)?;
        let count = f.get(&NUM_COMPONENTS, |c| c.parts.len())?;
        f.document(&COMPONENT1);
        let mut parts = Vec::new();
        if let Some((line, random)) = f.config() {
            parts = (1..=count).map(|i| part_of_line(line, i, random)).collect::<Result<_>>()?;
        } else if let Some(r) = f.reader() {
            fields::check(r, count <= MOST_PARTS, || {
                format!("<NumComponents> must be at most {MOST_PARTS}, found {count}")
            })?;
            for _ in 0..count {
                if r.accept_token("<CompositeComponent>")? {
                    return Err(r.error(format!("a {NAME} must not be part of another")).into());
                }
                parts.push(registry::read(r)?);
            }
        } else if let Some((w, c)) = f.writer() {
            c.parts.iter().try_for_each(|part| part.write(w))?;
        }
        f.note(|c, detailed| {
            let part = |i: usize| format!("sub-component{} = {{ {} }}", i + 1, c.parts[i].info(detailed));
            let parts: Vec<String> = (0..c.parts.len()).map(part).collect();
            format!(" {}", parts.join(", "))
        });
        f.build(|| Composite::new(settings, max_rows_process, parts))
    }
}

/// Makes part `i`, from 1, of a config line.
fn part_of_line(line: &mut ConfigLine, i: usize, random: &Random) -> Result<Box<dyn Component>> {
    let key = format!("component{i}");
    let text = line.require_string(&key)?;
    let mut nested = ConfigLine::parse(format!("{}, {key}", line.place()), text)?;
    if !nested.first_token.is_empty() {
        return Err(nested.error("expected key=value pairs only, such as type=AffineComponent"));
    }
    let part_type = nested.require_string("type")?;
    if part_type == NAME {
        return Err(
            nested.error(format!("a {NAME} must not be part of another; lower max-rows-process instead"))
        );
    }
    registry::from_config(&part_type, &mut nested, random)
}

impl Component for Composite {
    fn input_dim(&self) -> usize {
        self.parts[0].input_dim()
    }
    fn output_dim(&self) -> usize {
        self.parts[self.last()].output_dim()
    }

    fn properties(&self) -> Properties {
        let (first, last) = (self.parts[0].properties(), self.parts[self.last()].properties());
        let of_first =
            [Properties::BACKPROP_ADDS, Properties::INPUT_CONTIGUOUS].map(|p| p.when(first.contains(p)));
        let of_last =
            [Properties::PROPAGATE_ADDS, Properties::BACKPROP_NEEDS_OUTPUT, Properties::OUTPUT_CONTIGUOUS]
                .map(|p| p.when(last.contains(p)));
        let own = Properties::SIMPLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::UPDATABLE.when(self.updatable_parts().next().is_some())
            | Properties::BACKPROP_NEEDS_OUTPUT.when(last.contains(Properties::STORES_STATS));
        of_first.into_iter().chain(of_last).fold(own, |all, p| all | p)
    }

    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        self.parts.iter().any(|part| part.needs_floats())
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        for rows in self.pieces(input.rows()) {
            self.propagate_piece(context, input.row_range(rows.clone()), output.row_range(rows));
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        for rows in self.pieces(args.in_value.rows()) {
            let piece = Backprop {
                name: args.name,
                indexes: None,
                in_value: args.in_value.row_range(rows.clone()),
                out_value: match args.out_value.is_empty() {
                    true => View::empty(),
                    false => args.out_value.row_range(rows.clone()),
                },
                out_deriv: args.out_deriv.row_range(rows.clone()),
                memo: View::empty(),
                in_deriv: args.in_deriv.map(|in_deriv| in_deriv.row_range(rows)),
                sets: false,
                taps: None,
            };
            self.backprop_from(context, 0, piece.in_value, &piece, &mut update);
        }
    }

    fn parameters(&self) -> Parameters<'_> {
        let parts = self.parts.iter().enumerate();
        parts.flat_map(|(i, part)| part.parameters().into_iter().map(move |p| p.of_part(i))).collect()
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        let parts = self.parts.iter_mut().enumerate();
        parts.flat_map(|(i, part)| part.parameters_mut().into_iter().map(move |p| p.of_part(i))).collect()
    }
    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        self.parts.iter_mut().flat_map(|part| part.constants_mut()).collect()
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        if self.updatable_parts().next().is_some() { Some(self) } else { None }
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        if self.updatable_parts().next().is_some() { Some(self) } else { None }
    }
}

impl Statistics for Composite {
    fn zero_stats(&mut self) {
        self.parts.iter_mut().for_each(|part| part.zero_stats());
    }

    fn scale_stats(&mut self, factor: f32) {
        self.parts.iter_mut().for_each(|part| part.scale_stats(factor));
    }

    fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        let other = downcast::<Composite>(other);
        assert_eq!(self.parts.len(), other.parts.len());
        self.parts.iter_mut().zip(&other.parts).for_each(|(part, other)| part.add_stats(alpha, &**other));
    }

    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.keep_stats(keeper))
    }

    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        self.parts.iter_mut().for_each(|part| part.scale_stats_by(backend, factor));
    }

    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        let other = downcast::<Composite>(other);
        assert_eq!(self.parts.len(), other.parts.len());
        self.parts
            .iter_mut()
            .zip(&other.parts)
            .for_each(|(part, other)| part.add_stats_by(backend, alpha, &**other));
    }
}

/// Forwards to the parts with parameters. The settings are the composite's own; its learning-rate factor multiplies the
/// parts' rates.
impl Updatable for Composite {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }
    fn set_underlying_learning_rate(&mut self, rate: f32) {
        self.settings.set_underlying_learning_rate(rate);
        let rate = self.settings.learning_rate;
        self.updatable_parts_mut().for_each(|part| part.set_underlying_learning_rate(rate));
    }
    fn set_as_gradient(&mut self) {
        self.settings.set_as_gradient();
        self.updatable_parts_mut().for_each(|part| part.set_as_gradient());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const TWO: &str = "component1='type=AffineComponent input-dim=4 output-dim=3' \
                       component2='type=PerElementScaleComponent dim=3 param-stddev=1'";

    #[test]
    fn checks() {
        check_component(&format!("type=CompositeComponent num-components=2 {TWO}"));
        Check::new(&format!("type=CompositeComponent num-components=2 max-rows-process=2 {TWO}"))
            .rows(5)
            .run();
        // Parts that add, that work in place, that need their output, that keep statistics.
        check_component(
            "type=CompositeComponent num-components=5 max-rows-process=3 \
             component1='type=LinearComponent input-dim=4 output-dim=3' \
             component2='type=PerElementOffsetComponent dim=3 param-stddev=1' \
             component3='type=SigmoidComponent dim=3' component4='type=LinearComponent input-dim=3 output-dim=4' \
             component5='type=TanhComponent dim=4'",
        );
        check_component(
            "type=CompositeComponent num-components=1 component1='type=BlockAffineComponent input-dim=4 output-dim=6 \
             num-blocks=2'",
        );
    }

    #[test]
    fn properties() {
        let c = component(&format!("type=CompositeComponent num-components=2 {TWO}"));
        assert_eq!(c.properties().bits(), 0x63);
        let c = component(
            "type=CompositeComponent num-components=2 component1='type=SigmoidComponent dim=4' \
             component2='type=SigmoidComponent dim=4'",
        );
        assert_eq!(
            c.properties(),
            Properties::SIMPLE | Properties::BACKPROP_NEEDS_INPUT | Properties::BACKPROP_NEEDS_OUTPUT
        );
        assert!(c.as_updatable().is_none());
    }

    /// Shows that each part's statistics go to the receiving object's part, once for each row.
    #[test]
    fn statistics_of_parts() {
        let mut c = component(
            "type=CompositeComponent num-components=2 max-rows-process=2 component1='type=SoftmaxComponent dim=4' \
             component2='type=SoftmaxComponent dim=4'",
        );
        let (harness, input) = (Harness::new(), random_matrix(&Random::new(1), 5, 4));
        let forward = harness.forward(&*c, None, &input, 5);
        harness.backward(&mut *c, None, &input, &forward, &filled(5, 4, 1.0), Update::Own);
        assert_eq!(c.info(false).matches(", count=5").count(), 2, "{}", c.info(false));
        c.zero_stats();
        assert!(!c.info(false).contains(", count="));
    }

    #[test]
    fn learning_rates_reach_the_parts() {
        let mut c = component(
            "type=CompositeComponent num-components=1 \
             component1='type=AffineComponent input-dim=2 output-dim=2 learning-rate-factor=0.5'",
        );
        let updatable = c.as_updatable_mut().unwrap();
        updatable.settings_mut().learning_rate_factor = 2.0;
        updatable.set_underlying_learning_rate(0.3);
        let part = |c: &dyn Component| {
            downcast::<Composite>(c).parts()[0].as_updatable().unwrap().settings().clone()
        };
        assert_eq!((part(&*c).learning_rate, c.as_updatable().unwrap().settings().learning_rate), (0.3, 0.6));
        c.as_updatable_mut().unwrap().set_as_gradient();
        assert!(part(&*c).is_gradient);
    }

    #[test]
    fn refuses() {
        for (config, part) in [
            ("component1='type=NoSuch'", "'num-components' is missing"),
            ("num-components=0", "num-components=0"),
            ("num-components=1", "'component1' is missing"),
            ("num-components=1 component1='type=NoSuch'", "NoSuch"),
            ("num-components=1 component1='dim=4'", "'type' is missing"),
            ("num-components=1 component1='token type=SigmoidComponent dim=4'", "key=value pairs only"),
            ("num-components=1 component1='type=SigmoidComponent dim=4 x=1'", "x=1"),
            ("num-components=1 component1='type=SigmoidComponent dim=4' learning-rate=1", "learning-rate=1"),
            (
                "num-components=1 component1='type=CompositeComponent num-components=1'",
                "must not be part of another",
            ),
            ("num-components=1 component1='type=ConstantComponent output-dim=4'", "random or not simple"),
            (
                "num-components=2 component1='type=SigmoidComponent dim=4' component2='type=SigmoidComponent dim=3'",
                "component2 takes 3 columns, but component1 gives 4",
            ),
        ] {
            refused(&format!("type=CompositeComponent {config}"), part);
        }
        let prefix = "<CompositeComponent> <MaxChange> 2 <L2Regularize> 1 <MaxRowsProcess> 8 <NumComponents>";
        read_refused(&format!("{prefix} 0 </CompositeComponent> "), "found 0");
        read_refused(&format!("{prefix} 200000 </CompositeComponent> "), "at most 100000");
        read_refused(&format!("{prefix} 1 <CompositeComponent> "), "must not be part of another");
    }
}
