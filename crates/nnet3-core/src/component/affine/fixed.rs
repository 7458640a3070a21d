//! FixedAffine, FixedScale and FixedBias components: parameters from a file that training does not change.

use super::arranged::Arranged;
use crate::component::fields::{self, key};
use crate::component::parameters::{self, copy_unless_same};
use crate::component::{
    Arrangement, Backprop, Component, ComponentType, Context, Kind, PrecomputedIndexes, Properties, Update,
    load_matrix,
};
use crate::config::ConfigLine;
use crate::error::Result;
use crate::random::Random;
use crate::text::{mean_stats, rms_stats};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_matrix::{Matrix, Transpose, View, ViewMut};
use std::mem::take;

pub const TYPES: &[ComponentType] = &[
    ComponentType {
        name: "FixedAffineComponent",
        purpose: "Affine function with fixed parameters, such as an LDA transform.",
        keys: &[
            key(
                "matrix",
                Kind::File,
                "none",
                "output-dim x (input-dim + 1) matrix, the last column being the bias",
            ),
            key(
                "input-dim",
                Kind::Int,
                "none",
                "without matrix: columns of the input, of a random transform",
            ),
            key("output-dim", Kind::Int, "none", "without matrix: columns of the output"),
        ],
        updatable: false,
        example: "input-dim=4 output-dim=3",
        from_config: FixedAffine::from_config,
        read: FixedAffine::read,
    },
    ComponentType {
        name: "FixedScaleComponent",
        purpose: "Multiplies each column by a fixed number.",
        keys: &[
            key("scales", Kind::File, "none", "vector of the numbers"),
            key("dim", Kind::Int, "none", "without scales: number of columns"),
            key("scale", Kind::Float, "random", "with dim: the number for all columns"),
        ],
        updatable: false,
        example: "dim=4 scale=0.5",
        from_config: FixedScale::from_config,
        read: FixedScale::read,
    },
    ComponentType {
        name: "FixedBiasComponent",
        purpose: "Adds a fixed number to each column.",
        keys: &[
            key("bias", Kind::File, "none", "vector of the numbers"),
            key("dim", Kind::Int, "none", "without bias: number of columns, of random numbers"),
        ],
        updatable: false,
        example: "dim=4",
        from_config: FixedBias::from_config,
        read: FixedBias::read,
    },
];

/// output = input · linearᵀ + bias.
#[derive(Clone, Debug)]
pub(crate) struct FixedAffine {
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

    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let matrix = match line.get_string("matrix") {
            Some(file) => {
                let matrix = load_matrix(&file)?;
                if matrix.cols() < 2 {
                    let found = format!("{} x {}", matrix.rows(), matrix.cols());
                    return Err(
                        line.error(format!("the matrix in {file} needs 2 columns or more; it is {found}"))
                    );
                }
                matrix
            }
            None => {
                let (input_dim, output_dim) =
                    (line.require_dim("input-dim")?, line.require_dim("output-dim")?);
                parameters::normal_matrix(line, random, output_dim, input_dim + 1, 0.0, 1.0)?
            }
        };
        let (rows, cols, data) = (matrix.rows(), matrix.cols(), matrix.to_vec());
        let linear = data.chunks(cols).flat_map(|row| &row[..cols - 1]).copied().collect();
        let bias = data.chunks(cols).map(|row| row[cols - 1]).collect();
        Ok(Box::new(FixedAffine::new(
            Matrix::from_vec(rows, cols - 1, linear),
            Matrix::from_vec(1, rows, bias),
        )))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let (linear, bias) = parameters::read_linear_and_bias(r)?;
        r.expect_token("</FixedAffineComponent>")?;
        Ok(Box::new(FixedAffine { linear, bias }))
    }
}

impl Component for FixedAffine {
    fn type_name(&self) -> &'static str {
        "FixedAffineComponent"
    }

    fn input_dim(&self) -> usize {
        self.linear.cols()
    }
    fn output_dim(&self) -> usize {
        self.linear.rows()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE | Properties::BACKPROP_ADDS
    }
    fn info(&self, _detailed: bool) -> String {
        let dims = (self.input_dim(), self.output_dim());
        let mut out = format!("FixedAffineComponent, input-dim={}, output-dim={}", dims.0, dims.1);
        out += &rms_stats("linear-params", &self.linear.to_vec());
        out + &mean_stats("bias", &self.bias.to_vec())
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<FixedAffineComponent>")?;
        parameters::write_linear_and_bias(w, &self.linear, &self.bias)?;
        w.write_token("</FixedAffineComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
        parameters::affine(context, output, input, self.linear.view(), self.bias.view());
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
        context.backend.gemm(in_deriv, 1.0, args.out_deriv, Transpose::No, linear, Transpose::No, 1.0);
    }
    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        vec![&mut self.linear, &mut self.bias]
    }
}

