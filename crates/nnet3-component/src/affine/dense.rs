//! `AffineComponent` and `NaturalGradientAffineComponent`: y = W x + b.

use super::arranged::Arranged;
use crate::declared::*;
use crate::parameters::*;
use crate::preconditioners::*;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::config::ConfigLine;
use nnet3_base::text;
use nnet3_matrix::{Element, FormedScratch, Gemm};
use std::mem::take;

const PLAIN: &ComponentType = &ComponentType::updatable::<Affine>(
    "AffineComponent",
    "A linear function of the input plus a bias, with plain gradient updates.",
    "input-dim=4 output-dim=3",
);
const NATURAL: &ComponentType = &ComponentType::updatable::<Affine>(
    "NaturalGradientAffineComponent",
    "A linear function of the input plus a bias, with natural gradient updates.",
    "input-dim=4 output-dim=3",
);
pub const TYPES: &[&ComponentType] = &[PLAIN, NATURAL];

const MATRIX: Key = key(
    "matrix",
    Kind::File,
    "none",
    "W and b as the last column; the dimensions are then optional and the other keys of initialisation refused",
);
const PARAM_STDDEV: Field<f32> = stddev_key("param-stddev").or_by("1/sqrt(input-dim)");
const BIAS_STDDEV: Field<f32> = stddev_key("bias-stddev").or(1.0);
const ORTHONORMAL: Field<f32> = ORTHONORMAL_CONSTRAINT.written_if_set();

/// Both types of affine components; they differ in the update only.
#[derive(Clone, Debug)]
pub struct Affine {
    settings: UpdatableSettings,
    /// O × I.
    linear: Matrix,
    /// 1 × O.
    bias: Matrix,
    orthonormal_constraint: f32,
    /// The settings of `NaturalGradientAffineComponent`; `None` for `AffineComponent`.
    natural_gradient: Option<Preconditioners>,
}

impl Affine {
    /// Makes an `AffineComponent`. Panics if the bias (1 × O) does not fit the linear part (O × I).
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

    /// Makes a `NaturalGradientAffineComponent` with the default rate, ranks 20 and 80, and update period 4.
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

    /// Sets other parameters, perhaps of other dimensions. Panics if they do not fit each other.
    pub fn set_params(&mut self, linear: Matrix, bias: Matrix) {
        assert!(
            bias.rows() == 1 && bias.cols() == linear.rows() && !linear.is_empty(),
            "{linear:?} and {bias:?}"
        );
        (self.linear, self.bias) = (linear, bias);
    }

    /// The same component with other parameters. Panics if they do not fit each other.
    pub fn with_params(&self, linear: Matrix, bias: Matrix) -> Affine {
        Affine {
            orthonormal_constraint: self.orthonormal_constraint,
            natural_gradient: self.natural_gradient,
            ..Affine::new(self.settings.clone(), linear, bias)
        }
    }

    pub fn preconditioners(&self) -> Option<&Preconditioners> {
        self.natural_gradient.as_ref()
    }

    fn load(line: &mut ConfigLine, file: &str) -> Result<(Matrix, Matrix)> {
        let matrix = load_matrix(file)?;
        if matrix.cols() < 2 {
            return Err(
                line.error(format!("matrix={file}: expected at least 2 columns, found {}", matrix.cols()))
            );
        }
        let (rows, cols, data) = (matrix.rows(), matrix.cols() - 1, matrix.to_vec());
        check_dim(line, "input-dim", cols)?;
        check_dim(line, "output-dim", rows)?;
        let linear = data.chunks_exact(cols + 1).flat_map(|row| &row[..cols]).copied().collect();
        let bias = data.chunks_exact(cols + 1).map(|row| row[cols]).collect();
        Ok((Matrix::from_vec(rows, cols, linear), Matrix::from_vec(1, rows, bias)))
    }
}

impl Declared for Affine {
    const TYPE: &'static ComponentType = PLAIN;

