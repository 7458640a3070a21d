//! y = s ⊙ x.

use crate::component::parameters::*;
use crate::component::preconditioners::{ALPHA, NUM_SAMPLES_HISTORY};
use crate::component::preconditioners::{NaturalGradientSettings, Preconditioning};
use crate::component::*;
use crate::config::ConfigLine;
use crate::text;

const PLAIN: &str = "PerElementScaleComponent";
const NATURAL: &str = "NaturalGradientPerElementScaleComponent";

const PARAM_MEAN: Key =
    Key { name: "param-mean", kind: Kind::Float, default: "1", meaning: "mean of the initial scales" };

pub(super) const PLAIN_TYPE: ComponentType = ComponentType {
    name: PLAIN,
    purpose: "Multiplies each column by a trainable scale.",
    keys: &[
        DIM,
        Key {
            name: "vector",
            kind: Kind::File,
            default: "none",
            meaning: "the scales; dim is then optional and the other keys of initialisation refused",
        },
        PARAM_MEAN,
        stddev_key("param-stddev", "0"),
    ],
    updatable: true,
    example: "dim=4 param-stddev=0.5",
    from_config: |line, random| PerElementScale::from_config(line, random, false),
    read: |r| PerElementScale::read(r, false),
};

pub(super) const NATURAL_TYPE: ComponentType = ComponentType {
    name: NATURAL,
    purpose: "Multiplies each column by a trainable scale, with natural gradient updates.",
    keys: &[
        DIM,
        Key {
            name: "scales",
            kind: Kind::File,
            default: "none",
            meaning: "the scales; dim and the other keys of initialisation are then refused",
        },
        PARAM_MEAN,
        stddev_key("param-stddev", "0"),
        Key { name: "rank", kind: Kind::Int, default: "8", meaning: "natural gradient: rank" },
        Key {
            name: "update-period",
            kind: Kind::Int,
            default: "10",
            meaning: "natural gradient: minibatches between updates of the Fisher matrix",
        },
        NUM_SAMPLES_HISTORY,
        ALPHA,
    ],
    updatable: true,
    example: "dim=4 param-stddev=0.5",
    from_config: |line, random| PerElementScale::from_config(line, random, true),
    read: |r| PerElementScale::read(r, true),
};

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

    fn from_config(line: &mut ConfigLine, random: &Random, natural: bool) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let scales = match line.get_string(if natural { "scales" } else { "vector" }) {
            Some(file) => {
                let scales = load_parameter_row(line, &file)?;
                if !natural {
                    check_dim(line, "dim", scales.cols())?;
                }
                scales
            }
            None => {
                let dim = line.require_dim("dim")?;
                let mean = line.get_f32("param-mean")?.unwrap_or(1.0);
                let stddev = get_stddev(line, "param-stddev", 0.0)?;
                normal_matrix(line, random, 1, dim, mean, stddev)?
            }
        };
        let natural_gradient = match natural {
            true => Some(natural_gradient_from_config(line)?),
            false => None,
        };
        Ok(Box::new(PerElementScale { settings, scales, natural_gradient }))
    }

    fn read(r: &mut KaldiReader, natural: bool) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::read(r)?;
        let scales = read_parameter_row(r, "<Params>")?;
        let mut new = PerElementScale { settings, scales, natural_gradient: None };
        read_old_is_gradient(r, &mut new.settings)?;
        if natural {
            new.natural_gradient = Some(read_natural_gradient(r)?);
        }
        r.expect_token(&format!("</{}>", new.type_name()))?;
        Ok(Box::new(new))
    }
}

fn natural_gradient_from_config(line: &mut ConfigLine) -> Result<NaturalGradientSettings> {
    let new = NaturalGradientSettings::new(
        line.get_dim("rank")?.unwrap_or(8),
        line.get_dim("update-period")?.unwrap_or(10),
        line.get_f32("num-samples-history")?.unwrap_or(2000.0),
        line.get_f32("alpha")?.unwrap_or(4.0),
    );
    match new.defect() {
        Some(defect) => Err(line.error(defect)),
        None => Ok(new),
    }
}

fn read_natural_gradient(r: &mut KaldiReader) -> Result<NaturalGradientSettings> {
    let (rank, period) = (fields::read_dim(r, "<Rank>")?, fields::read_dim(r, "<UpdatePeriod>")?);
    let history = fields::read_f32(r, "<NumSamplesHistory>")?;
    let alpha = fields::read_f32(r, "<Alpha>")?;
    if r.accept_token("<MaxChangePerMinibatch>")? {
        r.read_f32()?; // an older form
    }
    let new = NaturalGradientSettings::new(rank, period, history, alpha);
    match new.defect() {
        Some(defect) => Err(r.error(defect).into()),
        None => Ok(new),
    }
}

impl Component for PerElementScale {
    fn type_name(&self) -> &'static str {
        if self.natural_gradient.is_some() { NATURAL } else { PLAIN }
    }
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

    fn info(&self, _: bool) -> String {
        let scales = self.scales.to_vec();
        let mut out =
            self.settings.info(self) + &range_stats("scales", &scales) + &text::mean_stats("scales", &scales);
        if let Some(natural_gradient) = &self.natural_gradient {
            out += &format!(
                ", rank={}, update-period={}, num-samples-history={}, alpha={}",
                natural_gradient.rank,
                natural_gradient.update_period,
                text::number(natural_gradient.num_samples_history as f64),
                text::number(natural_gradient.alpha as f64)
            );
        }
        out
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, self.type_name())?;
        fields::write_row(w, "<Params>", &self.scales)?;
        if let Some(natural_gradient) = &self.natural_gradient {
            fields::write_bool(w, "<IsGradient>", self.settings.is_gradient)?;
            fields::write_dim(w, "<Rank>", natural_gradient.rank)?;
            fields::write_dim(w, "<UpdatePeriod>", natural_gradient.update_period)?;
            fields::write_f32(w, "<NumSamplesHistory>", natural_gradient.num_samples_history)?;
            fields::write_f32(w, "<Alpha>", natural_gradient.alpha)?;
        }
        w.write_token(&format!("</{}>", self.type_name()))?;
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
    use crate::component::testing::*;
    use crate::learning::both_sides::tests::{col_sums, follows};
    use crate::natural_gradient::oracle::Dense;

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

    #[test]
    fn natural_gradient_updates() {
        let mut rows = Dense::new(4, 7, 3, 2000.0, 4.0);
        let config = "type=NaturalGradientPerElementScaleComponent dim=7 rank=4 update-period=3";
        follows(config, 3e-6, &mut |x, e| col_sums(&rows.precondition(&x.component_mul(e), false)));
    }
}
