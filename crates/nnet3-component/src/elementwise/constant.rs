//! `ConstantFunctionComponent` and `ConstantComponent`: an output that depends on no input, trainable or not. The first
//! takes an input and ignores it; the second has no input at all.

use crate::declared::*;
use crate::parameters::*;
use crate::preconditioners::NaturalGradientSettings;
use crate::preconditioners::Preconditioning;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::text;

const FUNCTION: &ComponentType = &ComponentType::updatable::<Constant>(
    "ConstantFunctionComponent",
    "A constant output, whatever the input.",
    "input-dim=4 output-dim=3 output-stddev=1",
);
const CONSTANT: &ComponentType = &ComponentType::updatable::<Constant>(
    "ConstantComponent",
    "A constant output that needs no input.",
    "output-dim=3 output-stddev=1",
);
pub const TYPES: &[&ComponentType] = &[FUNCTION, CONSTANT];

const IS_UPDATABLE: Field<bool> =
    field("is-updatable", "<IsUpdatable>", "whether training changes the output").or(true);
const OUTPUT_MEAN: Field<f32> = field("output-mean", "", "mean of the initial output").or(0.0);

/// Both types of constant components.
#[derive(Clone, Debug)]
pub struct Constant {
    settings: UpdatableSettings,
    /// The input dimension of `ConstantFunctionComponent`; `None` for `ConstantComponent`, which has no input.
    input_dim: Option<usize>,
    /// 1 × O.
    output: Matrix,
    is_updatable: bool,
    use_natural_gradient: bool,
    natural_gradient: NaturalGradientSettings,
}

impl Declared for Constant {
    const TYPE: &'static ComponentType = FUNCTION;

    fn component_type(&self) -> &'static ComponentType {
        if self.input_dim.is_some() { FUNCTION } else { CONSTANT }
    }

    fn fields(f: &mut Fields<'_, Constant>) -> Result<Option<Constant>> {
        let settings = f.settings(|c| &c.settings)?;
        f.note(|c, _| format!(", {}", c.type_name()));
        let input_dim = match f.is(FUNCTION) {
            true => Some(f.get(&INPUT_DIM, |c| c.input_dim())?),
            false => None,
        };
        let output_dim = f.key(&OUTPUT_DIM)?;
        f.note(|c, _| format!(", output-dim={}", c.output.cols()));
        let output = f.row("<Output>", |c| &c.output)?;
        let is_updatable = f.get(&IS_UPDATABLE, |c| c.is_updatable)?;
        let use_natural_gradient = f.get(&USE_NATURAL_GRADIENT, |c| c.use_natural_gradient)?;
        f.note(|c, _| text::mean_stats("output", &c.output.to_vec()));
        let (mean, stddev) = (f.key(&OUTPUT_MEAN)?, f.key(&stddev_key("output-stddev").or(0.0))?);
        let output = match f.config() {
            Some((line, random)) => normal_matrix(line, random, 1, output_dim, mean, stddev)?,
            None => output,
        };
        let natural_gradient = NaturalGradientSettings::default();
        f.done(Constant { settings, input_dim, output, is_updatable, use_natural_gradient, natural_gradient })
    }
}

impl Component for Constant {
    /// For `ConstantComponent`, which has no input, this is the output's dimension.
    fn input_dim(&self) -> usize {
        self.input_dim.unwrap_or(self.output.cols())
    }
    fn output_dim(&self) -> usize {
        self.output.cols()
    }
    fn properties(&self) -> Properties {
        let updatable = Properties::UPDATABLE.when(self.is_updatable);
        match self.input_dim {
            Some(input_dim) => {
                Properties::SIMPLE
                    | Properties::BACKPROP_ADDS
                    | updatable
                    | Properties::PROPAGATE_IN_PLACE.when(input_dim == self.output.cols())
            }
            None => updatable,
        }
    }

    fn as_indexed(&self) -> Option<&dyn Indexed> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { output, .. }: Propagate<'_>) {
        context.backend.set_rows(output, self.output.view());
    }

    /// The input derivative is zero, which is added to it.
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        if self.is_updatable {
            update.rows(context, "bias", Rows::Sum(args.out_deriv));
        }
    }

    /// The output is a bias without a linear part.
    fn parameters(&self) -> Parameters<'_> {
        if self.is_updatable { named([("bias", &self.output)]) } else { Parameters::new() }
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        if self.is_updatable { named([("bias", &mut self.output)]) } else { ParametersMut::new() }
    }
    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        if self.is_updatable { Vec::new() } else { vec![&mut self.output] }
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        if self.is_updatable { Some(self) } else { None }
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        if self.is_updatable { Some(self) } else { None }
    }
}

impl Indexed for Constant {
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        if self.input_dim.is_some() {
            inputs.push(output);
        }
    }
}

impl Updatable for Constant {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        match self.use_natural_gradient {
            true => Preconditioning::Rows { settings: self.natural_gradient, freezes: false },
            false => Preconditioning::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn checks() {
        check_component("type=ConstantFunctionComponent input-dim=4 output-dim=3 output-stddev=1");
        check_component(
            "type=ConstantFunctionComponent input-dim=3 output-dim=3 output-mean=1 use-natural-gradient=false \
             max-change=1 l2-regularize=2",
        );
        check_component("type=ConstantFunctionComponent input-dim=4 output-dim=3 is-updatable=false");
        let properties = |config: &str| component(config).properties().bits();
        assert_eq!(properties("type=ConstantFunctionComponent input-dim=4 output-dim=3"), 0x23);
        assert_eq!(
            properties("type=ConstantFunctionComponent input-dim=3 output-dim=3 is-updatable=false"),
            0x25
        );
        assert_eq!(properties("type=ConstantComponent output-dim=3"), 0x2);
        refused("type=ConstantFunctionComponent output-dim=3", "'input-dim' is missing");
        refused("type=ConstantFunctionComponent input-dim=3", "'output-dim' is missing");
        refused("type=ConstantComponent output-dim=3 input-dim=3", "input-dim=3");
    }

    #[test]
    fn a_constant_needs_no_input() {
        let outputs: Vec<Index> = (0..5).map(|t| Index::new(0, t, 0)).collect();
        let c = component("type=ConstantComponent output-dim=3 output-stddev=1");
        let (mut inputs, mut used) = (Vec::new(), Vec::new());
        c.input_indexes(outputs[0], &mut inputs);
        assert!(c.is_computable(outputs[0], &|_| false, Some(&mut used)));
        assert!(inputs.is_empty() && used.is_empty());
        Check::new("type=ConstantComponent output-dim=3 output-stddev=1 max-change=1")
            .indexes(inputs, outputs)
            .run();
    }

    #[test]
    fn fixed_ones_do_not_change() {
        let mut c = component(
            "type=ConstantFunctionComponent input-dim=4 output-dim=3 is-updatable=false output-mean=2",
        );
        assert!(c.as_updatable().is_none());
        let before = written(&*c, true);
        let other = c.clone();
        c.scale(0.0);
        c.add(2.0, &*other);
        let (harness, input) = (Harness::new(), filled(2, 4, 1.0));
        let forward = harness.forward(&*other, None, &input, 2);
        assert_eq!(forward.output.to_vec(), [2.0; 6]);
        harness.backward(
            &mut *other.clone(),
            None,
            &input,
            &forward,
            &filled(2, 3, 1.0),
            Update::to(&mut *c, &mut crate::plain::Plain),
        );
        assert_eq!(written(&*c, true), before);
    }
}
