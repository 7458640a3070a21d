//! Weights that are arranged once for all products with them.
//!
//! A product of rows with weights W (O × I, an output's weights in a row) reads W by columns. [`Panels`] hold the weights of
//! some outputs for one term side by side, term after term; then those of the next outputs. They take the place of W: there
//! are as many numbers, none of them twice.

use crate::memory::Matrix;
use crate::view::{View, ViewMut};
use std::ops::Range;

/// Where the weights of a matrix are in panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanelLayout {
    /// Outputs of a panel, but for the last one.
    pub(crate) width: usize,
    outputs: usize,
    terms: usize,
}

impl PanelLayout {
    pub(crate) fn new(width: usize, outputs: usize, terms: usize) -> PanelLayout {
        PanelLayout { width, outputs, terms }
    }

    /// How many numbers these are.
    pub fn elements(&self) -> usize {
        self.outputs * self.terms
    }

    /// Outputs of the last panel, if these are fewer than of the others.
    pub(crate) fn rest(&self) -> usize {
        self.outputs % self.width
    }

    fn whole(&self) -> usize {
        self.outputs / self.width
    }

    /// The same places of `values`, 1 × [`PanelLayout::elements`].
    pub fn view<'v>(&self, values: View<'v>) -> PanelView<'v> {
        let (rows, cols) = (self.whole(), self.width * self.terms);
        let whole = values.col_range(0..rows * cols).reshape(rows, cols);
        PanelView { layout: *self, whole, rest: values.col_range(rows * cols..values.cols()) }
    }

    /// As [`PanelLayout::view`], to be written: what [`PanelView::parts`] has.
    pub fn parts_mut<'v>(&self, values: ViewMut<'v>) -> [ViewMut<'v>; 2] {
        let (rows, cols) = (self.whole(), self.width * self.terms);
        let whole = values.col_range(0..rows * cols).reshape(rows, cols);
        [whole, values.col_range(rows * cols..values.cols())]
    }
}

/// The weights of a product, in the order in which a device reads them.
#[derive(Clone, Debug)]
pub struct Panels {
    /// 1 × O · I.
    values: Matrix,
    layout: PanelLayout,
}

impl Panels {
    pub(crate) fn new(values: Matrix, layout: PanelLayout) -> Panels {
        assert_eq!((values.rows(), values.cols()), (1, layout.elements()));
        Panels { values, layout }
    }

    pub fn view(&self) -> PanelView<'_> {
        self.layout.view(self.values.view())
    }

    pub(crate) fn parts_mut(&mut self) -> [ViewMut<'_>; 2] {
        self.layout.parts_mut(self.values.view_mut())
    }
}

/// The weights for some of the terms.
#[derive(Clone, Copy, Debug)]
pub struct PanelView<'v> {
    layout: PanelLayout,
    whole: View<'v>,
    rest: View<'v>,
}

impl<'v> PanelView<'v> {
    pub fn outputs(&self) -> usize {
        self.layout.outputs
    }
    pub fn terms(&self) -> usize {
        self.layout.terms
    }
    pub fn layout(&self) -> PanelLayout {
        self.layout
    }

    /// The weights for these terms only.
    pub fn term_range(&self, terms: Range<usize>) -> PanelView<'v> {
        let PanelLayout { width, .. } = self.layout;
        let rest = self.layout.rest();
        PanelView {
            layout: PanelLayout { terms: terms.len(), ..self.layout },
            whole: self.whole.col_range(terms.start * width..terms.end * width),
            rest: self.rest.col_range(terms.start * rest..terms.end * rest),
        }
    }

    /// All numbers: the panels of full width, a row each, and the last one. Weights of one layout have them at the same places.
    pub fn parts(&self) -> [View<'v>; 2] {
        [self.whole, self.rest]
    }
}

/// What the sums of a product begin with.
#[derive(Clone, Copy, Debug)]
pub enum Start<'v> {
    Zero,
    /// This row, 1 × O, for each row of the output.
    Row(View<'v>),
    /// What the output holds.
    Output,
}

/// What a device can do whose products are faster with weights in panels.
pub trait PanelProducts {
    /// The weights, O × I, in panels.
    fn arrange(&self, weights: View<'_>) -> Panels;
    /// output = start + Σ_k x_k W_kᵀ; `taps` are the x_k, N × I each, `weights` the W_k side by side, O × K · I, `output` is N × O.
    /// Each element is summed term by term, in order: it does not depend on the number of rows.
    fn multiply(
        &self,
        output: ViewMut<'_>,
        start: Start<'_>,
        taps: &mut dyn Iterator<Item = View<'_>>,
        weights: PanelView<'_>,
    );
}
