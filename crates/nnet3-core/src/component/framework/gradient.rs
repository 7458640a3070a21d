//! The interface by which backprop reports the gradients of parameters.
//!
//! A component knows what the gradients of its parameters are made of. It knows no learning rate, no rule that turns
//! a gradient into a change, and no thread: all that is behind [`GradientSink`].

use crate::component::convolution_plan::Plan;
use crate::component::winograd::{Filter, Taps};
use crate::component::{Component, Context, downcast_mut};
use nnet3_matrix::{Transpose::No, Transpose::Yes, View, ViewMut};
use std::ops::Range;

/// The gradient of a linear part is a sum of products of output derivatives with what they were made of; that of a bias is
/// the sum of the output derivatives.
#[derive(Clone, Copy)]
pub enum Products<'a> {
    Rows(RowProducts<'a>),
    /// The gradient is block-diagonal: the input and the derivative are N × (blocks · something), each block of
    /// columns of the one meets that of the other, and their product is a block of rows of the linear part.
    Blocks {
        count: usize,
        input: View<'a>,
        deriv: View<'a>,
    },
    /// The input is what the plan of a convolution gathers.
    Patches {
        plan: &'a Plan,
        input: View<'a>,
        deriv: View<'a>,
    },
}

/// For each block of columns of the linear part, as many as there are in `first`, some rows of the input meet all rows of
/// the derivative.
#[derive(Clone, Copy)]
pub struct RowProducts<'a> {
    pub input: View<'a>,
    /// N × O.
    pub deriv: View<'a>,
    /// The first row for each block.
    pub first: &'a [usize],
    /// The distance from a row to the next.
    pub stride: usize,
    /// What is known of the columns of an input with one block.
    pub taps: Option<Taps>,
}

/// Some columns of a minibatch X. All pieces have as many rows.
#[derive(Clone)]
pub struct Piece<'a> {
    pub x: View<'a>,
    /// Which columns of X these are.
    pub columns: Range<usize>,
}

impl<'a> Piece<'a> {
    pub fn row_range(&self, rows: Range<usize>) -> Piece<'a> {
        Piece { x: self.x.row_range(rows), columns: self.columns.clone() }
    }
}

impl<'a> RowProducts<'a> {
    /// The input as a minibatch of as many rows as the derivative, and of the linear part's columns.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = Piece<'a>> + Clone + use<'a> {
        let (input, rows, stride, dim) = (self.input, self.deriv.rows(), self.stride, self.input.cols());
        let piece = move |(k, &first): (usize, &usize)| Piece {
            x: input.every(first, stride, rows),
            columns: k * dim..(k + 1) * dim,
        };
        self.first.iter().enumerate().map(piece)
    }

    /// Rows from the first one of a block to that of the next, if that is always the same.
    fn constant_step(&self) -> Option<usize> {
        let steps = self.first.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
        steps.reduce(|step, next| if step == next { step } else { None })?
    }

    /// The way to the gradient of `linear` with fewer multiplications, where there is one that pays, and what it reads.
    pub fn filter(&self, context: Context<'_>, linear: View<'_>) -> Option<(Filter, [View<'a>; 3])> {
        if let Some(taps) = self.taps {
            let filter = taps.filter(context.backend, self.deriv.rows(), linear)?;
            return Some((filter, taps.of(self.input)));
        }
        let step = self.constant_step().filter(|step| step.is_multiple_of(self.stride))?;
        let (count, dims) = (self.first.len(), (self.input.cols(), linear.rows()));
        let filter = Filter::new(context.backend, count, step / self.stride, self.deriv.rows(), dims)?;
        let mut taps = [View::empty(); 3];
        taps.iter_mut().zip(self.pieces()).for_each(|(tap, piece)| *tap = piece.x);
        Some((filter, taps))
    }

    fn add_to(&self, context: Context<'_>, linear: ViewMut<'_>, rate: f32) {
        let (backend, derivs) = (context.backend, self.deriv);
        if let Some((filter, taps)) = self.filter(context, linear.as_view()) {
            return filter.backward_params(context, linear, rate, derivs, &taps);
        }
        let (dim, count) = (self.input.cols(), self.first.len());
        if let Some(step) = self.constant_step() {
            let inputs = self.input.row_range(self.first[0]..self.input.rows());
            let inputs = inputs.blocks((derivs.rows(), dim), self.stride, (step, 0), count);
            let derivs = derivs.blocks((derivs.rows(), derivs.cols()), 1, (0, 0), count);
            let blocks = linear.blocks((derivs.first().cols(), dim), 1, (0, dim), count);
            return backend.gemm_blocks(blocks, rate, derivs, Yes, inputs, No, 1.0);
        }
        for Piece { x, columns } in self.pieces() {
            backend.gemm(linear.col_range(columns), rate, derivs, Yes, x, No, 1.0);
        }
    }
}

