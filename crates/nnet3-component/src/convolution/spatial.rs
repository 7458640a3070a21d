//! `ConvolutionComponent` and `MaxpoolingComponent`: convolution over two axes and pooling over three axes of a
//! vectorised tensor. New networks use `TimeHeightConvolutionComponent`.

use crate::declared::*;
use crate::fields::{self, key};
use crate::parameters::*;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::config::ConfigLine;
use nnet3_base::text;
use nnet3_matrix::{Gemm, IndexTable};

mod maxpooling;

pub const TYPES: &[&ComponentType] = &[Convolution::TYPE, maxpooling::Maxpooling::TYPE];

const INPUT_SIZES: [Field<usize>; 3] = [
    field("input-x-dim", "<InputXDim>", "size of the input's x axis"),
    field("input-y-dim", "<InputYDim>", "size of the input's y axis"),
    field("input-z-dim", "<InputZDim>", "size of the input's z axis"),
];
const FILTER_SIZES: [Field<usize>; 2] = [
    field("filt-x-dim", "<FiltXDim>", "size of the filters' x axis"),
    field("filt-y-dim", "<FiltYDim>", "size of the filters' y axis"),
];
const STEPS: [Field<usize>; 2] = [
    field("filt-x-step", "<FiltXStep>", "step of the filters on the x axis"),
    field("filt-y-step", "<FiltYStep>", "step of the filters on the y axis"),
];
const ORDER: Key = key(
    "input-vectorization-order",
    Kind::String,
    "zyx",
    "the axis of neighbouring columns first: zyx or yzx",
);
const NUM_FILTERS: Field<usize> = field("num-filters", "", "number of filters; not with matrix");
const MATRIX: Key = key(
    "matrix",
    Kind::File,
    "none",
    "a filter a row, its bias in the last column; the other keys of initialisation are then refused",
);
const PARAM_STDDEV: Field<f32> =
    stddev_key("param-stddev").or_by("1/sqrt(filt-x-dim * filt-y-dim * input-z-dim)");
const BIAS_STDDEV: Field<f32> = stddev_key("bias-stddev").or(1.0);

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

impl Declared for Convolution {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<Convolution>(
        "ConvolutionComponent",
        "Convolution over the x and y axes of a vectorised (x, y, z) tensor (deprecated).",
        "input-x-dim=4 input-y-dim=3 input-z-dim=2 filt-x-dim=2 filt-y-dim=3 filt-x-step=2 filt-y-step=1 \
         num-filters=3",
    );

    fn fields(f: &mut Fields<'_, Convolution>) -> Result<Option<Convolution>> {
        let mut settings = f.settings(|c| &c.settings)?;
        let axes = Convolution::axes(f)?;
        f.refuse(|| defect(&axes, window_key))?;
        let order = Convolution::order(f)?;
        f.note(|c, _| {
            format!(", input-vectorization={}, num-filters={}", c.order as i32, c.filters.rows())
                + &text::rms_stats("filter-params", &c.filters.to_vec())
                + &text::mean_stats("bias-params", &c.bias.to_vec())
        });
        let (filters, bias) = Convolution::parameters_of(f, &axes)?;
        settings.is_gradient = f.get(&IS_GRADIENT, |c| c.settings.is_gradient)?;
        f.build(|| Ok(Convolution::new(settings, axes, order, filters, bias)))
    }
}

/// Stored again after the parameters.
const IS_GRADIENT: Field<bool> = field("", "<IsGradient>", "parameters hold a gradient").or(false).may_miss();

