//! `GruNonlinearityComponent` and `OutputGruNonlinearityComponent`: the nonlinear part of gated recurrent units (Cho et
//! al., 2014; with projection and with an output gate as in Kaldi).
//!
//! Both form h = tanh(…) and the cell c = (1 - z) ⊙ h + z ⊙ c_prev, and differ in the input of the tanh.

use crate::component::fields::{self, key};
use crate::component::parameters::{get_stddev, normal_matrix, stddev_key};
use crate::component::preconditioners::Preconditioners;
use crate::component::preconditioners::{NaturalGradientSettings, Preconditioning};
use crate::component::tanh_stats::{self, TanhStats};
use crate::component::updatable::{Updatable, UpdatableSettings};
use crate::component::*;
use crate::config::ConfigLine;
use crate::snapshot::Keeper;
use crate::text::{number, rms_stats};
use nnet3_matrix::{Activation, Transpose::No, Transpose::Yes};
use std::ops::Range;

const GRU: &str = "GruNonlinearityComponent";
const OUTPUT_GRU: &str = "OutputGruNonlinearityComponent";
/// So many rows later, a minibatch's weight has fallen to 1/e; this is no key, and not in files.
const NUM_SAMPLES_HISTORY: f32 = 2000.0;

const CELL_DIM: Key = key("cell-dim", Kind::Int, "", "number of cells");
const ALPHA: Key = crate::component::preconditioners::ALPHA;

pub const TYPES: &[ComponentType] = &[
    ComponentType {
        name: GRU,
        purpose: "The nonlinear part of a GRU; columns of the input: z, r, h part, previous cell and, with projection, \
                  previous recurrent part; of the output: h, cell.",
        keys: &[
            CELL_DIM,
            key(
                "recurrent-dim",
                Kind::Int,
                "cell-dim",
                "dimension of the recurrent part, at most cell-dim; less is projection",
            ),
            stddev_key("param-stddev", "1/sqrt(cell-dim)"),
            tanh_stats::KEYS[0],
            tanh_stats::KEYS[1],
            ALPHA,
            key("rank-in", Kind::Int, "20", "natural gradient: rank on the input side"),
            key("rank-out", Kind::Int, "80", "natural gradient: rank on the output side"),
            key(
                "update-period",
                Kind::Int,
                "4",
                "natural gradient: minibatches between updates of the Fisher matrix",
            ),
        ],
        updatable: true,
        example: "cell-dim=4 recurrent-dim=2",
        from_config: Gru::from_config,
        read: Gru::read,
    },
    ComponentType {
        name: OUTPUT_GRU,
        purpose: "The nonlinear part of a GRU with an output gate; columns of the input: z, h part, previous cell; of \
                  the output: h, cell.",
        keys: &[
            CELL_DIM,
            key("param-mean", Kind::Float, "0", "mean of the initial parameters"),
            stddev_key("param-stddev", "1"),
            tanh_stats::KEYS[0],
            tanh_stats::KEYS[1],
            ALPHA,
            key("rank", Kind::Int, "8", "natural gradient: rank"),
            key(
                "update-period",
                Kind::Int,
                "10",
                "natural gradient: minibatches between updates of the Fisher matrix",
            ),
        ],
        updatable: true,
        example: "cell-dim=4",
        from_config: OutputGru::from_config,
        read: OutputGru::read,
    },
];

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

fn get_rank(line: &mut ConfigLine, key: &str, default: usize) -> Result<usize> {
    Ok(line.get_dim(key)?.unwrap_or(default))
}

/// Checks the shape of `w`, after `<CellDim>` and the like and `<w_h>` have been read.
fn check_shape(r: &KaldiReader, w: &Matrix, rows: usize, cols: usize) -> Result<()> {
    let found = (w.rows(), w.cols());
    fields::check(r, found == (rows, cols), || {
        format!("<w_h>: expected {rows} x {cols} elements, found {} x {}", found.0, found.1)
    })
}

/// Reads `<Alpha>`, then `rank_token` and N ranks, then `<UpdatePeriod>`.
fn read_natural_gradients<const N: usize>(
    r: &mut KaldiReader,
    rank_token: &str,
) -> Result<[NaturalGradientSettings; N]> {
    let alpha = fields::read_f32(r, "<Alpha>")?;
    r.expect_token(rank_token)?;
    let mut ranks = [0; N];
    for rank in &mut ranks {
        let value = r.read_i32()?;
        fields::check(r, value > 0, || {
            format!("{rank_token}: expected a rank greater than 0, found {value}")
        })?;
        *rank = value as usize;
    }
    let period = fields::read_dim(r, "<UpdatePeriod>")?;
    let new = ranks.map(|rank| NaturalGradientSettings::new(rank, period, NUM_SAMPLES_HISTORY, alpha));
    match new.iter().find_map(NaturalGradientSettings::defect) {
        Some(defect) => Err(r.error(defect).into()),
        None => Ok(new),
    }
}

