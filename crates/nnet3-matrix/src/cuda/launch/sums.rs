//! `row_sums.cu` and `column_sums.cu`.

use super::elementwise::number_of;
use super::{BLOCK, GpuBackend, LARGE_BLOCK, elements, flattened, line_sums, same_shape};
use crate::backend::{ColSumsAndDots, ColumnTerm, Reductions, WholeMatrices};
use crate::cuda::backend::PARTIALS;
use crate::cuda::engine::Engine;
use crate::cuda::op::{Arg, Launch, Mat, Op};
use crate::memory::Accumulator;
use crate::view::{View, ViewMut};

/// Blocks that share a sum of all elements.
const BLOCKS: u32 = 1024;

/// Column sums of up to this many rows are formed row by row, in the CPU's order.
const FEW_ROWS: usize = 64;

/// Blocks that share a sum of a column.
const MOST_PARTS: u32 = 128;

/// Division of a sum over rows among blocks.
pub(super) struct Split {
    pub grid: [u32; 2],
    pub block: [u32; 2],
    /// Rows for each block: an even number.
    pub height: u32,
}

impl Split {
    /// Splits `cols` columns of `rows` rows, with room for at most `room` sums for each column.
    pub fn new(rows: u32, cols: u32, room: usize) -> Split {
        let across = cols.next_power_of_two().clamp(1, 32);
        let down = BLOCK / across;
        let grid = cols.div_ceil(across);
        // Enough blocks for a large device, but some rows for each thread, and few partial sums.
        let most = (1024 / grid).clamp(1, MOST_PARTS).min(room as u32);
        let count = rows.div_ceil(8 * down).clamp(1, most);
        let height = rows.div_ceil(count).max(1).next_multiple_of(2);
        Split { grid: [grid, rows.div_ceil(height).max(1)], block: [across, down], height }
    }

    pub fn count(&self) -> u32 {
        self.grid[1]
    }
}

/// Terms that `column_partials` sums, numbered as in `column_sums.cu`.
const VALUE: i32 = 0;
const SQUARE: i32 = 1;
const PRODUCT: i32 = 2;
const AT_LEAST: i32 = 3;
const DERIVATIVE: i32 = 4;

impl<E: Engine> GpuBackend<E> {
    /// Sums of a ⊙ b by blocks, in the partial sums from the second on, and how many there are.
    fn block_totals(&self, a: View<'_>, b: View<'_>, two: bool) -> (Op, u64, i32) {
        let [a, b] = flattened([self.mat(a), self.mat(b)]);
        let (grid, block) = elements(a.rows, a.cols);
        let across = grid[0].min(BLOCKS);
        let grid = [across, grid[1].min(BLOCKS / across)];
        let totals = self.partials + 8;
        let args = [Arg::Doubles(totals), Arg::Mat(a), Arg::Mat(b), Arg::Int(two as i32)];
        (Op::Launch(Launch::new("block_totals", grid, block, &args)), totals, (grid[0] * grid[1]) as i32)
    }

    /// Σ a, or Σ a ⊙ b.
    fn total(&self, a: View<'_>, b: Option<View<'_>>) -> f64 {
        if let Some(b) = b {
            same_shape(&a, &b);
        }
        if a.is_empty() {
            return 0.0;
        }
        let (blocks, totals, count) = self.block_totals(a, b.unwrap_or(a), b.is_some());
        let all = [Arg::Doubles(self.partials), Arg::Doubles(totals), Arg::Int(count)];
        let mut queue = self.queue.lock();
        queue.push(blocks);
        queue.push(Op::Launch(Launch::new("sum_of_totals", [1, 1], [BLOCK, 1], &all)));
        let mut bytes = [0; 8];
        queue.download(self.partials, &mut bytes);
        f64::from_le_bytes(bytes)
    }

    /// Checks shapes: `line`, of sums along the other axis, must be `shape`. Returns false if the sums have no terms;
    /// the line then becomes beta · line.
    #[track_caller]
    fn has_terms(
        &self,
        line: ViewMut<'_>,
        shape: (usize, usize),
        a: &View<'_>,
        b: Option<&View<'_>>,
        beta: f32,
    ) -> bool {
        if let Some(b) = b {
            same_shape(a, b);
        }
        let (rows, cols) = (line.rows(), line.cols());
        assert!((rows, cols) == shape, "{rows} x {cols} for sums of {} x {}", shape.0, shape.1);
        if !a.is_empty() {
            return true;
        }
        if !line.is_empty() {
            if beta == 0.0 { self.set(line, 0.0) } else { self.scale(line, beta) }
        }
        false
    }

