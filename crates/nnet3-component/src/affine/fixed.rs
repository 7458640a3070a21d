//! FixedAffine, FixedScale and FixedBias components: parameters from a file that training does not change.

use super::arranged::Arranged;
use crate::declared::*;
use crate::fields::key;
use crate::parameters::{self, copy_unless_same};
use crate::parameters::{DIM, INPUT_DIM, OUTPUT_DIM};
use crate::{
    Arrangement, Backprop, Component, ComponentType, Context, Kind, Propagate, Properties, Update,
    load_matrix,
};
use nnet3_base::error::Result;
use nnet3_base::random::Random;
use nnet3_base::text::{mean_stats, rms_stats};
use nnet3_matrix::{Gemm, Matrix, View, ViewMut};
use std::mem::take;

pub const TYPES: &[&ComponentType] = &[FixedAffine::TYPE, FixedScale::TYPE, FixedBias::TYPE];

const MATRIX: Key =
    key("matrix", Kind::File, "none", "output-dim x (input-dim + 1) matrix, the last column being the bias");
const RANDOM_INPUT_DIM: Field<usize> =
    INPUT_DIM.or_by("none").meaning("without matrix: columns of the input, of a random transform");
const RANDOM_OUTPUT_DIM: Field<usize> =
    OUTPUT_DIM.or_by("none").meaning("without matrix: columns of the output");
const SCALES: Key = key("scales", Kind::File, "none", "vector of the numbers");
const SCALE: Field<f32> = field("scale", "", "with dim: the number for all columns").or_by("random");
const BIAS: Key = key("bias", Kind::File, "none", "vector of the numbers");

/// output = input · linearᵀ + bias.
#[derive(Clone, Debug)]
pub struct FixedAffine {
    linear: Matrix,
    bias: Matrix,
}

impl FixedAffine {
    /// `linear` is output × input, `bias` one row.
    pub fn new(linear: Matrix, bias: Matrix) -> FixedAffine {
        assert_eq!((linear.rows(), 1), (bias.cols(), bias.rows()));
        FixedAffine { linear, bias }
    }

    pub fn linear(&self) -> &Matrix {
        &self.linear
    }
    pub fn bias(&self) -> &Matrix {
        &self.bias
    }
}

impl Declared for FixedAffine {
    const TYPE: &'static ComponentType = &ComponentType::of::<FixedAffine>(
        "FixedAffineComponent",
        "Affine function with fixed parameters, such as an LDA transform.",
        "input-dim=4 output-dim=3",
    );

    fn fields(f: &mut Fields<'_, FixedAffine>) -> Result<Option<FixedAffine>> {
        f.note_dims();
        f.note(|c, _| rms_stats("linear-params", &c.linear.to_vec()) + &mean_stats("bias", &c.bias.to_vec()));
        let (linear, bias) = match FixedAffine::initial(f)? {
            Some(matrix) => split(&matrix),
            None => f.linear_and_bias(|c| (&c.linear, &c.bias))?,
        };
        f.done(FixedAffine { linear, bias })
    }
}

impl FixedAffine {
    /// Loads or draws linear part and bias side by side, for a config line.
    fn initial(f: &mut Fields<'_, FixedAffine>) -> Result<Option<Matrix>> {
        if let Some(file) = f.text(&MATRIX) {
            let matrix = load_matrix(&file)?;
            f.check(matrix.cols() >= 2, || {
                let found = format!("{} x {}", matrix.rows(), matrix.cols());
                format!("the matrix in {file} needs 2 columns or more; it is {found}")
            })?;
            return Ok(Some(matrix));
        }
        let (input_dim, output_dim) = (f.key(&RANDOM_INPUT_DIM)?, f.key(&RANDOM_OUTPUT_DIM)?);
        let Some((line, random)) = f.config() else { return Ok(None) };
        Ok(Some(parameters::normal_matrix(line, random, output_dim, input_dim + 1, 0.0, 1.0)?))
    }
}

