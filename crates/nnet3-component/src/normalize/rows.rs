//! NormalizeComponent: each row (or block of a row) scaled to a given root-mean-square.

use crate::declared::*;
use crate::fields::{self};
use crate::parameters;
use crate::parameters::{BLOCK_DIM, DIM, INPUT_DIM};
use crate::{Backprop, Component, ComponentType, Context, Propagate, Properties, Update};
use nnet3_base::error::Result;
use nnet3_matrix::{Map, View, ViewMut};

pub const TYPES: &[&ComponentType] = &[Normalize::TYPE];

const COLUMNS: Field<usize> = DIM.meaning("number of columns of the input");
const OTHER_NAME: Field<usize> = INPUT_DIM.or_by("dim").meaning("another name of dim; give one of the two");
const BLOCK: Field<usize> =
    BLOCK_DIM.meaning("blocks of this many columns are scaled one by one").written_if_set().hidden();
const TARGET_RMS: Field<f32> =
    field("target-rms", "<TargetRms>", "root-mean-square of the output").or(1.0).range(ABOVE_0).may_miss();
const ADD_LOG_STDDEV: Field<bool> = field(
    "add-log-stddev",
    "<AddLogStddev>",
    "appends the logarithm of the input's root-mean-square to each block",
)
.or(false)
.may_miss();

/// Smallest squared norm, relative to the target of the output: 2^-66, a number with an exact root in a float.
const FLOOR: f32 = 1.0 / (1u128 << 66) as f32;

#[derive(Clone, Debug)]
struct Normalize {
    input_dim: usize,
    block_dim: usize,
    target_rms: f32,
    add_log_stddev: bool,
}

impl Normalize {
    fn num_blocks(&self) -> usize {
        self.input_dim / self.block_dim
    }

    /// One block a row; the second part is the column of logarithms, if any.
    fn in_blocks<'a>(&self, m: View<'a>) -> (View<'a>, Option<View<'a>>) {
        let blocks = self.num_blocks();
        let m = if blocks == 1 { m } else { m.reshape(m.rows() * blocks, m.cols() / blocks) };
        let log = (m.cols() > self.block_dim).then(|| m.col_range(self.block_dim..m.cols()));
        (m.col_range(0..self.block_dim), log)
    }

    fn in_blocks_mut<'a>(&self, m: ViewMut<'a>) -> (ViewMut<'a>, Option<ViewMut<'a>>) {
        let blocks = self.num_blocks();
        let m = if blocks == 1 { m } else { m.reshape(m.rows() * blocks, m.cols() / blocks) };
        let log = (m.cols() > self.block_dim).then(|| m.col_range(self.block_dim..m.cols()));
        (m.col_range(0..self.block_dim), log)
    }

    /// Computes the squared norms of the rows of x relative to those of the output, and from them the factors of the
    /// rows.
    fn factors(&self, context: Context<'_>, power: ViewMut<'_>, factor: ViewMut<'_>, x: View<'_>) {
        context.backend.row_dots(power, self.relative(), x, x, 0.0);
        context.backend.map(factor, power.as_view(), Map::Floor(FLOOR));
        context.backend.map(factor, factor.as_view(), Map::Power(-0.5));
    }

    fn relative(&self) -> f32 {
        1.0 / (self.block_dim as f32 * self.target_rms * self.target_rms)
    }
}

/// Row `i` of a scratch matrix, as a column.
fn column(m: ViewMut<'_>, i: usize) -> ViewMut<'_> {
    m.row(i).reshape(m.cols(), 1)
}

impl Declared for Normalize {
    const TYPE: &'static ComponentType = &ComponentType::of::<Normalize>(
        "NormalizeComponent",
        "Scales each row to a given root-mean-square.",
        "dim=6 block-dim=3 add-log-stddev=true",
    );

    fn fields(f: &mut Fields<'_, Normalize>) -> Result<Option<Normalize>> {
        f.note_dims();
        let input_dim = Normalize::dim(f)?;
        let block_dim = f.get_or(&BLOCK, input_dim, |c| c.block_dim)?;
        f.check_divides((&COLUMNS, input_dim), (&BLOCK, block_dim))?;
        let target_rms = f.get(&TARGET_RMS, |c| c.target_rms)?;
        let add_log_stddev = f.get(&ADD_LOG_STDDEV, |c| c.add_log_stddev)?;
        f.note(|c, _| match c.block_dim == c.input_dim {
            true => String::new(),
            false => format!(", block-dim={}", c.block_dim),
        });
        Normalize::skip_old_statistics(f)?;
        f.done(Normalize { input_dim, block_dim, target_rms, add_log_stddev })
    }
}