    /// col = alpha · (row sums of a, or of a ⊙ b) + beta · col.
    fn sum_rows(&self, col: ViewMut<'_>, alpha: f32, a: View<'_>, b: Option<View<'_>>, beta: f32) {
        let rows = a.rows();
        if !self.has_terms(col, (rows, 1), &a, b.as_ref(), beta) {
            return;
        }
        let two = b.is_some();
        let (c, a, b) = (self.mat(col.as_view()), self.mat(a), self.mat(b.unwrap_or(a)));
        let (grid, block) = line_sums(rows as u64, a.cols);
        let args = [
            Arg::Mat(c),
            Arg::Float(alpha),
            Arg::Mat(a),
            Arg::Mat(b),
            Arg::Int(two as i32),
            Arg::Float(beta),
        ];
        self.push(Launch::new("row_totals", grid, block, &args))
    }

    /// row = alpha · (column sums of a, or of a ⊙ b) + beta · row.
    fn sum_cols(&self, row: ViewMut<'_>, alpha: f32, a: View<'_>, b: Option<View<'_>>, beta: f32) {
        let cols = a.cols();
        if !self.has_terms(row, (1, cols), &a, b.as_ref(), beta) {
            return;
        }
        if b.is_none() && a.rows() <= FEW_ROWS {
            let (row, a) = (self.mat(row.as_view()), self.mat(a));
            let args = [Arg::Mat(row), Arg::Float(alpha), Arg::Mat(a), Arg::Float(beta)];
            return self.each("sum_few_rows", row, &args);
        }
        let term = if b.is_some() { PRODUCT } else { VALUE };
        let (row, a, b) = (self.mat(row.as_view()), self.mat(a), self.mat(b.unwrap_or(a)));
        for first in (0..a.cols).step_by(PARTIALS) {
            let [row, a, b] = [row, a, b].map(|m| columns(m, first));
            let (partials, count) = self.column_partials(a, b, term, 0.0);
            self.push_both(partials, self.finish_columns(row, alpha, 0, count, beta));
        }
    }

