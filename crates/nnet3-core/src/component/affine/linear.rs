//! `LinearComponent`: y = W x, with natural gradient updates.

use super::arranged::Arranged;
use crate::component::parameters::*;
use crate::component::preconditioners::Preconditioning;
use crate::component::preconditioners::{self, Preconditioners};
use crate::component::updatable::{Updatable, UpdatableSettings};
use crate::component::*;
use crate::config::ConfigLine;
use crate::text;
use nnet3_matrix::Transpose::{No, Yes};
use std::mem::take;

const MATRIX: Key = Key {
    name: "matrix",
    kind: Kind::File,
    default: "none",
    meaning: "W; the dimensions are then optional and param-stddev is refused",
};

pub const TYPES: &[ComponentType] = &[ComponentType {
    name: "LinearComponent",
    purpose: "A linear function of the input, without bias, with natural gradient updates.",
    keys: &[
        INPUT_DIM,
        OUTPUT_DIM,
        MATRIX,
        stddev_key("param-stddev", "1/sqrt(input-dim)"),
        ORTHONORMAL_CONSTRAINT,
        Key { meaning: "stored only: updates are always preconditioned", ..USE_NATURAL_GRADIENT },
        preconditioners::KEYS[0],
        preconditioners::KEYS[1],
        preconditioners::KEYS[2],
        preconditioners::KEYS[3],
        preconditioners::KEYS[4],
    ],
    updatable: true,
    example: "input-dim=4 output-dim=3",
    from_config: Linear::from_config,
    read: Linear::read,
}];

#[derive(Clone, Debug)]
pub struct Linear {
    settings: UpdatableSettings,
    /// O × I.
    params: Matrix,
    orthonormal_constraint: f32,
    /// Stored, but without effect, as in the reference.
    use_natural_gradient: bool,
    natural_gradient: Preconditioners,
}

impl Linear {
    /// Makes a component with the default learning rate, ranks 40 and 80, and update period 4. `params` is O × I.
    pub fn new(params: Matrix) -> Linear {
        Linear {
            settings: UpdatableSettings::default(),
            params,
            orthonormal_constraint: 0.0,
            use_natural_gradient: true,
            natural_gradient: Preconditioners::new(40, 80, 4, 2000.0, 4.0),
        }
    }

    /// O × I.
    pub(crate) fn linear_params(&self) -> &Matrix {
        &self.params
    }

    /// The same component with other parameters.
    pub(crate) fn with_params(&self, params: Matrix) -> Linear {
        Linear { settings: self.settings.clone(), params, ..*self }
    }

