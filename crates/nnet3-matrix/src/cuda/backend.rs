//! [`Backend`] on an [`Engine`].

#![allow(unsafe_code)]

use super::engine::{Engine, OutOfMemory};
use super::launch::{Broadcast, HMM_COLUMNS};
use super::op::Arg;
use super::queue::Queue;
use super::table::Block;
use crate::backend::{Activation, Backend, Band, ColumnTerm, Count, Factor, Map, Memory, Transpose};
use crate::hmm::{Hmm, HmmStep};
use crate::learning_step::{Learned, LearningStep};
use crate::low_rank::LowRank;
use crate::memory::{Accumulator, IndexTable, OffsetTable};
use crate::view::{Blocks, View, ViewMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Places for partial sums in `f64` (16 MiB).
pub(super) const PARTIALS: usize = 1 << 21;

/// As many again for the list of updates that are due.
pub(super) const DUE_LIST: usize = 1 << 12;

/// The primitives on one device.
pub struct GpuBackend<E: Engine> {
    pub(super) queue: Queue<E>,
    pub(super) id: u32,
    /// Address of [`PARTIALS`] numbers that sums go through, and of [`DUE_LIST`] behind them.
    pub(super) partials: u64,
    _partials: Block<E>,
}

impl<E: Engine> GpuBackend<E> {
    pub fn new(engine: E) -> Result<GpuBackend<E>, OutOfMemory> {
        static LAST_ID: AtomicU32 = AtomicU32::new(0);
        let queue = Queue::new(Arc::new(engine));
        let partials = Block::try_new(&queue, 8 * (PARTIALS + DUE_LIST) as u64)?;
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(GpuBackend { queue, id, partials: partials.address, _partials: partials })
    }

    pub fn engine(&self) -> &E {
        self.queue.engine()
    }

    /// Contiguous memory as it is, other views by way of scratch memory that `with` gets.
    fn through_contiguous(&self, view: View<'_>, with: impl FnOnce(View<'_>)) {
        match view.is_contiguous() {
            true => with(view),
            false => {
                let bytes = 4 * (view.rows() * view.cols()) as u64;
                let block = Block::new(&self.queue, bytes);
                let (rows, cols) = (view.rows(), view.cols());
                // SAFETY: the block has this size and outlives the call; its address is none of the host's.
                with(unsafe { View::new(block.address as usize as *const f32, rows, cols, cols, self.id) })
            }
        }
    }
}

impl<E: Engine> Backend for GpuBackend<E> {
    fn name(&self) -> &str {
        self.engine().name()
    }
    fn id(&self) -> u32 {
        self.id
    }
    fn memory(&self) -> Option<Memory> {
        self.engine().memory()
    }
    fn mark(&self) {
        self.queue.lock().mark()
    }
    fn synchronize(&self) {
        self.queue.lock().settled().synchronize()
    }

    fn allocate(&self, len: usize) -> *mut f32 {
        if len == 0 {
            return std::ptr::without_provenance_mut(64);
        }
        let bytes = 4 * len as u64;
        match self.queue.lock().settled().allocate(bytes) {
            Ok(address) => address as usize as *mut f32,
            Err(left) => {
                panic!("no memory left for a matrix of {len} elements ({} MiB): {left}", bytes >> 20)
            }
        }
    }

    unsafe fn free(&self, pointer: *mut f32, len: usize) {
        // After a fault nothing can be sent any more.
        if len != 0 && !std::thread::panicking() {
            self.queue.lock().settled().free(pointer.addr() as u64, 4 * len as u64)
        }
    }

