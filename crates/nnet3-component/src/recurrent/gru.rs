//! `GruNonlinearityComponent` and `OutputGruNonlinearityComponent`: the nonlinear part of gated recurrent units (Cho et
//! al., 2014; with projection and with an output gate as in Kaldi).
//!
//! Both form h = tanh(…) and the cell c = (1 - z) ⊙ h + z ⊙ c_prev, and differ in the input of the tanh.

use crate::declared::*;

use crate::parameters::{normal_matrix, stddev_for, stddev_key};
use crate::preconditioners::{
    ALPHA, NaturalGradientSettings, Preconditioners, Preconditioning, RANK, RANKS_IN_OUT, UPDATE_PERIOD,
};
use crate::tanh_stats::TanhStats;
use crate::updatable::{Updatable, UpdatableSettings};
use crate::*;
use nnet3_base::config::ConfigLine;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::rms_stats;
use nnet3_matrix::{Activation, Gemm};
use std::ops::Range;

/// So many rows later, a minibatch's weight has fallen to 1/e; this is no key, and not in files.
const NUM_SAMPLES_HISTORY: f32 = 2000.0;

pub const TYPES: &[&ComponentType] = &[Gru::TYPE, OutputGru::TYPE];

const CELL_DIM: Field<usize> = field("cell-dim", "<CellDim>", "number of cells");
const RECURRENT_DIM: Field<usize> = field(
    "recurrent-dim",
    "<RecurrentDim>",
    "dimension of the recurrent part, at most cell-dim; less is projection",
)
.or_by("cell-dim");
const PARAM_MEAN: Field<f32> = field("param-mean", "", "mean of the initial parameters").or(0.0);

// ---- shared functions ------------------------------------------------------------------------------------------

/// The columns h and c of an output or its derivative.
fn halves<V>(columns: impl Fn(Range<usize>) -> V, cells: usize) -> (V, V) {
    (columns(0..cells), columns(cells..2 * cells))
}

/// c = (1 - z) ⊙ h + z ⊙ c_prev.
fn set_cell(context: Context<'_>, c: ViewMut<'_>, z: View<'_>, h: View<'_>, c_prev: View<'_>) {
    context.backend.copy(c, h);
    context.backend.add_product(c, -1.0, z, h);
    context.backend.add_product(c, 1.0, z, c_prev);
}

/// Sets `deriv` to the derivative with respect to the input of the tanh, from `out_deriv` (the derivatives of h and c).
fn tanh_input_deriv(context: Context<'_>, deriv: ViewMut<'_>, z: View<'_>, h: View<'_>, out_deriv: View<'_>) {
    let (dh, dc) = halves(|columns| out_deriv.col_range(columns), deriv.cols());
    context.backend.copy(deriv, dh);
    context.backend.add(deriv, 1.0, dc);
    context.backend.add_product(deriv, -1.0, dc, z);
    context.backend.activate_backward(deriv, h, deriv.as_view(), Activation::Tanh);
}

/// Adds the derivatives of c = (1 - z) ⊙ h + z ⊙ c_prev with respect to z and c_prev.
fn add_gate_derivs(
    context: Context<'_>,
    (dz, dc_prev): (ViewMut<'_>, ViewMut<'_>),
    (z, h, c_prev): (View<'_>, View<'_>, View<'_>),
    dc: View<'_>,
) {
    context.backend.add_product(dz, -1.0, dc, h);
    context.backend.add_product(dz, 1.0, dc, c_prev);
    context.backend.add_product(dc_prev, 1.0, dc, z);
}

const PROPERTIES: Properties = Properties::SIMPLE
    .union(Properties::UPDATABLE)
    .union(Properties::BACKPROP_NEEDS_INPUT)
    .union(Properties::BACKPROP_NEEDS_OUTPUT)
    .union(Properties::BACKPROP_ADDS);

/// Statistics of a type with a field `stats`.
macro_rules! tanh_statistics {
    ($type:ident) => {
        impl Statistics for $type {
            fn scale_stats(&mut self, factor: f32) {
                self.stats.scale(factor);
            }
            fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
                self.stats.add(alpha, &downcast::<Self>(other).stats);
            }
            fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
                self.stats.keep(keeper)
            }
            fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
                self.stats.scale_by(backend, factor);
            }
            fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
                self.stats.add_by(backend, alpha, &downcast::<Self>(other).stats);
            }
        }
    };
}
tanh_statistics!(Gru);
tanh_statistics!(OutputGru);

