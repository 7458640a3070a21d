//! The linear part of an affine function, in its form in memory.

use crate::parameters::row_blocks;
use nnet3_matrix::{Backend, Gemm, PanelView, Start, View, ViewMut};
use std::ops::Range;

/// The weights of O outputs for I terms.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'w> {
    /// O × I.
    Plain(View<'w>),
    /// The weights of a network that is only run, arranged for products.
    Panels(PanelView<'w>),
}

impl<'w> Weights<'w> {
    pub fn outputs(&self) -> usize {
        match self {
            Weights::Plain(linear) => linear.rows(),
            Weights::Panels(panels) => panels.outputs(),
        }
    }

    pub fn terms(&self) -> usize {
        match self {
            Weights::Plain(linear) => linear.cols(),
            Weights::Panels(panels) => panels.terms(),
        }
    }

    /// The weights for some of the terms.
    pub fn term_range(&self, terms: Range<usize>) -> Weights<'w> {
        match self {
            Weights::Plain(linear) => Weights::Plain(linear.col_range(terms)),
            Weights::Panels(panels) => Weights::Panels(panels.term_range(terms)),
        }
    }

    /// The weights of one of several taps of equal width.
    pub fn tap(&self, k: usize, taps: usize) -> Weights<'w> {
        let dim = self.terms() / taps;
        self.term_range(k * dim..(k + 1) * dim)
    }

    /// True if these weights can be added up, part by part (see [`Weights::parts`]).
    pub(crate) fn can_be_mixed(&self) -> bool {
        matches!(self, Weights::Plain(_)) || matches!(self, Weights::Panels(panels) if panels.has_numbers())
    }

    /// All numbers, in two parts. Weights of one arrangement have them at the same places.
    pub(crate) fn parts(&self) -> [View<'w>; 2] {
        match self {
            Weights::Plain(linear) => [*linear, linear.row_range(0..0)],
            Weights::Panels(panels) => panels.numbers(),
        }
    }

    /// Other numbers (1 × O · I) in the arrangement of these weights.
    pub(crate) fn like<'n>(&self, numbers: View<'n>) -> Weights<'n> {
        match self {
            Weights::Plain(linear) => Weights::Plain(numbers.reshape(linear.rows(), linear.cols())),
            Weights::Panels(panels) => Weights::Panels(panels.layout().view(numbers)),
        }
    }

    /// Returns the [`Weights::parts`] that [`Weights::like`] would give for these numbers.
    pub(crate) fn parts_like<'n>(&self, numbers: ViewMut<'n>) -> [ViewMut<'n>; 2] {
        match self {
            Weights::Plain(linear) => {
                let whole = numbers.reshape(linear.rows(), linear.cols());
                [whole, whole.row_range(0..0)]
            }
            Weights::Panels(panels) => panels.layout().parts_mut(numbers),
        }
    }

    /// output = start + Σ_k x_k W_kᵀ, where `taps` are the x_k, at least one, and these weights the W_k side by side.
    pub fn multiply<'v>(
        &self,
        backend: &dyn Backend,
        output: ViewMut<'_>,
        start: Start<'_>,
        mut taps: impl Iterator<Item = View<'v>> + Clone,
    ) {
        let linear = match self {
            Weights::Plain(linear) => *linear,
            Weights::Panels(panels) => {
                let products =
                    backend.panels().expect("weights are in panels where a device has such products");
                return products.multiply(output, start, &mut taps, *panels);
            }
        };
        let terms = taps.clone().next().map_or(0, |tap| tap.cols());
        for rows in row_blocks(backend, output.rows(), output.cols(), terms) {
            let output = output.row_range(rows.clone());
            let (mut start, mut first) = (start, 0);
            for tap in taps.clone() {
                let linear = linear.col_range(first..first + tap.cols());
                let input = tap.row_range(rows.clone());
                match start {
                    Start::Zero => backend.gemm(Gemm::set(output, input, linear.transposed())),
                    Start::Row(row) => {
                        backend.gemm_with_bias(Gemm::set(output, input, linear.transposed()).with_bias(row))
                    }
                    Start::Output => backend.gemm(Gemm::add(output, input, linear.transposed())),
                }
                (start, first) = (Start::Output, first + tap.cols());
            }
        }
    }
}
