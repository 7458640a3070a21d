//! The interface by which backprop reports the gradients of parameters.
//!
//! A component reports the factors of its parameters' gradients to a [`GradientSink`]. Learning rates, update rules and
//! threads are behind that interface.

use crate::convolution_plan::Plan;
use crate::winograd::{Filter, Taps};
use crate::{Component, Context, downcast_mut};
use nnet3_matrix::backend::MOST_INTERLEAVED;
use nnet3_matrix::sparse::{SparseProducts, SparseRows};
use nnet3_matrix::{Accumulator, Gemm, GemmBlocks, IndexTable, View, ViewMut};
use std::ops::Range;

/// Factors of a gradient. The gradient of a linear part is a sum of products of output derivatives with inputs. The
/// gradient of a bias is the sum of the output derivatives.
#[derive(Clone, Copy)]
pub enum Products<'a> {
    Rows(RowProducts<'a>),
    /// The gradient is block-diagonal. The input and the derivative are N × (blocks · block size). Column block b of
    /// the input times column block b of the derivative gives row block b of the linear part.
    Blocks {
        count: usize,
        input: View<'a>,
        deriv: View<'a>,
    },
    /// The plan of a convolution gathers the input.
    Patches {
        plan: &'a Plan,
        input: View<'a>,
        deriv: View<'a>,
    },
    /// The input is in pieces, which together have the columns of the linear part, in order.
    Pieces {
        pieces: &'a [Piece<'a>],
        deriv: View<'a>,
    },
}

/// The linear part has blocks of columns, one for each entry of `first`. For each block, some rows of the input are
/// multiplied with all rows of the derivative.
#[derive(Clone, Copy)]
pub struct RowProducts<'a> {
    pub input: View<'a>,
    /// N × O.
    pub deriv: View<'a>,
    /// The first row for each block.
    pub first: &'a [usize],
    /// The distance from a row to the next.
    pub stride: usize,
    /// The structure of the columns of an input with one block, if known.
    pub taps: Option<Taps>,
    /// The derivatives once more, for each row of the input, if one product with them is cheaper. The stride is then 1.
    pub of_input: Option<DerivsOfInput<'a>>,
}

/// Output derivatives of M consecutive rows of the input: column K c + k has those of column c that meet the row in block k.
#[derive(Clone, Copy)]
pub struct DerivsOfInput<'a> {
    /// M × (K O).
    pub derivs: View<'a>,
    /// The first of these rows.
    pub top: usize,
}

/// Some columns of a minibatch X. All pieces have the same number of rows.
#[derive(Clone)]
pub struct Piece<'a> {
    pub x: PieceRows<'a>,
    /// The range of columns of X.
    pub columns: Range<usize>,
}

impl<'a> Piece<'a> {
    pub fn row_range(&self, rows: Range<usize>) -> Piece<'a> {
        Piece { x: self.x.row_range(rows), columns: self.columns.clone() }
    }
}

/// The rows of a piece.
#[derive(Clone, Copy)]
pub enum PieceRows<'a> {
    Dense(View<'a>),
    /// Some of these rows, on a device that multiplies such.
    Sparse {
        x: &'a SparseRows,
        first: usize,
        count: usize,
    },
    /// Rows of a table. Such a piece is not split.
    Picked(PickedRows<'a>),
}

/// Rows picked from a table, each perhaps several times. Products are computed with the rows of the table.
#[derive(Clone, Copy)]
pub struct PickedRows<'a> {
    /// U × D.
    pub table: View<'a>,
    /// The row of the table for each row; -1 for a row of zeros.
    pub numbers: &'a IndexTable,
    /// U × 1: the number of times that each row of the table is picked.
    pub counts: View<'a>,
}

impl<'a> PieceRows<'a> {
    pub fn rows(&self) -> usize {
        match self {
            PieceRows::Dense(x) => x.rows(),
            PieceRows::Sparse { count, .. } => *count,
            PieceRows::Picked(picked) => picked.numbers.len(),
        }
    }

