//! The host: BLAS for products, vectorised loops for everything else.

// Loops by number over several arrays at once are what reads best here and what the vectoriser takes.
#![allow(clippy::needless_range_loop)]

mod access;
mod banded;
mod blas;
mod broadcast;
mod cols;
mod elements;
mod elementwise;
mod gemm;
mod hmm;
mod lanes;
mod learning;
mod lstm;
mod math;
mod nontemporal;
mod packed;
mod pages;
mod panels;
mod prefetch;
mod random;
mod reduce;
mod rows;
mod scalars;
mod simd;
mod softmax;
mod sparse;
mod unpacked;
mod vector;

use crate::backend::{Activation, Backend, Band, ColumnTerm, Count, Factor, Map, Transpose};
use crate::hmm::{Hmm, HmmStep};
use crate::learning_step::{Learned, LearningStep};
use crate::memory::{Accumulator, Device, IndexTable, OffsetTable};
use crate::panels::PanelProducts;
use crate::sparse::SparseProducts;
use crate::view::{View, ViewMut};
pub use blas::library_name;
pub use gemm::{library_product, set_num_threads};
pub use simd::{VectorLevel, run_plain, set_vector_level, vector_level};
use std::sync::{Arc, OnceLock};

/// The host as a device. There is one per process: [`cpu`].
pub(crate) struct CpuBackend {
    _private: (),
}

/// The process-wide host device.
pub fn cpu() -> Device {
    static CPU: OnceLock<Arc<CpuBackend>> = OnceLock::new();
    CPU.get_or_init(|| Arc::new(CpuBackend { _private: () })).clone()
}

impl Backend for CpuBackend {
    fn name(&self) -> &str {
        "cpu"
    }

    fn id(&self) -> u32 {
        0
    }

    fn sparse(&self) -> Option<&dyn SparseProducts> {
        Some(self)
    }

    fn panels(&self) -> Option<&dyn PanelProducts> {
        Some(self)
    }

    /// 1 MiB.
    fn cached_elements(&self) -> Option<usize> {
        Some(1 << 18)
    }

    fn allocate(&self, len: usize) -> *mut f32 {
        pages::allocate(len)
    }

    #[allow(unsafe_code)]
    unsafe fn free(&self, pointer: *mut f32, len: usize) {
        // SAFETY: this method's contract is that function's.
        unsafe { pages::free(pointer, len) }
    }

    fn upload(&self, dst: ViewMut<'_>, data: &[f32]) {
        elementwise::upload(dst, data)
    }

    fn download(&self, src: View<'_>) -> Vec<f32> {
        let mut out = vec![0.0; src.rows() * src.cols()];
        elementwise::download_into(src, &mut out);
        out
    }