impl Normalize {
    /// Visits the dimension, which has two names in config lines and in files.
    fn dim(f: &mut Fields<'_, Normalize>) -> Result<usize> {
        let older = f.skip("<Dim>")?;
        let (dim, other) = (f.optional(&COLUMNS)?, f.has(OTHER_NAME.key));
        f.check(!f.is_config() || dim.is_some() || other, || {
            "'dim' (or 'input-dim') is missing".to_string()
        })?;
        match older.or(dim) {
            Some(dim) => Ok(dim),
            None => f.get(&OTHER_NAME.hidden(), |c| c.input_dim),
        }
    }

    /// Skips the statistics of older files.
    fn skip_old_statistics(f: &mut Fields<'_, Normalize>) -> Result<()> {
        let Some(r) = f.reader() else { return Ok(()) };
        if r.accept_token("<ValueAvg>")? {
            crate::read_row(r)?;
            fields::read_row(r, "<DerivAvg>")?;
            fields::read_f64(r, "<Count>")?;
        }
        Ok(())
    }
}

impl Component for Normalize {
    fn input_dim(&self) -> usize {
        self.input_dim
    }
    fn output_dim(&self) -> usize {
        self.input_dim + if self.add_log_stddev { self.num_blocks() } else { 0 }
    }

    fn properties(&self) -> Properties {
        let in_place = Properties::PROPAGATE_IN_PLACE | Properties::BACKPROP_IN_PLACE;
        let contiguous = Properties::INPUT_CONTIGUOUS | Properties::OUTPUT_CONTIGUOUS;
        Properties::SIMPLE
            | Properties::BACKPROP_NEEDS_INPUT
            | Properties::BACKPROP_ADDS
            | in_place.when(!self.add_log_stddev)
            | contiguous.when(self.block_dim != self.input_dim)
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, .. }: Propagate<'_>) {
        let (x, _) = self.in_blocks(input);
        let (y, log) = self.in_blocks_mut(output);
        let backend = context.backend;
        let mut columns = context.workspace.take(2, x.rows());
        let columns = columns.view_mut();
        let factor = column(columns, 1);
        self.factors(context, column(columns, 0), factor, x);
        parameters::copy_unless_same(context, y, x);
        backend.scale_rows(y, factor.as_view());
        if let Some(log) = log {
            backend.map(log, factor.as_view(), Map::Log { floor: f32::MIN_POSITIVE });
            backend.map(log, log.as_view(), Map::Affine { scale: -1.0, offset: self.target_rms.ln() });
        }
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let (x, _) = self.in_blocks(args.in_value);
        let (e, log_deriv) = self.in_blocks(args.out_deriv);
        let (d, _) = self.in_blocks_mut(in_deriv);
        let backend = context.backend;
        let mut columns = context.workspace.take(4, x.rows());
        let columns = columns.view_mut();
        let [power, factor, along_x, scratch] = [0, 1, 2, 3].map(|i| column(columns, i));
        self.factors(context, power, factor, x);

