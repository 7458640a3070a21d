//! BatchNormComponent: each column normalised to zero mean and a given root-mean-square, over the rows of a minibatch
//! in training and by stored statistics in test mode. No trainable parameters.

use crate::capabilities::{Normalization, Statistics};
use crate::declared::*;
use crate::fields::{self};
use crate::parameters::{BLOCK_DIM, DIM};
use crate::parameters::{copy_unless_same, in_blocks, in_blocks_mut};
use crate::tally::Tally;
use crate::{Backprop, Component, ComponentType, Context, PrecomputedIndexes, Propagate, Properties, Update};
use nnet3_base::config::ConfigLine;
use nnet3_base::error::Result;
use nnet3_base::snapshot::Keeper;
use nnet3_base::text::{number, summarize};
use nnet3_matrix::{Accumulator, Backend, ColSumsAndDots, Factor, Matrix, NormalizedPlus, View, ViewMut};

pub const TYPES: &[&ComponentType] = &[BatchNorm::TYPE];

const BLOCK: Field<usize> = BLOCK_DIM.meaning("statistics are shared by blocks of this many columns");
const EPSILON: Field<f32> = field("epsilon", "<Epsilon>", "added to variances").or(1e-3).range(ABOVE_0);
const TARGET_RMS: Field<f32> =
    field("target-rms", "<TargetRms>", "root-mean-square of the output").or(1.0).range(ABOVE_0);
const TEST_MODE: Field<bool> =
    field("test-mode", "<TestMode>", "normalise by the stored statistics").or(false).hidden();

/// Normalisation of rows of `dim` columns, seen as `dim / block_dim` times as many rows of `block_dim` columns.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    dim: usize,
    block_dim: usize,
    epsilon: f32,
    target_rms: f32,
    test_mode: bool,
    /// Number of rows (of a block) in the sums.
    count: Tally,
    sum: Accumulator,
    sumsq: Accumulator,
    /// Test mode only, else empty: output = scale ⊙ input + offset.
    scale: Matrix,
    offset: Matrix,
}

/// The memo's rows, as [`nnet3_matrix::backend::Reductions::moments`] sets them.
const MEAN: usize = 0;
const MEAN_SQUARE: usize = 1;
const SCALE: usize = 2;

impl BatchNorm {
    /// Mean and variance (not floored) as the file has them.
    fn averages(&self) -> (Vec<f32>, Vec<f32>) {
        let count = self.count.value();
        let mean = fields::averages(&self.sum, count);
        let mut variance = fields::averages(&self.sumsq, count);
        if count != 0.0 {
            for (v, m) in variance.iter_mut().zip(&mean) {
                *v -= m * m;
            }
        }
        (mean, variance)
    }

    /// Sets scale and offset from the statistics in test mode, else empties them. Without statistics it takes zero
    /// mean and unit variance; the reference makes up random ones.
    fn derive(&mut self) {
        let device = self.scale.device().clone();
        if !self.test_mode {
            (self.scale, self.offset) = (Matrix::zeros(&device, 0, 0), Matrix::zeros(&device, 0, 0));
            return;
        }
        let (mut scale, mut offset) = (Vec::new(), Vec::new());
        let (sum, sumsq, count) = (self.sum.values(), self.sumsq.values(), self.count.value());
        for i in 0..self.block_dim {
            // Without statistics the sums may be empty.
            let (mean, square) = match count {
                0.0 => (0.0, 1.0),
                count => (sum[i] / count, sumsq[i] / count),
            };
            let variance = (square - mean * mean).max(0.0) as f32;
            let s = self.target_rms / (variance + self.epsilon).sqrt();
            scale.push(s);
            offset.push(-(mean as f32) * s);
        }
        self.scale = Matrix::from_slice(&device, 1, self.block_dim, &scale);
        self.offset = Matrix::from_slice(&device, 1, self.block_dim, &offset);
    }

