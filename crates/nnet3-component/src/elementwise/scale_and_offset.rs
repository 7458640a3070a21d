//! `ScaleAndOffsetComponent`: y = s ⊙ x + b, usually after batch normalisation.

use crate::declared::*;
use crate::parameters::*;
use crate::preconditioners::{NaturalGradientSettings, Preconditioning, RANK};
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::text;
use nnet3_matrix::{Map, Scratch};

/// Scales are taken to be at least this far from 0, so that the input can be recovered from the output.
const SMALLEST_SCALE: f32 = 1e-4;

pub const TYPES: &[&ComponentType] = &[ScaleAndOffset::TYPE];

/// Backprop receives the output and recomputes the input from it: in common topologies the output is kept anyway.
#[derive(Clone, Debug)]
pub(crate) struct ScaleAndOffset {
    settings: UpdatableSettings,
    /// 1 × block-dim, repeated over the columns.
    scales: Matrix,
    /// 1 × block-dim.
    offsets: Matrix,
    dim: usize,
    use_natural_gradient: bool,
    natural_gradient: NaturalGradientSettings,
}

impl ScaleAndOffset {
    fn block_dim(&self) -> usize {
        self.scales.cols()
    }

    /// The scales without those that are too close to 0.
    fn usable_scales<'w>(&self, context: Context<'w>) -> Scratch<'w> {
        let mut scales = context.workspace.take(1, self.block_dim());
        context.backend.map(
            scales.view_mut(),
            self.scales.view(),
            Map::AwayFromZero { epsilon: SMALLEST_SCALE },
        );
        scales
    }

    /// Returns for each row the input (the derivative with respect to the scales), recomputed from `output`, times
    /// `deriv`.
    fn scale_derivs<'w>(&self, context: Context<'w>, output: View<'_>, deriv: View<'_>) -> Scratch<'w> {
        let backend = context.backend;
        let mut inverse = self.usable_scales(context);
        let inverse_scales = inverse.view_mut();
        backend.map(inverse_scales, inverse_scales.as_view(), Map::Inverse);
        let mut derivs = context.workspace.take(output.rows(), output.cols());
        backend.copy(derivs.view_mut(), output);
        backend.add_to_rows(derivs.view_mut(), -1.0, self.offsets.view());
        backend.scale_cols(derivs.view_mut(), inverse_scales.as_view());
        backend.multiply(derivs.view_mut(), deriv);
        derivs
    }
}

impl Declared for ScaleAndOffset {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<ScaleAndOffset>(
        "ScaleAndOffsetComponent",
        "Multiplies each column by a trainable scale and adds a trainable offset.",
        "dim=4",
    );

    fn fields(f: &mut Fields<'_, ScaleAndOffset>) -> Result<Option<ScaleAndOffset>> {
        let settings = f.settings(|c| &c.settings)?;
        let dim = f.get(&PARAMETER_DIM.hidden(), |c| c.dim)?;
        let block_dim = f.key_or(&BLOCK_DIM, dim)?;
        f.check_divides((&PARAMETER_DIM, dim), (&BLOCK_DIM, block_dim))?;
        let (scales, offsets) = match f.config() {
            Some((line, _)) => {
                check_size(line, 1, dim)?;
                let filled = |value| Matrix::from_vec(1, block_dim, vec![value; block_dim]);
                (filled(1.0), filled(0.0))
            }
            None => (f.row("<Scales>", |c| &c.scales)?, f.row("<Offsets>", |c| &c.offsets)?),
        };
        let (block, found) = (scales.cols(), offsets.cols());
        f.check(dim.is_multiple_of(block), || format!("the block dimension {block} does not divide {dim}"))?;
        f.check(block == found, || format!("<Scales> has {block} elements, but <Offsets> {found}"))?;
        let use_natural_gradient = f.get(&USE_NATURAL_GRADIENT.hidden(), |c| c.use_natural_gradient)?;
        let rank = f.get(&RANK.or(20), |c| c.natural_gradient.rank)?;
        f.note(|c, _| c.info_of_parameters());
        // The update period is not stored: after reading it is 1.
        let period = if f.is_config() { 4 } else { 1 };
        let natural_gradient = NaturalGradientSettings::with_rank(rank, period);
        f.done(ScaleAndOffset { settings, scales, offsets, dim, use_natural_gradient, natural_gradient })
    }
}