// ---- GruNonlinearityComponent ----------------------------------------------------------------------------------

/// h = tanh(h part + (r ⊙ s_prev) Wᵀ). Without projection (R = C) c_prev and s_prev are the same columns.
#[derive(Clone, Debug)]
pub(crate) struct Gru {
    settings: UpdatableSettings,
    /// C × R.
    w: Matrix,
    stats: TanhStats,
    natural_gradient: Preconditioners,
}

/// The columns of the input.
struct Columns {
    z: Range<usize>,
    r: Range<usize>,
    h_part: Range<usize>,
    c_prev: Range<usize>,
    s_prev: Range<usize>,
}

impl Gru {
    fn columns(&self) -> Columns {
        let (c, r, dim) = (self.w.rows(), self.w.cols(), self.input_dim());
        Columns {
            z: 0..c,
            r: c..c + r,
            h_part: c + r..2 * c + r,
            c_prev: 2 * c + r..3 * c + r,
            s_prev: dim - r..dim,
        }
    }
}

impl Declared for Gru {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<Gru>(
        "GruNonlinearityComponent",
        "The nonlinear part of a GRU; columns of the input: z, r, h part, previous cell and, with projection, \
         previous recurrent part; of the output: h, cell.",
        "cell-dim=4 recurrent-dim=2",
    );

    fn fields(f: &mut Fields<'_, Gru>) -> Result<Option<Gru>> {
        let settings = f.settings(|c| &c.settings)?;
        let cells = f.get(&CELL_DIM, |c| c.w.rows())?;
        let recurrent = match f.config() {
            Some((line, _)) => recurrent_dim_of(line, cells)?,
            None => f.get_or(&RECURRENT_DIM, cells, |c| c.w.cols())?,
        };
        f.check(recurrent <= cells, || {
            format!("<RecurrentDim>: expected at most <CellDim> {cells}, found {recurrent}")
        })?;
        let stddev = stddev_key("param-stddev").or_by("1/sqrt(cell-dim)");
        let stddev = f.key_or(&stddev, stddev_for(cells))?;
        let w = match f.config() {
            Some((line, random)) => normal_matrix(line, random, cells, recurrent, 0.0, stddev)?,
            None => f.matrix("<w_h>", |c| &c.w)?,
        };
        check_shape(f, &w, cells, recurrent)?;
        f.note(|c, _| rms_stats("w_h", &c.w.to_vec()));
        let stats = TanhStats::fields(f, cells, |c| &c.stats)?;
        let alpha = f.get(&ALPHA, |c| c.natural_gradient.input.alpha)?;
        let [rank_in, rank_out] = RANKS_IN_OUT;
        let rank_in = f.get(&rank_in.or(20), |c| c.natural_gradient.input.rank)?;
        let rank_out = f.get(&rank_out.or(80), |c| c.natural_gradient.output.rank)?;
        let period = f.get(&UPDATE_PERIOD, |c| c.natural_gradient.input.update_period)?;
        let natural_gradient = Preconditioners::new(rank_in, rank_out, period, NUM_SAMPLES_HISTORY, alpha);
        f.refuse(|| natural_gradient.defect())?;
        f.done(Gru { settings, w, stats, natural_gradient })
    }
}