    /// Sets the memo from the statistics of the input, in blocks. Returns mean and scale.
    fn moments<'m>(&self, context: Context<'_>, input: View<'_>, memo: ViewMut<'m>) -> (View<'m>, View<'m>) {
        context.backend.moments(memo, input, self.settings().variance_factor(), self.epsilon);
        (memo.row(MEAN).as_view(), memo.row(SCALE).as_view())
    }

    fn settings(&self) -> Normalization {
        Normalization { target_rms: self.target_rms, epsilon: self.epsilon }
    }

    /// The transform of test mode, repeated over the blocks: output = scale ⊙ input + offset, each of `input_dim`
    /// elements; `None` outside of test mode.
    pub fn test_transform(&self) -> Option<(Vec<f32>, Vec<f32>)> {
        let blocks = self.dim / self.block_dim;
        self.test_mode.then(|| (self.scale.to_vec().repeat(blocks), self.offset.to_vec().repeat(blocks)))
    }
}

impl Declared for BatchNorm {
    const TYPE: &'static ComponentType = &ComponentType::of::<BatchNorm>(
        "BatchNormComponent",
        "Normalises each column over the minibatch; no trainable scale or offset.",
        "dim=6 block-dim=3 target-rms=0.5",
    );

    fn fields(f: &mut Fields<'_, BatchNorm>) -> Result<Option<BatchNorm>> {
        let dim = f.get(&DIM, |c| c.dim)?;
        let block_dim = match f.config() {
            Some((line, _)) => block_dim_of(line, dim)?,
            None => f.get_or(&BLOCK, dim, |c| c.block_dim)?,
        };
        f.check_divides((&DIM, dim), (&BLOCK, block_dim))?;
        let epsilon = f.get(&EPSILON, |c| c.epsilon)?;
        let target_rms = f.get(&TARGET_RMS, |c| c.target_rms)?;
        let test_mode = f.get(&TEST_MODE, |c| c.test_mode)?;
        let (count, sum, sumsq) = BatchNorm::statistics(f, block_dim)?;
        f.note(|c, _| c.info_of_statistics());
        f.build(|| {
            let (scale, offset) = (Matrix::empty(), Matrix::empty());
            let mut c = BatchNorm {
                dim,
                block_dim,
                epsilon,
                target_rms,
                test_mode,
                count,
                sum,
                sumsq,
                scale,
                offset,
            };
            c.derive();
            Ok(c)
        })
    }
}

/// Takes `block-dim`, which divides `dim`; -1 stands for `dim`.
fn block_dim_of(line: &mut ConfigLine, dim: usize) -> Result<usize> {
    match line.get_i32(BLOCK.key)? {
        None | Some(-1) => Ok(dim),
        Some(block) if block > 0 && dim.is_multiple_of(block as usize) => Ok(block as usize),
        Some(block) => Err(line.error(format!("block-dim={block}: expected a divisor of dim={dim}"))),
    }
}

impl BatchNorm {
    /// Switches to fixed statistics or back.
    pub(crate) fn set_test_mode(&mut self, on: bool) {
        self.test_mode = on;
        self.derive();
    }

    /// Visits count, sum and sum of squares. Files have them as count, mean and variance.
    fn statistics(
        f: &mut Fields<'_, BatchNorm>,
        block_dim: usize,
    ) -> Result<(Tally, Accumulator, Accumulator)> {
        if let Some((w, c)) = f.writer() {
            fields::write_f64(w, "<Count>", c.count.value())?;
            let (mean, variance) = c.averages();
            fields::write_vector(w, "<StatsMean>", &mean)?;
            fields::write_vector(w, "<StatsVar>", &variance)?;
        }
        let Some(r) = f.reader() else {
            return Ok((Tally::default(), Accumulator::zeros(block_dim), Accumulator::zeros(block_dim)));
        };
        let count = fields::read_f64(r, "<Count>")?;
        let mean = fields::read_stats(r, "<StatsMean>", block_dim)?;
        let variance = fields::read_stats(r, "<StatsVar>", block_dim)?;
        fields::check(r, mean.len() == variance.len() && (count == 0.0 || !mean.is_empty()), || {
            format!("statistics of {count} rows are missing")
        })?;
        let sumsq = mean.iter().zip(&variance).map(|(m, v)| (v + m * m) * count).collect();
        let sum = mean.iter().map(|m| m * count).collect();
        Ok((Tally::new(count), Accumulator::from_vec(sum), Accumulator::from_vec(sumsq)))
    }

