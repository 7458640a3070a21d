//! `ConvolutionComponent` and `MaxpoolingComponent`: convolution over two axes and pooling over three axes of a
//! vectorised tensor. New networks use `TimeHeightConvolutionComponent`.

use crate::component::fields::{self, key};
use crate::component::parameters::*;
use crate::component::updatable::{Updatable, UpdatableSettings};
use crate::component::*;
use crate::config::ConfigLine;
use crate::text;
use nnet3_matrix::{IndexTable, Transpose::No, Transpose::Yes};

mod maxpooling;

const CONVOLUTION: &str = "ConvolutionComponent";

const INPUT_X: Key = key("input-x-dim", Kind::Int, "", "size of the input's x axis");
const INPUT_Y: Key = key("input-y-dim", Kind::Int, "", "size of the input's y axis");
const INPUT_Z: Key = key("input-z-dim", Kind::Int, "", "size of the input's z axis");

pub const TYPES: &[ComponentType] = &[
    ComponentType {
        name: CONVOLUTION,
        purpose: "Convolution over the x and y axes of a vectorised (x, y, z) tensor (deprecated).",
        keys: &[
            INPUT_X,
            INPUT_Y,
            INPUT_Z,
            key("filt-x-dim", Kind::Int, "", "size of the filters' x axis"),
            key("filt-y-dim", Kind::Int, "", "size of the filters' y axis"),
            key("filt-x-step", Kind::Int, "", "step of the filters on the x axis"),
            key("filt-y-step", Kind::Int, "", "step of the filters on the y axis"),
            key(
                "input-vectorization-order",
                Kind::String,
                "zyx",
                "the axis of neighbouring columns first: zyx or yzx",
            ),
            key("num-filters", Kind::Int, "", "number of filters; not with matrix"),
            key(
                "matrix",
                Kind::File,
                "none",
                "a filter a row, its bias in the last column; the other keys of initialisation are then refused",
            ),
            stddev_key("param-stddev", "1/sqrt(filt-x-dim * filt-y-dim * input-z-dim)"),
            stddev_key("bias-stddev", "1"),
        ],
        updatable: true,
        example: "input-x-dim=4 input-y-dim=3 input-z-dim=2 filt-x-dim=2 filt-y-dim=3 filt-x-step=2 filt-y-step=1 \
                  num-filters=3",
        from_config: Convolution::from_config,
        read: Convolution::read,
    },
    maxpooling::TYPE,
];

/// More columns than this in one matrix are taken for a mistake.
const MOST_COLUMNS: u128 = 1 << 25;

/// Windows that move over one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    /// Length of the axis.
    dim: usize,
    /// Length of a window.
    window: usize,
    step: usize,
}

impl Axis {
    fn windows(&self) -> usize {
        1 + (self.dim - self.window) / self.step
    }

    fn leaves_rest(&self) -> bool {
        !(self.dim - self.window).is_multiple_of(self.step)
    }
}

/// Describes the fault of windows on these axes (x, y, z), if there is one. All values are known to be greater than 0.
/// `key` gives the config key of an axis's window.
fn defect(axes: &[Axis; 3], key: fn(&str) -> String) -> Option<String> {
    for (name, axis) in ["x", "y", "z"].iter().zip(axes) {
        if axis.window > axis.dim {
            let key = key(name);
            return Some(format!("{key}: windows of {} on an {name} axis of {}", axis.window, axis.dim));
        }
    }
    let columns: u128 = axes.iter().map(|axis| axis.windows() as u128 * axis.window as u128).product();
    let dim: u128 = axes.iter().map(|axis| axis.dim as u128).product();
    let most = columns.max(dim);
    (most > MOST_COLUMNS).then(|| format!("input-x-dim, …: {most} columns are too many"))
}

