//! `LinearComponent`: y = W x, with natural gradient updates.

use super::arranged::Arranged;
use crate::declared::*;
use crate::parameters::*;
use crate::preconditioners::*;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::text;
use nnet3_matrix::Gemm;
use std::mem::take;

pub const TYPES: &[&ComponentType] = &[Linear::TYPE];

const MATRIX: Key =
    key("matrix", Kind::File, "none", "W; the dimensions are then optional and param-stddev is refused");
const PARAM_STDDEV: Field<f32> = stddev_key("param-stddev").or_by("1/sqrt(input-dim)");
const ORTHONORMAL: Field<f32> = ORTHONORMAL_CONSTRAINT.written_if_set();
const NATURAL_GRADIENT: Field<bool> =
    USE_NATURAL_GRADIENT.meaning("stored only: updates are always preconditioned");

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
    pub fn linear_params(&self) -> &Matrix {
        &self.params
    }

    /// The same component with other parameters.
    pub fn with_params(&self, params: Matrix) -> Linear {
        Linear { settings: self.settings.clone(), params, ..*self }
    }

    pub fn preconditioners(&self) -> &Preconditioners {
        &self.natural_gradient
    }
}

impl Declared for Linear {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<Linear>(
        "LinearComponent",
        "A linear function of the input, without bias, with natural gradient updates.",
        "input-dim=4 output-dim=3",
    );

    fn fields(f: &mut Fields<'_, Linear>) -> Result<Option<Linear>> {
        let settings = f.settings(|c| &c.settings)?;
        let params = Linear::params_of(f)?;
        f.check(!params.is_empty(), || "<Params> must not be empty".to_string())?;
        f.note(|c, detailed| text::matrix_stats("params", &c.params, detailed));
        let orthonormal_constraint = f.get(&ORTHONORMAL, |c| c.orthonormal_constraint)?;
        let use_natural_gradient = f.get(&NATURAL_GRADIENT, |c| c.use_natural_gradient)?;
        let mut natural_gradient = Preconditioners::take(f, params.cols(), params.rows())?;
        natural_gradient.store_ranks(f, |c| c.natural_gradient)?;
        natural_gradient.store_alpha(f, |c| c.natural_gradient.input)?;
        natural_gradient.store_history(f, |c| c.natural_gradient.input)?;
        natural_gradient.store_period(f, |c| c.natural_gradient.input)?;
        f.refuse(|| natural_gradient.defect())?;
        f.note(|c, _| c.natural_gradient.info());
        f.done(Linear { settings, params, orthonormal_constraint, use_natural_gradient, natural_gradient })
    }
}

impl Linear {
    /// Visits the parameters: in a file, loaded, or random numbers.
    fn params_of(f: &mut Fields<'_, Linear>) -> Result<Matrix> {
        let (input_dim, output_dim) = (f.optional(&INPUT_DIM)?, f.optional(&OUTPUT_DIM)?);
        if let Some(file) = f.text(&MATRIX)
            && let Some((line, _)) = f.config()
        {
            let matrix = load_matrix(&file)?;
            if matrix.is_empty() {
                return Err(line.error(format!("matrix={file} is empty")));
            }
            check_dim(line, "input-dim", matrix.cols())?;
            check_dim(line, "output-dim", matrix.rows())?;
            return Ok(matrix);
        }
        let (cols, rows) = (f.required(&INPUT_DIM, input_dim)?, f.required(&OUTPUT_DIM, output_dim)?);
        let stddev = f.key_or(&PARAM_STDDEV, stddev_for(cols))?;
        match f.config() {
            Some((line, random)) => normal_matrix(line, random, rows, cols, 0.0, stddev),
            None => f.matrix("<Params>", |c| &c.params),
        }
    }
}

impl Component for Linear {
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

    fn propagate(&self, context: Context<'_>, Propagate { input, output, sets, .. }: Propagate<'_>) {
        let beta = if sets { 0.0 } else { 1.0 };
        context.backend.gemm(Gemm { beta, ..Gemm::set(output, input, self.params.view().transposed()) });
    }

    fn sets_output(&self) -> bool {
        true
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
            context.backend.gemm(Gemm { beta, ..Gemm::set(in_deriv, args.out_deriv, self.params.view()) });
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
    use crate::testing::*;

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