/// Takes `recurrent-dim`; absent or negative means `cells`.
fn recurrent_dim_of(line: &mut ConfigLine, cells: usize) -> Result<usize> {
    match line.get_i32(RECURRENT_DIM.key)? {
        None | Some(..0) => Ok(cells),
        Some(dim) if dim > 0 && dim as usize <= cells => Ok(dim as usize),
        Some(dim) => Err(line.error(format!("recurrent-dim={dim}: expected 1 to cell-dim={cells}"))),
    }
}

/// Checks the shape of `w`, after `<CellDim>` and the like and `<w_h>` have been read.
fn check_shape<C: Component>(f: &Fields<'_, C>, w: &Matrix, rows: usize, cols: usize) -> Result<()> {
    let found = (w.rows(), w.cols());
    f.check(found == (rows, cols), || {
        format!("<w_h>: expected {rows} x {cols} elements, found {} x {}", found.0, found.1)
    })
}

impl Component for Gru {
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.w)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.w)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        let (cells, recurrent) = (self.w.rows(), self.w.cols());
        if recurrent == cells { 4 * cells } else { 3 * cells + 2 * recurrent }
    }
    fn output_dim(&self) -> usize {
        2 * self.w.rows()
    }
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        true
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let (backend, at) = (context.backend, self.columns());
        let (h, c) = halves(|columns| output.col_range(columns), self.w.rows());
        let mut q = context.workspace.take(input.rows(), self.w.cols());
        backend.product(q.view_mut(), input.col_range(at.r), input.col_range(at.s_prev));
        backend.copy(h, input.col_range(at.h_part));
        backend.gemm(Gemm::add(h, q.view(), self.w.view().transposed()));
        backend.activate(h, h.as_view(), Activation::Tanh);
        set_cell(context, c, input.col_range(at.z), h.as_view(), input.col_range(at.c_prev));
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let (backend, at, cells) = (context.backend, self.columns(), self.w.rows());
        let input = |columns: &Range<usize>| args.in_value.col_range(columns.clone());
        let (h, _) = halves(|columns| args.out_value.col_range(columns), cells);
        let (_, dc) = halves(|columns| args.out_deriv.col_range(columns), cells);

        let mut deriv = context.workspace.take(args.in_value.rows(), cells);
        tanh_input_deriv(context, deriv.view_mut(), input(&at.z), h, args.out_deriv);
        if let Some(target) = update.reborrow().target(self) {
            target.stats.store_and_repair(context, h, deriv.view_mut());
        }
        let mut q = context.workspace.take(args.in_value.rows(), self.w.cols());
        if let Some(in_deriv) = args.in_deriv {
            let into = |columns: &Range<usize>| in_deriv.col_range(columns.clone());
            let values = (input(&at.z), h, input(&at.c_prev));
            add_gate_derivs(context, (into(&at.z), into(&at.c_prev)), values, dc);
            backend.add(into(&at.h_part), 1.0, deriv.view());
            backend.gemm(Gemm::set(q.view_mut(), deriv.view(), self.w.view()));
            backend.add_product(into(&at.r), 1.0, q.view(), input(&at.s_prev));
            backend.add_product(into(&at.s_prev), 1.0, q.view(), input(&at.r));
        }
        if update.wants_gradients() {
            backend.product(q.view_mut(), input(&at.r), input(&at.s_prev));
            update.products(context, Products::row_by_row(q.view(), deriv.view()));
        }
    }
}

impl Updatable for Gru {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        Preconditioning::BothSides(self.natural_gradient)
    }
}

// ---- OutputGruNonlinearityComponent ----------------------------------------------------------------------------

/// h = tanh(h part + w ⊙ c_prev).
#[derive(Clone, Debug)]
pub(crate) struct OutputGru {
    settings: UpdatableSettings,
    /// 1 × C.
    w: Matrix,
    stats: TanhStats,
    natural_gradient: NaturalGradientSettings,
}

impl OutputGru {
    fn cells(&self) -> usize {
        self.w.cols()
    }
}