    fn info_of_statistics(&self) -> String {
        let mut out = format!(", count={}, test-mode={}", number(self.count.value()), self.test_mode);
        if self.count.value() > 0.0 {
            let (mean, variance) = self.averages();
            let stddev: Vec<f32> = variance.iter().map(|v| v.max(0.0).sqrt()).collect();
            out += &format!(", data-mean={}, data-stddev={}", summarize(&mean), summarize(&stddev));
        }
        out
    }
}

impl Component for BatchNorm {
    fn input_dim(&self) -> usize {
        self.dim
    }
    fn output_dim(&self) -> usize {
        self.dim
    }

    fn properties(&self) -> Properties {
        let contiguous = Properties::INPUT_CONTIGUOUS | Properties::OUTPUT_CONTIGUOUS;
        Properties::SIMPLE
            | Properties::BACKPROP_NEEDS_OUTPUT
            | Properties::PROPAGATE_IN_PLACE
            | Properties::BACKPROP_IN_PLACE
            | contiguous.when(self.block_dim < self.dim)
            | (Properties::USES_MEMO | Properties::STORES_STATS).when(!self.test_mode)
    }

    fn memo_shape(&self, _indexes: Option<&dyn PrecomputedIndexes>, _output_rows: usize) -> (usize, usize) {
        if self.test_mode { (0, 0) } else { (3, self.block_dim) }
    }

    fn as_statistics_mut(&mut self) -> Option<&mut dyn Statistics> {
        Some(self)
    }

    fn propagate(&self, context: Context<'_>, Propagate { input, output, memo, .. }: Propagate<'_>) {
        let (input, output) = (in_blocks(input, self.block_dim), in_blocks_mut(output, self.block_dim));
        let backend = context.backend;
        if self.test_mode {
            return backend.affine_cols(output, input, self.scale.view(), self.offset.view());
        }
        let (mean, scale) = self.moments(context, input, memo);
        backend.normalize_cols(output, input, mean, scale);
    }

    fn as_normalization(&self) -> Option<Normalization> {
        (!self.test_mode && self.block_dim == self.dim).then(|| self.settings())
    }

    fn backprop(&mut self, context: Context<'_>, args: Backprop<'_>, _update: Update<'_>) {
        let Some(in_deriv) = args.in_deriv else { return };
        let (in_deriv, out_deriv) =
            (in_blocks_mut(in_deriv, self.block_dim), in_blocks(args.out_deriv, self.block_dim));
        let backend = context.backend;
        if self.test_mode {
            copy_unless_same(context, in_deriv, out_deriv);
            return backend.scale_cols(in_deriv, self.scale.view());
        }
        let out_value = in_blocks(args.out_value, self.block_dim);
        let (scale, rows) = (args.memo.row(SCALE), out_value.rows());
        // Both sums before in_deriv is set: it may be the place of out_deriv.
        let mut sums = context.workspace.take(2, self.block_dim);
        let sums = sums.view_mut();
        let (through_variance, mean) = (sums.row(0), sums.row(1));
        let factor = self.settings().deriv_factor(rows);
        backend.col_sums_and_dots(ColSumsAndDots {
            sums: mean,
            sums_factor: 1.0 / rows as f32,
            dots: through_variance,
            dots_factor: factor,
            a: out_value,
            b: out_deriv,
        });
        backend.multiply(through_variance, scale);
        let (mean, factor) = (mean.as_view(), through_variance.as_view());
        let terms = NormalizedPlus { src: out_deriv, mean, scale, factor, other: out_value };
        backend.normalize_cols_and_add(in_deriv, terms);
    }

