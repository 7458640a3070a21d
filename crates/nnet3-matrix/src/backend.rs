//! The primitives of a device: what components, natural gradient and the executor are written against.
//!
//! Conventions for every method: shapes are checked with `assert!` (the compiler's checker has verified them before
//! anything runs, so a failure is a defect of ours); a destination comes first; "sets" overwrites the destination,
//! "adds" accumulates; row vectors are 1 × n views, column vectors n × 1. A source may be the destination itself
//! (same start, same stride) where the method says "in place allowed"; otherwise they must not overlap.
//! Views of another device than `self` are refused by `assert!`.

use crate::hmm::{Hmm, HmmStep};
use crate::learning_step::{Learned, LearningStep};
use crate::low_rank::LowRank;
use crate::memory::{Accumulator, IndexTable, OffsetTable};
use crate::panels::PanelProducts;
use crate::sparse::SparseProducts;
use crate::view::{Blocks, View, ViewMut};

/// Whether a factor of a product is transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transpose {
    No,
    Yes,
}

/// Nonlinearities with a derivative that is a function of their output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// 1 / (1 + exp(-x)), computed without overflow; derivative y (1 - y).
    Sigmoid,
    /// Computed without overflow; derivative 1 - y².
    Tanh,
    /// max(x, 0); derivative 1 if y > 0 else 0.
    Relu,
}

/// Element-wise functions without a derivative of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Map {
    Exp,
    /// Natural logarithm of max(x, floor).
    Log {
        floor: f32,
    },
    /// 1 if x > 0 else 0.
    Heaviside,
    Abs,
    /// +1 if x > 0 else -1.
    Sign,
    Square,
    SquareRoot,
    /// x to this power.
    Power(f32),
    /// 1 / x.
    Inverse,
    /// max(x, value).
    Floor(f32),
    /// min(x, value).
    Ceiling(f32),
    /// scale · x + offset.
    Affine {
        scale: f32,
        offset: f32,
    },
    /// Elements with |x| < epsilon become +epsilon (x ≥ 0) or -epsilon (x < 0).
    AwayFromZero {
        epsilon: f32,
    },
}

/// What of each element is summed over rows into an [`Accumulator`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnTerm {
    /// y.
    Value,
    /// y².
    Square,
    /// The derivative of an activation at output y.
    Derivative(Activation),
    /// 1 if y is at least this, else 0.
    AtLeast(f32),
}

/// A number that is known to a device: `times` · the one element of a view.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a> {
    pub times: f32,
    /// 1 × 1.
    pub element: View<'a>,
}

/// Which averages are too small, and which too large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Averages up to this are too small.
    pub low: f64,
    /// Averages above this are too large, unless they are too small.
    pub high: f64,
}

/// What sums are divided by to be averages.
#[derive(Debug)]
pub enum Count<'a> {
    /// A number that the host knows.
    Known(f64),
    /// The sum of this index. Where it is not above 0, no average is too small or too large.
    Sum(&'a mut Accumulator, usize),
    /// 1 + the sum of this index, rounded to `f32`.
    OneMore(&'a mut Accumulator, usize),
}

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub free: u64,
    pub total: u64,
}

/// A device and its primitives. Object-safe; see the module's conventions.
pub trait Backend: Send + Sync {
    /// `cpu`, or the device's own name.
    fn name(&self) -> &str;
    /// 0 is the host; other devices count from 1.
    fn id(&self) -> u32;
    /// What memory a device of its own has; `None` for the host.
    fn memory(&self) -> Option<Memory> {
        None
    }
    /// How many elements several primitives, one after the other, should go over at most, because they stay in a cache
    /// meanwhile; `None` where a whole matrix at once is better. Results differ in roundings only.
    fn cached_elements(&self) -> Option<usize> {
        None
    }
    /// Says that the work up to here comes again in the same order the next time. A device that collects work ends a
    /// segment; results are the same without it.
    fn mark(&self) {}
    /// Waits until all work so far is done; for measuring times. The host's is done when a method returns.
    fn synchronize(&self) {}

    // ---- memory ------------------------------------------------------------------------------------------------