    pub fn cols(&self) -> usize {
        match self {
            PieceRows::Dense(x) => x.cols(),
            PieceRows::Sparse { x, .. } => x.cols(),
            PieceRows::Picked(picked) => picked.table.cols(),
        }
    }

    /// True if products are cheaper with all rows together.
    pub fn is_whole(&self) -> bool {
        matches!(self, PieceRows::Picked(_))
    }

    pub fn row_range(&self, rows: Range<usize>) -> PieceRows<'a> {
        match *self {
            PieceRows::Dense(x) => PieceRows::Dense(x.row_range(rows)),
            PieceRows::Sparse { x, first, count } => {
                assert!(rows.end <= count, "rows {rows:?} of {count}");
                PieceRows::Sparse { x, first: first + rows.start, count: rows.len() }
            }
            PieceRows::Picked(picked) => {
                assert_eq!(rows, 0..picked.numbers.len(), "rows picked from a table are not split");
                *self
            }
        }
    }

    /// sums\[index\] += ‖X‖²
    pub fn add_energy(&self, context: Context<'_>, sums: &mut Accumulator, index: usize) {
        match *self {
            PieceRows::Dense(x) => context.backend.accumulate_dot(sums, index, 1.0, x, x),
            PieceRows::Sparse { x, first, count } => {
                let mut one = context.workspace.take(1, 1);
                context.backend.set(one.view_mut(), 1.0);
                let energy = x.sum_of_squares(first..first + count);
                context.backend.accumulate_row(sums, index, energy, one.view());
            }
            PieceRows::Picked(PickedRows { table, counts, .. }) => {
                let mut norms = context.workspace.take(table.rows(), 1);
                context.backend.row_dots(norms.view_mut(), 1.0, table, table, 0.0);
                context.backend.accumulate_dot(sums, index, 1.0, norms.view(), counts);
            }
        }
    }

    /// dst = X · matrixᵀ + `beta` · dst, `beta` being 0 or 1.
    pub fn product(&self, context: Context<'_>, dst: ViewMut<'_>, matrix: View<'_>, beta: f32) {
        match *self {
            PieceRows::Dense(x) => {
                context.backend.gemm(Gemm { beta, ..Gemm::set(dst, x, matrix.transposed()) })
            }
            PieceRows::Sparse { x, first, .. } => {
                keep_or_zero(context, dst, beta);
                products(context).add_product(dst, x, first, matrix);
            }
            PieceRows::Picked(PickedRows { table, numbers, .. }) => {
                let mut of_table = context.workspace.take(table.rows(), dst.cols());
                context.backend.gemm(Gemm::set(of_table.view_mut(), table, matrix.transposed()));
                match beta {
                    0.0 => context.backend.copy_rows(dst, 1.0, of_table.view(), numbers),
                    _ => context.backend.add_rows(dst, 1.0, of_table.view(), numbers),
                }
            }
        }
    }

    /// dst = `alpha` · derivsᵀ · X + `beta` · dst, `beta` being 0 or 1.
    pub fn gradient(&self, context: Context<'_>, dst: ViewMut<'_>, alpha: f32, derivs: View<'_>, beta: f32) {
        match *self {
            PieceRows::Dense(x) => {
                context.backend.gemm(Gemm { alpha, beta, ..Gemm::set(dst, derivs.transposed(), x) })
            }
            PieceRows::Sparse { x, first, .. } => {
                keep_or_zero(context, dst, beta);
                products(context).add_gradient(dst, alpha, derivs, x, first);
            }
            PieceRows::Picked(PickedRows { table, numbers, .. }) => {
                let mut sums = context.workspace.zeros(table.rows(), derivs.cols());
                context.backend.add_to_picked_rows(sums.view_mut(), 1.0, derivs, numbers);
                context.backend.gemm(Gemm { alpha, beta, ..Gemm::set(dst, sums.view().transposed(), table) });
            }
        }
    }

    pub fn copy_to(&self, context: Context<'_>, dst: ViewMut<'_>) {
        match *self {
            PieceRows::Dense(x) => context.backend.copy(dst, x),
            PieceRows::Sparse { x, first, count } => {
                context.backend.upload(dst, &x.to_dense(first..first + count))
            }
            PieceRows::Picked(PickedRows { table, numbers, .. }) => {
                context.backend.copy_rows(dst, 1.0, table, numbers)
            }
        }
    }
}