/// Splits the last column off.
fn split(matrix: &Matrix) -> (Matrix, Matrix) {
    let (rows, cols, data) = (matrix.rows(), matrix.cols(), matrix.to_vec());
    let linear = data.chunks(cols).flat_map(|row| &row[..cols - 1]).copied().collect();
    let bias = data.chunks(cols).map(|row| row[cols - 1]).collect();
    (Matrix::from_vec(rows, cols - 1, linear), Matrix::from_vec(1, rows, bias))
}

/// Visits a vector: in a file, loaded from that of `key`, or `fill`ed. `fill` gets the number of columns.
fn vector<C: Component>(
    f: &mut Fields<'_, C>,
    (key, token): (&Key, &str),
    dim: Option<usize>,
    fill: impl FnOnce(usize, &Random) -> Vec<f32>,
    of: impl FnOnce(&C) -> &Matrix,
) -> Result<Matrix> {
    let Some((line, random)) = f.config() else { return f.row(token, of) };
    if let Some(file) = line.get_string(key.name) {
        return parameters::load_parameter_row(line, &file);
    }
    let dim = dim.ok_or_else(|| line.error(format!("'{}' or 'dim' is missing", key.name)))?;
    parameters::check_size(line, 1, dim)?;
    Ok(Matrix::from_vec(1, dim, fill(dim, random)))
}

impl Component for FixedAffine {
    fn input_dim(&self) -> usize {
        self.linear.cols()
    }
    fn output_dim(&self) -> usize {
        self.linear.rows()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::BACKPROP_ADDS
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        // (Likelihoods of Gaussians are small differences of large numbers.)
        parameters::affine(context.in_floats(), output, input, self.linear.view(), self.bias.view());
    }
    fn weights_mut(&mut self) -> Option<&mut Matrix> {
        Some(&mut self.linear)
    }
    fn arranged(&mut self, how: Arrangement<'_>) -> Option<Box<dyn Component>> {
        let of = (self.type_name(), self.properties());
        let (linear, bias) = (take(&mut self.linear), take(&mut self.bias));
        Some(Box::new(Arranged::new(of, how, linear, bias)))
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let linear = self.linear.view();
        context.backend.gemm(Gemm::add(in_deriv, args.out_deriv, linear));
    }
    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        vec![&mut self.linear, &mut self.bias]
    }
}

const VECTOR_PROPERTIES: Properties =
    Properties::SIMPLE.union(Properties::PROPAGATE_IN_PLACE).union(Properties::BACKPROP_IN_PLACE);

/// output = scales ⊙ input.
#[derive(Clone, Debug)]
pub struct FixedScale {
    scales: Matrix,
}

impl FixedScale {
    pub fn scales(&self) -> &Matrix {
        &self.scales
    }

    fn multiply(&self, context: Context<'_>, dst: ViewMut<'_>, src: View<'_>) {
        copy_unless_same(context, dst, src);
        context.backend.scale_cols(dst, self.scales.view());
    }
}

impl Declared for FixedScale {
    const TYPE: &'static ComponentType = &ComponentType::of::<FixedScale>(
        "FixedScaleComponent",
        "Multiplies each column by a fixed number.",
        "dim=4 scale=0.5",
    );

    fn fields(f: &mut Fields<'_, FixedScale>) -> Result<Option<FixedScale>> {
        const COLUMNS: Field<usize> = DIM.or_by("none").meaning("without scales: number of columns");
        f.document(&SCALES);
        let (dim, scale) = match f.has(SCALES.name) {
            true => (None, None),
            false => (f.optional(&COLUMNS)?, f.optional(&SCALE)?),
        };
        let fill = |dim, random: &Random| match scale {
            Some(scale) => vec![scale; dim],
            None => random.normal_vec(dim, 0.0, 1.0),
        };
        let scales = vector(f, (&SCALES, "<Scales>"), dim, fill, |c| &c.scales)?;
        f.note_dims();
        f.note(|c, _| mean_stats("scales", &c.scales.to_vec()));
        f.done(FixedScale { scales })
    }
}

impl Component for FixedScale {
    fn input_dim(&self) -> usize {
        self.scales.cols()
    }
    fn output_dim(&self) -> usize {
        self.scales.cols()
    }
    fn properties(&self) -> Properties {
        VECTOR_PROPERTIES
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        self.multiply(context, output, input);
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            self.multiply(context, in_deriv, args.out_deriv);
        }
    }
    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        vec![&mut self.scales]
    }
}