    pub fn preconditioners(&self) -> &Preconditioners {
        &self.natural_gradient
    }

    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let params = match line.get_string("matrix") {
            Some(file) => {
                let matrix = load_matrix(&file)?;
                if matrix.is_empty() {
                    return Err(line.error(format!("matrix={file} is empty")));
                }
                check_dim(line, "input-dim", matrix.cols())?;
                check_dim(line, "output-dim", matrix.rows())?;
                matrix
            }
            None => {
                let (cols, rows) = (line.require_dim("input-dim")?, line.require_dim("output-dim")?);
                let stddev = get_stddev(line, "param-stddev", (1.0 / (cols as f64).sqrt()) as f32)?;
                normal_matrix(line, random, rows, cols, 0.0, stddev)?
            }
        };
        Ok(Box::new(Linear {
            settings,
            orthonormal_constraint: line.get_f32("orthonormal-constraint")?.unwrap_or(0.0),
            use_natural_gradient: line.get_bool("use-natural-gradient")?.unwrap_or(true),
            natural_gradient: Preconditioners::from_config(line, params.cols(), params.rows())?,
            params,
        }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::read(r)?;
        r.expect_token("<Params>")?;
        let params = read_matrix(r)?;
        fields::check(r, !params.is_empty(), || "<Params> must not be empty".to_string())?;
        let orthonormal_constraint =
            if r.accept_token("<OrthonormalConstraint>")? { r.read_f32()? } else { 0.0 };
        let use_natural_gradient = fields::read_bool(r, "<UseNaturalGradient>")?;
        let rank_in = fields::read_dim(r, "<RankInOut>")?;
        let rank_out = r.read_i32()?;
        fields::check(r, rank_out > 0, || {
            format!("<RankInOut>: expected an integer greater than 0, found {rank_out}")
        })?;
        let alpha = fields::read_f32(r, "<Alpha>")?;
        let history = fields::read_f32(r, "<NumSamplesHistory>")?;
        let period = fields::read_dim(r, "<UpdatePeriod>")?;
        let natural_gradient =
            Preconditioners::new(rank_in, rank_out as usize, period, history, alpha).check(r)?;
        r.expect_token("</LinearComponent>")?;
        Ok(Box::new(Linear {
            settings,
            params,
            orthonormal_constraint,
            use_natural_gradient,
            natural_gradient,
        }))
    }
}

impl Component for Linear {
    fn type_name(&self) -> &'static str {
        "LinearComponent"
    }
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.params)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.params)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.params.cols()
    }
    fn output_dim(&self) -> usize {
        self.params.rows()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::UPDATABLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::PROPAGATE_ADDS
            | Properties::BACKPROP_ADDS
    }

    fn info(&self, detailed: bool) -> String {
        let mut out = self.settings.info(self) + &text::matrix_stats("params", &self.params, detailed);
        if self.orthonormal_constraint != 0.0 {
            out += &format!(", orthonormal-constraint={}", text::number(self.orthonormal_constraint as f64));
        }
        out += &format!(", use-natural-gradient={}", self.use_natural_gradient);
        out + &self.natural_gradient.info()
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, self.type_name())?;
        w.write_token("<Params>")?;
        write_matrix(w, &self.params)?;
        if self.orthonormal_constraint != 0.0 {
            fields::write_f32(w, "<OrthonormalConstraint>", self.orthonormal_constraint)?;
        }
        fields::write_bool(w, "<UseNaturalGradient>", self.use_natural_gradient)?;
        let Preconditioners { input, output } = &self.natural_gradient;
        fields::write_dim(w, "<RankInOut>", input.rank)?;
        w.write_i32(output.rank as i32)?;
        fields::write_f32(w, "<Alpha>", input.alpha)?;
        fields::write_f32(w, "<NumSamplesHistory>", input.num_samples_history)?;
        fields::write_dim(w, "<UpdatePeriod>", input.update_period)?;
        w.write_token("</LinearComponent>")?;
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
        context.backend.gemm(output, 1.0, input, No, self.params.view(), Yes, 1.0);
    }

    fn sets_output(&self) -> bool {
        true
    }

    fn propagate_setting(
        &self,
        context: Context<'_>,
        _: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
        context.backend.gemm(output, 1.0, input, No, self.params.view(), Yes, 0.0);
    }

    fn weights_mut(&mut self) -> Option<&mut Matrix> {
        Some(&mut self.params)
    }
    fn arranged(&mut self, how: Arrangement<'_>) -> Option<Box<dyn Component>> {
        let of = (self.type_name(), self.properties());
        Some(Box::new(Arranged::new(of, how, take(&mut self.params), Matrix::empty())))
    }

    fn sets_in_deriv(&self) -> bool {
        true
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        update.products(context, Products::row_by_row(args.in_value, args.out_deriv));
        if let Some(in_deriv) = args.in_deriv {
            let beta = args.beta();
            context.backend.gemm(in_deriv, 1.0, args.out_deriv, No, self.params.view(), No, beta);
        }
    }

    fn orthonormal_constraint(&mut self) -> Option<(f32, &mut Matrix)> {
        Some((self.orthonormal_constraint, &mut self.params))
    }
}

impl Updatable for Linear {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        Preconditioning::BothSides(self.natural_gradient)
    }
}

#[cfg(test)]
mod tests {
    use crate::component::testing::*;

    #[test]
    fn checks() {
        check_component("type=LinearComponent input-dim=4 output-dim=3");
        check_component(
            "type=LinearComponent input-dim=4 output-dim=3 orthonormal-constraint=-1 use-natural-gradient=false \
             rank-in=2 rank-out=3 alpha=2 num-samples-history=10 update-period=7 max-change=1",
        );
        assert_eq!(component("type=LinearComponent input-dim=4 output-dim=3").properties().bits(), 0x6b);
    }

    #[test]
    fn files() {
        let text = |params: &str, ranks: &str| {
            format!(
                "<LinearComponent> <LearningRate> 0.001 <Params>  {params}<UseNaturalGradient> T <RankInOut> {ranks} \
                 <Alpha> 4 <NumSamplesHistory> 2000 <UpdatePeriod> 4 </LinearComponent> "
            )
        };
        let good = text("[\n  1 2 ]\n", "1 3");
        assert_eq!(written_text(&*from_text(&good)), good);
        read_refused(&text("[ ]\n", "1 3"), "<Params> must not be empty");
        read_refused(&text("[ 1 2 ]\n", "0 3"), "<RankInOut>");
        read_refused(&text("[ 1 2 ]\n", "1 -3"), "found -3");
    }

    #[test]
    fn refuses() {
        refused("type=LinearComponent input-dim=4", "'output-dim' is missing");
        refused("type=LinearComponent input-dim=4 output-dim=3 bias-stddev=1", "bias-stddev=1");
        refused("type=LinearComponent input-dim=4 output-dim=3 use-natural-gradient=1", "true or false");
        refused("type=LinearComponent matrix=/nonexistent/file", "/nonexistent/file");
    }
}
