//! `AffineComponent` and `NaturalGradientAffineComponent`: y = W x + b.

use super::parameters::*;
use super::preconditioners::{self, Preconditioners};
use super::updatable::{Updatable, UpdatableSettings};
use super::*;
use crate::config::ConfigLine;
use crate::text;
use nnet3_matrix::Transpose::No;

const PLAIN: &str = "AffineComponent";
const NATURAL: &str = "NaturalGradientAffineComponent";

const MATRIX: Key = Key {
    name: "matrix",
    kind: Kind::File,
    default: "none",
    meaning: "W and b as the last column; the dimensions are then optional and the other keys of initialisation refused",
};
const PARAM_STDDEV: Key = stddev_key("param-stddev", "1/sqrt(input-dim)");
const BIAS_STDDEV: Key = stddev_key("bias-stddev", "1");

pub const TYPES: &[ComponentType] = &[
    ComponentType {
        name: PLAIN,
        purpose: "A linear function of the input plus a bias, with plain gradient updates.",
        keys: &[INPUT_DIM, OUTPUT_DIM, MATRIX, PARAM_STDDEV, BIAS_STDDEV, ORTHONORMAL_CONSTRAINT],
        updatable: true,
        example: "input-dim=4 output-dim=3",
        from_config: |line, random| Affine::from_config(line, random, false),
        read: |r| Affine::read(r, false),
    },
    ComponentType {
        name: NATURAL,
        purpose: "A linear function of the input plus a bias, with natural gradient updates.",
        keys: &[
            INPUT_DIM,
            OUTPUT_DIM,
            MATRIX,
            PARAM_STDDEV,
            BIAS_STDDEV,
            BIAS_MEAN,
            ORTHONORMAL_CONSTRAINT,
            preconditioners::KEYS[0],
            preconditioners::KEYS[1],
            preconditioners::KEYS[2],
            preconditioners::KEYS[3],
            preconditioners::KEYS[4],
        ],
        updatable: true,
        example: "input-dim=4 output-dim=3",
        from_config: |line, random| Affine::from_config(line, random, true),
        read: |r| Affine::read(r, true),
    },
];

/// Both types, which differ in the update only.
#[derive(Clone, Debug)]
pub struct Affine {
    settings: UpdatableSettings,
    /// O × I.
    linear: Matrix,
    /// 1 × O.
    bias: Matrix,
    orthonormal_constraint: f32,
    /// None: `AffineComponent`.
    natural_gradient: Option<Preconditioners>,
}

impl Affine {
    /// An `AffineComponent`. Panics if the bias (1 × O) does not fit the linear part (O × I).
    pub fn new(settings: UpdatableSettings, linear: Matrix, bias: Matrix) -> Affine {
        let mut new = Affine {
            settings,
            linear: Matrix::empty(),
            bias: Matrix::empty(),
            orthonormal_constraint: 0.0,
            natural_gradient: None,
        };
        new.set_params(linear, bias);
        new
    }

    /// A `NaturalGradientAffineComponent` with default rate, ranks 20 and 80, update period 4.
    pub fn with_natural_gradient(linear: Matrix, bias: Matrix) -> Affine {
        let natural_gradient = Some(Preconditioners::new(20, 80, 4, 2000.0, 4.0));
        Affine { natural_gradient, ..Affine::new(UpdatableSettings::default(), linear, bias) }
    }

    /// O × I.
    pub fn linear_params(&self) -> &Matrix {
        &self.linear
    }

    /// 1 × O.
    pub fn bias_params(&self) -> &Matrix {
        &self.bias
    }

    /// Other parameters, of other dimensions perhaps. Panics if they do not fit each other.
    pub fn set_params(&mut self, linear: Matrix, bias: Matrix) {
        assert!(bias.rows() == 1 && bias.cols() == linear.rows() && !linear.is_empty(), "{linear:?} and {bias:?}");
        (self.linear, self.bias) = (linear, bias);
    }

    pub fn preconditioners(&self) -> Option<&Preconditioners> {
        self.natural_gradient.as_ref()
    }