fn keep_or_zero(context: Context<'_>, dst: ViewMut<'_>, beta: f32) {
    if beta == 0.0 {
        context.backend.set(dst, 0.0);
    }
}

fn products<'a>(context: Context<'a>) -> &'a dyn SparseProducts {
    context.backend.sparse().expect("a device that multiplies sparse rows, since somebody has made some")
}

impl<'a> RowProducts<'a> {
    /// For each block of columns of the linear part the rows of the input.
    fn blocks(&self) -> impl Iterator<Item = View<'a>> + Clone + use<'a> {
        let (input, rows, stride) = (self.input, self.deriv.rows(), self.stride);
        self.first.iter().map(move |&first| input.every(first, stride, rows))
    }

    /// The input as pieces of a minibatch with the rows of the derivative and the columns of the linear part.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'a>> + Clone + use<'a> {
        let dim = self.input.cols();
        let piece = move |(k, x)| Piece { x: PieceRows::Dense(x), columns: k * dim..(k + 1) * dim };
        self.blocks().enumerate().map(piece)
    }

    /// Distance in rows from a block's first row to the next block's, if it is constant.
    fn constant_step(&self) -> Option<usize> {
        let steps = self.first.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
        steps.reduce(|step, next| if step == next { step } else { None })?
    }

    /// Returns the filter that computes the gradient of `linear` with fewer multiplications, and its inputs. `None` if
    /// there is no filter that pays.
    pub fn filter(&self, context: Context<'_>, linear: View<'_>) -> Option<(Filter, [View<'a>; 3])> {
        if let Some(taps) = self.taps {
            let filter = taps.filter(context.backend, self.deriv.rows(), linear)?;
            return Some((filter, taps.of(self.input)));
        }
        let step = self.constant_step().filter(|step| step.is_multiple_of(self.stride))?;
        let (count, dims) = (self.first.len(), (self.input.cols(), linear.rows()));
        let filter = Filter::new(context.backend, count, step / self.stride, self.deriv.rows(), dims)?;
        let mut taps = [View::empty(); 3];
        taps.iter_mut().zip(self.blocks()).for_each(|(tap, rows)| *tap = rows);
        Some((filter, taps))
    }

    /// sums\[index\] += ‖X‖² of the blocks side by side; reads rows of several blocks once.
    pub fn add_energy(&self, context: Context<'_>, sums: &mut Accumulator, index: usize) {
        let rows = self.deriv.rows();
        if self.stride != 1 {
            return self.pieces().for_each(|piece| piece.x.add_energy(context, sums, index));
        }
        let edges = self.first.iter().flat_map(|&first| [first, first + rows]);
        let mut start = self.first.iter().copied().min().unwrap_or(0);
        while let Some(end) = edges.clone().filter(|&edge| edge > start).min() {
            let times = self.first.iter().filter(|&&first| (first..first + rows).contains(&start)).count();
            let x = self.input.row_range(start..end);
            if times > 0 {
                context.backend.accumulate_dot(sums, index, times as f64, x, x);
            }
            start = end;
        }
    }

    /// Places of the blocks' first rows among those of [`DerivsOfInput`], and the rows of the input.
    fn windows(&self, of_input: DerivsOfInput<'_>) -> ([usize; MOST_INTERLEAVED], View<'a>) {
        let DerivsOfInput { derivs, top } = of_input;
        let mut offsets = [0; MOST_INTERLEAVED];
        offsets.iter_mut().zip(self.first).for_each(|(offset, first)| *offset = first - top);
        (offsets, self.input.row_range(top..top + derivs.rows()))
    }

    /// h = X Wᵀ, where X are the blocks side by side: one product reads each row of the input once. False if [`RowProducts::of_input`]
    /// is missing or W has gaps.
    pub fn product_once(&self, context: Context<'_>, h: ViewMut<'_>, w: View<'_>) -> bool {
        let Some(of_input) = self.of_input.filter(|_| w.is_contiguous()) else { return false };
        let ((offsets, input), count) = (self.windows(of_input), self.first.len());
        let mut products = context.workspace.take(input.rows(), count * w.rows());
        let w = w.reshape(count * w.rows(), input.cols());
        context.backend.gemm(Gemm::set(products.view_mut(), input, w.transposed()));
        context.backend.sum_interleaved(h, products.view(), &offsets[..count], false);
        true
    }

    /// j = Hᵀ X likewise.
    pub fn gradient_once(&self, context: Context<'_>, j: ViewMut<'_>, h: View<'_>) -> bool {
        let Some(of_input) = self.of_input.filter(|_| j.is_contiguous()) else { return false };
        let ((offsets, input), count) = (self.windows(of_input), self.first.len());
        let mut interleaved = context.workspace.take(input.rows(), count * h.cols());
        context.backend.interleave_rows(interleaved.view_mut(), h, &offsets[..count]);
        let j = j.reshape(count * h.cols(), input.cols());
        context.backend.gemm(Gemm::set(j, interleaved.view().transposed(), input));
        true
    }

    fn add_to(&self, context: Context<'_>, linear: ViewMut<'_>, rate: f32) {
        if let Some((filter, taps)) = self.filter(context, linear.as_view()) {
            return filter.backward_params(context, linear, rate, self.deriv, &taps);
        }
        self.multiply(context, linear, rate, 1.0)
    }

    /// linear = `rate` · gradient + `beta` · linear, by plain products; `beta` is 0 or 1.
    pub fn multiply(&self, context: Context<'_>, linear: ViewMut<'_>, rate: f32, beta: f32) {
        let (backend, derivs) = (context.backend, self.deriv);
        let (dim, count) = (self.input.cols(), self.first.len());
        if let Some(DerivsOfInput { derivs, top }) = self.of_input
            && linear.is_contiguous()
        {
            let (linear, input) =
                (linear.reshape(derivs.cols(), dim), self.input.row_range(top..top + derivs.rows()));
            return context.backend.gemm(Gemm {
                alpha: rate,
                beta,
                ..Gemm::set(linear, derivs.transposed(), input)
            });
        }
        if let Some(step) = self.constant_step() {
            let inputs = self.input.row_range(self.first[0]..self.input.rows());
            let inputs = inputs.blocks((derivs.rows(), dim), self.stride, (step, 0), count);
            let derivs = derivs.blocks((derivs.rows(), derivs.cols()), 1, (0, 0), count);
            let blocks = linear.blocks((derivs.first().cols(), dim), 1, (0, dim), count);
            return backend.gemm_blocks(GemmBlocks {
                alpha: rate,
                beta,
                ..GemmBlocks::set(blocks, derivs.transposed(), inputs)
            });
        }
        for Piece { x, columns } in self.pieces() {
            x.gradient(context, linear.col_range(columns), rate, derivs, beta);
        }
    }
}