impl<'a> Products<'a> {
    /// Describes products in which each row of the input meets the same row of the derivative.
    pub(crate) fn row_by_row(input: View<'a>, deriv: View<'a>) -> Products<'a> {
        Products::Rows(RowProducts { input, deriv, first: &[0], stride: 1, taps: None })
    }

    /// linear += `rate` × its gradient.
    pub(crate) fn add_to_linear(&self, context: Context<'_>, linear: ViewMut<'_>, rate: f32) {
        match *self {
            Products::Rows(products) => products.add_to(context, linear, rate),
            Products::Blocks { count, input, deriv } => {
                let (rows, ins, outs) = (deriv.rows(), linear.cols(), linear.rows() / count);
                let derivs = deriv.blocks((rows, outs), 1, (0, outs), count);
                let inputs = input.blocks((rows, ins), 1, (0, ins), count);
                let blocks = linear.blocks((outs, ins), 1, (outs, 0), count);
                context.backend.gemm_blocks(blocks, rate, derivs, Yes, inputs, No, 1.0);
            }
            Products::Patches { plan, input, deriv } => {
                plan.backward_params(context, linear, rate, input, deriv)
            }
        }
    }

    /// The output derivatives, in rows of the bias's length.
    pub fn derivs(&self) -> View<'a> {
        match *self {
            Products::Rows(RowProducts { deriv, .. }) | Products::Blocks { deriv, .. } => deriv,
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
    /// The rows are not needed any more, and may be overwritten.
    Scratch(ViewMut<'a>),
}

/// Who is told of gradients of the parameters of `target`, which collects their changes. Components call the methods of
/// [`Update`].
pub trait GradientSink {
    /// Tells of the parameters `linear` and `bias`, if there is one.
    fn products(&mut self, context: Context<'_>, target: &mut dyn Component, products: &Products<'_>);
    /// Tells of rows whose sum is the gradient of the parameter `name`.
    fn rows(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, rows: Rows<'_>);
    /// Tells of the parameter of this name: its gradient, which may be overwritten.
    fn dense(&mut self, context: Context<'_>, target: &mut dyn Component, name: &str, gradient: ViewMut<'_>);
    /// The sink for a composite component's part.
    fn part(&mut self, i: usize) -> &mut dyn GradientSink;
}

/// Who receives what a backprop has beside the derivative of the input: gradients of parameters, and statistics.
pub enum Update<'a> {
    /// Nobody receives anything.
    None,
    /// The component itself receives statistics; nobody receives gradients.
    Own,
    /// The same component of another copy of the network receives statistics, and `gradients` is told of gradients.
    Other { target: &'a mut dyn Component, gradients: &'a mut dyn GradientSink },
}

impl<'a> Update<'a> {
    pub fn to(target: &'a mut dyn Component, gradients: &'a mut dyn GradientSink) -> Update<'a> {
        Update::Other { target, gradients }
    }

    /// The object that receives statistics; `own` is the component that runs backprop. Compute everything that reads `own`
    /// first.
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

    /// Whether somebody wants gradients.
    pub(crate) fn wants_gradients(&self) -> bool {
        matches!(self, Update::Other { .. })
    }

    /// Borrows what `self` borrows, for a shorter time.
    pub(crate) fn reborrow(&mut self) -> Update<'_> {
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
