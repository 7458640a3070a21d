//! `MaxpoolingComponent`: the maximum over boxes of a vectorised tensor.

use super::*;

const NAME: &str = "MaxpoolingComponent";

pub(super) const TYPE: ComponentType = ComponentType {
    name: NAME,
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
};

/// Maximum over boxes. The output's columns are boxes, z fastest, as in the input.
#[derive(Clone, Debug)]
pub(crate) struct Maxpooling {
    axes: [Axis; 3],
    /// A table for each place in a box, with the input column for each box.
    columns: Vec<IndexTable>,
}

/// The value that the maximum starts from.
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
        defect(axes, |axis| format!("pool-{axis}-size")).or_else(|| {
            let wrong = |(axis, _): &(&Axis, &str)| axis.step > axis.window || axis.leaves_rest();
            let (Axis { dim, window, step }, name) = axes.iter().zip(["x", "y", "z"]).find(wrong)?;
            Some(format!(
                "pool-{name}-step: boxes of {window} with step {step} on an axis of {dim}: the step must not exceed the \
                 size and must divide {dim} - {window}"
            ))
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
    fn type_name(&self) -> &'static str {
        "MaxpoolingComponent"
    }

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
        NAME.to_string() + &sizes
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
