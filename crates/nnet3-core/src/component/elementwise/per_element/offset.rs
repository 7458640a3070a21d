//! y = x + b.

use crate::component::parameters::*;
use crate::component::preconditioners::{NaturalGradientSettings, Preconditioning};
use crate::component::*;
use crate::config::ConfigLine;
use crate::text;

pub(super) const TYPE: ComponentType = ComponentType {
    name: "PerElementOffsetComponent",
    purpose: "Adds a trainable offset to each column.",
    keys: &[
        DIM,
        Key {
            name: "vector",
            kind: Kind::File,
            default: "none",
            meaning: "the offsets; dim is then optional and the other keys of initialisation refused",
        },
        BLOCK_DIM,
        Key { name: "param-mean", kind: Kind::Float, default: "0", meaning: "mean of the initial offsets" },
        stddev_key("param-stddev", "0"),
        USE_NATURAL_GRADIENT,
    ],
    updatable: true,
    example: "dim=4 param-stddev=1",
    from_config: PerElementOffset::from_config,
    read: PerElementOffset::read,
};

#[derive(Clone, Debug)]
pub struct PerElementOffset {
    settings: UpdatableSettings,
    /// 1 × block-dim, repeated over the columns.
    offsets: Matrix,
    dim: usize,
    use_natural_gradient: bool,
    natural_gradient: NaturalGradientSettings,
}

impl PerElementOffset {
    fn new(
        settings: UpdatableSettings,
        offsets: Matrix,
        dim: usize,
        use_natural_gradient: bool,
    ) -> PerElementOffset {
        let natural_gradient = NaturalGradientSettings::with_rank(20, 4);
        PerElementOffset { settings, offsets, dim, use_natural_gradient, natural_gradient }
    }

    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let (offsets, dim) = match line.get_string("vector") {
            Some(file) => {
                let offsets = load_parameter_row(line, &file)?;
                let dim = offsets.cols();
                check_dim(line, "dim", dim)?;
                (offsets, dim)
            }
            None => {
                let (dim, block_dim) = get_dim_and_block_dim(line)?;
                let mean = line.get_f32("param-mean")?.unwrap_or(0.0);
                let stddev = get_stddev(line, "param-stddev", 0.0)?;
                (normal_matrix(line, random, 1, block_dim, mean, stddev)?, dim)
            }
        };
        let use_natural_gradient = line.get_bool("use-natural-gradient")?.unwrap_or(true);
        Ok(Box::new(PerElementOffset::new(settings, offsets, dim, use_natural_gradient)))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let mut settings = UpdatableSettings::read(r)?;
        let offsets = read_parameter_row(r, "<Offsets>")?;
        read_old_is_gradient(r, &mut settings)?;
        let (mut dim, mut use_natural_gradient) = (offsets.cols(), true);
        if r.peek_token()? != Some(b'/') {
            dim = fields::read_dim(r, "<Dim>")?;
            fields::check_block(r, dim, offsets.cols())?;
            use_natural_gradient = fields::read_bool(r, "<UseNaturalGradient>")?;
        }
        r.expect_token("</PerElementOffsetComponent>")?;
        Ok(Box::new(PerElementOffset::new(settings, offsets, dim, use_natural_gradient)))
    }
}

impl Component for PerElementOffset {
    fn type_name(&self) -> &'static str {
        "PerElementOffsetComponent"
    }
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

    fn info(&self, _: bool) -> String {
        let offsets = self.offsets.to_vec();
        format!(
            "{}{}, block-dim={}, use-natural-gradient={}{}",
            self.settings.info(self),
            range_stats("offsets", &offsets),
            offsets.len(),
            self.use_natural_gradient,
            text::mean_stats("offsets", &offsets)
        )
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, self.type_name())?;
        fields::write_row(w, "<Offsets>", &self.offsets)?;
        fields::write_dim(w, "<Dim>", self.dim)?;
        fields::write_bool(w, "<UseNaturalGradient>", self.use_natural_gradient)?;
        w.write_token("</PerElementOffsetComponent>")?;
        Ok(())
    }

    fn propagate(
        &self,
        context: Context<'_>,
        _: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
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
    use crate::component::testing::*;
    use crate::learning::both_sides::tests::{by_rows, col_sums, follows};
    use crate::natural_gradient::oracle::Dense;
    use nalgebra::DMatrix;

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

    #[test]
    fn natural_gradient_updates() {
        let mut rows = Dense::new(3, 4, 4, 2000.0, 4.0);
        follows("type=PerElementOffsetComponent dim=8 block-dim=4", 3e-6, &mut |_, e| {
            let e = DMatrix::from_row_slice(e.nrows() * 2, 4, &by_rows(e));
            col_sums(&rows.precondition(&e, false))
        });
    }
}