    fn constants_mut(&mut self) -> Vec<&mut Matrix> {
        vec![&mut self.scale, &mut self.offset]
    }
}

impl Statistics for BatchNorm {
    fn store_stats(&mut self, context: Context<'_>, _input: View<'_>, output: View<'_>, memo: View<'_>) {
        let rows = (output.rows() * output.cols() / self.block_dim) as f64;
        self.count.increase(rows);
        if self.sum.is_empty() {
            (self.sum, self.sumsq) = (Accumulator::zeros(self.block_dim), Accumulator::zeros(self.block_dim));
        }
        for (sums, memo_row) in [(&mut self.sum, MEAN), (&mut self.sumsq, MEAN_SQUARE)] {
            context.backend.accumulate_row(sums, 0, rows, memo.row(memo_row));
        }
    }

    /// Has no effect in test mode: there the statistics are the transform.
    fn zero_stats(&mut self) {
        if !self.test_mode {
            self.scale_stats(0.0);
        }
    }

    /// Does not change the transform of test mode.
    fn scale_stats(&mut self, factor: f32) {
        let factor = factor as f64;
        self.count.scale(factor);
        self.sum.scale(factor);
        self.sumsq.scale(factor);
    }

    fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        let other: &BatchNorm = crate::downcast(other);
        let alpha = alpha as f64;
        self.count.add(alpha, &other.count);
        self.sum.add(alpha, &other.sum);
        self.sumsq.add(alpha, &other.sumsq);
        self.derive();
    }

    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.count.keep(keeper)?;
        keeper.sums(&mut self.sum, self.block_dim)?;
        keeper.sums(&mut self.sumsq, self.block_dim)?;
        self.derive();
        Ok(())
    }

    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        self.count.scale_by(backend, factor);
        backend.scale_sums_by(&mut self.sum, factor);
        backend.scale_sums_by(&mut self.sumsq, factor);
    }

    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        let other: &BatchNorm = crate::downcast(other);
        if other.count.is_zero() {
            return;
        }
        self.count.add_by(backend, alpha, &other.count);
        backend.add_sums_by(&mut self.sum, alpha, &other.sum);
        backend.add_sums_by(&mut self.sumsq, alpha, &other.sumsq);
        // Test mode, in which it would wait for the sums, stores none.
        self.derive();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    #[test]
    fn derivatives_and_forms() {
        check_component("type=BatchNormComponent dim=4");
        check_component("type=BatchNormComponent dim=6 block-dim=2 target-rms=0.5 epsilon=0.1");
        check_component("type=BatchNormComponent dim=6 block-dim=-1 test-mode=true");
    }

    #[test]
    fn refuses_bad_input() {
        refused("type=BatchNormComponent", "'dim' is missing");
        refused("type=BatchNormComponent dim=6 block-dim=4", "divisor");
        refused("type=BatchNormComponent dim=6 epsilon=0", "epsilon must be");
        refused("type=BatchNormComponent dim=6 target-rms=nan", "target-rms must be");
        let form = |mean: &str, count: i32| {
            format!(
                "<BatchNormComponent> <Dim> 2 <BlockDim> 2 <Epsilon> 0.1 <TargetRms> 1 <TestMode> F <Count> {count} \
                 <StatsMean> {mean}\n<StatsVar> [ ]\n</BatchNormComponent> "
            )
        };
        read_refused(&form("[ 1 ]", 0), "<StatsMean>: expected 2");
        read_refused(&form("[ 1 2 ]", 3), "missing");
        from_text(&form("[ ]", 0));
    }

    /// Two columns with means 2, -1 and variances 1, 4.
    const DATA: [f32; 4] = [1.0, 1.0, 3.0, -3.0];

    fn trained() -> Box<dyn Component> {
        let harness = Harness::new();
        let mut c = component("type=BatchNormComponent dim=2 epsilon=0.21 target-rms=1.1");
        let input = Matrix::from_vec(2, 2, DATA.to_vec());
        let forward = harness.forward(&*c, None, &input, 2);
        let near = [-1.0, 2.2 / 4.21f32.sqrt(), 1.0, -2.2 / 4.21f32.sqrt()];
        assert_near(&forward.output.to_vec(), &near, 1e-6, "output");
        c.store_stats(harness.context(), View::empty(), forward.output.view(), forward.memo.view());
        c
    }

    #[test]
    fn statistics_and_test_mode() {
        let mut c = trained();
        let expected = "<Count> 2 <StatsMean>  [ 2 -1 ]\n<StatsVar>  [ 1 4 ]\n";
        assert!(written_text(&*c).contains(expected), "{}", written_text(&*c));
        assert!(
            c.info(false)
                .ends_with("count=2, test-mode=false, data-mean=[ 2.0 -1.0 ], data-stddev=[ 1.0 2.0 ]")
        );

        let harness = Harness::new();
        let input = Matrix::from_vec(2, 2, DATA.to_vec());
        let output = harness.forward(&*c, None, &input, 2).output.to_vec();
        assert!(c.set_batchnorm_test_mode(true));
        assert_near(&harness.forward(&*c, None, &input, 2).output.to_vec(), &output, 1e-6, "test mode");
        round_trip(&*c);
        let same = c.clone();
        c.add(1.0, &*same);
        c.scale_batchnorm_stats(0.25);
        c.zero_stats();
        assert!(written_text(&*c).contains("<Count> 1 <StatsMean>  [ 2 -1 ]\n<StatsVar>  [ 1 4 ]\n"));
        c.set_batchnorm_test_mode(false);
        c.zero_stats();
        assert!(written_text(&*c).contains("<Count> 0 <StatsMean>  [ 0 0 ]\n<StatsVar>  [ 0 0 ]\n"));
    }

    #[test]
    fn blocks_share_statistics() {
        let harness = Harness::new();
        let mut c = component("type=BatchNormComponent dim=4 block-dim=2");
        let forward = harness.forward(&*c, None, &Matrix::from_vec(1, 4, DATA.to_vec()), 1);
        c.store_stats(harness.context(), View::empty(), forward.output.view(), forward.memo.view());
        assert!(written_text(&*c).contains("<Count> 2 <StatsMean>  [ 2 -1 ]\n<StatsVar>  [ 1 4 ]\n"));
    }

    #[test]
    fn transform_for_merging() {
        let mut c = trained();
        c.set_batchnorm_test_mode(true);
        let c: &BatchNorm = crate::downcast(&*c);
        let (scale, offset) = c.test_transform().unwrap();
        assert_near(&scale, &[1.0, 1.1 / 4.21f32.sqrt()], 1e-6, "scale");
        assert_near(&offset, &[-2.0, 1.1 / 4.21f32.sqrt()], 1e-6, "offset");
    }
    /// A file may hold no statistics at all, as the reference writes them before the first minibatch.
    #[test]
    fn test_mode_without_statistics() {
        let component = from_text(
            "<BatchNormComponent> <Dim> 2 <BlockDim> 2 <Epsilon> 1e-30 <TargetRms> 1 <TestMode> T <Count> 0 <StatsMean> [ ]\n\
             <StatsVar> [ ]\n</BatchNormComponent> ",
        );
        let input = Matrix::from_vec(1, 2, vec![3.0, -4.0]);
        assert_eq!(Harness::new().forward(&*component, None, &input, 1).output.to_vec(), [3.0, -4.0]);
    }
}