/// The vector of a file, or `dim` numbers.
fn vector_from_config(
    line: &mut ConfigLine,
    file_key: &str,
    fill: impl Fn(usize) -> Vec<f32>,
) -> Result<Matrix> {
    if let Some(file) = line.get_string(file_key) {
        return parameters::load_parameter_row(line, &file);
    }
    if !line.has("dim") {
        return Err(line.error(format!("'{file_key}' or 'dim' is missing")));
    }
    let dim = line.require_dim("dim")?;
    parameters::check_size(line, 1, dim)?;
    Ok(Matrix::from_vec(1, dim, fill(dim)))
}

const VECTOR_PROPERTIES: Properties =
    Properties::SIMPLE.union(Properties::PROPAGATE_IN_PLACE).union(Properties::BACKPROP_IN_PLACE);

/// output = scales ⊙ input.
#[derive(Clone, Debug)]
pub(crate) struct FixedScale {
    scales: Matrix,
}

impl FixedScale {
    pub fn scales(&self) -> &Matrix {
        &self.scales
    }

    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let scale = if line.has("scales") { None } else { line.get_f32("scale")? };
        let scales = vector_from_config(line, "scales", |dim| match scale {
            Some(scale) => vec![scale; dim],
            None => random.normal_vec(dim, 0.0, 1.0),
        })?;
        Ok(Box::new(FixedScale { scales }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let scales = parameters::read_parameter_row(r, "<Scales>")?;
        r.expect_token("</FixedScaleComponent>")?;
        Ok(Box::new(FixedScale { scales }))
    }

    fn multiply(&self, context: Context<'_>, dst: ViewMut<'_>, src: View<'_>) {
        copy_unless_same(context, dst, src);
        context.backend.scale_cols(dst, self.scales.view());
    }
}

impl Component for FixedScale {
    fn type_name(&self) -> &'static str {
        "FixedScaleComponent"
    }

    fn input_dim(&self) -> usize {
        self.scales.cols()
    }
    fn output_dim(&self) -> usize {
        self.scales.cols()
    }
    fn properties(&self) -> Properties {
        VECTOR_PROPERTIES
    }
    fn info(&self, _detailed: bool) -> String {
        let dim = self.input_dim();
        let stats = mean_stats("scales", &self.scales.to_vec());
        format!("FixedScaleComponent, input-dim={dim}, output-dim={dim}{stats}")
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<FixedScaleComponent>")?;
        fields::write_row(w, "<Scales>", &self.scales)?;
        w.write_token("</FixedScaleComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
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

impl FixedBias {
    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let bias = vector_from_config(line, "bias", |dim| random.normal_vec(dim, 0.0, 1.0))?;
        Ok(Box::new(FixedBias { bias }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let bias = parameters::read_parameter_row(r, "<Bias>")?;
        r.expect_token("</FixedBiasComponent>")?;
        Ok(Box::new(FixedBias { bias }))
    }
}

impl Component for FixedBias {
    fn type_name(&self) -> &'static str {
        "FixedBiasComponent"
    }

    fn input_dim(&self) -> usize {
        self.bias.cols()
    }
    fn output_dim(&self) -> usize {
        self.bias.cols()
    }
    fn properties(&self) -> Properties {
        VECTOR_PROPERTIES
    }
    fn info(&self, _detailed: bool) -> String {
        let dim = self.input_dim();
        let stats = mean_stats("bias", &self.bias.to_vec());
        format!("FixedBiasComponent, input-dim={dim}, output-dim={dim}{stats}")
    }
    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<FixedBiasComponent>")?;
        fields::write_row(w, "<Bias>", &self.bias)?;
        w.write_token("</FixedBiasComponent>")?;
        Ok(())
    }
    fn propagate(
        &self,
        context: Context<'_>,
        _indexes: Option<&dyn PrecomputedIndexes>,
        input: View<'_>,
        output: ViewMut<'_>,
        _memo: ViewMut<'_>,
    ) {
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
    use crate::component::testing::*;

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
