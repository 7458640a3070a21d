//! `ConvolutionComponent` and `MaxpoolingComponent`: convolution over two axes and pooling over three axes of a
//! vectorised tensor. New networks use `TimeHeightConvolutionComponent`.

use super::fields::{self, key};
use super::parameters::*;
use super::updatable::{Updatable, UpdatableSettings};
use super::*;
use crate::config::ConfigLine;
use crate::text;
use nnet3_matrix::{IndexTable, Transpose::No, Transpose::Yes};

const CONVOLUTION: &str = "ConvolutionComponent";
const MAXPOOLING: &str = "MaxpoolingComponent";

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
    ComponentType {
        name: MAXPOOLING,
        purpose: "Maximum over boxes of a vectorised (x, y, z) tensor, z fastest (deprecated).",
        keys: &[
            INPUT_X,
            INPUT_Y,
            INPUT_Z,
            key("pool-x-size", Kind::Int, "", "size of a box on the x axis"),
            key("pool-y-size", Kind::Int, "", "size of a box on the y axis"),
            key("pool-z-size", Kind::Int, "", "size of a box on the z axis"),
            key("pool-x-step", Kind::Int, "", "step of the boxes on the x axis, at most their size"),
            key("pool-y-step", Kind::Int, "", "step of the boxes on the y axis, at most their size"),
            key("pool-z-step", Kind::Int, "", "step of the boxes on the z axis, at most their size"),
        ],
        updatable: false,
        example: "input-x-dim=4 input-y-dim=3 input-z-dim=2 pool-x-size=2 pool-y-size=3 pool-z-size=1 pool-x-step=2 \
                  pool-y-step=1 pool-z-step=1",
        from_config: Maxpooling::from_config,
        read: Maxpooling::read,
    },
];

/// More columns than this in one matrix are taken for a mistake.
const MOST_COLUMNS: u128 = 1 << 28;

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

/// What is wrong with windows on these axes (x, y, z), if anything: everything is greater than 0 already.
fn defect(axes: &[Axis; 3]) -> Option<String> {
    for (name, axis) in ["x", "y", "z"].iter().zip(axes) {
        if axis.window > axis.dim {
            return Some(format!("windows of {} on an {name} axis of {}", axis.window, axis.dim));
        }
    }
    let columns: u128 = axes.iter().map(|axis| axis.windows() as u128 * axis.window as u128).product();
    let dim: u128 = axes.iter().map(|axis| axis.dim as u128).product();
    let most = columns.max(dim);
    (most > MOST_COLUMNS).then(|| format!("{most} columns are too many"))
}

/// All (x, y, z) with x < sizes\[0\] and so on, z fastest.
fn positions(sizes: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [x_size, y_size, z_size] = sizes;
    (0..x_size).flat_map(move |x| (0..y_size).flat_map(move |y| (0..z_size).map(move |z| [x, y, z])))
}

// ---- ConvolutionComponent --------------------------------------------------------------------------------------

/// Output columns: windows (x slowest, then y), filters fastest.
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
    /// For each window, for each of a filter's columns, the input column.
    columns: IndexTable,
}

