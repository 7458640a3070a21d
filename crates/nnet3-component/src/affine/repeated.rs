//! `RepeatedAffineComponent` and `NaturalGradientRepeatedAffineComponent`: one small affine function applied to each of
//! R equal blocks of the input.

use crate::declared::*;
use crate::parameters::*;
use crate::preconditioners::NaturalGradientSettings;
use crate::preconditioners::Preconditioning;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::text;
use nnet3_matrix::Gemm;

const EXAMPLE: &str = "input-dim=6 output-dim=4 num-repeats=2 bias-stddev=1";
const PLAIN: &ComponentType = &ComponentType::updatable::<Repeated>(
    "RepeatedAffineComponent",
    "One affine function applied to equal blocks of the input.",
    EXAMPLE,
);
const NATURAL: &ComponentType = &ComponentType::updatable::<Repeated>(
    "NaturalGradientRepeatedAffineComponent",
    "One affine function applied to equal blocks of the input, with natural gradient updates.",
    EXAMPLE,
);
pub const TYPES: &[&ComponentType] = &[PLAIN, NATURAL];

const NUM_REPEATS: Field<usize> =
    field("num-repeats", "<NumRepeats>", "number of blocks; divides both dimensions");
const PARAM_STDDEV: Field<f32> = stddev_key("param-stddev").or_by("1/sqrt(input-dim/num-repeats)");

/// Both types of repeated affine components; they differ in the update only. Inputs and outputs are contiguous, so
/// that N rows of R blocks are N·R rows of one block.
#[derive(Clone, Debug)]
pub struct Repeated {
    settings: UpdatableSettings,
    /// O/R × I/R.
    linear: Matrix,
    /// 1 × O/R.
    bias: Matrix,
    num_repeats: usize,
    /// The settings for the rows of one minibatch's gradient; `None` for `RepeatedAffineComponent`.
    natural_gradient: Option<NaturalGradientSettings>,
}

impl Repeated {
    pub(crate) fn parts(&self) -> (&UpdatableSettings, &Matrix, &Matrix, usize) {
        (&self.settings, &self.linear, &self.bias, self.num_repeats)
    }

    /// N rows of R blocks, seen as N·R rows.
    fn blocks<'a>(&self, view: View<'a>) -> View<'a> {
        view.reshape(view.rows() * self.num_repeats, view.cols() / self.num_repeats)
    }

    fn blocks_mut<'a>(&self, view: ViewMut<'a>) -> ViewMut<'a> {
        view.reshape(view.rows() * self.num_repeats, view.cols() / self.num_repeats)
    }
}

impl Declared for Repeated {
    const TYPE: &'static ComponentType = PLAIN;

    fn component_type(&self) -> &'static ComponentType {
        if self.natural_gradient.is_some() { NATURAL } else { PLAIN }
    }

    fn fields(f: &mut Fields<'_, Repeated>) -> Result<Option<Repeated>> {
        let mut settings = f.settings(|c| &c.settings)?;
        let (input_dim, output_dim) = (f.key(&INPUT_DIM)?, f.key(&OUTPUT_DIM)?);
        let num_repeats = f.get(&NUM_REPEATS, |c| c.num_repeats)?;
        if f.is_config() {
            f.check_divides((&INPUT_DIM, input_dim), (&NUM_REPEATS, num_repeats))?;
            f.check_divides((&OUTPUT_DIM, output_dim), (&NUM_REPEATS, num_repeats))?;
        }
        let (rows, cols) = (output_dim / num_repeats, input_dim / num_repeats);
        let initial = Initial {
            shape: (rows, cols),
            stddev: f.key_or(&PARAM_STDDEV, stddev_for(cols))?,
            bias_dim: rows,
            bias_mean: f.key(&BIAS_MEAN)?,
            bias_stddev: f.key(&stddev_key("bias-stddev").or(0.0))?,
        };
        let (linear, bias) = f.initial_or_stored(initial, |c| (&c.linear, &c.bias))?;
        f.note(|c, _| {
            text::rms_stats("linear-params", &c.linear.to_vec()) + &text::mean_stats("bias", &c.bias.to_vec())
        });
        read_old_is_gradient(f, &mut settings)?;
        let rank = (linear.cols() / 2).clamp(1, 40);
        let natural_gradient = f.is(NATURAL).then(|| NaturalGradientSettings::with_rank(rank, 4));
        f.done(Repeated { settings, linear, bias, num_repeats, natural_gradient })
    }
}

impl Component for Repeated {
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.linear), ("bias", &self.bias)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.linear), ("bias", &mut self.bias)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.linear.cols() * self.num_repeats
    }
    fn output_dim(&self) -> usize {
        self.linear.rows() * self.num_repeats
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::UPDATABLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::BACKPROP_ADDS
            | Properties::INPUT_CONTIGUOUS
            | Properties::OUTPUT_CONTIGUOUS
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let (input, output) = (self.blocks(input), self.blocks_mut(output));
        affine(context, output, input, self.linear.view(), self.bias.view());
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            let (in_deriv, deriv) = (self.blocks_mut(in_deriv), self.blocks(args.out_deriv));
            context.backend.gemm(Gemm::add(in_deriv, deriv, self.linear.view()));
        }
        let (input, deriv) = (self.blocks(args.in_value), self.blocks(args.out_deriv));
        update.products(context, Products::row_by_row(input, deriv));
    }
}

impl Updatable for Repeated {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        let rows = |settings| Preconditioning::Rows { settings, freezes: false };
        self.natural_gradient.map_or(Preconditioning::None, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    const PLAIN: &str = super::PLAIN.name;
    const NATURAL: &str = super::NATURAL.name;

    #[test]
    fn checks() {
        for name in [PLAIN, NATURAL] {
            check_component(&format!(
                "type={name} input-dim=6 output-dim=4 num-repeats=2 bias-stddev=1 bias-mean=2"
            ));
            check_component(&format!("type={name} input-dim=3 output-dim=3 num-repeats=3 max-change=0.1"));
            let text = |repeats: i32| {
                format!(
                    "<{name}> <LearningRate> 0.001 <NumRepeats> {repeats} <LinearParams> [ 1 2 ]\n<BiasParams> [ 3 ]\n\
                     <IsGradient> T </{name}> "
                )
            };
            assert!(from_text(&text(2)).as_updatable().unwrap().settings().is_gradient);
            read_refused(&text(-2), "found -2");
            refused(
                &format!("type={name} input-dim=6 output-dim=4 num-repeats=3"),
                "does not divide output-dim=4",
            );
            refused(&format!("type={name} input-dim=6 output-dim=4"), "'num-repeats' is missing");
        }
    }

    #[test]
    fn default_parameters() {
        let c = component("type=RepeatedAffineComponent input-dim=6 output-dim=4 num-repeats=2");
        let (_, linear, bias, _) = downcast::<Repeated>(&*c).parts();
        assert_eq!((linear.rows(), linear.cols(), bias.to_vec()), (2, 3, vec![0.0; 2]));
        assert_eq!(c.properties().bits(), 0xc63);
    }
}