/// Iterates over all (x, y, z) with x < sizes\[0\] and so on; z changes fastest.
fn positions(sizes: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [x_size, y_size, z_size] = sizes;
    (0..x_size).flat_map(move |x| (0..y_size).flat_map(move |y| (0..z_size).map(move |z| [x, y, z])))
}

// ---- ConvolutionComponent --------------------------------------------------------------------------------------

/// Convolution over x and y. The output's columns are windows (x slowest, then y), with filters fastest.
#[derive(Clone, Debug)]
pub struct Convolution {
    settings: UpdatableSettings,
    /// x, y, and z with one window of full length.
    axes: [Axis; 3],
    order: Order,
    /// F × (window x · window y · z), z fastest.
    filters: Matrix,
    /// 1 × F.
    bias: Matrix,
    /// The input column for each window and each of a filter's columns.
    columns: IndexTable,
}

fn window_key(axis: &str) -> String {
    format!("filt-{axis}-dim")
}

/// Order in which the input's tensor becomes a vector, fastest axis first. The values are those in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Yzx = 0,
    Zyx = 1,
}

impl Order {
    fn column(self, [_, y, z]: &[Axis; 3], position: [usize; 3]) -> usize {
        let [at_x, at_y, at_z] = position;
        let (y_stride, z_stride) = if self == Order::Zyx { (z.dim, 1) } else { (1, y.dim) };
        at_x * y.dim * z.dim + at_y * y_stride + at_z * z_stride
    }
}