    fn from_config(line: &mut ConfigLine, random: &Random, natural: bool) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let (linear, bias) = match line.get_string("matrix") {
            Some(file) => Affine::load(line, &file)?,
            None => {
                let shape = (line.require_dim("output-dim")?, line.require_dim("input-dim")?);
                let bias_mean = if natural { line.get_f32("bias-mean")?.unwrap_or(0.0) } else { 0.0 };
                random_linear_and_bias(line, random, shape, shape.0, 1.0, bias_mean)?
            }
        };
        let mut new = Affine::new(settings, linear, bias);
        new.orthonormal_constraint = line.get_f32("orthonormal-constraint")?.unwrap_or(0.0);
        if natural {
            new.natural_gradient = Some(Preconditioners::from_config(line, new.input_dim(), new.output_dim())?);
        }
        Ok(Box::new(new))
    }

    fn load(line: &mut ConfigLine, file: &str) -> Result<(Matrix, Matrix)> {
        let matrix = load_matrix(file)?;
        if matrix.cols() < 2 {
            return Err(line.error(format!("matrix={file}: expected at least 2 columns, found {}", matrix.cols())));
        }
        let (rows, cols, data) = (matrix.rows(), matrix.cols() - 1, matrix.to_vec());
        check_dim(line, "input-dim", cols)?;
        check_dim(line, "output-dim", rows)?;
        let linear = data.chunks_exact(cols + 1).flat_map(|row| &row[..cols]).copied().collect();
        let bias = data.chunks_exact(cols + 1).map(|row| row[cols]).collect();
        Ok((Matrix::from_vec(rows, cols, linear), Matrix::from_vec(1, rows, bias)))
    }

    fn read(r: &mut KaldiReader, natural: bool) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::read(r)?;
        let (linear, bias) = read_linear_and_bias(r)?;
        let mut new = Affine::new(settings, linear, bias);
        if natural {
            new.read_natural_gradient(r)?;
        } else {
            read_old_is_gradient(r, &mut new.settings)?;
            new.read_orthonormal_constraint(r)?;
            r.expect_token("</AffineComponent>")?;
        }
        Ok(Box::new(new))
    }

    fn read_orthonormal_constraint(&mut self, r: &mut KaldiReader) -> Result<()> {
        if r.accept_token("<OrthonormalConstraint>")? {
            self.orthonormal_constraint = r.read_f32()?;
        }
        Ok(())
    }

    fn read_natural_gradient(&mut self, r: &mut KaldiReader) -> Result<()> {
        let (rank_in, rank_out) = (read_dim(r, "<RankIn>")?, read_dim(r, "<RankOut>")?);
        self.read_orthonormal_constraint(r)?;
        let period = read_dim(r, "<UpdatePeriod>")?;
        r.expect_token("<NumSamplesHistory>")?;
        let history = r.read_f32()?;
        r.expect_token("<Alpha>")?;
        let alpha = r.read_f32()?;
        self.natural_gradient = Some(Preconditioners::new(rank_in, rank_out, period, history, alpha).check(r)?);

        // Older forms.
        if r.accept_token("<MaxChangePerSample>")? {
            r.read_f32()?;
        }
        read_old_is_gradient(r, &mut self.settings)?;
        for token in ["<UpdateCount>", "<ActiveScalingCount>", "<MaxChangeScaleStats>"] {
            if r.accept_token(token)? {
                r.read_f64()?;
            }
        }
        let end = r.read_token()?;
        match end.contains("NaturalGradientAffineComponent>") {
            true => Ok(()),
            false => Err(r.error(format!("expected token '</{NATURAL}>', found '{end}'")).into()),
        }
    }

    fn update(&mut self, context: Context<'_>, input: View<'_>, deriv: View<'_>) {
        let rate = self.settings.learning_rate;
        let (linear, bias) = (self.linear.view_mut(), self.bias.view_mut());
        match &mut self.natural_gradient {
            Some(natural_gradient) if !self.settings.is_gradient => {
                natural_gradient.add_gradient(context, linear, Some(bias), input, deriv, rate)
            }
            _ => add_affine_gradient(context, linear, bias, input, deriv, rate),
        }
    }
}

impl Component for Affine {
    fn type_name(&self) -> &'static str {
        if self.natural_gradient.is_some() { NATURAL } else { PLAIN }
    }
    fn clone_box(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
    parameter_methods!(linear, bias);

    fn input_dim(&self) -> usize {
        self.linear.cols()
    }
    fn output_dim(&self) -> usize {
        self.linear.rows()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::UPDATABLE | Properties::BACKPROP_NEEDS_INPUT | Properties::BACKPROP_ADDS
    }

    fn info(&self, detailed: bool) -> String {
        let mut out = self.settings.info(self);
        if self.orthonormal_constraint != 0.0 {
            out += &format!(", orthonormal-constraint={}", text::number(self.orthonormal_constraint as f64));
        }
        out += &text::matrix_stats("linear-params", &self.linear, detailed);
        out += &text::mean_stats("bias", &self.bias.to_vec());
        out + &self.natural_gradient.as_ref().map_or(String::new(), Preconditioners::info)
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, self.type_name())?;
        write_linear_and_bias(w, &self.linear, &self.bias)?;
        if let Some(natural_gradient) = &self.natural_gradient {
            write_count(w, "<RankIn>", natural_gradient.input.rank)?;
            write_count(w, "<RankOut>", natural_gradient.output.rank)?;
        }
        if self.orthonormal_constraint != 0.0 {
            w.write_token("<OrthonormalConstraint>")?;
            w.write_f32(self.orthonormal_constraint)?;
        }
        if let Some(natural_gradient) = &self.natural_gradient {
            write_count(w, "<UpdatePeriod>", natural_gradient.input.update_period)?;
            w.write_token("<NumSamplesHistory>")?;
            w.write_f32(natural_gradient.input.num_samples_history)?;
            w.write_token("<Alpha>")?;
            w.write_f32(natural_gradient.input.alpha)?;
        }
        w.write_token(&format!("</{}>", self.type_name()))?;
        Ok(())
    }

    fn propagate(
        &self, context: Context<'_>, _: Option<&dyn PrecomputedIndexes>, input: View<'_>, output: ViewMut<'_>,
        _: ViewMut<'_>,
    ) {
        affine(context, output, input, self.linear.view(), self.bias.view());
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            context.backend.gemm(in_deriv, 1.0, args.out_deriv, No, self.linear.view(), No, 1.0);
        }
        if let Some(target) = update.target(self) {
            target.update(context, args.in_value, args.out_deriv);
        }
    }

    fn orthonormal_constraint(&mut self) -> Option<(f32, &mut Matrix)> {
        Some((self.orthonormal_constraint, &mut self.linear))
    }
}

impl Updatable for Affine {
    updatable_methods!(linear, bias);

    fn freeze_natural_gradient(&mut self, freeze: bool) {
        if let Some(natural_gradient) = &mut self.natural_gradient {
            natural_gradient.freeze(freeze);
        }
    }
}