        // d = factor · e + along_x · x, where along_x is -factor³ (e · x) / (block_dim · target_rms²), or 0 where the
        // norm is floored.
        backend.row_dots(along_x, -self.relative(), e, x, 0.0);
        for _ in 0..3 {
            backend.multiply(along_x, factor.as_view());
        }
        backend.map(scratch, power.as_view(), Map::Affine { scale: 1.0, offset: -FLOOR });
        backend.map(scratch, scratch.as_view(), Map::Heaviside);
        backend.multiply(along_x, scratch.as_view());
        if let Some(log_deriv) = log_deriv {
            let square = Map::Affine { scale: 1.0 / self.relative(), offset: 0.0 };
            backend.map(scratch, power.as_view(), square);
            backend.map(scratch, scratch.as_view(), Map::Floor(FLOOR * self.block_dim as f32));
            backend.map(scratch, scratch.as_view(), Map::Inverse);
            backend.add_product(along_x, 1.0, scratch.as_view(), log_deriv);
        }
        if d.same_start(&e) {
            backend.scale_rows(d, factor.as_view());
        } else {
            backend.add_scaled_rows(d, 1.0, factor.as_view(), e);
        }
        backend.add_scaled_rows(d, 1.0, along_x.as_view(), x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use nnet3_matrix::Matrix;

    #[test]
    fn derivatives_and_forms() {
        check_component("type=NormalizeComponent dim=5");
        check_component("type=NormalizeComponent input-dim=6 block-dim=3 target-rms=0.5");
        check_component("type=NormalizeComponent dim=5 add-log-stddev=true");
        // The logarithm of the size of a pair near zero has derivatives that differences are too coarse for.
        Check::new("type=NormalizeComponent dim=6 block-dim=2 add-log-stddev=true target-rms=2")
            .input(|x| x.iter_mut().for_each(|x| *x += 0.5f32.copysign(*x)))
            .run();
    }

    #[test]
    fn figures_by_hand() {
        let harness = Harness::new();
        let c = component("type=NormalizeComponent dim=4 block-dim=2 add-log-stddev=true target-rms=2");
        let input = Matrix::from_vec(1, 4, vec![3.0, 4.0, 0.0, 0.0]);
        let output = harness.forward(&*c, None, &input, 1).output.to_vec();
        let rms = 12.5f32.sqrt();
        let floored = 2.0 * (FLOOR as f64).sqrt() as f32;
        assert_near(&output, &[6.0 / rms, 8.0 / rms, rms.ln(), 0.0, 0.0, floored.ln()], 1e-6, "output");
    }

    #[test]
    fn derivative_at_zero() {
        let harness = Harness::new();
        let mut c = component("type=NormalizeComponent dim=2");
        let zero = filled(1, 2, 0.0);
        let forward = harness.forward(&*c, None, &zero, 1);
        let deriv = harness.backward(&mut *c, None, &zero, &forward, &filled(1, 2, 1.0), Update::None);
        assert_eq!(deriv.to_vec(), [(1u64 << 33) as f32; 2]);
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=NormalizeComponent", "'dim'");
        refused("type=NormalizeComponent dim=4 input-dim=4", "input-dim=4");
        refused("type=NormalizeComponent dim=4 block-dim=3", "does not divide");
        refused("type=NormalizeComponent dim=4 target-rms=0", "target-rms");
        read_refused("<NormalizeComponent> <InputDim> 0 ", "<InputDim>: expected");
        read_refused("<NormalizeComponent> <Dim> 2 <TargetRms> -1 ", "<TargetRms>: expected");
    }

    #[test]
    fn reads_older_forms() {
        let expected =
            "<NormalizeComponent> <InputDim> 2 <TargetRms> 1 <AddLogStddev> F </NormalizeComponent> ";
        for old in [
            "<Dim> 2 ",
            "<Dim> 2 <TargetRms> 1 ",
            "<Dim> 2 <ValueAvg>  [ ]\n<DerivAvg>  [ ]\n<Count> 0 ",
            "<InputDim> 2 <TargetRms> 1 <AddLogStddev> F <ValueAvg>  [ 1 1 ]\n<DerivAvg>  [ ]\n<Count> 3 ",
        ] {
            let c = from_text(&format!("<NormalizeComponent> {old}</NormalizeComponent> "));
            assert_eq!(written_text(&*c), expected);
        }
    }
}