/// output = input + bias.
#[derive(Clone, Debug)]
struct FixedBias {
    bias: Matrix,
}

impl Declared for FixedBias {
    const TYPE: &'static ComponentType =
        &ComponentType::of::<FixedBias>("FixedBiasComponent", "Adds a fixed number to each column.", "dim=4");

    fn fields(f: &mut Fields<'_, FixedBias>) -> Result<Option<FixedBias>> {
        const COLUMNS: Field<usize> =
            DIM.or_by("none").meaning("without bias: number of columns, of random numbers");
        f.document(&BIAS);
        let dim = if f.has(BIAS.name) { None } else { f.optional(&COLUMNS)? };
        let fill = |dim, random: &Random| random.normal_vec(dim, 0.0, 1.0);
        let bias = vector(f, (&BIAS, "<Bias>"), dim, fill, |c| &c.bias)?;
        f.note_dims();
        f.note(|c, _| mean_stats("bias", &c.bias.to_vec()));
        f.done(FixedBias { bias })
    }
}

impl Component for FixedBias {
    fn input_dim(&self) -> usize {
        self.bias.cols()
    }
    fn output_dim(&self) -> usize {
        self.bias.cols()
    }
    fn properties(&self) -> Properties {
        VECTOR_PROPERTIES
    }
    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        copy_unless_same(context, output, input);
        context.backend.add_to_rows(output, 1.0, self.bias.view());
    }
    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        if let Some(in_deriv) = args.in_deriv {
            copy_unless_same(context, in_deriv, args.out_deriv);
        }
    }
    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        vec![&mut self.bias]
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn derivatives_and_forms() {
        check_component("type=FixedAffineComponent input-dim=4 output-dim=3");
        check_component("type=FixedScaleComponent dim=4");
        check_component("type=FixedScaleComponent dim=4 scale=-2");
        check_component("type=FixedBiasComponent dim=4");
    }

    #[test]
    fn parameters_from_files() {
        let affine = component("type=FixedAffineComponent matrix=\"echo '[ 1 2 3 ; 4 5 6 ]' |\"");
        let text = "<FixedAffineComponent> <LinearParams>  [\n  1 2 \n  4 5 ]\n<BiasParams>  [ 3 6 ]\n</FixedAffineComponent> ";
        assert_eq!(written_text(&*affine), text);
        assert_eq!(
            affine.info(false),
            "FixedAffineComponent, input-dim=2, output-dim=2, linear-params-rms=3.391, bias-{mean,stddev}=4.5,1.5"
        );
        let scale = component("type=FixedScaleComponent scales='echo [ 1 2 ] |'");
        assert_eq!(
            scale.info(false),
            "FixedScaleComponent, input-dim=2, output-dim=2, scales-{mean,stddev}=1.5,0.5"
        );
        let bias = component("type=FixedBiasComponent bias='echo [ 1 2 ] |'");
        assert_eq!(written_text(&*bias), "<FixedBiasComponent> <Bias>  [ 1 2 ]\n</FixedBiasComponent> ");
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=FixedAffineComponent", "'input-dim' is missing");
        refused("type=FixedAffineComponent matrix='echo [ 1 2 ] |' input-dim=1", "input-dim=1");
        refused("type=FixedAffineComponent matrix='echo [ 1 ] |'", "1 x 1");
        refused("type=FixedAffineComponent matrix='echo [ ] |'", "0 x 0");
        refused("type=FixedAffineComponent matrix=/no/such/file", "/no/such/file");
        refused("type=FixedScaleComponent", "'scales' or 'dim' is missing");
        refused("type=FixedScaleComponent scales='echo [ 1 2 ] |' scale=3", "scale=3");
        refused("type=FixedScaleComponent scales='echo [ ] |'", "empty");
        refused("type=FixedBiasComponent dim=-3", "greater than 0");
        read_refused("<FixedAffineComponent> <LinearParams>  [\n 1 2 ]\n<BiasParams>  [ 3 6 ]\n", "1 rows");
        read_refused("<FixedBiasComponent> <Bias>  [ ]\n</FixedBiasComponent> ", "empty");
    }
}