    /// row = factor · column sums, the first of b and the second of a ⊙ b: the results of [`GpuBackend::sum_cols`],
    /// from one reading.
    fn sum_and_dot_cols(
        &self,
        [(sums, sums_factor), (dots, dots_factor)]: [(ViewMut<'_>, f32); 2],
        a: View<'_>,
        b: View<'_>,
    ) {
        if is_short(&b) {
            self.sum_cols(sums, sums_factor, b, None, 0.0);
            return self.sum_cols(dots, dots_factor, a, Some(b), 0.0);
        }
        let shape = (1, b.cols());
        self.has_terms(sums, shape, &a, Some(&b), 0.0);
        self.has_terms(dots, shape, &a, Some(&b), 0.0);
        let [sums, dots, a, b] = [sums.as_view(), dots.as_view(), a, b].map(|view| self.mat(view));
        let (partials, count) = self.sums_and_dots(a, b);
        let second = count as usize * b.cols as usize;
        let mut queue = self.queue.lock();
        queue.push(partials);
        queue.push(self.finish_columns(sums, sums_factor, 0, count, 0.0));
        queue.push(self.finish_columns(dots, dots_factor, second, count, 0.0));
    }

    /// Partial sums of b, and behind them those of a ⊙ b, and how many there are of each.
    fn sums_and_dots(&self, a: Mat, b: Mat) -> (Op, u32) {
        let split = Split::new(b.rows, b.cols, PARTIALS / b.cols as usize);
        let args = [Arg::Doubles(self.partials), Arg::Mat(a), Arg::Mat(b), Arg::Int(split.height as i32)];
        let launch = Launch::new("column_partials_and_dots", split.grid, split.block, &args);
        (Op::Launch(launch), split.count())
    }

    /// `least` is for [`AT_LEAST`].
    fn column_partials(&self, a: Mat, b: Mat, term: i32, least: f32) -> (Op, u32) {
        let split = Split::new(a.rows, a.cols, PARTIALS / a.cols as usize);
        let args = [
            Arg::Doubles(self.partials),
            Arg::Mat(a),
            Arg::Mat(b),
            Arg::Int(term),
            Arg::Int(split.height as i32),
            Arg::Float(least),
        ];
        (Op::Launch(Launch::new("column_partials", split.grid, split.block, &args)), split.count())
    }

    /// row = alpha · (sum of `count` rows of the partial sums from `first` on) + beta · row.
    pub(super) fn finish_columns(&self, row: Mat, alpha: f32, first: usize, count: u32, beta: f32) -> Op {
        let (grid, block) = elements(1, row.cols);
        let partials = Arg::Doubles(self.partials + 8 * first as u64);
        let args = [Arg::Mat(row), Arg::Float(alpha), partials, Arg::Int(count as i32), Arg::Float(beta)];
        Op::Launch(Launch::new("finish_columns", grid, block, &args))
    }

    /// Adds the sum of `count` rows of the partial sums from `first` on to sums at `address`.
    pub(super) fn accumulate_columns(&self, address: u64, first: usize, cols: u32, count: u32) -> Op {
        let grid = [cols.div_ceil(BLOCK).clamp(1, super::WIDE), 1];
        let partials = Arg::Doubles(self.partials + 8 * first as u64);
        let args = [Arg::Doubles(address), partials, Arg::Int(cols as i32), Arg::Int(count as i32)];
        Op::Launch(Launch::new("accumulate_columns", grid, [BLOCK, 1], &args))
    }

    /// Pushes both without other work between them, since both use the partial sums.
    pub(super) fn push_both(&self, first: Op, second: Op) {
        let mut queue = self.queue.lock();
        queue.push(first);
        queue.push(second);
    }
}

/// True if sums of columns are formed row by row, or if there are too many columns for equally many partial sums of two
/// kinds.
fn is_short(m: &View<'_>) -> bool {
    m.is_empty() || m.rows() <= FEW_ROWS || m.cols() > PARTIALS / (2 * MOST_PARTS as usize)
}

/// Columns from `first` on, one for each partial sum.
fn columns(m: Mat, first: u32) -> Mat {
    Mat { address: m.address_of(first.into()), cols: (m.cols - first).min(PARTIALS as u32), ..m }
}

impl<E: Engine> Reductions for GpuBackend<E> {
    fn sum(&self, src: View<'_>) -> f64 {
        self.total(src, None)
    }
    fn dot(&self, a: View<'_>, b: View<'_>) -> f64 {
        self.total(a, Some(b))
    }
    fn col_sums(&self, row: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        self.sum_cols(row, alpha, src, None, beta)
    }
    fn col_dots(&self, row: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        self.sum_cols(row, alpha, a, Some(b), beta)
    }
    fn col_sums_and_dots(&self, both: ColSumsAndDots<'_>) {
        let ColSumsAndDots { sums, sums_factor, dots, dots_factor, a, b } = both;
        self.sum_and_dot_cols([(sums, sums_factor), (dots, dots_factor)], a, b)
    }
    fn moments(&self, moments: ViewMut<'_>, src: View<'_>, factor: f32, epsilon: f32) {
        assert_eq!((moments.rows(), moments.cols()), (3, src.cols()), "rows for the moments of {src:?}");
        if is_short(&src) {
            return self.moments_step_by_step(moments, src, factor, epsilon);
        }
        let (moments, src) = (self.mat(moments.as_view()), self.mat(src));
        let (sums, count) = self.sums_and_dots(src, src);
        let per_row = 1.0 / src.rows as f32;
        let args = [
            Arg::Mat(moments),
            Arg::Doubles(self.partials),
            Arg::Int(count as i32),
            Arg::Float(per_row),
            Arg::Float(factor),
            Arg::Float(factor * epsilon),
        ];
        let grid = [moments.cols.div_ceil(BLOCK).clamp(1, super::WIDE), 1];
        self.push_both(sums, Op::Launch(Launch::new("finish_moments", grid, [BLOCK, 1], &args)))
    }
    fn row_sums(&self, col: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        self.sum_rows(col, alpha, src, None, beta)
    }
    fn row_dots(&self, col: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        self.sum_rows(col, alpha, a, Some(b), beta)
    }
    fn accumulate(&self, sums: &mut Accumulator, first: usize, src: View<'_>, term: ColumnTerm) {
        let (len, cols) = (sums.len(), src.cols());
        assert!(first <= len && cols <= len - first, "{cols} sums from {first} of {len}");
        if src.is_empty() {
            return;
        }
        let (term, least) = match term {
            ColumnTerm::Value => (VALUE, 0.0),
            ColumnTerm::Square => (SQUARE, 0.0),
            ColumnTerm::AtLeast(least) => (AT_LEAST, least),
            ColumnTerm::Derivative(activation) => (DERIVATIVE + number_of(activation), 0.0),
        };
        let address = self.sums_of(sums) + 8 * first as u64;
        let src = self.mat(src);
        for start in (0..src.cols).step_by(PARTIALS) {
            let part = columns(src, start);
            let (partials, count) = self.column_partials(part, part, term, least);
            self.push_both(
                partials,
                self.accumulate_columns(address + 8 * start as u64, 0, part.cols, count),
            );
        }
    }
    fn accumulate_dot(&self, sums: &mut Accumulator, index: usize, alpha: f64, a: View<'_>, b: View<'_>) {
        same_shape(&a, &b);
        assert!(index < sums.len(), "sum {index} of {}", sums.len());
        if a.is_empty() {
            return;
        }
        let address = self.sums_of(sums) + 8 * index as u64;
        let (blocks, totals, count) = self.block_totals(a, b, true);
        let args = [Arg::Doubles(address), Arg::Doubles(totals), Arg::Int(count), Arg::Double(alpha)];
        self.push_both(blocks, Op::Launch(Launch::new("add_total", [1, 1], [BLOCK, 1], &args)));
    }
    fn col_sums_and_square(&self, col: ViewMut<'_>, sums: &mut Accumulator, index: usize, src: View<'_>) {
        assert_eq!((col.rows(), col.cols()), (src.cols(), 1), "a column for the sums of {src:?}");
        assert!(index < sums.len(), "sum {index} of {}", sums.len());
        if src.is_empty() {
            return self.set(col, 0.0);
        }
        let total = self.sums_of(sums) + 8 * index as u64;
        let (col, src) = (self.mat(col.as_view()), self.mat(src));
        // Partial sums of two kinds.
        const MOST: u32 = PARTIALS as u32 / 2;
        for first in (0..src.cols).step_by(MOST as usize) {
            let src = columns(Mat { cols: src.cols.min(first + MOST), ..src }, first);
            let address = col.address_of(u64::from(first) * u64::from(col.stride));
            let col = Mat { address, rows: src.cols, ..col };
            let split = Split::new(src.rows, src.cols, PARTIALS / 2 / src.cols as usize);
            let height = Arg::Int(split.height as i32);
            let args = [Arg::Doubles(self.partials), Arg::Mat(src), Arg::Mat(src), height];
            let partials = Launch::new("column_partials_and_dots", split.grid, split.block, &args);
            let args = [Arg::Mat(col), Arg::Doubles(total), Arg::Doubles(self.partials)];
            let args = [&args[..], &[Arg::Int(split.count() as i32)]].concat();
            let threads = src.cols.next_power_of_two().min(LARGE_BLOCK);
            let finish = Launch::new("finish_columns_and_total", [1, 1], [threads, 1], &args);
            self.push_both(Op::Launch(partials), Op::Launch(finish));
        }
    }
    fn accumulate_row(&self, sums: &mut Accumulator, first: usize, alpha: f64, row: View<'_>) {
        let (len, cols) = (sums.len(), row.cols());
        assert!(row.rows() == 1 && first <= len && cols <= len - first, "{row:?} to {len} sums from {first}");
        let address = self.sums_of(sums) + 8 * first as u64;
        let row = self.mat(row);
        self.each("add_row_to_sums", row, &[Arg::Doubles(address), Arg::Mat(row), Arg::Double(alpha)]);
    }
}