impl ScaleAndOffset {
    fn info_of_parameters(&self) -> String {
        let mut out = String::new();
        if self.dim != self.block_dim() {
            out += &format!(", block-size={}", self.block_dim());
        }
        out + &text::mean_stats("scales", &self.scales.to_vec())
            + &text::mean_stats("offsets", &self.offsets.to_vec())
    }
}

impl Component for ScaleAndOffset {
    fn parameters(&self) -> Parameters<'_> {
        named([("scale", &self.scales), ("offset", &self.offsets)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("scale", &mut self.scales), ("offset", &mut self.offsets)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::UPDATABLE
            | Properties::BACKPROP_IN_PLACE
            | Properties::PROPAGATE_IN_PLACE
            | Properties::BACKPROP_NEEDS_OUTPUT
            | (Properties::INPUT_CONTIGUOUS | Properties::OUTPUT_CONTIGUOUS)
                .when(self.dim != self.block_dim())
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
        let output = in_blocks_mut(output, self.block_dim());
        context.backend.scale_cols(output, self.usable_scales(context).view());
        context.backend.add_to_rows(output, 1.0, self.offsets.view());
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let deriv = in_blocks(args.out_deriv, self.block_dim());
        if update.wants_gradients() {
            let mut derivs = self.scale_derivs(context, in_blocks(args.out_value, self.block_dim()), deriv);
            update.rows(context, "offset", Rows::Sum(deriv));
            update.rows(context, "scale", Rows::Scratch(derivs.view_mut()));
        }
        if let Some(in_deriv) = args.in_deriv {
            copy_unless_same(context, in_deriv, args.out_deriv);
            context.backend.scale_cols(in_blocks_mut(in_deriv, self.block_dim()), self.scales.view());
        }
    }
}

impl Updatable for ScaleAndOffset {
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

    fn vary(c: &mut dyn Component) {
        let updatable = c.as_updatable_mut().unwrap();
        let values: Vec<f32> = (0..updatable.num_parameters()).map(|i| 0.5 + 0.3 * i as f32).collect();
        updatable.unvectorize(&values);
    }

    #[test]
    fn checks() {
        Check::new("type=ScaleAndOffsetComponent dim=4").component(vary).run();
        Check::new("type=ScaleAndOffsetComponent dim=6 block-dim=3 use-natural-gradient=false rank=2")
            .component(vary)
            .run();
        assert_eq!(component("type=ScaleAndOffsetComponent dim=4").properties().bits(), 0x187);
        assert_eq!(component("type=ScaleAndOffsetComponent dim=4 block-dim=2").properties().bits(), 0xd87);
        refused("type=ScaleAndOffsetComponent", "'dim' is missing");
        refused("type=ScaleAndOffsetComponent dim=4 block-dim=3", "does not divide");
        refused("type=ScaleAndOffsetComponent dim=4 rank=0", "rank=0");
    }

    #[test]
    fn files() {
        let text = |dim: i32, offsets: &str| {
            format!(
                "<ScaleAndOffsetComponent> <LearningRate> 0.001 <Dim> {dim} <Scales>  [ 1 2 ]\n<Offsets>  [ {offsets}]\n\
                 <UseNaturalGradient> T <Rank> 20 </ScaleAndOffsetComponent> "
            )
        };
        let good = text(4, "1 2 ");
        let c = from_text(&good);
        assert_eq!(written_text(&*c), good);
        assert_eq!(downcast::<ScaleAndOffset>(&*c).natural_gradient.update_period, 1);
        read_refused(&text(3, "1 2 "), "does not divide 3");
        read_refused(&text(2, "1 "), "<Offsets> 1");
    }

    /// Scales near zero become ±0.0001 in the forward pass, and stay unchanged in the input derivative.
    #[test]
    fn scales_near_zero() {
        let mut c = component("type=ScaleAndOffsetComponent dim=2");
        c.as_updatable_mut().unwrap().unvectorize(&[0.0, -1e-6, 0.0, 1.0]);
        let (harness, input) = (Harness::new(), Matrix::from_vec(1, 2, vec![10.0, 10.0]));
        let forward = harness.forward(&*c, None, &input, 1);
        assert_near(&forward.output.to_vec(), &[0.001, 0.999], 1e-6, "output");
        let deriv = harness.backward(&mut *c, None, &input, &forward, &filled(1, 2, 1.0), Update::None);
        assert_eq!(deriv.to_vec(), [0.0, -1e-6]);
    }
}