fn write_natural_gradients(
    w: &mut KaldiWriter,
    rank_token: &str,
    all: &[&NaturalGradientSettings],
) -> Result<()> {
    fields::write_f32(w, "<Alpha>", all[0].alpha)?;
    w.write_token(rank_token)?;
    for natural_gradient in all {
        w.write_i32(natural_gradient.rank as i32)?;
    }
    fields::write_dim(w, "<UpdatePeriod>", all[0].update_period)
}

fn check_natural_gradients(line: &ConfigLine, all: &[&NaturalGradientSettings]) -> Result<()> {
    match all.iter().find_map(|natural_gradient| natural_gradient.defect()) {
        Some(defect) => Err(line.error(defect)),
        None => Ok(()),
    }
}

const PROPERTIES: Properties = Properties::SIMPLE
    .union(Properties::UPDATABLE)
    .union(Properties::BACKPROP_NEEDS_INPUT)
    .union(Properties::BACKPROP_NEEDS_OUTPUT)
    .union(Properties::BACKPROP_ADDS);

/// Methods of [`Component`] for a type with fields `w` and `stats`.
macro_rules! whole_object_methods {
    () => {
        fn zero_stats(&mut self) {
            self.stats.scale(0.0);
        }
        fn scale_stats(&mut self, factor: f32) {
            self.stats.scale(factor);
        }
        fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
            let other = downcast::<Self>(other);
            self.stats.add(alpha, &other.stats);
        }
        fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
            self.stats.keep(keeper)
        }
        fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
            self.stats.scale_by(backend, factor);
        }
        fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
            let other = downcast::<Self>(other);
            self.stats.add_by(backend, alpha, &other.stats);
        }
        fn as_updatable(&self) -> Option<&dyn Updatable> {
            Some(self)
        }
        fn as_updatable_mut(&mut self) -> Option<&mut dyn Updatable> {
            Some(self)
        }
    };
}

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
    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let cells = line.require_dim("cell-dim")?;
        let recurrent = match line.get_i32("recurrent-dim")? {
            None | Some(..0) => cells,
            Some(dim) if dim > 0 && dim as usize <= cells => dim as usize,
            Some(dim) => {
                return Err(line.error(format!("recurrent-dim={dim}: expected 1 to cell-dim={cells}")));
            }
        };
        let stddev = get_stddev(line, "param-stddev", (1.0 / (cells as f64).sqrt()) as f32)?;
        let w = normal_matrix(line, random, cells, recurrent, 0.0, stddev)?;
        let stats = TanhStats::from_config(line, cells)?;
        let alpha = line.get_f32("alpha")?.unwrap_or(4.0);
        let (rank_in, rank_out) = (get_rank(line, "rank-in", 20)?, get_rank(line, "rank-out", 80)?);
        let period = line.get_dim("update-period")?.unwrap_or(4);
        let natural_gradient = Preconditioners::new(rank_in, rank_out, period, NUM_SAMPLES_HISTORY, alpha);
        check_natural_gradients(line, &[&natural_gradient.input, &natural_gradient.output])?;
        Ok(Box::new(Gru { settings, w, stats, natural_gradient }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::read(r)?;
        let cells = fields::read_dim(r, "<CellDim>")?;
        let recurrent = fields::read_dim(r, "<RecurrentDim>")?;
        fields::check(r, recurrent <= cells, || {
            format!("<RecurrentDim>: expected at most <CellDim> {cells}, found {recurrent}")
        })?;
        r.expect_token("<w_h>")?;
        let w = read_matrix(r)?;
        check_shape(r, &w, cells, recurrent)?;
        let stats = TanhStats::read(r, cells)?;
        let [input, output] = read_natural_gradients(r, "<RankInOut>")?;
        r.expect_token("</GruNonlinearityComponent>")?;
        Ok(Box::new(Gru { settings, w, stats, natural_gradient: Preconditioners { input, output } }))
    }

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

impl Component for Gru {
    fn type_name(&self) -> &'static str {
        "GruNonlinearityComponent"
    }
    fn parameters(&self) -> Parameters<'_> {
        named([("linear", &self.w)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("linear", &mut self.w)])
    }
    whole_object_methods!();

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

    fn info(&self, _: bool) -> String {
        let (cells, recurrent) = (self.w.rows(), self.w.cols());
        let Preconditioners { input, output } = &self.natural_gradient;
        self.settings.info(self)
            + &format!(", cell-dim={cells}, recurrent-dim={recurrent}")
            + &rms_stats("w_h", &self.w.to_vec())
            + &self.stats.info()
            + &format!(
                ", alpha={}, rank-in={}, rank-out={}",
                number(input.alpha as f64),
                input.rank,
                output.rank
            )
            + &format!(", update-period={}", input.update_period)
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, GRU)?;
        fields::write_dim(w, "<CellDim>", self.w.rows())?;
        fields::write_dim(w, "<RecurrentDim>", self.w.cols())?;
        w.write_token("<w_h>")?;
        write_matrix(w, &self.w)?;
        self.stats.write(w)?;
        let Preconditioners { input, output } = &self.natural_gradient;
        write_natural_gradients(w, "<RankInOut>", &[input, output])?;
        w.write_token("</GruNonlinearityComponent>")?;
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
        let (backend, at) = (context.backend, self.columns());
        let (h, c) = halves(|columns| output.col_range(columns), self.w.rows());
        let mut q = context.workspace.take(input.rows(), self.w.cols());
        backend.product(q.view_mut(), input.col_range(at.r), input.col_range(at.s_prev));
        backend.copy(h, input.col_range(at.h_part));
        backend.gemm(h, 1.0, q.view(), No, self.w.view(), Yes, 1.0);
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
            backend.gemm(q.view_mut(), 1.0, deriv.view(), No, self.w.view(), No, 0.0);
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
    fn from_config(line: &mut ConfigLine, random: &Random) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::from_config(line)?;
        let cells = line.require_dim("cell-dim")?;
        let mean = line.get_f32("param-mean")?.unwrap_or(0.0);
        let stddev = get_stddev(line, "param-stddev", 1.0)?;
        let w = normal_matrix(line, random, 1, cells, mean, stddev)?;
        let stats = TanhStats::from_config(line, cells)?;
        let alpha = line.get_f32("alpha")?.unwrap_or(4.0);
        let (rank, period) = (get_rank(line, "rank", 8)?, line.get_dim("update-period")?.unwrap_or(10));
        let natural_gradient = NaturalGradientSettings::new(rank, period, NUM_SAMPLES_HISTORY, alpha);
        check_natural_gradients(line, &[&natural_gradient])?;
        Ok(Box::new(OutputGru { settings, w, stats, natural_gradient }))
    }

    fn read(r: &mut KaldiReader) -> Result<Box<dyn Component>> {
        let settings = UpdatableSettings::read(r)?;
        let cells = fields::read_dim(r, "<CellDim>")?;
        let w = fields::read_row(r, "<w_h>")?;
        check_shape(r, &w, 1, cells)?;
        let stats = TanhStats::read(r, cells)?;
        let [natural_gradient] = read_natural_gradients(r, "<Rank>")?;
        r.expect_token("</OutputGruNonlinearityComponent>")?;
        Ok(Box::new(OutputGru { settings, w, stats, natural_gradient }))
    }

    fn cells(&self) -> usize {
        self.w.cols()
    }
}