    fn component_type(&self) -> &'static ComponentType {
        if self.natural_gradient.is_some() { NATURAL } else { PLAIN }
    }

    fn fields(f: &mut Fields<'_, Affine>) -> Result<Option<Affine>> {
        let mut settings = f.settings(|c| &c.settings)?;
        let (linear, bias) = Affine::parameters_of(f)?;
        let natural = f.is(NATURAL);
        if !natural {
            read_old_is_gradient(f, &mut settings)?;
        }
        let mut orthonormal_constraint = f.key(&ORTHONORMAL)?;
        let natural_gradient = match natural {
            true => {
                let mut new = Preconditioners::take(f, linear.cols(), linear.rows())?;
                Affine::store_natural_gradient(f, &mut new, &mut orthonormal_constraint)?;
                Affine::read_old_fields(f, &mut settings)?;
                Some(new)
            }
            false => {
                orthonormal_constraint =
                    f.stored(&ORTHONORMAL, orthonormal_constraint, |c| c.orthonormal_constraint)?;
                None
            }
        };
        f.note(|c, detailed| {
            text::matrix_stats("linear-params", &c.linear, detailed)
                + &text::mean_stats("bias", &c.bias.to_vec())
                + &c.natural_gradient.as_ref().map_or(String::new(), Preconditioners::info)
        });
        f.done(Affine { settings, linear, bias, orthonormal_constraint, natural_gradient })
    }
}

impl Affine {
    /// Visits linear part and bias: in a file, loaded, or random numbers.
    fn parameters_of(f: &mut Fields<'_, Affine>) -> Result<(Matrix, Matrix)> {
        let (input_dim, output_dim) = (f.optional(&INPUT_DIM)?, f.optional(&OUTPUT_DIM)?);
        if let Some(file) = f.text(&MATRIX)
            && let Some((line, _)) = f.config()
        {
            return Affine::load(line, &file);
        }
        let (rows, cols) = (f.required(&OUTPUT_DIM, output_dim)?, f.required(&INPUT_DIM, input_dim)?);
        let initial = Initial {
            shape: (rows, cols),
            stddev: f.key_or(&PARAM_STDDEV, stddev_for(cols))?,
            bias_dim: rows,
            bias_stddev: f.key(&BIAS_STDDEV)?,
            bias_mean: if f.is(NATURAL) { f.key(&BIAS_MEAN)? } else { 0.0 },
        };
        f.initial_or_stored(initial, |c| (&c.linear, &c.bias))
    }

    /// Visits natural gradient and orthonormal constraint in files, where they are mixed.
    fn store_natural_gradient(
        f: &mut Fields<'_, Affine>,
        new: &mut Preconditioners,
        orthonormal_constraint: &mut f32,
    ) -> Result<()> {
        let of = |c: &Affine| c.natural_gradient.unwrap_or(Preconditioners::new(1, 1, 1, 1.0, 1.0));
        new.input.rank = f.stored(&RANK_IN.hidden(), new.input.rank, |c| of(c).input.rank)?;
        new.output.rank = f.stored(&RANK_OUT.hidden(), new.output.rank, |c| of(c).output.rank)?;
        *orthonormal_constraint =
            f.stored(&ORTHONORMAL, *orthonormal_constraint, |c| c.orthonormal_constraint)?;
        new.store_period(f, |c| of(c).input)?;
        new.store_history(f, |c| of(c).input)?;
        new.store_alpha(f, |c| of(c).input)?;
        f.refuse(|| new.defect())
    }

    /// Reads the fields that files of older forms have at the end.
    fn read_old_fields(f: &mut Fields<'_, Affine>, settings: &mut UpdatableSettings) -> Result<()> {
        f.skip::<f32>("<MaxChangePerSample>")?;
        read_old_is_gradient(f, settings)?;
        if let Some(r) = f.reader() {
            for token in ["<UpdateCount>", "<ActiveScalingCount>", "<MaxChangeScaleStats>"] {
                if r.accept_token(token)? {
                    r.read_f64()?;
                }
            }
        }
        f.may_end_with("<NaturalGradientAffineComponent>")
    }
}

