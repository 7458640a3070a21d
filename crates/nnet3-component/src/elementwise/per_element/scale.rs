//! y = s ⊙ x.

use crate::declared::*;
use crate::parameters::*;
use crate::preconditioners::{ALPHA, NUM_SAMPLES_HISTORY, RANK, UPDATE_PERIOD};
use crate::preconditioners::{NaturalGradientSettings, Preconditioning};
use crate::*;
use nnet3_base::text;

pub(super) const PLAIN: &ComponentType = &ComponentType::updatable::<PerElementScale>(
    "PerElementScaleComponent",
    "Multiplies each column by a trainable scale.",
    "dim=4 param-stddev=0.5",
);
pub(super) const NATURAL: &ComponentType = &ComponentType::updatable::<PerElementScale>(
    "NaturalGradientPerElementScaleComponent",
    "Multiplies each column by a trainable scale, with natural gradient updates.",
    "dim=4 param-stddev=0.5",
);

const VECTOR: Key = key(
    "vector",
    Kind::File,
    "none",
    "the scales; dim is then optional and the other keys of initialisation refused",
);
const SCALES: Key = key(
    "scales",
    Kind::File,
    "none",
    "the scales; dim and the other keys of initialisation are then refused",
);
const PARAM_MEAN: Field<f32> = field("param-mean", "", "mean of the initial scales").or(1.0);
const IS_GRADIENT: Field<bool> = field("", "<IsGradient>", "parameters hold a gradient").may_miss();

/// Both types of per-element scales; they differ in the update only.
#[derive(Clone, Debug)]
pub struct PerElementScale {
    settings: UpdatableSettings,
    /// 1 × D.
    scales: Matrix,
    /// The settings of `NaturalGradientPerElementScaleComponent`; `None` for `PerElementScaleComponent`.
    natural_gradient: Option<NaturalGradientSettings>,
}

impl PerElementScale {
    /// 1 × D.
    pub fn scales(&self) -> &Matrix {
        &self.scales
    }
}

impl Declared for PerElementScale {
    const TYPE: &'static ComponentType = PLAIN;

    fn component_type(&self) -> &'static ComponentType {
        if self.natural_gradient.is_some() { NATURAL } else { PLAIN }
    }

    fn fields(f: &mut Fields<'_, PerElementScale>) -> Result<Option<PerElementScale>> {
        let mut settings = f.settings(|c| &c.settings)?;
        let scales = PerElementScale::scales_of(f)?;
        f.note(|c, _| {
            let scales = c.scales.to_vec();
            range_stats("scales", &scales) + &text::mean_stats("scales", &scales)
        });
        let natural_gradient = match f.is(NATURAL) {
            true => Some(PerElementScale::natural_gradient(f, &mut settings)?),
            false => {
                read_old_is_gradient(f, &mut settings)?;
                None
            }
        };
        f.done(PerElementScale { settings, scales, natural_gradient })
    }
}

impl PerElementScale {
    /// Visits the scales: in a file, loaded, or random numbers.
    fn scales_of(f: &mut Fields<'_, PerElementScale>) -> Result<Matrix> {
        let natural = f.is(NATURAL);
        let given = if natural && f.has(SCALES.name) { None } else { f.optional(&PARAMETER_DIM)? };
        let key = if natural { SCALES } else { VECTOR };
        if let Some(file) = f.text(&key)
            && let Some((line, _)) = f.config()
        {
            let scales = load_parameter_row(line, &file)?;
            if !natural {
                check_dim(line, "dim", scales.cols())?;
            }
            return Ok(scales);
        }
        let dim = f.required(&PARAMETER_DIM, given)?;
        let (mean, stddev) = (f.key(&PARAM_MEAN)?, f.key(&stddev_key("param-stddev").or(0.0))?);
        match f.config() {
            Some((line, random)) => normal_matrix(line, random, 1, dim, mean, stddev),
            None => f.row("<Params>", |c| &c.scales),
        }
    }