impl Convolution {
    fn axes(f: &mut Fields<'_, Convolution>) -> Result<[Axis; 3]> {
        let mut size = |field: &Field<usize>, of: fn(&[Axis; 3]) -> usize| f.get(field, |c| of(&c.axes));
        let [x, y, z] = &INPUT_SIZES;
        let (x, y, z) = (size(x, |a| a[0].dim)?, size(y, |a| a[1].dim)?, size(z, |a| a[2].dim)?);
        let windows = (size(&FILTER_SIZES[0], |a| a[0].window)?, size(&FILTER_SIZES[1], |a| a[1].window)?);
        let steps = (size(&STEPS[0], |a| a[0].step)?, size(&STEPS[1], |a| a[1].step)?);
        Ok([
            Axis { dim: x, window: windows.0, step: steps.0 },
            Axis { dim: y, window: windows.1, step: steps.1 },
            Axis { dim: z, window: z, step: 1 },
        ])
    }

    /// Visits the order of columns: a word in config lines, a number in files.
    fn order(f: &mut Fields<'_, Convolution>) -> Result<Order> {
        if let Some((w, c)) = f.writer() {
            fields::write_i32(w, "<InputVectorization>", c.order as i32)?;
        }
        if let Some(r) = f.reader() {
            return match fields::read_i32(r, "<InputVectorization>")? {
                0 => Ok(Order::Yzx),
                1 => Ok(Order::Zyx),
                other => Err(r.error(format!("<InputVectorization>: expected 0 or 1, found {other}")).into()),
            };
        }
        match f.text(&ORDER).as_deref() {
            None | Some("zyx") => Ok(Order::Zyx),
            Some("yzx") => Ok(Order::Yzx),
            Some(other) => Err(f.error(format!("input-vectorization-order={other}: expected zyx or yzx"))),
        }
    }

    /// Visits filters and bias: in a file, loaded, or random numbers.
    fn parameters_of(f: &mut Fields<'_, Convolution>, axes: &[Axis; 3]) -> Result<(Matrix, Matrix)> {
        let dim = axes.iter().map(|axis| axis.window).product();
        let num_filters = if f.has(MATRIX.name) { None } else { Some(f.key(&NUM_FILTERS)?) };
        if let Some(file) = f.text(&MATRIX)
            && let Some((line, _)) = f.config()
        {
            return Convolution::load(line, &file, dim);
        }
        let initial = Initial {
            shape: (num_filters.unwrap_or(1), dim),
            stddev: f.key_or(&PARAM_STDDEV, stddev_for(dim))?,
            bias_dim: num_filters.unwrap_or(1),
            bias_mean: 0.0,
            bias_stddev: f.key(&BIAS_STDDEV)?,
        };
        if let Some((line, random)) = f.config() {
            if let Some((axis, name)) = axes.iter().zip(["x", "y", "z"]).find(|(axis, _)| axis.leaves_rest())
            {
                let Axis { dim, window, step } = axis;
                return Err(line.error(format!(
                    "filt-{name}-step: the filter step {step} does not divide {dim} - {window}"
                )));
            }
            return initial.draw(line, random);
        }
        let filters = f.matrix("<FilterParams>", |c| &c.filters)?;
        let bias = f.row("<BiasParams>", |c| &c.bias)?;
        f.check(filters.cols() == dim && filters.rows() == bias.cols(), || {
            let (rows, cols, biases) = (filters.rows(), filters.cols(), bias.cols());
            format!("<FilterParams>: expected {biases} x {dim} elements, found {rows} x {cols}")
        })?;
        Ok((filters, bias))
    }
}

impl Component for Convolution {
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

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let windows = self.windows(context, input);
        each_window(output, windows.view(), self.shape(), |output, windows| {
            context.backend.add_to_rows(output, 1.0, self.bias.view());
            context.backend.gemm(Gemm::add(output, windows, self.filters.view().transposed()));
        });
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let backend = context.backend;
        if let Some(in_deriv) = args.in_deriv {
            let mut windows = context.workspace.take(args.out_deriv.rows(), self.columns.len());
            each_window(args.out_deriv, windows.view_mut(), self.shape(), |deriv, windows| {
                backend.gemm(Gemm::set(windows, deriv, self.filters.view()))
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