impl Convolution {
    fn new(
        settings: UpdatableSettings,
        axes: [Axis; 3],
        order: Order,
        filters: Matrix,
        bias: Matrix,
    ) -> Self {
        let windows = axes.map(|axis| axis.windows());
        let window = axes.map(|axis| axis.window);
        let column = |at: [usize; 3], of: [usize; 3]| {
            order.column(&axes, std::array::from_fn(|a| at[a] * axes[a].step + of[a])) as i32
        };
        let columns = positions(windows).flat_map(|at| positions(window).map(move |of| column(at, of)));
        let columns = IndexTable::new(columns.collect());
        Convolution { settings, axes, order, filters, bias, columns }
    }

    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let z = line.require_dim("input-z-dim")?;
        let mut axis = |name: &str| -> Result<Axis> {
            Ok(Axis {
                dim: line.require_dim(&format!("input-{name}-dim"))?,
                window: line.require_dim(&format!("filt-{name}-dim"))?,
                step: line.require_dim(&format!("filt-{name}-step"))?,
            })
        };
        let axes = [axis("x")?, axis("y")?, Axis { dim: z, window: z, step: 1 }];
        if let Some(defect) = defect(&axes, window_key) {
            return Err(line.error(defect));
        }
        let order = match line.get_string("input-vectorization-order").as_deref() {
            None | Some("zyx") => Order::Zyx,
            Some("yzx") => Order::Yzx,
            Some(other) => {
                return Err(line.error(format!("input-vectorization-order={other}: expected zyx or yzx")));
            }
        };
        let dim = axes.iter().map(|axis| axis.window).product();
        let (filters, bias) = match line.get_string("matrix") {
            Some(file) => Convolution::load(line, &file, dim)?,
            None => {
                if let Some((axis, name)) =
                    axes.iter().zip(["x", "y", "z"]).find(|(axis, _)| axis.leaves_rest())
                {
                    let Axis { dim, window, step } = axis;
                    return Err(line.error(format!(
                        "filt-{name}-step: the filter step {step} does not divide {dim} - {window}"
                    )));
                }
                let shape = (line.require_dim("num-filters")?, dim);
                random_linear_and_bias(line, random, shape, shape.0, 1.0, 0.0)?
            }
        };
        Ok(Box::new(Convolution::new(settings, axes, order, filters, bias)))
    }

    fn load(line: &ConfigLine, file: &str, dim: usize) -> Result<(Matrix, Matrix)> {
        let matrix = load_matrix(file)?;
        let (rows, cols) = (matrix.rows(), matrix.cols());
        if rows == 0 || cols != dim + 1 {
            return Err(
                line.error(format!("matrix={file}: expected {} columns, found {rows} x {cols}", dim + 1))
            );
        }
        let data = matrix.to_vec();
        let filters = data.chunks_exact(cols).flat_map(|row| &row[..dim]).copied().collect();
        let bias = data.chunks_exact(cols).map(|row| row[dim]).collect();
        Ok((Matrix::from_vec(rows, dim, filters), Matrix::from_vec(1, rows, bias)))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let mut settings = UpdatableSettings::read(r)?;
        let [x, y, z] = read_dims(r, ["<InputXDim>", "<InputYDim>", "<InputZDim>"])?;
        let [x_window, y_window] = read_dims(r, ["<FiltXDim>", "<FiltYDim>"])?;
        let [x_step, y_step] = read_dims(r, ["<FiltXStep>", "<FiltYStep>"])?;
        let axes = [
            Axis { dim: x, window: x_window, step: x_step },
            Axis { dim: y, window: y_window, step: y_step },
            Axis { dim: z, window: z, step: 1 },
        ];
        if let Some(defect) = defect(&axes, window_key) {
            return Err(r.error(defect).into());
        }
        let order = match fields::read_i32(r, "<InputVectorization>")? {
            0 => Order::Yzx,
            1 => Order::Zyx,
            other => {
                return Err(r.error(format!("<InputVectorization>: expected 0 or 1, found {other}")).into());
            }
        };
        r.expect_token("<FilterParams>")?;
        let filters = read_matrix(r)?;
        let bias = read_parameter_row(r, "<BiasParams>")?;
        let wanted: usize = axes.iter().map(|axis| axis.window).product();
        fields::check(r, filters.cols() == wanted && filters.rows() == bias.cols(), || {
            let (rows, cols, biases) = (filters.rows(), filters.cols(), bias.cols());
            format!("<FilterParams>: expected {biases} x {wanted} elements, found {rows} x {cols}")
        })?;
        settings.is_gradient = fields::optional_bool(r, "<IsGradient>")?;
        r.expect_token("</ConvolutionComponent>")?;
        Ok(Box::new(Convolution::new(settings, axes, order, filters, bias)))
    }

    /// The input's columns of all windows, side by side.
    fn windows<'w>(&self, context: Context<'w>, input: View<'_>) -> nnet3_matrix::Scratch<'w> {
        let mut windows = context.workspace.take(input.rows(), self.columns.len());
        context.backend.copy_cols(windows.view_mut(), input, &self.columns);
        windows
    }

    /// Filters, and a filter's length.
    fn shape(&self) -> (usize, usize) {
        (self.filters.rows(), self.filters.cols())
    }

    fn num_windows(&self) -> usize {
        self.columns.len() / self.filters.cols()
    }
}

/// Calls `f` with matching rows of output and windows: all at once if the output is contiguous, else one window after
/// another. Rows then have the columns of one window: `shape.0` (filters) and `shape.1` (a filter's length).
fn each_window<O: Sliced, W: Sliced>(output: O, windows: W, shape: (usize, usize), mut f: impl FnMut(O, W)) {
    let (filters, dim) = shape;
    if output.contiguous() {
        return f(output.reshaped(filters), windows.reshaped(dim));
    }
    for k in 0..windows.num_cols() / dim {
        f(output.cols(k * filters..(k + 1) * filters), windows.cols(k * dim..(k + 1) * dim));
    }
}

/// Views that can be read, and those that can be written too.
trait Sliced: Copy {
    fn contiguous(&self) -> bool;
    fn num_cols(&self) -> usize;
    fn reshaped(&self, cols: usize) -> Self;
    fn cols(&self, cols: std::ops::Range<usize>) -> Self;
}