    /// `len` zeroed elements, aligned to at least 64 bytes; a dangling pointer for `len` 0.
    /// Panics if the device has no such amount left (callers that can do something about it ask the plan first).
    fn allocate(&self, len: usize) -> *mut f32;
    /// # Safety
    /// `pointer` came from [`Backend::allocate`] of this device with the same `len` and is not used afterwards.
    #[allow(unsafe_code)]
    unsafe fn free(&self, pointer: *mut f32, len: usize);
    /// Copies row-major host data into `dst`.
    fn upload(&self, dst: ViewMut<'_>, data: &[f32]);
    /// Row-major copy on the host.
    fn download(&self, src: View<'_>) -> Vec<f32>;
    /// Row-major copy into `out` (`rows × cols` elements).
    fn download_into(&self, src: View<'_>, out: &mut [f32]);

    // ---- products ----------------------------------------------------------------------------------------------

    /// c = alpha · op(a) · op(b) + beta · c. With beta 0, c's old contents (NaN too) are ignored.
    #[allow(clippy::too_many_arguments)]
    fn gemm(
        &self,
        c: ViewMut<'_>,
        alpha: f32,
        a: View<'_>,
        transpose_a: Transpose,
        b: View<'_>,
        transpose_b: Transpose,
        beta: f32,
    );

    /// c = aᵀ a.
    fn gram(&self, c: ViewMut<'_>, a: View<'_>) {
        self.gemm(c, 1.0, a, Transpose::Yes, a, Transpose::No, 0.0);
    }
    /// Does what [`Backend::gemm`] does, for each of as many products of the same shapes; no two of `c` overlap.
    #[allow(clippy::too_many_arguments)]
    fn gemm_blocks(
        &self,
        c: Blocks<ViewMut<'_>>,
        alpha: f32,
        a: Blocks<View<'_>>,
        transpose_a: Transpose,
        b: Blocks<View<'_>>,
        transpose_b: Transpose,
        beta: f32,
    ) {
        assert!(
            c.len() == a.len() && c.len() == b.len(),
            "{}, {} and {} matrices",
            c.len(),
            a.len(),
            b.len()
        );
        for k in 0..c.len() {
            self.gemm(c.get(k), alpha, a.get(k), transpose_a, b.get(k), transpose_b, beta);
        }
    }

    // ---- whole matrices ----------------------------------------------------------------------------------------

    /// dst = value.
    fn set(&self, dst: ViewMut<'_>, value: f32);
    /// dst = src.
    fn copy(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst *= factor.
    fn scale(&self, dst: ViewMut<'_>, factor: f32);
    /// dst += alpha · src.
    fn add(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>);
    /// dst = alpha · src; in place allowed.
    fn copy_scaled(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>);
    /// dst = Σ factor · src over one to six terms, or dst += that with `adds`.
    fn weighted_sum(&self, dst: ViewMut<'_>, terms: &[(f32, View<'_>)], adds: bool) {
        assert!((1..=6).contains(&terms.len()), "{} terms", terms.len());
        for (k, &(factor, src)) in terms.iter().enumerate() {
            match k > 0 || adds {
                true => self.add(dst, factor, src),
                false => self.copy_scaled(dst, factor, src),
            }
        }
    }
    /// dst = srcᵀ.
    fn copy_transposed(&self, dst: ViewMut<'_>, src: View<'_>);
    /// Sum of all elements (`f64` accumulation).
    fn sum(&self, src: View<'_>) -> f64;
    /// Sum of products of corresponding elements (`f64` accumulation).
    fn dot(&self, a: View<'_>, b: View<'_>) -> f64;

    // ---- rows by index -----------------------------------------------------------------------------------------

    /// dst.row(i) = alpha · src.row(rows\[i\]), zero where rows\[i\] is -1.
    fn copy_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable);
    /// dst.row(i) += alpha · src.row(rows\[i\]), nothing where rows\[i\] is -1.
    fn add_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable);
    /// dst.row(i) ⊙= src.row(rows\[i\]), zero where -1.
    fn multiply_rows(&self, dst: ViewMut<'_>, src: View<'_>, rows: &IndexTable) {
        assert_eq!(rows.len(), dst.rows(), "indexes for a matrix of {} rows", dst.rows());
        for (i, &row) in rows.values().iter().enumerate() {
            match usize::try_from(row) {
                Ok(row) => self.multiply(dst.row(i), src.row(row)),
                Err(_) => self.set(dst.row(i), 0.0),
            }
        }
    }
    /// dst.row(i) = alpha · arena\[offsets\[i\] .. + cols\], zero where -1. `arena` is a 1 × n view.
    fn copy_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable);
    /// dst.row(i) += alpha · arena\[offsets\[i\] .. + cols\], nothing where -1.
    fn add_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable);
    /// arena\[offsets\[i\] .. + cols\] = src.row(i), nothing where -1; no offset occurs twice.
    fn copy_to_rows_multi(&self, arena: ViewMut<'_>, src: View<'_>, offsets: &OffsetTable);
    /// arena\[offsets\[i\] .. + cols\] += alpha · src.row(i), nothing where -1; no offset occurs twice.
    fn add_to_rows_multi(&self, arena: ViewMut<'_>, alpha: f32, src: View<'_>, offsets: &OffsetTable);
    /// dst.row(i) += alpha · Σ src.row(j), begin ≤ j < end, where `ranges` holds begin, end for each i (-1, -1: nothing).
    fn add_row_ranges(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, ranges: &IndexTable);

    // ---- columns by index --------------------------------------------------------------------------------------

    /// dst.col(j) = src.col(cols\[j\]), zero where -1.
    fn copy_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable);
    /// dst.col(j) += src.col(cols\[j\]), nothing where -1.
    fn add_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable);
    /// dst.col(cols\[j\]) += src.col(j), nothing where -1; columns may repeat.
    fn add_to_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable);
    /// dst.col(j) = Σ src.col(k), begin ≤ k < end, where `ranges` holds begin, end for each j.
    fn sum_col_ranges(&self, dst: ViewMut<'_>, src: View<'_>, ranges: &IndexTable);

    // ---- element by element ------------------------------------------------------------------------------------

    /// dst = f(src); in place allowed.
    fn map(&self, dst: ViewMut<'_>, src: View<'_>, f: Map);
    /// dst = activation(src); in place allowed.
    fn activate(&self, dst: ViewMut<'_>, src: View<'_>, activation: Activation);
    /// dst = out_deriv ⊙ activation'(out_value); in place allowed with either source.
    fn activate_backward(
        &self,
        dst: ViewMut<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
        activation: Activation,
    );
    /// dst = a ⊙ b; in place with `a` allowed.
    fn product(&self, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        if !dst.same_start(&a) {
            self.copy(dst, a);
        }
        self.multiply(dst, b);
    }
    /// dst ⊙= src.
    fn multiply(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst ⊘= src: each element divided by that of src.
    fn divide(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst += alpha · a ⊙ b (a and b may be the same view).
    fn add_product(&self, dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>);
    /// dst = out_deriv · (out_value / in_value) where in_value ≠ 0, else out_deriv; in place with `out_deriv` allowed.
    fn multiply_by_ratio(
        &self,
        dst: ViewMut<'_>,
        out_deriv: View<'_>,
        out_value: View<'_>,
        in_value: View<'_>,
    );
    /// dst\[i\] += b\[i\] wherever a\[i\] equals c\[i\] exactly.
    fn add_where_equal(&self, dst: ViewMut<'_>, a: View<'_>, c: View<'_>, b: View<'_>);
    /// dst = max(dst, src).
    fn max_with(&self, dst: ViewMut<'_>, src: View<'_>);

    // ---- rows and columns with vectors -------------------------------------------------------------------------

    /// Each row of dst = row (1 × cols).
    fn set_rows(&self, dst: ViewMut<'_>, row: View<'_>);
    /// Each row of dst += alpha · row.
    fn add_to_rows(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>);
    /// dst.col(j) *= row\[j\].
    fn scale_cols(&self, dst: ViewMut<'_>, row: View<'_>);
    /// dst.row(i) *= col\[i\], `col` being rows × 1.
    fn scale_rows(&self, dst: ViewMut<'_>, col: View<'_>);
    /// dst.row(i) += alpha · col\[i\] · src.row(i).
    fn add_scaled_rows(&self, dst: ViewMut<'_>, alpha: f32, col: View<'_>, src: View<'_>);
    /// Each row i: dst.row(i) += alpha · row ⊙ src.row(i).
    fn add_scaled_cols(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>, src: View<'_>);
    /// Each row i: dst.row(i) = scale ⊙ src.row(i) + offset; in place allowed.
    fn affine_cols(&self, dst: ViewMut<'_>, src: View<'_>, scale: View<'_>, offset: View<'_>) {
        if !dst.same_start(&src) {
            self.copy(dst, src);
        }
        self.scale_cols(dst, scale);
        self.add_to_rows(dst, 1.0, offset);
    }
    /// Each row i: dst.row(i) = (src.row(i) - mean) ⊙ scale; in place allowed.
    fn normalize_cols(&self, dst: ViewMut<'_>, src: View<'_>, mean: View<'_>, scale: View<'_>) {
        if !dst.same_start(&src) {
            self.copy(dst, src);
        }
        self.add_to_rows(dst, -1.0, mean);
        self.scale_cols(dst, scale);
    }
    /// Each row i: dst.row(i) = (src.row(i) - mean) ⊙ scale + factor ⊙ other.row(i); in place with `src` allowed.
    fn normalize_cols_and_add(
        &self,
        dst: ViewMut<'_>,
        src: View<'_>,
        mean: View<'_>,
        scale: View<'_>,
        factor: View<'_>,
        other: View<'_>,
    ) {
        self.normalize_cols(dst, src, mean, scale);
        self.add_scaled_cols(dst, 1.0, factor, other);
    }
    /// row = alpha · (column sums of src) + beta · row.
    fn col_sums(&self, row: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32);
    /// row = alpha · (column sums of a ⊙ b) + beta · row, i.e. diag(aᵀ b).
    fn col_dots(&self, row: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32);
    /// sums = sums_factor · (column sums of b), dots = dots_factor · (column sums of a ⊙ b): as [`Backend::col_sums`] and
    /// [`Backend::col_dots`] one after the other.
    fn col_sums_and_dots(
        &self,
        sums: ViewMut<'_>,
        sums_factor: f32,
        dots: ViewMut<'_>,
        dots_factor: f32,
        a: View<'_>,
        b: View<'_>,
    ) {
        self.col_sums(sums, sums_factor, b, 0.0);
        self.col_dots(dots, dots_factor, a, b, 0.0);
    }
    /// col = alpha · (row sums of src) + beta · col.
    fn row_sums(&self, col: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32);
    /// col = alpha · (row sums of a ⊙ b) + beta · col, i.e. diag(a bᵀ).
    fn row_dots(&self, col: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32);
    /// sums\[first + j\] += Σ_i term(src\[i, j\]); a column's sum is formed in `f32`-or-better, then added in `f64`.
    fn accumulate(&self, sums: &mut Accumulator, first: usize, src: View<'_>, term: ColumnTerm);

    // ---- numbers that stay on the device -----------------------------------------------------------------------

    /// sums\[index\] += alpha · (sum of products of corresponding elements), in `f64`.
    fn accumulate_dot(&self, sums: &mut Accumulator, index: usize, alpha: f64, a: View<'_>, b: View<'_>);
    /// sums\[first + j\] += alpha · row\[j\], in `f64`; `row` is 1 × n.
    fn accumulate_row(&self, sums: &mut Accumulator, first: usize, alpha: f64, row: View<'_>);
    /// The limits of [`crate::norm_limits`] for the n changes whose squared norms are sums\[first …\]. `factors` is 1 × (n + 1):
    /// what to multiply each change by, `scale` included, or 0 if they are not finite; and last 1, or 0 in that case. The sign
    /// of `scale` does not count for norms. `limits` are n + 1 numbers.
    fn limit_norms(
        &self,
        factors: ViewMut<'_>,
        sums: &mut Accumulator,
        first: usize,
        limits: &mut Accumulator,
        scale: f64,
    );
    /// dst\[j\] = +1 where the average of sums\[first + j + k · n\] over k < `blocks`, divided by `count`, is too small, -1 where
    /// it is too large, else 0; `dst` is 1 × n.
    fn compare_averages(
        &self,
        dst: ViewMut<'_>,
        sums: &mut Accumulator,
        first: usize,
        blocks: usize,
        count: Count<'_>,
        band: Band,
    );
    /// dst = (p, 1) if the proportion p = sums\[index\] / `count`, in `f32`, is above `most`, else (p, 0); `dst` is 1 × 2.
    fn proportion_above(&self, dst: ViewMut<'_>, sums: &mut Accumulator, index: usize, count: f32, most: f32);
    /// `factors` (1 × 2) = `keep` and `take` of [`crate::orthogonal_step`] for the squared norms sums\[first\] and
    /// sums\[first + 1\].
    fn orthogonal_step(&self, factors: ViewMut<'_>, sums: &mut Accumulator, first: usize, dim: usize);
    /// A device that updates low-rank estimates of Fisher matrices by itself; the host's are worked out by whoever has them.
    fn low_rank(&self) -> Option<&dyn LowRank> {
        None
    }
    /// A device that multiplies sparse rows; others get them dense.
    fn sparse(&self) -> Option<&dyn SparseProducts> {
        None
    }
    /// A device whose products are faster with weights that are arranged beforehand; others take them as they lie.
    fn panels(&self) -> Option<&dyn PanelProducts> {
        None
    }
    /// dst = √(sums\[first\] / sums\[first + 1\]), or 1 if the first of them is 0; `dst` is 1 × 1.
    fn root_of_ratio(&self, dst: ViewMut<'_>, sums: &mut Accumulator, first: usize);
    /// dst = factor · sums\[above\] / sums\[below\], in `f64`, or `otherwise` if the factor or sums\[below\] is 0; `dst` is 1 × 1.
    fn ratio_of_sums(
        &self,
        dst: ViewMut<'_>,
        factor: Factor<'_>,
        sums: &mut Accumulator,
        above: usize,
        below: usize,
        otherwise: f32,
    );
    /// sums *= factor; 0 sets to exactly zero.
    fn scale_sums_by(&self, sums: &mut Accumulator, factor: Factor<'_>) {
        sums.scale(self.value_of(factor).into())
    }
    /// As [`Accumulator::add`]; nothing if alpha is 0.
    fn add_sums_by(&self, sums: &mut Accumulator, alpha: Factor<'_>, more: &Accumulator) {
        match self.value_of(alpha) {
            0.0 => {}
            alpha => sums.add(alpha.into(), more),
        }
    }
    /// dst *= factor; 0 sets to exactly zero.
    fn scale_by(&self, dst: ViewMut<'_>, factor: Factor<'_>) {
        match self.value_of(factor) {
            0.0 => self.set(dst, 0.0),
            1.0 => {}
            factor => self.scale(dst, factor),
        }
    }
    /// dst += alpha · src; nothing if alpha is 0.
    fn add_by(&self, dst: ViewMut<'_>, alpha: Factor<'_>, src: View<'_>) {
        match self.value_of(alpha) {
            0.0 => {}
            alpha => self.add(dst, alpha, src),
        }
    }
    /// The number, if reading it does not wait: on the host.
    fn value_at_once(&self, factor: Factor<'_>) -> Option<f32> {
        let _ = factor;
        None
    }
    /// The number, read from the device: waits for all work before.
    fn value_of(&self, factor: Factor<'_>) -> f32 {
        let mut element = [0.0];
        self.download_into(factor.element, &mut element);
        factor.times * element[0]
    }

    // ---- row-wise functions ------------------------------------------------------------------------------------

    /// dst = softmax of each row of src; in place allowed.
    fn softmax(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst = src - log Σ exp(src), row by row; in place allowed.
    fn log_softmax(&self, dst: ViewMut<'_>, src: View<'_>);
    /// dst = y ⊙ e - y (y · e), row by row; in place with `out_deriv` allowed.
    fn softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>);
    /// dst = e - exp(y) Σ e, row by row; in place with `out_deriv` allowed.
    fn log_softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>);
    /// dst\[i, j\] = 2-norm of columns j·g … j·g+g-1 of src's row i, g = src.cols / dst.cols.
    fn group_norm(&self, dst: ViewMut<'_>, src: View<'_>);
    /// in_deriv\[i, k\] = out_deriv\[i, j\] · in_value\[i, k\] / out_value\[i, j\], j the group of k; 0 where out_value is 0.
    fn group_norm_backward(
        &self,
        in_deriv: ViewMut<'_>,
        in_value: View<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
    );

    // ---- recurrent cells ---------------------------------------------------------------------------------------

    /// `LstmNonlinearityComponent`, forward. `input` is N × 5C or N × (5C + 3): parts i, f, c, o, previous c and
    /// optional per-row dropout factors for i, f, o; `params` 3 × C: peepholes for i, f, o; `output` N × 2C: c, m.
    fn lstm_cell(&self, output: ViewMut<'_>, input: View<'_>, params: View<'_>);
    /// Its derivatives. `self_repair` 5 × C: the amounts r for i, f, g, o, h. Sets the first 5C columns of `in_deriv`
    /// (if not empty), adds to `params_deriv` (3 × C, if not empty), and to `values`, `derivs` (5·C sums each of the
    /// nonlinearities' values and derivatives in the order i, f, g, o, h, if given).
    #[allow(clippy::too_many_arguments)]
    fn lstm_cell_backward(
        &self,
        input: View<'_>,
        params: View<'_>,
        out_deriv: View<'_>,
        self_repair: View<'_>,
        in_deriv: ViewMut<'_>,
        params_deriv: ViewMut<'_>,
        sums: Option<(&mut Accumulator, &mut Accumulator)>,
    );

    // ---- banded products (attention) ---------------------------------------------------------------------------

    /// c\[i, o\] = alpha · a.row(i) · b.row(i + o·shift). a: n × k, c: n × context, b: (n + (context-1)·shift) × k.
    fn banded_dots(&self, c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, shift: usize);
    /// a.row(i) += alpha · Σ_o c\[i, o\] · b.row(i + o·shift).
    fn banded_apply(&self, a: ViewMut<'_>, alpha: f32, c: View<'_>, b: View<'_>, shift: usize);
    /// b.row(i + o·shift) += alpha · c\[i, o\] · a.row(i).
    fn banded_scatter(&self, b: ViewMut<'_>, alpha: f32, c: View<'_>, a: View<'_>, shift: usize);

    // ---- hidden Markov models ----------------------------------------------------------------------------------

    /// How many sequences side by side the primitives below take at best; `None` where it is as many as there are.
    fn hmm_columns(&self) -> Option<usize> {
        None
    }
    /// One step of the forward recursion for the sequences in the columns, for each state j:
    /// next\[j\] = Σ x(e) · (scale · Σ q · alpha\[i\] + leak · Σ q · π\[i\]) over the entries e of j and the arcs of e, with
    /// probabilities q, from states i; x(e) is the likelihood of the symbol of e.
    fn hmm_forward(&self, next: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>);
    /// What the step gives for each entry e of each state j: entries\[e\] = x(e) · (beta\[j\] + shared), the share of `beta` that is
    /// due to e, and posteriors\[s\] = Σ (beta\[j\] + shared) · (what e had in next\[j\]) over the entries of symbol s. `next` is
    /// what [`Backend::hmm_forward`] made of `step`, `shared` is 1 × n.
    #[allow(clippy::too_many_arguments)]
    fn hmm_entries(
        &self,
        entries: ViewMut<'_>,
        posteriors: ViewMut<'_>,
        hmm: &Hmm,
        step: HmmStep<'_>,
        next: View<'_>,
        beta: View<'_>,
        shared: View<'_>,
    );
    /// The step backwards: beta\[i\] = scale · Σ q · entries\[e\] over the arcs of state i with probability q into entry e.
    fn hmm_backward(&self, beta: ViewMut<'_>, hmm: &Hmm, entries: View<'_>, scale: View<'_>);

    // ---- single elements ---------------------------------------------------------------------------------------

    /// values\[k\] = src\[r, c\] for each pair (r, c) of `places`. This waits for a device that is not the host.
    fn fetch_elements(&self, values: &mut [f32], src: View<'_>, places: &[[u32; 2]]);
    /// dst\[r, c\] += alpha · values\[k\] for each pair (r, c) of `places`; no pair occurs twice.
    fn add_elements(&self, dst: ViewMut<'_>, alpha: f32, values: &[f32], places: &[[u32; 2]]);
    /// dst = exp(x) where x is src limited to the range from -limit to limit, NaN being the lower end; in place allowed.
    fn exp_within(&self, dst: ViewMut<'_>, src: View<'_>, limit: f32);
    /// dst += alpha · (x - (x limited to the range from -limit to limit)) for x of src; nothing where x is NaN.
    fn add_excess(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, limit: f32);

    // ---- learning ----------------------------------------------------------------------------------------------

    /// A step of a parameter along its gradient, by a rule that may keep states; the gradient is zero afterwards. A factor of 0
    /// changes nothing else.
    fn learn(&self, learned: Learned<'_>, step: LearningStep<'_>);

    // ---- random ------------------------------------------------------------------------------------------------

    /// Uniform numbers strictly inside (0, 1); element (i, j) depends on `key`, i, j only, on every device.
    fn fill_uniform(&self, dst: ViewMut<'_>, key: u64);
    /// Standard normal numbers, element (i, j) depending on `key`, i, j only.
    fn fill_normal(&self, dst: ViewMut<'_>, key: u64);
}