    fn download_into(&self, src: View<'_>, out: &mut [f32]) {
        elementwise::download_into(src, out)
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
        gemm::gemm(c, alpha, a, transpose_a, b, transpose_b, beta)
    }
    fn gram(&self, c: ViewMut<'_>, a: View<'_>) {
        gemm::gram(c, a)
    }
    fn set(&self, dst: ViewMut<'_>, value: f32) {
        elementwise::set(dst, value)
    }
    fn copy(&self, dst: ViewMut<'_>, src: View<'_>) {
        elementwise::copy(dst, src)
    }
    fn scale(&self, dst: ViewMut<'_>, factor: f32) {
        elementwise::scale(dst, factor)
    }
    fn add(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        elementwise::add(dst, alpha, src)
    }
    fn copy_scaled(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>) {
        elementwise::copy_scaled(dst, alpha, src)
    }
    fn weighted_sum(&self, dst: ViewMut<'_>, terms: &[(f32, View<'_>)], adds: bool) {
        elementwise::weighted_sum(dst, terms, adds)
    }
    fn copy_transposed(&self, dst: ViewMut<'_>, src: View<'_>) {
        elementwise::copy_transposed(dst, src)
    }
    fn sum(&self, src: View<'_>) -> f64 {
        reduce::sum(src)
    }
    fn dot(&self, a: View<'_>, b: View<'_>) -> f64 {
        reduce::dot(a, b)
    }
    fn copy_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        rows::copy_rows(dst, alpha, src, rows)
    }
    fn add_rows(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, rows: &IndexTable) {
        rows::add_rows(dst, alpha, src, rows)
    }
    fn multiply_rows(&self, dst: ViewMut<'_>, src: View<'_>, rows: &IndexTable) {
        rows::multiply_rows(dst, src, rows)
    }
    fn copy_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        rows::copy_rows_multi(dst, alpha, arena, offsets)
    }
    fn add_rows_multi(&self, dst: ViewMut<'_>, alpha: f32, arena: View<'_>, offsets: &OffsetTable) {
        rows::add_rows_multi(dst, alpha, arena, offsets)
    }
    fn copy_to_rows_multi(&self, arena: ViewMut<'_>, src: View<'_>, offsets: &OffsetTable) {
        rows::copy_to_rows_multi(arena, src, offsets)
    }
    fn add_to_rows_multi(&self, arena: ViewMut<'_>, alpha: f32, src: View<'_>, offsets: &OffsetTable) {
        rows::add_to_rows_multi(arena, alpha, src, offsets)
    }
    fn add_row_ranges(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, ranges: &IndexTable) {
        rows::add_row_ranges(dst, alpha, src, ranges)
    }
    fn copy_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        cols::copy_cols(dst, src, cols)
    }
    fn add_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        cols::add_cols(dst, src, cols)
    }
    fn add_to_cols(&self, dst: ViewMut<'_>, src: View<'_>, cols: &IndexTable) {
        cols::add_to_cols(dst, src, cols)
    }
    fn sum_col_ranges(&self, dst: ViewMut<'_>, src: View<'_>, ranges: &IndexTable) {
        cols::sum_col_ranges(dst, src, ranges)
    }
    fn map(&self, dst: ViewMut<'_>, src: View<'_>, f: Map) {
        elementwise::map(dst, src, f)
    }
    fn activate(&self, dst: ViewMut<'_>, src: View<'_>, activation: Activation) {
        elementwise::activate(dst, src, activation)
    }
    fn activate_backward(
        &self,
        dst: ViewMut<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
        activation: Activation,
    ) {
        elementwise::activate_backward(dst, out_value, out_deriv, activation)
    }
    fn product(&self, dst: ViewMut<'_>, a: View<'_>, b: View<'_>) {
        elementwise::product(dst, a, b)
    }
    fn multiply(&self, dst: ViewMut<'_>, src: View<'_>) {
        elementwise::multiply(dst, src)
    }
    fn add_product(&self, dst: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>) {
        elementwise::add_product(dst, alpha, a, b)
    }
    fn divide(&self, dst: ViewMut<'_>, src: View<'_>) {
        elementwise::divide(dst, src)
    }
    fn multiply_by_ratio(
        &self,
        dst: ViewMut<'_>,
        out_deriv: View<'_>,
        out_value: View<'_>,
        in_value: View<'_>,
    ) {
        elementwise::multiply_by_ratio(dst, out_deriv, out_value, in_value)
    }
    fn add_where_equal(&self, dst: ViewMut<'_>, a: View<'_>, c: View<'_>, b: View<'_>) {
        elementwise::add_where_equal(dst, a, c, b)
    }
    fn max_with(&self, dst: ViewMut<'_>, src: View<'_>) {
        elementwise::max_with(dst, src)
    }
    fn set_rows(&self, dst: ViewMut<'_>, row: View<'_>) {
        broadcast::set_rows(dst, row)
    }
    fn add_to_rows(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>) {
        broadcast::add_to_rows(dst, alpha, row)
    }
    fn scale_cols(&self, dst: ViewMut<'_>, row: View<'_>) {
        broadcast::scale_cols(dst, row)
    }
    fn scale_rows(&self, dst: ViewMut<'_>, col: View<'_>) {
        broadcast::scale_rows(dst, col)
    }
    fn add_scaled_rows(&self, dst: ViewMut<'_>, alpha: f32, col: View<'_>, src: View<'_>) {
        broadcast::add_scaled_rows(dst, alpha, col, src)
    }
    fn add_scaled_cols(&self, dst: ViewMut<'_>, alpha: f32, row: View<'_>, src: View<'_>) {
        broadcast::add_scaled_cols(dst, alpha, row, src)
    }
    fn affine_cols(&self, dst: ViewMut<'_>, src: View<'_>, scale: View<'_>, offset: View<'_>) {
        broadcast::affine_cols(dst, src, scale, offset)
    }
    fn normalize_cols(&self, dst: ViewMut<'_>, src: View<'_>, mean: View<'_>, scale: View<'_>) {
        broadcast::normalize_cols(dst, src, mean, scale)
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
        broadcast::normalize_cols_and_add(dst, src, mean, scale, factor, other)
    }
    fn col_sums(&self, row: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        reduce::col_sums(row, alpha, src, beta)
    }
    fn col_dots(&self, row: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        reduce::col_dots(row, alpha, a, b, beta)
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
        reduce::col_sums_and_dots(sums, sums_factor, dots, dots_factor, a, b)
    }
    fn row_sums(&self, col: ViewMut<'_>, alpha: f32, src: View<'_>, beta: f32) {
        reduce::row_sums(col, alpha, src, beta)
    }
    fn row_dots(&self, col: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, beta: f32) {
        reduce::row_dots(col, alpha, a, b, beta)
    }
    fn accumulate(&self, sums: &mut Accumulator, first: usize, src: View<'_>, term: ColumnTerm) {
        reduce::accumulate(sums, first, src, term)
    }
    fn accumulate_dot(&self, sums: &mut Accumulator, index: usize, alpha: f64, a: View<'_>, b: View<'_>) {
        scalars::accumulate_dot(sums, index, alpha, a, b)
    }
    fn accumulate_row(&self, sums: &mut Accumulator, first: usize, alpha: f64, row: View<'_>) {
        scalars::accumulate_row(sums, first, alpha, row)
    }
    fn limit_norms(
        &self,
        factors: ViewMut<'_>,
        sums: &mut Accumulator,
        first: usize,
        limits: &mut Accumulator,
        scale: f64,
    ) {
        scalars::limit_norms(factors, sums, first, limits, scale)
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
        scalars::compare_averages(dst, sums, first, blocks, count, band)
    }
    fn proportion_above(
        &self,
        dst: ViewMut<'_>,
        sums: &mut Accumulator,
        index: usize,
        count: f32,
        most: f32,
    ) {
        scalars::proportion_above(dst, sums, index, count, most)
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
        scalars::ratio_of_sums(dst, factor, sums, [above, below], otherwise)
    }
    fn value_at_once(&self, factor: Factor<'_>) -> Option<f32> {
        Some(self.value_of(factor))
    }
    fn orthogonal_step(&self, factors: ViewMut<'_>, sums: &mut Accumulator, first: usize, dim: usize) {
        scalars::orthogonal_step(factors, sums, first, dim)
    }
    fn root_of_ratio(&self, dst: ViewMut<'_>, sums: &mut Accumulator, first: usize) {
        scalars::root_of_ratio(dst, sums, first)
    }
    fn softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        softmax::softmax(dst, src)
    }
    fn log_softmax(&self, dst: ViewMut<'_>, src: View<'_>) {
        softmax::log_softmax(dst, src)
    }
    fn softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        softmax::softmax_backward(dst, out_value, out_deriv)
    }
    fn log_softmax_backward(&self, dst: ViewMut<'_>, out_value: View<'_>, out_deriv: View<'_>) {
        softmax::log_softmax_backward(dst, out_value, out_deriv)
    }
    fn group_norm(&self, dst: ViewMut<'_>, src: View<'_>) {
        reduce::group_norm(dst, src)
    }
    fn group_norm_backward(
        &self,
        in_deriv: ViewMut<'_>,
        in_value: View<'_>,
        out_value: View<'_>,
        out_deriv: View<'_>,
    ) {
        reduce::group_norm_backward(in_deriv, in_value, out_value, out_deriv)
    }
    fn lstm_cell(&self, output: ViewMut<'_>, input: View<'_>, params: View<'_>) {
        lstm::lstm_cell(output, input, params)
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
        lstm::lstm_cell_backward(input, params, out_deriv, self_repair, in_deriv, params_deriv, sums)
    }
    fn banded_dots(&self, c: ViewMut<'_>, alpha: f32, a: View<'_>, b: View<'_>, shift: usize) {
        banded::banded_dots(c, alpha, a, b, shift)
    }
    fn banded_apply(&self, a: ViewMut<'_>, alpha: f32, c: View<'_>, b: View<'_>, shift: usize) {
        banded::banded_apply(a, alpha, c, b, shift)
    }
    fn banded_scatter(&self, b: ViewMut<'_>, alpha: f32, c: View<'_>, a: View<'_>, shift: usize) {
        banded::banded_scatter(b, alpha, c, a, shift)
    }
    fn hmm_columns(&self) -> Option<usize> {
        Some(hmm::columns())
    }
    fn hmm_forward(&self, next: ViewMut<'_>, model: &Hmm, step: HmmStep<'_>) {
        hmm::forward(next, model, step)
    }
    fn hmm_entries(
        &self,
        entries: ViewMut<'_>,
        posteriors: ViewMut<'_>,
        model: &Hmm,
        step: HmmStep<'_>,
        next: View<'_>,
        beta: View<'_>,
        shared: View<'_>,
    ) {
        hmm::entries(entries, posteriors, model, step, [next, beta, shared])
    }
    fn hmm_backward(&self, beta: ViewMut<'_>, model: &Hmm, entries: View<'_>, scale: View<'_>) {
        hmm::backward(beta, model, entries, scale)
    }
    fn fetch_elements(&self, values: &mut [f32], src: View<'_>, places: &[[u32; 2]]) {
        elements::fetch(values, src, places)
    }
    fn add_elements(&self, dst: ViewMut<'_>, alpha: f32, values: &[f32], places: &[[u32; 2]]) {
        elements::add(dst, alpha, values, places)
    }
    fn learn(&self, learned: Learned<'_>, step: LearningStep<'_>) {
        learning::learn(learned, step)
    }
    fn exp_within(&self, dst: ViewMut<'_>, src: View<'_>, limit: f32) {
        elementwise::exp_within(dst, src, limit)
    }
    fn add_excess(&self, dst: ViewMut<'_>, alpha: f32, src: View<'_>, limit: f32) {
        elementwise::add_excess(dst, alpha, src, limit)
    }
    fn fill_uniform(&self, dst: ViewMut<'_>, key: u64) {
        random::fill_uniform(dst, key)
    }
    fn fill_normal(&self, dst: ViewMut<'_>, key: u64) {
        random::fill_normal(dst, key)
    }
}