impl Component for Affine {
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
        self.linear.cols()
    }
    fn output_dim(&self) -> usize {
        self.linear.rows()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::UPDATABLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::BACKPROP_ADDS
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        affine(context, output, input, self.linear.view(), self.bias.view());
    }

    fn as_affine(&self) -> Option<(Weights<'_>, View<'_>)> {
        Some((Weights::Plain(self.linear.view()), self.bias.view()))
    }

    fn weights_mut(&mut self) -> Option<&mut Matrix> {
        Some(&mut self.linear)
    }
    fn arranged(&mut self, how: Arrangement<'_>) -> Option<Box<dyn Component>> {
        let of = (self.type_name(), self.properties());
        let (linear, bias) = (take(&mut self.linear), take(&mut self.bias));
        Some(Box::new(Arranged::new(of, how, linear, bias)))
    }

    fn sets_in_deriv(&self) -> bool {
        true
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let input = args.in_value;
        // The derivative of an output is floats. Two products take it in halves, like the input.
        let halves = (input.element() == Element::Half).then(|| in_halves(context, args.out_deriv)).flatten();
        let deriv = halves.as_ref().map_or(args.out_deriv, |copy| copy.view());
        let products = RowProducts { input, deriv, first: &[0], stride: 1, taps: args.taps, of_input: None };
        update.products(context, Products::Rows(products));
        if let Some(in_deriv) = args.in_deriv {
            let (linear, rows) = (self.linear.view(), in_deriv.rows());
            let taps = args.taps.filter(|taps| taps.summed);
            match taps.and_then(|taps| Some((taps, taps.filter(context.backend, rows, linear)?))) {
                None => {
                    context.backend.gemm(Gemm { beta: args.beta(), ..Gemm::set(in_deriv, deriv, linear) })
                }
                Some((taps, filter)) => {
                    if args.sets {
                        context.backend.set(in_deriv, 0.0);
                    }
                    filter.backward_data(context, &taps.of_mut(in_deriv), deriv, linear);
                }
            }
        }
    }

    fn orthonormal_constraint(&mut self) -> Option<(f32, &mut Matrix)> {
        Some((self.orthonormal_constraint, &mut self.linear))
    }
}

/// A copy of floats in halves; `None` if there is nothing to copy.
fn in_halves<'w>(context: Context<'w>, x: View<'_>) -> Option<FormedScratch<'w>> {
    (x.element() == Element::Float && !x.is_empty()).then(|| {
        let mut copy = context.workspace.take_in(Element::Half, x.rows(), x.cols());
        context.backend.copy(copy.view_mut(), x);
        copy
    })
}