impl<'a> Products<'a> {
    /// Describes products in which each row of the input meets the same row of the derivative.
    pub fn row_by_row(input: View<'a>, deriv: View<'a>) -> Products<'a> {
        Products::Rows(RowProducts { input, deriv, first: &[0], stride: 1, taps: None, of_input: None })
    }

    /// linear += `rate` × its gradient.
    pub fn add_to_linear(&self, context: Context<'_>, linear: ViewMut<'_>, rate: f32) {
        match *self {
            Products::Rows(products) => products.add_to(context, linear, rate),
            Products::Blocks { count, input, deriv } => {
                let (rows, ins, outs) = (deriv.rows(), linear.cols(), linear.rows() / count);
                let derivs = deriv.blocks((rows, outs), 1, (0, outs), count);
                let inputs = input.blocks((rows, ins), 1, (0, ins), count);
                let blocks = linear.blocks((outs, ins), 1, (outs, 0), count);
                context.backend.gemm_blocks(GemmBlocks::add(blocks, derivs.transposed(), inputs).times(rate));
            }
            Products::Patches { plan, input, deriv } => {
                plan.backward_params(context, linear, rate, input, deriv)
            }
            Products::Pieces { pieces, deriv } => {
                for Piece { x, columns } in pieces {
                    x.gradient(context, linear.col_range(columns.clone()), rate, deriv, 1.0);
                }
            }
        }
    }

    /// The output derivatives, in rows of the bias's length.
    pub fn derivs(&self) -> View<'a> {
        match *self {
            Products::Rows(RowProducts { deriv, .. })
            | Products::Blocks { deriv, .. }
            | Products::Pieces { deriv, .. } => deriv,
            Products::Patches { plan, deriv, .. } => plan.heights(deriv),
        }
    }
}