/// How the input's tensor is vectorised, fastest axis first; the values are those of files.
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
        if let Some(defect) = defect(&axes) {
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
                if let Some(axis) = axes.iter().find(|axis| axis.leaves_rest()) {
                    let Axis { dim, window, step } = axis;
                    return Err(line.error(format!("filter step {step} does not divide {dim} - {window}")));
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
        if let Some(defect) = defect(&axes) {
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

/// Calls `f` with the same rows of output and windows: all at once if the output is contiguous, else one window after
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
    crate::component_boilerplate!("ConvolutionComponent");
    parameter_methods!(filters, bias);

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

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, update: Update<'_>) {
        let backend = context.backend;
        if let Some(in_deriv) = args.in_deriv {
            let mut windows = context.workspace.take(args.out_deriv.rows(), self.columns.len());
            each_window(args.out_deriv, windows.view_mut(), self.shape(), |deriv, windows| {
                backend.gemm(windows, 1.0, deriv, No, self.filters.view(), No, 0.0)
            });
            backend.add_to_cols(in_deriv, windows.view(), &self.columns);
        }
        let Some(target) = update.target(self) else { return };
        let windows = target.windows(context, args.in_value);
        each_window(args.out_deriv, windows.view(), target.shape(), |deriv, windows| {
            let (filters, bias) = (target.filters.view_mut(), target.bias.view_mut());
            add_affine_gradient(context, filters, bias, windows, deriv, target.settings.learning_rate)
        });
    }
}

impl Updatable for Convolution {
    updatable_methods!(filters, bias);
}

// ---- MaxpoolingComponent ---------------------------------------------------------------------------------------

/// Output columns: boxes, z fastest, as in the input.
#[derive(Clone, Debug)]
pub struct Maxpooling {
    axes: [Axis; 3],
    /// For each place in a box, for each box, the input column.
    columns: Vec<IndexTable>,
}

/// What the maximum starts from.
const LOWEST: f32 = -1e20;

impl Maxpooling {
    fn new(axes: [Axis; 3]) -> Maxpooling {
        let boxes = axes.map(|axis| axis.windows());
        let table = |of: [usize; 3]| {
            let place = |at: [usize; 3]| std::array::from_fn(|a| at[a] * axes[a].step + of[a]);
            IndexTable::new(positions(boxes).map(|at| Order::Zyx.column(&axes, place(at)) as i32).collect())
        };
        Maxpooling { axes, columns: positions(axes.map(|axis| axis.window)).map(table).collect() }
    }

    fn defect(axes: &[Axis; 3]) -> Option<String> {
        defect(axes).or_else(|| {
            let Axis { dim, window, step } = axes.iter().find(|axis| axis.step > axis.window || axis.leaves_rest())?;
            Some(format!("boxes of {window} with step {step} on an axis of {dim}: the step must not exceed the size and \
                          must divide {dim} - {window}"))
        })
    }

    fn from_config(line: &mut ConfigLine, _: &Random) -> Result<Box<dyn Component>> {
        let mut axis = |name: &str| -> Result<Axis> {
            Ok(Axis {
                dim: line.require_dim(&format!("input-{name}-dim"))?,
                window: line.require_dim(&format!("pool-{name}-size"))?,
                step: line.require_dim(&format!("pool-{name}-step"))?,
            })
        };
        let axes = [axis("x")?, axis("y")?, axis("z")?];
        match Maxpooling::defect(&axes) {
            Some(defect) => Err(line.error(defect)),
            None => Ok(Box::new(Maxpooling::new(axes))),
        }
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let dims = read_dims(r, ["<InputXDim>", "<InputYDim>", "<InputZDim>"])?;
        let windows = read_dims(r, ["<PoolXSize>", "<PoolYSize>", "<PoolZSize>"])?;
        let steps = read_dims(r, ["<PoolXStep>", "<PoolYStep>", "<PoolZStep>"])?;
        r.expect_token("</MaxpoolingComponent>")?;
        let axes = std::array::from_fn(|a| Axis { dim: dims[a], window: windows[a], step: steps[a] });
        match Maxpooling::defect(&axes) {
            Some(defect) => Err(r.error(defect).into()),
            None => Ok(Box::new(Maxpooling::new(axes))),
        }
    }

    /// The nine sizes in the order of files, with their tokens and keys.
    fn sizes(&self) -> [(&'static str, &'static str, usize); 9] {
        let [x, y, z] = &self.axes;
        [
            ("<InputXDim>", "input-x-dim", x.dim),
            ("<InputYDim>", "input-y-dim", y.dim),
            ("<InputZDim>", "input-z-dim", z.dim),
            ("<PoolXSize>", "pool-x-size", x.window),
            ("<PoolYSize>", "pool-y-size", y.window),
            ("<PoolZSize>", "pool-z-size", z.window),
            ("<PoolXStep>", "pool-x-step", x.step),
            ("<PoolYStep>", "pool-y-step", y.step),
            ("<PoolZStep>", "pool-z-step", z.step),
        ]
    }
}

impl Component for Maxpooling {
    crate::component_boilerplate!("MaxpoolingComponent");

    fn input_dim(&self) -> usize {
        self.axes.iter().map(|axis| axis.dim).product()
    }
    fn output_dim(&self) -> usize {
        self.columns[0].len()
    }
    fn properties(&self) -> Properties {
        Properties::SIMPLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::BACKPROP_NEEDS_OUTPUT
            | Properties::BACKPROP_ADDS
    }

    fn info(&self, _: bool) -> String {
        let sizes: String = self.sizes().iter().map(|(_, key, value)| format!(", {key}={value}")).collect();
        MAXPOOLING.to_string() + &sizes
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        w.write_token("<MaxpoolingComponent>")?;
        for (token, _, value) in self.sizes() {
            fields::write_dim(w, token, value)?;
        }
        w.write_token("</MaxpoolingComponent>")?;
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
        let mut members = context.workspace.take(output.rows(), output.cols());
        context.backend.set(output, LOWEST);
        for columns in &self.columns {
            context.backend.copy_cols(members.view_mut(), input, columns);
            context.backend.max_with(output, members.view());
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let (rows, cols) = (args.out_deriv.rows(), args.out_deriv.cols());
        let mut members = context.workspace.take(rows, cols);
        let mut derivs = context.workspace.take(rows, cols);
        for columns in &self.columns {
            context.backend.copy_cols(members.view_mut(), args.in_value, columns);
            context.backend.set(derivs.view_mut(), 0.0);
            context.backend.add_where_equal(
                derivs.view_mut(),
                members.view(),
                args.out_value,
                args.out_deriv,
            );
            context.backend.add_to_cols(in_deriv, derivs.view(), columns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;

    const SMALL: &str = "type=ConvolutionComponent input-x-dim=5 input-y-dim=4 input-z-dim=2 filt-x-dim=3 filt-y-dim=2 \
                         filt-x-step=1 filt-y-step=2";

    #[test]
    fn derivatives_and_files() {
        check_component(&format!("{SMALL} num-filters=3"));
        check_component(&format!(
            "{SMALL} num-filters=1 input-vectorization-order=yzx learning-rate-factor=3"
        ));
        let pooling = "input-x-dim=5 input-y-dim=4 input-z-dim=2 pool-x-size=3 pool-y-size=2 pool-z-size=1 pool-x-step=1 \
                       pool-y-step=2 pool-z-step=1";
        // No two inputs closer than a step of the finite differences.
        check_component_with(&format!("type=MaxpoolingComponent {pooling}"), |input| {
            input.iter_mut().enumerate().for_each(|(i, v)| *v = ((i * 37) % input_size()) as f32 * 0.1)
        });
    }

    fn input_size() -> usize {
        5 * 40
    }

    /// Sums over (x, y, z), straight from the definition.
    #[test]
    fn convolution_by_the_formula() {
        let harness = Harness::new();
        for order in ["zyx", "yzx"] {
            let new = component(&format!("{SMALL} num-filters=2 input-vectorization-order={order}"));
            let input = random_matrix(&Random::new(1), 2, 40);
            let output = harness.forward(&*new, None, &input, 2).output.to_vec();
            let own = downcast::<Convolution>(&*new);
            let (filters, bias, input) = (own.filters.to_vec(), own.bias.to_vec(), input.to_vec());
            for row in 0..2 {
                for (p, [px, py, _]) in positions([3, 2, 1]).enumerate() {
                    for f in 0..2 {
                        let mut y = bias[f] as f64;
                        for (k, [x, wy, z]) in positions([3, 2, 2]).enumerate() {
                            let (x, wy) = (px + x, 2 * py + wy);
                            let column = if order == "zyx" { x * 8 + wy * 2 + z } else { x * 8 + z * 4 + wy };
                            y += filters[f * 12 + k] as f64 * input[row * 40 + column] as f64;
                        }
                        let found = output[row * 12 + p * 2 + f] as f64;
                        assert!((found - y).abs() < 1e-5, "{found} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn ties_all_get_the_derivative() {
        let new = "type=MaxpoolingComponent input-x-dim=3 input-y-dim=1 input-z-dim=1 pool-x-size=2 pool-y-size=1 \
                   pool-z-size=1 pool-x-step=1 pool-y-step=1 pool-z-step=1";
        let mut new = component(new);
        let harness = Harness::new();
        let input = Matrix::from_vec(1, 3, vec![2.0, 2.0, 1.0]);
        let forward = harness.forward(&*new, None, &input, 1);
        assert_eq!(forward.output.to_vec(), [2.0, 2.0]);
        let deriv = Matrix::from_vec(1, 2, vec![1.0, 10.0]);
        let found = harness.backward(&mut *new, None, &input, &forward, &deriv, Update::None);
        assert_eq!(found.to_vec(), [1.0, 11.0, 0.0]);
    }

    #[test]
    fn matrix_from_a_file() {
        let path = std::env::temp_dir().join(format!("convolution-{}", std::process::id()));
        std::fs::write(&path, " [ 1 2 3 4 9\n 5 6 7 8 10 ]\n").unwrap();
        let config = "type=ConvolutionComponent input-x-dim=4 input-y-dim=2 input-z-dim=1 filt-x-dim=2 filt-y-dim=2 \
                      filt-x-step=5 filt-y-step=1";
        let new = component(&format!("{config} matrix={}", path.display()));
        assert_eq!(
            new.as_updatable().unwrap().vectorize(),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
        );
        assert_eq!(new.output_dim(), 2);
        refused(&format!("{config} matrix={} num-filters=2", path.display()), "num-filters=2");
        refused(&format!("{config} num-filters=2"), "filter step 5 does not divide 4 - 2");
        let other = config.replace("filt-y-dim=2", "filt-y-dim=1");
        refused(&format!("{other} matrix={}", path.display()), "expected 3 columns, found 2 x 5");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn wrong_configs_are_refused() {
        refused(SMALL, "'num-filters' is missing");
        refused(&format!("{SMALL} num-filters=1 input-vectorization-order=xyz"), "expected zyx or yzx");
        refused(&SMALL.replace("filt-x-dim=3", "filt-x-dim=6"), "windows of 6 on an x axis of 5");
        refused(&SMALL.replace("input-z-dim=2", "input-z-dim=2000000000"), "too many");
        refused(&SMALL.replace("filt-y-step=2", ""), "'filt-y-step' is missing");
        refused(&format!("{SMALL} num-filters=0"), "num-filters=0");
        let pooling = TYPES[1].example;
        refused(
            &format!("type={MAXPOOLING} {}", pooling.replace("step=2", "step=3")),
            "boxes of 2 with step 3",
        );
        refused(
            &format!("type={MAXPOOLING} {}", pooling.replace("pool-x-size=2", "pool-x-size=3")),
            "must divide 4 - 3",
        );
        refused(&format!("type={MAXPOOLING} {pooling} learning-rate=1"), "learning-rate=1");
    }

    #[test]
    fn older_and_broken_files() {
        let text = written_text(&*component(&format!("{SMALL} num-filters=1")));
        let older = from_text(&text.replace("<IsGradient> F ", ""));
        assert_eq!(written_text(&*older), text);
        for (what, instead, part) in [
            ("<InputVectorization> 1", "<InputVectorization> 2", "expected 0 or 1, found 2"),
            ("<FiltXStep> 1", "<FiltXStep> 0", "<FiltXStep>"),
            ("<FiltYDim> 2", "<FiltYDim> 3", "expected 1 x 18 elements, found 1 x 12"),
            ("<FiltXDim> 3", "<FiltXDim> -3", "<FiltXDim>"),
            ("<InputXDim> 5", "<InputXDim> 2000000000", "too many"),
        ] {
            read_refused(&text.replace(what, instead), part);
        }
        let text = written_text(&*component(&format!("type={MAXPOOLING} {}", TYPES[1].example)));
        read_refused(&text.replace("<PoolZStep> 1", "<PoolZStep> 2"), "boxes of 1 with step 2");
    }
}
