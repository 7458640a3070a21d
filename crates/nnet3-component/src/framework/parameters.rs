//! Parts shared by components with a few parameter matrices: their config keys, file form and plain functions.

use crate::affine::Weights;
use crate::declared::*;
use crate::updatable::UpdatableSettings;
use crate::{Component, Context, fields, load_row, read_matrix, write_matrix};
use kaldi_io::reader::KaldiReader;
use kaldi_io::writer::KaldiWriter;
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;
use nnet3_base::random::Random;
use nnet3_base::text::number;
use nnet3_matrix::{Backend, Matrix, Start, View, ViewMut};

/// More parameters in one matrix are taken for a mistake in a config line.
const MOST_PARAMETERS: usize = 1 << 30;

// ---- config lines ----------------------------------------------------------------------------------------------

pub(crate) const INPUT_DIM: Field<usize> = field("input-dim", "<InputDim>", "columns of the input");
pub(crate) const OUTPUT_DIM: Field<usize> = field("output-dim", "<OutputDim>", "columns of the output");
pub(crate) const BLOCK_COLUMNS: Field<usize> =
    OUTPUT_DIM.meaning("columns of the output and of each block; divides input-dim");
pub(crate) const DIM: Field<usize> = field("dim", "<Dim>", "number of columns of input and output");
pub(crate) const PARAMETER_DIM: Field<usize> = DIM.meaning("columns of input and output");
pub(crate) const BLOCK_DIM: Field<usize> =
    field("block-dim", "<BlockDim>", "divides dim; the parameters of one block are used for all")
        .or_by("dim");
pub(crate) const BIAS_MEAN: Field<f32> = field("bias-mean", "", "mean of the initial bias").or(0.0);
pub(crate) const ORTHONORMAL_CONSTRAINT: Field<f32> = field(
    "orthonormal-constraint",
    "<OrthonormalConstraint>",
    "training keeps the linear part semi-orthogonal times this; -1 lets the scale float; 0 is off",
)
.or(0.0)
.shown_if_set();
pub(crate) const USE_NATURAL_GRADIENT: Field<bool> = field(
    "use-natural-gradient",
    "<UseNaturalGradient>",
    "precondition the gradient by an online estimate of the Fisher matrix",
)
.or(true);

/// A key of a standard deviation.
pub(crate) const fn stddev_key(name: &'static str) -> Field<f32> {
    field(name, "", "standard deviation of these initial parameters").range_of_key(NOT_NEGATIVE)
}

/// Returns the default standard deviation of weights for sums of `terms` terms.
pub(crate) fn stddev_for(terms: usize) -> f32 {
    (1.0 / (terms as f64).sqrt()) as f32
}

/// Refuses sizes that no real component has, before it allocates memory.
pub(crate) fn check_size(line: &ConfigLine, rows: usize, cols: usize) -> Result<()> {
    match rows.checked_mul(cols) {
        Some(size) if size < MOST_PARAMETERS => Ok(()),
        _ => Err(line.error(format!("{rows} x {cols} parameters are too many"))),
    }
}

/// `rows × cols` normal numbers.
pub(crate) fn normal_matrix(
    line: &ConfigLine,
    random: &Random,
    rows: usize,
    cols: usize,
    mean: f32,
    stddev: f32,
) -> Result<Matrix> {
    check_size(line, rows, cols)?;
    Ok(Matrix::from_vec(rows, cols, random.normal_rows(rows, cols, mean, stddev)))
}

/// Fails unless `key` is absent or equal to `actual`, the dimension of the matrix from a file.
pub fn check_dim(line: &mut ConfigLine, key: &str, actual: usize) -> Result<()> {
    match line.get_dim(key)? {
        Some(given) if given != actual => {
            Err(line.error(format!("{key}={given}, but the file has {actual}")))
        }
        _ => Ok(()),
    }
}

/// A vector that is not empty from the file of a config line.
pub(crate) fn load_parameter_row(line: &ConfigLine, file: &str) -> Result<Matrix> {
    let row = load_row(file)?;
    match row.is_empty() {
        true => Err(line.error(format!("the vector in {file} is empty"))),
        false => Ok(row),
    }
}

/// Initial parameters: normal numbers.
pub(crate) struct Initial {
    /// Rows and columns of the linear part.
    pub shape: (usize, usize),
    pub stddev: f32,
    pub bias_dim: usize,
    pub bias_mean: f32,
    pub bias_stddev: f32,
}