macro_rules! sliced {
    ($view:ident) => {
        impl Sliced for $view<'_> {
            fn contiguous(&self) -> bool {
                self.is_contiguous()
            }
            fn num_cols(&self) -> usize {
                $view::cols(self)
            }
            fn reshaped(&self, cols: usize) -> Self {
                self.reshape(self.rows() * self.num_cols() / cols, cols)
            }
            fn cols(&self, cols: std::ops::Range<usize>) -> Self {
                self.col_range(cols)
            }
        }
    };
}
sliced!(View);
sliced!(ViewMut);

fn read_dims<const N: usize>(r: &mut KaldiReader, tokens: [&str; N]) -> Result<[usize; N]> {
    let mut dims = [0; N];
    for (dim, token) in dims.iter_mut().zip(tokens) {
        *dim = fields::read_dim(r, token)?;
    }
    Ok(dims)
}

impl Component for Convolution {
    fn type_name(&self) -> &'static str {
        "ConvolutionComponent"
    }
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.filters), ("bias", &self.bias)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.filters), ("bias", &mut self.bias)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        self.axes.iter().map(|axis| axis.dim).product()
    }
    fn output_dim(&self) -> usize {
        self.num_windows() * self.filters.rows()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::UPDATABLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::BACKPROP_ADDS
            | Properties::PROPAGATE_ADDS
    }

    fn info(&self, _: bool) -> String {
        let [x, y, z] = &self.axes;
        self.settings.info(self)
            + &format!(", input-x-dim={}, input-y-dim={}, input-z-dim={}", x.dim, y.dim, z.dim)
            + &format!(", filt-x-dim={}, filt-y-dim={}", x.window, y.window)
            + &format!(", filt-x-step={}, filt-y-step={}", x.step, y.step)
            + &format!(", input-vectorization={}, num-filters={}", self.order as i32, self.filters.rows())
            + &text::rms_stats("filter-params", &self.filters.to_vec())
            + &text::mean_stats("bias-params", &self.bias.to_vec())
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        let [x, y, z] = &self.axes;
        self.settings.write(w, CONVOLUTION)?;
        for (token, value) in [
            ("<InputXDim>", x.dim),
            ("<InputYDim>", y.dim),
            ("<InputZDim>", z.dim),
            ("<FiltXDim>", x.window),
            ("<FiltYDim>", y.window),
            ("<FiltXStep>", x.step),
            ("<FiltYStep>", y.step),
            ("<InputVectorization>", self.order as usize),
        ] {
            fields::write_dim(w, token, value)?;
        }
        w.write_token("<FilterParams>")?;
        write_matrix(w, &self.filters)?;
        fields::write_row(w, "<BiasParams>", &self.bias)?;
        fields::write_bool(w, "<IsGradient>", self.settings.is_gradient)?;
        w.write_token("</ConvolutionComponent>")?;
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
        let windows = self.windows(context, input);
        each_window(output, windows.view(), self.shape(), |output, windows| {
            context.backend.add_to_rows(output, 1.0, self.bias.view());
            context.backend.gemm(output, 1.0, windows, No, self.filters.view(), Yes, 1.0);
        });
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let backend = context.backend;
        if let Some(in_deriv) = args.in_deriv {
            let mut windows = context.workspace.take(args.out_deriv.rows(), self.columns.len());
            each_window(args.out_deriv, windows.view_mut(), self.shape(), |deriv, windows| {
                backend.gemm(windows, 1.0, deriv, No, self.filters.view(), No, 0.0)
            });
            backend.add_to_cols(in_deriv, windows.view(), &self.columns);
        }
        if update.wants_gradients() {
            let windows = self.windows(context, args.in_value);
            each_window(args.out_deriv, windows.view(), self.shape(), |deriv, windows| {
                update.products(context, Products::row_by_row(windows, deriv))
            });
        }
    }
}

impl Updatable for Convolution {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }
}

#[cfg(test)]
mod tests;
