//! y = x + b.

use crate::declared::*;
use crate::parameters::*;
use crate::preconditioners::{NaturalGradientSettings, Preconditioning};
use crate::*;
use nnet3_base::text;

const VECTOR: Key = key(
    "vector",
    Kind::File,
    "none",
    "the offsets; dim is then optional and the other keys of initialisation refused",
);
const PARAM_MEAN: Field<f32> = field("param-mean", "", "mean of the initial offsets").or(0.0);

#[derive(Clone, Debug)]
pub struct PerElementOffset {
    settings: UpdatableSettings,
    /// 1 × block-dim, repeated over the columns.
    offsets: Matrix,
    dim: usize,
    use_natural_gradient: bool,
    natural_gradient: NaturalGradientSettings,
}

impl Declared for PerElementOffset {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<PerElementOffset>(
        "PerElementOffsetComponent",
        "Adds a trainable offset to each column.",
        "dim=4 param-stddev=1",
    );

    fn fields(f: &mut Fields<'_, PerElementOffset>) -> Result<Option<PerElementOffset>> {
        let mut settings = f.settings(|c| &c.settings)?;
        let (offsets, mut dim) = PerElementOffset::offsets(f)?;
        read_old_is_gradient(f, &mut settings)?;
        f.note(|c, _| {
            range_stats("offsets", &c.offsets.to_vec()) + &format!(", block-dim={}", c.offsets.cols())
        });
        let mut use_natural_gradient = true;
        // Older files end after the offsets.
        let ends = f.reader().map_or(Ok(None), |r| r.peek_token())? == Some(b'/');
        if !ends {
            dim = f.stored(&PARAMETER_DIM.hidden(), dim, |c| c.dim)?;
            use_natural_gradient = f.get(&USE_NATURAL_GRADIENT, |c| c.use_natural_gradient)?;
        }
        let block = offsets.cols();
        f.check(dim.is_multiple_of(block), || format!("the block dimension {block} does not divide {dim}"))?;
        f.note(|c, _| text::mean_stats("offsets", &c.offsets.to_vec()));
        let natural_gradient = NaturalGradientSettings::with_rank(20, 4);
        f.done(PerElementOffset { settings, offsets, dim, use_natural_gradient, natural_gradient })
    }
}

impl PerElementOffset {
    /// Visits the offsets: in a file, loaded, or random numbers. Returns them with the number of columns.
    fn offsets(f: &mut Fields<'_, PerElementOffset>) -> Result<(Matrix, usize)> {
        let given = f.optional(&PARAMETER_DIM)?;
        if let Some(file) = f.text(&VECTOR)
            && let Some((line, _)) = f.config()
        {
            let offsets = load_parameter_row(line, &file)?;
            let dim = offsets.cols();
            check_dim(line, "dim", dim)?;
            return Ok((offsets, dim));
        }
        let dim = f.required(&PARAMETER_DIM, given)?;
        let block_dim = f.key_or(&BLOCK_DIM, dim)?;
        f.check_divides((&PARAMETER_DIM, dim), (&BLOCK_DIM, block_dim))?;
        let (mean, stddev) = (f.key(&PARAM_MEAN)?, f.key(&stddev_key("param-stddev").or(0.0))?);
        if let Some((line, random)) = f.config() {
            return Ok((normal_matrix(line, random, 1, block_dim, mean, stddev)?, dim));
        }
        let offsets = f.row("<Offsets>", |c| &c.offsets)?;
        let dim = offsets.cols();
        Ok((offsets, dim))
    }
}

impl Component for PerElementOffset {
    fn parameters(&self) -> Parameters<'_> {
        named([("offset", &self.offsets)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("offset", &mut self.offsets)])
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
            | Properties::OUTPUT_CONTIGUOUS.when(self.dim != self.offsets.cols())
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
        context.backend.add_to_rows(in_blocks_mut(output, self.offsets.cols()), 1.0, self.offsets.view());
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            copy_unless_same(context, in_deriv, args.out_deriv);
        }
        update.rows(context, "offset", Rows::Sum(in_blocks(args.out_deriv, self.offsets.cols())));
    }
}

impl Updatable for PerElementOffset {
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
        check_component("type=PerElementOffsetComponent dim=4 param-stddev=1");
        check_component(
            "type=PerElementOffsetComponent dim=6 block-dim=2 param-stddev=1 use-natural-gradient=false",
        );
        assert_eq!(component("type=PerElementOffsetComponent dim=4").properties().bits(), 0x107);
        assert_eq!(component("type=PerElementOffsetComponent dim=4 block-dim=2").properties().bits(), 0x907);
        refused("type=PerElementOffsetComponent", "'dim' is missing");
        refused("type=PerElementOffsetComponent dim=6 block-dim=4", "block-dim=4 does not divide dim=6");
    }

    #[test]
    fn older_forms() {
        let c = from_text(
            "<PerElementOffsetComponent> <Offsets> [ 1 2 ]\n<IsGradient> T </PerElementOffsetComponent> ",
        );
        assert!(c.as_updatable().unwrap().settings().is_gradient);
        assert_eq!((c.input_dim(), downcast::<PerElementOffset>(&*c).use_natural_gradient), (2, true));
        let text = |dim: i32| {
            format!(
                "<PerElementOffsetComponent> <LearningRate> 0.001 <Offsets>  [ 1 2 ]\n<Dim> {dim} \
                 <UseNaturalGradient> F </PerElementOffsetComponent> "
            )
        };
        assert_eq!(written_text(&*from_text(&text(4))), text(4));
        read_refused(&text(3), "does not divide 3");
    }
}
