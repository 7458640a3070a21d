//! `MaxpoolingComponent`: the maximum over boxes of a vectorised tensor.

use super::*;

/// The sizes of an axis: of the input, of a box, and the step of boxes.
const SIZES: [[Field<usize>; 3]; 3] = [
    INPUT_SIZES,
    [
        field("pool-x-size", "<PoolXSize>", "size of a box on the x axis"),
        field("pool-y-size", "<PoolYSize>", "size of a box on the y axis"),
        field("pool-z-size", "<PoolZSize>", "size of a box on the z axis"),
    ],
    [
        field("pool-x-step", "<PoolXStep>", "step of the boxes on the x axis, at most their size"),
        field("pool-y-step", "<PoolYStep>", "step of the boxes on the y axis, at most their size"),
        field("pool-z-step", "<PoolZStep>", "step of the boxes on the z axis, at most their size"),
    ],
];

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
}

impl Declared for Maxpooling {
    const TYPE: &'static ComponentType = &ComponentType::of::<Maxpooling>(
        "MaxpoolingComponent",
        "Maximum over boxes of a vectorised (x, y, z) tensor, z fastest (deprecated).",
        "input-x-dim=4 input-y-dim=3 input-z-dim=2 pool-x-size=2 pool-y-size=3 pool-z-size=1 pool-x-step=2 \
         pool-y-step=1 pool-z-step=1",
    );

    fn fields(f: &mut Fields<'_, Maxpooling>) -> Result<Option<Maxpooling>> {
        let mut sizes = |k: usize, of: fn(&Axis) -> usize| -> Result<[usize; 3]> {
            let mut axis = |a: usize| f.get(&SIZES[k][a], |c| of(&c.axes[a]));
            Ok([axis(0)?, axis(1)?, axis(2)?])
        };
        let dims = sizes(0, |axis| axis.dim)?;
        let (windows, steps) = (sizes(1, |axis| axis.window)?, sizes(2, |axis| axis.step)?);
        let axes = std::array::from_fn(|a| Axis { dim: dims[a], window: windows[a], step: steps[a] });
        f.build(|| match Maxpooling::defect(&axes) {
            Some(defect) => Err(defect),
            None => Ok(Maxpooling::new(axes)),
        })
    }
}

impl Component for Maxpooling {
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

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
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