    fn upload(&self, dst: ViewMut<'_>, data: &[f32]) {
        assert_eq!(
            data.len(),
            dst.rows() * dst.cols(),
            "elements for a {} x {} matrix",
            dst.rows(),
            dst.cols()
        );
        if dst.is_empty() {
            return;
        }
        // SAFETY: floats have no padding, and bytes no alignment.
        let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) };
        self.through_contiguous(dst.as_view(), |place| {
            self.queue.lock().settled().upload(self.mat(place).address, bytes);
            self.copy_values(dst, place);
        })
    }

    fn download(&self, src: View<'_>) -> Vec<f32> {
        let mut out = vec![0.0; src.rows() * src.cols()];
        self.download_into(src, &mut out);
        out
    }

    fn download_into(&self, src: View<'_>, out: &mut [f32]) {
        assert_eq!(
            out.len(),
            src.rows() * src.cols(),
            "elements of a {} x {} matrix",
            src.rows(),
            src.cols()
        );
        if src.is_empty() {
            return;
        }
        self.through_contiguous(src, |place| {
            if !src.is_contiguous() {
                let (rows, cols) = (place.rows(), place.cols());
                // SAFETY: the place is scratch memory of this size, which nobody else knows.
                let place = unsafe { ViewMut::new(place.pointer.cast_mut(), rows, cols, cols, self.id) };
                self.copy_values(place, src);
            }
            // SAFETY: any bytes are floats, and floats have no padding.
            let bytes = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), size_of_val(out)) };
            self.queue.lock().settled().download(self.mat(place).address, bytes);
        })
    }

    fn gemm(
        &self,
        c: ViewMut<'_>,
        alpha: f32,
        a: View<'_>,
        transpose_a: Transpose,
        b: View<'_>,
        transpose_b: Transpose,
        beta: f32,
    ) {
        self.multiply_matrices(c, alpha, a, transpose_a, b, transpose_b, beta)
    }
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
        self.multiply_blocks(c, alpha, a, transpose_a, b, transpose_b, beta)
    }

    fn set(&self, dst: ViewMut<'_>, value: f32) {
        self.set_value(dst, value)
    }
    fn copy(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.copy_values(dst, src)
    }
    fn scale(&self, dst: ViewMut<'_>, factor: f32) {
        self.scale_values(dst, factor)
    }
    fn add(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        self.scaled("add_values", dst, alpha, src)
    }
    fn copy_scaled(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        self.scaled("copy_scaled", dst, alpha, src)
    }
    fn copy_transposed(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.transpose(dst, src)
    }
    fn sum(&self, src: View<'_>) -> f64 {
        self.total(src, None)
    }
    fn dot(&self, a: View<'_>, b: View<'_>) -> f64 {
        self.total(a, Some(b))
    }

    fn copy_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        self.by_rows("copy_rows", dst, Some(alpha), src, rows)
    }
    fn add_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        self.by_rows("add_rows", dst, Some(alpha), src, rows)
    }
    fn multiply_rows(&self, dst: ViewMut<'_>, src: View<'_>, rows: &IndexTable) {
        self.by_rows("multiply_rows", dst, None, src, rows)
    }
    fn copy_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        self.by_places("copy_rows_multi", [dst.as_view(), arena], Some(alpha), false, offsets)
    }
    fn add_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        self.by_places("add_rows_multi", [dst.as_view(), arena], Some(alpha), false, offsets)
    }
    fn copy_to_rows_multi(&self, arena: ViewMut<'_>, src: View<'_>, offsets: &OffsetTable) {
        self.by_places("copy_to_rows_multi", [arena.as_view(), src], None, true, offsets)
    }
    fn add_to_rows_multi(&self, arena: ViewMut<'_>, alpha: f32, src: View<'_>, offsets: &OffsetTable) {
        self.by_places("add_to_rows_multi", [arena.as_view(), src], Some(alpha), true, offsets)
    }
    fn add_row_ranges(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, ranges: &IndexTable) {
        self.row_ranges(dst, alpha, src, ranges)
    }

    fn copy_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        self.by_cols("copy_cols", dst, src, cols)
    }
    fn add_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        self.by_cols("add_cols", dst, src, cols)
    }
    fn add_to_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        self.to_cols(dst, src, cols)
    }
    fn sum_col_ranges(&self, dst: ViewMut<'_>, src: View<'_>, ranges: &IndexTable) {
        self.col_ranges(dst, src, ranges)
    }

    fn map(&self, dst: ViewMut<'_>, src: View<'_>, f: Map) {
        self.map_values(dst, src, f)
    }
    fn activate(&self, dst: ViewMut<'_>, src: View<'_>, activation: Activation) {
        self.activation(dst, src, activation)
    }
    fn activate_backward(
        &self,
        dst: ViewMut<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
        activation: Activation,
    ) {
        self.activation_backward(dst, out_value, out_deriv, activation)
    }
    fn product(&self, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        self.binary("product", dst, a, b)
    }
    fn multiply(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.binary("product", dst, dst.as_view(), src)
    }
    fn divide(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.unary("divide", dst, src)
    }
    fn add_product(&self, dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>) {
        self.add_product_of(dst, alpha, a, b)
    }
    fn multiply_by_ratio(
        &self,
        dst: ViewMut<'_>,
        out_deriv: View<'_>,
        out_value: View<'_>,
        in_value: View<'_>,
    ) {
        self.ternary("multiply_by_ratio", dst, [out_deriv, out_value, in_value])
    }
    fn add_where_equal(&self, dst: ViewMut<'_>, a: View<'_>, c: View<'_>, b: View<'_>) {
        self.ternary("add_where_equal", dst, [a, c, b])
    }
    fn max_with(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.unary("max_with", dst, src)
    }

    fn set_rows(&self, dst: ViewMut<'_>, row: View<'_>) {
        self.broadcast("set_rows", dst, &[Broadcast::Row(row)])
    }
    fn add_to_rows(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>) {
        self.broadcast("add_to_rows", dst, &[Broadcast::Factor(alpha), Broadcast::Row(row)])
    }
    fn scale_cols(&self, dst: ViewMut<'_>, row: View<'_>) {
        self.broadcast("scale_cols", dst, &[Broadcast::Row(row)])
    }
    fn scale_rows(&self, dst: ViewMut<'_>, col: View<'_>) {
        self.broadcast("scale_rows", dst, &[Broadcast::Col(col)])
    }
    fn add_scaled_rows(&self, dst: ViewMut<'_>, alpha: f32, col: View<'_>, src: View<'_>) {
        let args = [Broadcast::Factor(alpha), Broadcast::Col(col), Broadcast::Matrix(src)];
        self.broadcast("add_scaled_rows", dst, &args)
    }
    fn add_scaled_cols(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>, src: View<'_>) {
        let args = [Broadcast::Factor(alpha), Broadcast::Row(row), Broadcast::Matrix(src)];
        self.broadcast("add_scaled_cols", dst, &args)
    }
    fn affine_cols(&self, dst: ViewMut<'_>, src: View<'_>, scale: View<'_>, offset: View<'_>) {
        let args = [Broadcast::Matrix(src), Broadcast::Row(scale), Broadcast::Row(offset)];
        self.broadcast("affine_cols", dst, &args)
    }
    fn normalize_cols(&self, dst: ViewMut<'_>, src: View<'_>, mean: View<'_>, scale: View<'_>) {
        let args = [Broadcast::Matrix(src), Broadcast::Row(mean), Broadcast::Row(scale)];
        self.broadcast("normalize_cols", dst, &args)
    }
    fn normalize_cols_and_add(
        &self,
        dst: ViewMut<'_>,
        src: View<'_>,
        mean: View<'_>,
        scale: View<'_>,
        factor: View<'_>,
        other: View<'_>,
    ) {
        let [mean, scale, factor] = [mean, scale, factor].map(Broadcast::Row);
        let args = [Broadcast::Matrix(src), mean, scale, factor, Broadcast::Matrix(other)];
        self.broadcast("normalize_cols_and_add", dst, &args)
    }

    fn col_sums(&self, row: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        self.sum_cols(row, alpha, src, None, beta)
    }
    fn col_dots(&self, row: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        self.sum_cols(row, alpha, a, Some(b), beta)
    }
    fn col_sums_and_dots(
        &self,
        sums: ViewMut<'_>,
        sums_factor: f32,
        dots: ViewMut<'_>,
        dots_factor: f32,
        a: View<'_>,
        b: View<'_>,
    ) {
        self.sum_and_dot_cols([(sums, sums_factor), (dots, dots_factor)], a, b)
    }
    fn row_sums(&self, col: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        self.sum_rows(col, alpha, src, None, beta)
    }
    fn row_dots(&self, col: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        self.sum_rows(col, alpha, a, Some(b), beta)
    }
    fn accumulate(&self, sums: &mut Accumulator, first: usize, src: View<'_>, term: ColumnTerm) {
        self.accumulate_terms(sums, first, src, term)
    }

    fn accumulate_dot(&self, sums: &mut Accumulator, index: usize, alpha: f64, a: View<'_>, b: View<'_>) {
        self.add_dot(sums, index, alpha, a, b)
    }
    fn accumulate_row(&self, sums: &mut Accumulator, first: usize, alpha: f64, row: View<'_>) {
        self.add_row(sums, first, alpha, row)
    }
    fn limit_norms(
        &self,
        factors: ViewMut<'_>,
        sums: &mut Accumulator,
        first: usize,
        limits: &mut Accumulator,
        scale: f64,
    ) {
        self.limits_of_norms(factors, sums, first, limits, scale)
    }
    fn compare_averages(
        &self,
        dst: ViewMut<'_>,
        sums: &mut Accumulator,
        first: usize,
        blocks: usize,
        count: Count<'_>,
        band: Band,
    ) {
        self.averages_compared(dst, sums, first, blocks, count, band)
    }
    fn proportion_above(
        &self,
        dst: ViewMut<'_>,
        sums: &mut Accumulator,
        index: usize,
        count: f32,
        most: f32,
    ) {
        self.proportion_compared(dst, sums, index, count, most)
    }
    fn ratio_of_sums(
        &self,
        dst: ViewMut<'_>,
        factor: Factor<'_>,
        sums: &mut Accumulator,
        above: usize,
        below: usize,
        otherwise: f32,
    ) {
        self.divided_sums(dst, factor, sums, [above, below], otherwise)
    }
    fn scale_sums_by(&self, sums: &mut Accumulator, factor: Factor<'_>) {
        self.sums_scaled_by(sums, factor)
    }
    fn add_sums_by(&self, sums: &mut Accumulator, alpha: Factor<'_>, more: &Accumulator) {
        self.sums_added_by(sums, alpha, more)
    }
    fn orthogonal_step(&self, factors: ViewMut<'_>, sums: &mut Accumulator, first: usize, dim: usize) {
        self.step_to_orthogonal(factors, sums, first, dim)
    }
    fn low_rank(&self) -> Option<&dyn LowRank> {
        Some(self)
    }
    fn root_of_ratio(&self, dst: ViewMut<'_>, sums: &mut Accumulator, first: usize) {
        self.root_of_sums(dst, sums, first)
    }
    fn scale_by(&self, dst: ViewMut<'_>, factor: Factor<'_>) {
        self.scaled_by(dst, factor)
    }
    fn learn(&self, learned: Learned<'_>, step: LearningStep<'_>) {
        self.learning_step(learned, step)
    }
    fn add_by(&self, dst: ViewMut<'_>, alpha: Factor<'_>, src: View<'_>) {
        self.added_by(dst, alpha, src)
    }

    fn softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.softmax_of(dst, src, false)
    }
    fn log_softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.softmax_of(dst, src, true)
    }
    fn softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        self.softmax_backward_of(dst, out_value, out_deriv, false)
    }
    fn log_softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        self.softmax_backward_of(dst, out_value, out_deriv, true)
    }
    fn group_norm(&self, dst: ViewMut<'_>, src: View<'_>) {
        self.norm_of_groups(dst, src)
    }
    fn group_norm_backward(
        &self,
        in_deriv: ViewMut<'_>,
        in_value: View<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
    ) {
        self.norm_of_groups_backward(in_deriv, in_value, out_value, out_deriv)
    }

    fn lstm_cell(&self, output: ViewMut<'_>, input: View<'_>, params: View<'_>) {
        self.lstm_forward(output, input, params)
    }
    fn lstm_cell_backward(
        &self,
        input: View<'_>,
        params: View<'_>,
        out_deriv: View<'_>,
        self_repair: View<'_>,
        in_deriv: ViewMut<'_>,
        params_deriv: ViewMut<'_>,
        sums: Option<(&mut Accumulator, &mut Accumulator)>,
    ) {
        self.lstm_backward(input, params, out_deriv, self_repair, in_deriv, params_deriv, sums)
    }

    fn banded_dots(&self, c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, shift: usize) {
        self.dots_in_band(c, alpha, a, b, shift)
    }
    fn banded_apply(&self, a: ViewMut<'_>, alpha: f32, c: View<'_>, b: View<'_>, shift: usize) {
        self.apply_band(a, alpha, c, b, shift)
    }
    fn banded_scatter(&self, b: ViewMut<'_>, alpha: f32, c: View<'_>, a: View<'_>, shift: usize) {
        self.scatter_band(b, alpha, c, a, shift)
    }

    fn hmm_columns(&self) -> Option<usize> {
        Some(HMM_COLUMNS)
    }
    fn hmm_forward(&self, next: ViewMut<'_>, hmm: &Hmm, step: HmmStep<'_>) {
        self.step_forward(next, hmm, step)
    }
    fn hmm_entries(
        &self,
        entries: ViewMut<'_>,
        posteriors: ViewMut<'_>,
        hmm: &Hmm,
        step: HmmStep<'_>,
        next: View<'_>,
        beta: View<'_>,
        shared: View<'_>,
    ) {
        self.entries_of_step(entries, posteriors, hmm, step, [next, beta, shared])
    }
    fn hmm_backward(&self, beta: ViewMut<'_>, hmm: &Hmm, entries: View<'_>, scale: View<'_>) {
        self.step_backward(beta, hmm, entries, scale)
    }

    fn fetch_elements(&self, values: &mut [f32], src: View<'_>, places: &[[u32; 2]]) {
        self.elements_fetched(values, src, places)
    }
    fn add_elements(&self, dst: ViewMut<'_>, alpha: f32, values: &[f32], places: &[[u32; 2]]) {
        self.elements_added(dst, alpha, values, places)
    }
    fn exp_within(&self, dst: ViewMut<'_>, src: View<'_>, limit: f32) {
        self.over("exp_within", dst, [src], |d, [s]| vec![d, s, Arg::Float(limit)])
    }
    fn add_excess(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, limit: f32) {
        self.over("add_excess", dst, [src], |d, [s]| vec![d, Arg::Float(alpha), s, Arg::Float(limit)])
    }

    fn fill_uniform(&self, dst: ViewMut<'_>, key: u64) {
        self.random("fill_uniform", dst, key)
    }
    fn fill_normal(&self, dst: ViewMut<'_>, key: u64) {
        self.random("fill_normal", dst, key)
    }
}