impl Declared for OutputGru {
    const TYPE: &'static ComponentType = &ComponentType::updatable::<OutputGru>(
        "OutputGruNonlinearityComponent",
        "The nonlinear part of a GRU with an output gate; columns of the input: z, h part, previous cell; of the \
         output: h, cell.",
        "cell-dim=4",
    );

    fn fields(f: &mut Fields<'_, OutputGru>) -> Result<Option<OutputGru>> {
        let settings = f.settings(|c| &c.settings)?;
        let cells = f.get(&CELL_DIM, |c| c.cells())?;
        let (mean, stddev) = (f.key(&PARAM_MEAN)?, f.key(&stddev_key("param-stddev").or(1.0))?);
        let w = match f.config() {
            Some((line, random)) => normal_matrix(line, random, 1, cells, mean, stddev)?,
            None => f.row("<w_h>", |c| &c.w)?,
        };
        check_shape(f, &w, 1, cells)?;
        f.note(|c, _| rms_stats("w_h", &c.w.to_vec()));
        let stats = TanhStats::fields(f, cells, |c| &c.stats)?;
        let alpha = f.get(&ALPHA, |c| c.natural_gradient.alpha)?;
        let rank = f.get(&RANK.or(8), |c| c.natural_gradient.rank)?;
        let period = f.get(&UPDATE_PERIOD.or(10), |c| c.natural_gradient.update_period)?;
        let natural_gradient = NaturalGradientSettings::new(rank, period, NUM_SAMPLES_HISTORY, alpha);
        f.refuse(|| natural_gradient.defect())?;
        f.done(OutputGru { settings, w, stats, natural_gradient })
    }
}

impl Component for OutputGru {
    fn parameters(&self) -> Parameters<'_> {
        named([("peephole", &self.w)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("peephole", &mut self.w)])
    }
    fn as_updatable(&self) -> Option<&dyn Updatable> {
        Some(self)
    }
    fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
        Some(self)
    }

    fn input_dim(&self) -> usize {
        3 * self.cells()
    }
    fn output_dim(&self) -> usize {
        2 * self.cells()
    }
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn needs_floats(&self) -> bool {
        true
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let (backend, cells) = (context.backend, self.cells());
        let part = |k: usize| input.col_range(k * cells..(k + 1) * cells);
        let (h, c) = halves(|columns| output.col_range(columns), cells);
        backend.copy(h, part(1));
        backend.add_scaled_cols(h, 1.0, self.w.view(), part(2));
        backend.activate(h, h.as_view(), Activation::Tanh);
        set_cell(context, c, part(0), h.as_view(), part(2));
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, mut update: Update<'_>) {
        let (backend, cells) = (context.backend, self.cells());
        let part = |k: usize| args.in_value.col_range(k * cells..(k + 1) * cells);
        let (h, _) = halves(|columns| args.out_value.col_range(columns), cells);
        let (_, dc) = halves(|columns| args.out_deriv.col_range(columns), cells);

        let mut deriv = context.workspace.take(args.in_value.rows(), cells);
        tanh_input_deriv(context, deriv.view_mut(), part(0), h, args.out_deriv);
        if let Some(target) = update.reborrow().target(self) {
            target.stats.store_and_repair(context, h, deriv.view_mut());
        }
        if let Some(in_deriv) = args.in_deriv {
            let into = |k: usize| in_deriv.col_range(k * cells..(k + 1) * cells);
            add_gate_derivs(context, (into(0), into(2)), (part(0), h, part(2)), dc);
            backend.add(into(1), 1.0, deriv.view());
            backend.add_scaled_cols(into(2), 1.0, self.w.view(), deriv.view());
        }
        update.rows(context, "peephole", Rows::Products(part(2), deriv.view()));
    }
}

impl Updatable for OutputGru {
    fn settings(&self) -> &UpdatableSettings {
        &self.settings
    }
    fn settings_mut(&mut self) -> &mut UpdatableSettings {
        &mut self.settings
    }

    fn preconditioning(&self) -> Preconditioning {
        Preconditioning::Rows { settings: self.natural_gradient, freezes: true }
    }
}

#[cfg(test)]
mod tests;