impl Component for OutputGru {
    fn type_name(&self) -> &'static str {
        "OutputGruNonlinearityComponent"
    }
    fn parameters(&self) -> Parameters<'_> {
        named([("peephole", &self.w)])
    }
    fn parameters_mut(&mut self) -> ParametersMut<'_> {
        named([("peephole", &mut self.w)])
    }
    whole_object_methods!();

    fn input_dim(&self) -> usize {
        3 * self.cells()
    }
    fn output_dim(&self) -> usize {
        2 * self.cells()
    }
    fn properties(&self) -> Properties {
        PROPERTIES
    }

    fn info(&self, _: bool) -> String {
        let NaturalGradientSettings { alpha, rank, update_period, .. } = &self.natural_gradient;
        self.settings.info(self)
            + &format!(", cell-dim={}", self.cells())
            + &rms_stats("w_h", &self.w.to_vec())
            + &self.stats.info()
            + &format!(", alpha={}, rank={rank}, update-period={update_period}", number(*alpha as f64))
    }

    fn write(&self, w: &mut KaldiWriter) -> Result<()> {
        self.settings.write(w, OUTPUT_GRU)?;
        fields::write_dim(w, "<CellDim>", self.cells())?;
        fields::write_row(w, "<w_h>", &self.w)?;
        self.stats.write(w)?;
        write_natural_gradients(w, "<Rank>", &[&self.natural_gradient])?;
        w.write_token("</OutputGruNonlinearityComponent>")?;
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