/// The gradient of a parameter of one row is the sum of these rows.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    Sum(View<'a>),
    /// Products element by element, of input values with output derivatives.
    Products(View<'a>, View<'a>),
    /// Rows that may be overwritten, because they are no longer needed.
    Scratch(ViewMut<'a>),
}

/// Receives the gradients of the parameters of `target`, which collects their changes. Components call the methods of
/// [`Update`].
pub trait GradientSink {
    /// Tells of the parameters `linear` and `bias`, if there is one.
    fn products(&mut self, context: Context<'_>, target: &mut dyn Component, products: &Products<'_>);
    /// Receives rows, the sum of which is the gradient of the parameter `name`.
    fn rows(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, rows: Rows<'_>);
    /// Tells of the parameter of this name: its gradient, which may be overwritten.
    fn dense(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, gradient: ViewMut<'_>);
    /// The sink for a composite component's part.
    fn part(&mut self, i: usize) -> &mut dyn GradientSink;
}

/// The receiver of a backprop's results beside the derivative of the input: gradients of parameters, and statistics.
pub enum Update<'a> {
    /// No receiver.
    None,
    /// The component itself receives statistics; gradients are dropped.
    Own,
    /// The same component of another copy of the network receives statistics, and `gradients` receives gradients.
    Other { target: &'a mut dyn Component, gradients: &'a mut dyn GradientSink },
}

impl<'a> Update<'a> {
    pub fn to(target: &'a mut dyn Component, gradients: &'a mut dyn GradientSink) -> Update<'a> {
        Update::Other { target, gradients }
    }

    /// Returns the object that receives statistics; `own` is the component that runs backprop. Compute everything that
    /// reads `own` first.
    pub fn target<'t, T: Component>(self, own: &'t mut T) -> Option<&'t mut T>
    where
        'a: 't,
    {
        match self {
            Update::None => None,
            Update::Own => Some(own),
            Update::Other { target, .. } => Some(downcast_mut(target)),
        }
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Update::None)
    }

    /// True if the receiver takes gradients.
    pub fn wants_gradients(&self) -> bool {
        matches!(self, Update::Other { .. })
    }

    /// Borrows the contents of `self` for a shorter time.
    pub fn reborrow(&mut self) -> Update<'_> {
        match self {
            Update::None => Update::None,
            Update::Own => Update::Own,
            Update::Other { target, gradients } => Update::to(&mut **target, &mut **gradients),
        }
    }

    /// Tells of the gradients of the parameters `linear` and `bias`.
    pub fn products(&mut self, context: Context<'_>, products: Products<'_>) {
        if let Update::Other { target, gradients } = self {
            gradients.products(context, &mut **target, &products);
        }
    }

    /// Tells of the gradient of the parameter of this name, a row.
    pub fn rows(&mut self, context: Context<'_>, name: &str, rows: Rows<'_>) {
        if let Update::Other { target, gradients } = self {
            gradients.rows(context, &mut **target, name, rows);
        }
    }

    /// Tells of the gradient of the parameter of this name, which may be overwritten.
    pub fn dense(&mut self, context: Context<'_>, name: &str, gradient: ViewMut<'_>) {
        if let Update::Other { target, gradients } = self {
            gradients.dense(context, &mut **target, name, gradient);
        }
    }
}
