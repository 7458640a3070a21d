//! Weights that are arranged once for all products with them.
//!
//! A product of rows with weights W (O × I, an output's weights in a row) reads W by columns. [`Panels`] hold the
//! weights of some outputs for one term side by side, term after term; then those of the next outputs. They take the
//! place of W, with the same number of elements.

use crate::bf16::HalfWeights;
use crate::bytes::Bytes;
use crate::memory::Matrix;
use crate::view::{View, ViewMut};
use std::ops::Range;

/// In how many bits weights are kept that are only multiplied with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightForm {
    /// 32 bits, unchanged, or 16 bits (bf16) on a device whose products round so.
    #[default]
    Float,
    /// 8, rounded to whole numbers from -127 to 127 times a scale for each output. Products round the terms of a row to
    /// eight bits, too.
    Int8,
}

/// Positions of a matrix's weights in panels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanelLayout {
    /// Outputs of a panel, except the last one.
    pub(crate) width: usize,
    outputs: usize,
    terms: usize,
}

impl PanelLayout {
    pub(crate) fn new(width: usize, outputs: usize, terms: usize) -> PanelLayout {
        PanelLayout { width, outputs, terms }
    }

    /// Number of weights.
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
        PanelView {
            layout: *self,
            parts: Parts::Float([whole, values.col_range(rows * cols..values.cols())]),
        }
    }

    /// As [`PanelLayout::view`], mutable: the parts of [`PanelView::parts`].
    pub fn parts_mut<'v>(&self, values: ViewMut<'v>) -> [ViewMut<'v>; 2] {
        let (rows, cols) = (self.whole(), self.width * self.terms);
        let whole = values.col_range(0..rows * cols).reshape(rows, cols);
        [whole, values.col_range(rows * cols..values.cols())]
    }
}

/// The weights of a product, in the order in which a device reads them.
#[derive(Clone, Debug)]
pub struct Panels {
    values: Values,
    layout: PanelLayout,
}

#[derive(Clone, Debug)]
enum Values {
    /// 1 × O · I.
    Float(Matrix),
    Int8(Bytes),
    /// The form of [`WeightForm::Float`] where products round factors to bf16.
    Bf16(HalfWeights),
}

impl Panels {
    /// Makes panels. `values` holds the elements in the layout's order, in any shape.
    pub(crate) fn new(values: Matrix, layout: PanelLayout) -> Panels {
        assert_eq!(values.len(), layout.elements());
        let values = Matrix::from_buffer(values.into_buffer(), 1, layout.elements());
        Panels { values: Values::Float(values), layout }
    }

    /// Weights of eight bits, O × I.
    pub(crate) fn rounded(values: Bytes, outputs: usize, terms: usize) -> Panels {
        Panels { values: Values::Int8(values), layout: PanelLayout::new(outputs.max(1), outputs, terms) }
    }

    /// Weights of bf16, O × I.
    pub(crate) fn halves(values: HalfWeights, outputs: usize, terms: usize) -> Panels {
        Panels { values: Values::Bf16(values), layout: PanelLayout::new(outputs.max(1), outputs, terms) }
    }

    pub fn view(&self) -> PanelView<'_> {
        match &self.values {
            Values::Bf16(weights) => {
                PanelView { layout: self.layout, parts: Parts::Bf16 { weights, first: 0 } }
            }
            Values::Float(values) => self.layout.view(values.view()),
            Values::Int8(bytes) => PanelView { layout: self.layout, parts: Parts::Int8 { bytes, first: 0 } },
        }
    }
}

/// The weights for some of the terms.
#[derive(Clone, Copy, Debug)]
pub struct PanelView<'v> {
    layout: PanelLayout,
    parts: Parts<'v>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Parts<'v> {
    /// The panels of full width, a row each, and the last one.
    Float([View<'v>; 2]),
    /// From this term on.
    Int8 { bytes: &'v Bytes, first: usize },
    /// From this term on.
    Bf16 { weights: &'v HalfWeights, first: usize },
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
        assert!(terms.end <= self.terms(), "terms {terms:?} of {}", self.terms());
        let layout = PanelLayout { terms: terms.len(), ..self.layout };
        let parts = match self.parts {
            Parts::Float([whole, rest]) => {
                let columns = |width: usize| terms.start * width..terms.end * width;
                Parts::Float([whole.col_range(columns(layout.width)), rest.col_range(columns(layout.rest()))])
            }
            Parts::Int8 { bytes, first } => Parts::Int8 { bytes, first: first + terms.start },
            Parts::Bf16 { weights, first } => Parts::Bf16 { weights, first: first + terms.start },
        };
        PanelView { layout, parts }
    }

    pub fn form(&self) -> WeightForm {
        match self.parts {
            Parts::Float(_) | Parts::Bf16 { .. } => WeightForm::Float,
            Parts::Int8 { .. } => WeightForm::Int8,
        }
    }

    /// True if [`PanelView::numbers`] has the weights in 32 bits.
    pub fn has_numbers(&self) -> bool {
        matches!(self.parts, Parts::Float(_))
    }

    pub(crate) fn parts(&self) -> Parts<'v> {
        self.parts
    }

    /// All numbers: the panels of full width, a row each, and the last one. Weights of one layout have them at the same
    /// places.
    ///
    /// # Panics
    /// If there are no such numbers ([`PanelView::has_numbers`]).
    pub fn numbers(&self) -> [View<'v>; 2] {
        match self.parts {
            Parts::Float(parts) => parts,
            Parts::Int8 { .. } | Parts::Bf16 { .. } => panic!("numbers of weights that are rounded"),
        }
    }
}

/// Initial values of a product's sums.
#[derive(Clone, Copy, Debug)]
pub enum Start<'v> {
    Zero,
    /// This row, 1 × O, for each row of the output.
    Row(View<'v>),
    /// The present values of the output.
    Output,
}

/// Operations of a device with faster products for weights in panels.
pub trait PanelProducts {
    /// Arranges the weights, O × I, in panels. Those of 32 bits take the place of the matrix in memory. Weights that
    /// cannot be rounded (not finite, or too many terms) stay in 32 bits.
    fn arrange(&self, weights: Matrix, form: WeightForm) -> Panels;
    /// output = start + Σ_k x_k W_kᵀ; `taps` are the x_k (N × I each), `weights` are the W_k side by side (O × K · I),
    /// and `output` is N × O. Each element is summed term by term, in order, so that it does not depend on the number
    /// of rows.
    fn multiply(
        &self,
        output: ViewMut<'_>,
        start: Start<'_>,
        taps: &mut dyn Iterator<Item = View<'_>>,
        weights: PanelView<'_>,
    );
}