impl Initial {
    /// Draws the linear part, then the bias.
    pub fn draw(self, line: &ConfigLine, random: &Random) -> Result<(Matrix, Matrix)> {
        let (rows, cols) = self.shape;
        let linear = normal_matrix(line, random, rows, cols, 0.0, self.stddev)?;
        let bias = normal_matrix(line, random, 1, self.bias_dim, self.bias_mean, self.bias_stddev)?;
        Ok((linear, bias))
    }
}

// ---- files -----------------------------------------------------------------------------------------------------

/// Reads `token` and a vector that is not empty.
pub(crate) fn read_parameter_row(r: &mut KaldiReader, token: &str) -> Result<Matrix> {
    let row = fields::read_row(r, token)?;
    fields::check(r, !row.is_empty(), || format!("{token} must not be empty"))?;
    Ok(row)
}

/// Reads `<LinearParams>` and `<BiasParams>`, which fit each other.
pub(crate) fn read_linear_and_bias(r: &mut KaldiReader) -> Result<(Matrix, Matrix)> {
    r.expect_token("<LinearParams>")?;
    let linear = read_matrix(r)?;
    let bias = read_parameter_row(r, "<BiasParams>")?;
    let (rows, dim) = (linear.rows(), bias.cols());
    fields::check(r, rows == dim, || {
        format!("<LinearParams> has {rows} rows, but <BiasParams> {dim} elements")
    })?;
    Ok((linear, bias))
}

pub(crate) fn write_linear_and_bias(w: &mut KaldiWriter, linear: &Matrix, bias: &Matrix) -> Result<()> {
    w.write_token("<LinearParams>")?;
    write_matrix(w, linear)?;
    fields::write_row(w, "<BiasParams>", bias)
}

/// Reads `<IsGradient>`, which files of an older form have after the parameters.
pub(crate) fn read_old_is_gradient<C: Component>(
    f: &mut Fields<'_, C>,
    settings: &mut UpdatableSettings,
) -> Result<()> {
    if let Some(is_gradient) = f.skip("<IsGradient>")? {
        settings.is_gradient = is_gradient;
    }
    Ok(())
}

// ---- running ---------------------------------------------------------------------------------------------------

/// output = input · linearᵀ + bias.
pub fn affine(context: Context<'_>, output: ViewMut<'_>, input: View<'_>, linear: View<'_>, bias: View<'_>) {
    Weights::Plain(linear).multiply(context.backend, output, Start::Row(bias), std::iter::once(input));
}

/// Splits the rows of a product with `cols` columns into blocks that fit the cache, for products that are written over
/// or several times. Returns one block if the device has no cache, or if each sum is so long (`terms`) that memory is
/// not the bottleneck.
pub(crate) fn row_blocks(
    backend: &dyn Backend,
    rows: usize,
    cols: usize,
    terms: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
    const MOST_TERMS: usize = 256;
    let step = match backend.cached_elements() {
        Some(block) if terms <= MOST_TERMS && rows * cols > 4 * block => {
            (block / cols.max(1)).clamp(64, 1024).next_multiple_of(16)
        }
        _ => rows.max(1),
    };
    (0..rows).step_by(step).map(move |first| first..rows.min(first + step))
}

/// Splits the rows of matrices of `cols` columns, for several primitives in turn, into blocks that fit the cache. One
/// block if the device has no cache.
pub(crate) fn cached_rows(
    backend: &dyn Backend,
    rows: usize,
    cols: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
    nnet3_matrix::backend::cached_rows(backend.cached_elements(), rows, cols)
}

/// dst = src, unless they are the same memory.
pub(crate) fn copy_unless_same(context: Context<'_>, dst: ViewMut<'_>, src: View<'_>) {
    if !dst.same_start(&src) {
        context.backend.copy(dst, src);
    }
}

/// Rows cut into pieces of `block_dim` columns; the view is contiguous if that is not all of them.
pub(crate) fn in_blocks(view: View<'_>, block_dim: usize) -> View<'_> {
    match view.cols() == block_dim {
        true => view,
        false => view.reshape(view.rows() * view.cols() / block_dim, block_dim),
    }
}

pub(crate) fn in_blocks_mut(view: ViewMut<'_>, block_dim: usize) -> ViewMut<'_> {
    match view.cols() == block_dim {
        true => view,
        false => view.reshape(view.rows() * view.cols() / block_dim, block_dim),
    }
}

// ---- info ------------------------------------------------------------------------------------------------------

/// `, NAME-min=m, NAME-max=m`.
pub(crate) fn range_stats(name: &str, values: &[f32]) -> String {
    let min = values.iter().copied().fold(f32::INFINITY, f32::min);
    let max = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    format!(", {name}-min={}, {name}-max={}", number(min as f64), number(max as f64))
}