    fn natural_gradient(
        f: &mut Fields<'_, PerElementScale>,
        settings: &mut UpdatableSettings,
    ) -> Result<NaturalGradientSettings> {
        let of = |c: &PerElementScale| c.natural_gradient.unwrap_or_default();
        settings.is_gradient = f.stored(&IS_GRADIENT, settings.is_gradient, |c| c.settings.is_gradient)?;
        let rank = f.get(&RANK.or(8), |c| of(c).rank)?;
        let period = f.get(&UPDATE_PERIOD.or(10), |c| of(c).update_period)?;
        let history = f.get(&NUM_SAMPLES_HISTORY, |c| of(c).num_samples_history)?;
        let alpha = f.get(&ALPHA, |c| of(c).alpha)?;
        f.skip::<f32>("<MaxChangePerMinibatch>")?;
        let new = NaturalGradientSettings::new(rank, period, history, alpha);
        f.refuse(|| new.defect())?;
        Ok(new)
    }
}

impl Component for PerElementScale {
    fn parameters(&self) -> Parameters<'_> {
        named([("scale", &self.scales)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("scale", &mut self.scales)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.scales.cols()
    }
    fn output_dim(&self) -> usize {
        self.scales.cols()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::UPDATABLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::PROPAGATE_IN_PLACE
            | Properties::BACKPROP_IN_PLACE
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
        context.backend.scale_cols(output, self.scales.view());
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        // First, because the input derivative may replace the output derivative.
        update.rows(context, "scale", Rows::Products(args.in_value, args.out_deriv));
        if let Some(in_deriv) = args.in_deriv {
            copy_unless_same(context, in_deriv, args.out_deriv);
            context.backend.scale_cols(in_deriv, self.scales.view());
        }
    }
}

impl Updatable for PerElementScale {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        let rows = |settings| Preconditioning::Rows { settings, freezes: true };
        self.natural_gradient.map_or(Preconditioning::None, rows)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn checks() {
        check_component("type=PerElementScaleComponent dim=4 param-mean=2 param-stddev=1");
        check_component(
            "type=NaturalGradientPerElementScaleComponent dim=4 rank=3 update-period=2 alpha=1 param-stddev=1",
        );
        assert_eq!(component("type=PerElementScaleComponent dim=4").properties().bits(), 0x147);
        refused("type=PerElementScaleComponent", "'dim' is missing");
        refused("type=PerElementScaleComponent dim=2 scales=x", "scales=x");
        refused("type=PerElementScaleComponent dim=2 param-stddev=-1", "param-stddev");
        refused("type=NaturalGradientPerElementScaleComponent dim=2 rank=0", "rank=0");
        refused("type=NaturalGradientPerElementScaleComponent dim=2 vector=x", "vector=x");
    }

    #[test]
    fn files() {
        let path = std::env::temp_dir().join(format!("nnet3-scale-{}", std::process::id()));
        std::fs::write(&path, " [ 1 2 5 ]\n").unwrap();
        let c = component(&format!("type=PerElementScaleComponent vector={} dim=3", path.display()));
        assert_eq!(c.as_updatable().unwrap().vectorize(), [1.0, 2.0, 5.0]);
        component(&format!("type=NaturalGradientPerElementScaleComponent scales={}", path.display()));
        refused(
            &format!("type=NaturalGradientPerElementScaleComponent scales={} dim=3", path.display()),
            "dim=3",
        );
        refused(&format!("type=PerElementScaleComponent vector={} dim=2", path.display()), "the file has 3");
        std::fs::write(&path, " [ ]\n").unwrap();
        refused(&format!("type=PerElementScaleComponent vector={}", path.display()), "is empty");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn older_forms() {
        let c = from_text(
            "<PerElementScaleComponent> <Params> [ 1 2 ]\n<IsGradient> T </PerElementScaleComponent> ",
        );
        assert!(c.as_updatable().unwrap().settings().is_gradient);
        let natural = |end: &str| {
            format!(
                "<NaturalGradientPerElementScaleComponent> <LearningRate> 0.001 <Params>  [ 1 2 ]\n<IsGradient> F \
                 <Rank> 8 <UpdatePeriod> 10 <NumSamplesHistory> 2000 <Alpha> 4 {end}\
                 </NaturalGradientPerElementScaleComponent> "
            )
        };
        assert_eq!(written_text(&*from_text(&natural("<MaxChangePerMinibatch> 0.5 "))), natural(""));
    }
}