impl Updatable for Affine {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        self.natural_gradient.map_or(Preconditioning::None, Preconditioning::BothSides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn checks() {
        check_component("type=AffineComponent input-dim=4 output-dim=3");
        check_component(
            "type=AffineComponent input-dim=1 output-dim=3 orthonormal-constraint=-1 max-change=0.5 \
             l2-regularize=0.1 learning-rate-factor=2 learning-rate=0.3 param-stddev=2 bias-stddev=0",
        );
        check_component(
            "type=NaturalGradientAffineComponent input-dim=4 output-dim=1 orthonormal-constraint=1 rank-in=3 \
             rank-out=7 update-period=2 num-samples-history=100 alpha=1 bias-mean=3",
        );
    }

    #[test]
    fn defaults() {
        let c = component("type=NaturalGradientAffineComponent input-dim=100 output-dim=9");
        let preconditioners = downcast::<Affine>(&*c).preconditioners().unwrap();
        assert_eq!((preconditioners.input.rank, preconditioners.output.rank), (20, 5));
        let stddev =
            |values: &[f32]| (values.iter().map(|v| v * v).sum::<f32>() / values.len() as f32).sqrt();
        let affine = component("type=AffineComponent input-dim=100 output-dim=400");
        let affine = downcast::<Affine>(&*affine);
        assert!((stddev(&affine.linear.to_vec()) - 0.1).abs() < 0.002);
        assert!((stddev(&affine.bias.to_vec()) - 1.0).abs() < 0.2);
        assert_eq!(affine.properties().bits(), 0x63);
    }

    #[test]
    fn example_of_the_format() {
        let text = "<AffineComponent> <LearningRateFactor> 0.5 <MaxChange> 0.5 <L2Regularize> 0.01 <LearningRate> 0.001 \
                    <LinearParams>  [\n  1 2 \n  3 4 ]\n<BiasParams>  [ 5 6 ]\n<OrthonormalConstraint> 1 \
                    </AffineComponent> ";
        let mut c = from_text(text);
        assert_eq!(written_text(&*c), text);
        assert_eq!(c.as_updatable().unwrap().vectorize(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(c.orthonormal_constraint().unwrap().0, 1.0);
        assert_eq!(
            c.info(false),
            "AffineComponent, input-dim=2, output-dim=2, learning-rate=0.001, l2-regularize=0.01, \
             learning-rate-factor=0.5, max-change=0.5, orthonormal-constraint=1, linear-params-rms=2.739, \
             linear-params-row-norms=[ 2.2 5.0 ], linear-params-col-norms=[ 3.2 4.5 ], bias-{mean,stddev}=5.5,0.5"
        );
        assert!(c.info(true).contains("linear-params-singular-values=[ 5.5 0.37 ], bias"));
    }

    #[test]
    fn older_forms() {
        let parameters = "<LinearParams> [ 1 2 ]\n<BiasParams> [ 5 ]\n";
        let plain = from_text(&format!("<AffineComponent> {parameters}<IsGradient> T </AffineComponent> "));
        assert!(plain.as_updatable().unwrap().settings().is_gradient);
        let natural = from_text(&format!(
            "<NaturalGradientAffineComponent> <LearningRate> 0.2 {parameters}<RankIn> 1 <RankOut> 2 <UpdatePeriod> 3 \
             <NumSamplesHistory> 100 <Alpha> 4 <MaxChangePerSample> 0.1 <IsGradient> F <UpdateCount> 1 \
             <ActiveScalingCount> 2 <MaxChangeScaleStats> 3 <NaturalGradientAffineComponent> "
        ));
        assert!(written_text(&*natural).ends_with("<Alpha> 4 </NaturalGradientAffineComponent> "));
    }

    #[test]
    fn refuses() {
        for (config, part) in [
            ("type=AffineComponent input-dim=4", "'output-dim' is missing"),
            ("type=AffineComponent output-dim=4", "'input-dim' is missing"),
            ("type=AffineComponent input-dim=0 output-dim=1", "input-dim=0"),
            ("type=AffineComponent input-dim=4 output-dim=1 bias-mean=1", "bias-mean=1"),
            (
                "type=AffineComponent input-dim=4 output-dim=1 param-stddev=-1",
                "param-stddev must not be negative",
            ),
            ("type=AffineComponent input-dim=2000000000 output-dim=2000000000", "too many"),
            ("type=AffineComponent input-dim=4 output-dim=1 learning-rate=-1", "learning-rate"),
            (
                "type=NaturalGradientAffineComponent input-dim=4 output-dim=1 rank-in=0",
                "rank-in must not be 0",
            ),
            (
                "type=NaturalGradientAffineComponent input-dim=4 output-dim=1 update-period=0",
                "update-period=0",
            ),
            ("type=NaturalGradientAffineComponent input-dim=4 output-dim=1 alpha=-1", "alpha -1"),
            (
                "type=NaturalGradientAffineComponent input-dim=4 output-dim=1 num-samples-history=0",
                "history 0",
            ),
        ] {
            refused(config, part);
        }
        let read = |rest: &str| format!("<AffineComponent> <LearningRate> 0.1 {rest} </AffineComponent> ");
        read_refused(&read("<LinearParams> [ 1 2 ]\n<BiasParams> [ 5 6 ]\n"), "1 rows, but <BiasParams> 2");
        read_refused(&read("<LinearParams> [ ]\n<BiasParams> [ ]\n"), "<BiasParams> must not be empty");
        read_refused(&read("<LinearParams> [ 1 2 ]\n"), "<BiasParams>");
    }

    #[test]
    fn from_a_matrix_file() {
        let path = std::env::temp_dir().join(format!("nnet3-affine-{}", std::process::id()));
        std::fs::write(&path, " [\n 1 2 5\n 3 4 6 ]\n").unwrap();
        let config = |rest: &str| format!("type=AffineComponent matrix={} {rest}", path.display());
        let c = component(&config("input-dim=2"));
        assert_eq!(c.as_updatable().unwrap().vectorize(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        refused(&config("input-dim=3"), "input-dim=3, but the file has 2");
        refused(&config("param-stddev=1"), "param-stddev=1");
        std::fs::write(&path, " [\n 1\n 3 ]\n").unwrap();
        refused(&config(""), "at least 2 columns");
        std::fs::remove_file(&path).unwrap();
        refused(&config(""), "nnet3-affine");
    }
}
