//! Products at several times, on a device: the narrow side gets its times side by side, so that one product reads and
//! writes the wide side once.
//!
//! If the input is narrow, its rows of all times are copied side by side, as W has them. If the output is narrow, each row of the
//! input is multiplied with the weights of all times, and sums of these products are the output. Its columns are interleaved
//! (column K c + k belongs to time k), because the rows of W are, taken as K O rows of the input's dimension.

use crate::Context;
use nnet3_matrix::backend::MOST_INTERLEAVED;
use nnet3_matrix::{FormedScratch, Gemm, Start, View, ViewMut};
use std::ops::Range;

/// The times of a layer: N output rows, each of the input rows first\[k\] + n · stride.
#[derive(Clone, Copy)]
pub(super) struct Times<'a> {
    pub first: &'a [usize],
    pub stride: usize,
    pub outputs: usize,
    /// Columns of input and output.
    pub dims: (usize, usize),
}

/// The narrow side, if one product for all times moves less than a product for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Narrow {
    Input,
    Output,
}

impl Times<'_> {
    /// Elements that are moved without splicing, less those with it: forward and backward, for both sides.
    fn saved(&self, narrow: Narrow) -> i64 {
        let [count, n, m, i, o] =
            [self.first.len(), self.outputs, self.rows().len(), self.dims.0, self.dims.1];
        // The output is written for each time, and read for all but the first; the input's derivative is added to.
        let plain = n * (count * i + (2 * count - 1) * o) + n * count * (o + 2 * i);
        let spliced = match narrow {
            // A copy and its product; a product and what is added of it.
            Narrow::Input => n * (3 * count * i + o) + n * (o + 5 * count * i),
            // A product and sums; a copy and a product that adds.
            Narrow::Output => m * (i + 2 * count * o) + n * o + n * o + m * (2 * count * o + 2 * i),
        };
        plain as i64 - spliced as i64
    }

    /// Input rows from the first to the last one.
    fn rows(&self) -> Range<usize> {
        let (first, last) = (self.first.iter().min(), self.first.iter().max());
        let last = last.map_or(0, |last| last + (self.outputs.max(1) - 1) * self.stride + 1);
        first.copied().unwrap_or(0)..last
    }

    /// Offsets from the first of [`Times::rows`].
    fn offsets(&self) -> [usize; MOST_INTERLEAVED] {
        let (mut offsets, top) = ([0; MOST_INTERLEAVED], self.rows().start);
        offsets.iter_mut().zip(self.first).for_each(|(offset, first)| *offset = first - top);
        offsets
    }

    fn narrow(&self, context: Context<'_>) -> Option<Narrow> {
        if context.backend.is_host() || self.first.len() < 2 || self.outputs == 0 {
            return None;
        }
        // Without its own stride, an output would leave most rows of products unused.
        let fits = self.stride == 1 && self.first.len() <= MOST_INTERLEAVED;
        let choices = [(Narrow::Input, true), (Narrow::Output, fits)];
        let best =
            choices.into_iter().filter(|(_, fits)| *fits).max_by_key(|(narrow, _)| self.saved(*narrow))?.0;
        (self.saved(best) > 0).then_some(best)
    }

    /// output = start + the sum over times; false if a product for each time is as good.
    pub fn forward(
        &self,
        context: Context<'_>,
        output: ViewMut<'_>,
        input: View<'_>,
        linear: View<'_>,
        start: Start<'_>,
    ) -> bool {
        let (backend, (dim, out_dim), count) = (context.backend, self.dims, self.first.len());
        match self.narrow(context) {
            Some(Narrow::Input) => {
                let mut spliced = context.workspace.take_in(input.element(), self.outputs, count * dim);
                for (k, &first) in self.first.iter().enumerate() {
                    let columns = spliced.view_mut().col_range(k * dim..(k + 1) * dim);
                    backend.copy(columns, input.every(first, self.stride, self.outputs));
                }
                let spliced = spliced.view();
                match start {
                    Start::Zero => backend.gemm(Gemm::set(output, spliced, linear.transposed())),
                    Start::Row(row) => {
                        backend.gemm_with_bias(Gemm::set(output, spliced, linear.transposed()).with_bias(row))
                    }
                    Start::Output => backend.gemm(Gemm::add(output, spliced, linear.transposed())),
                }
            }
            Some(Narrow::Output) if linear.is_contiguous() => {
                let rows = self.rows();
                let mut products = context.workspace.take(rows.len(), count * out_dim);
                let weights = linear.reshape(count * out_dim, dim);
                backend.gemm(Gemm::set(products.view_mut(), input.row_range(rows), weights.transposed()));
                if let Start::Row(row) = start {
                    backend.set_rows(output, row);
                }
                let adds = !matches!(start, Start::Zero);
                backend.sum_interleaved(output, products.view(), &self.offsets()[..count], adds);
            }
            _ => return false,
        }
        true
    }

    /// Adds to the input's derivative; false if a product for each time is as good. `interleaved` is the result of
    /// [`Times::interleaved`].
    pub fn backward_data(
        &self,
        context: Context<'_>,
        in_deriv: ViewMut<'_>,
        out_deriv: View<'_>,
        linear: View<'_>,
        interleaved: Option<View<'_>>,
    ) -> bool {
        let (backend, (dim, out_dim), count) = (context.backend, self.dims, self.first.len());
        if let Some(interleaved) = interleaved {
            let weights = linear.reshape(count * out_dim, dim);
            backend.gemm(Gemm::add(in_deriv.row_range(self.rows()), interleaved, weights));
            return true;
        }
        if self.narrow(context) != Some(Narrow::Input) {
            return false;
        }
        let mut spliced = context.workspace.take(self.outputs, count * dim);
        backend.gemm(Gemm::set(spliced.view_mut(), out_deriv, linear));
        for (k, &first) in self.first.iter().enumerate() {
            let columns = spliced.view().col_range(k * dim..(k + 1) * dim);
            backend.add(in_deriv.every(first, self.stride, self.outputs), 1.0, columns);
        }
        true
    }

    /// For each row of the input the output's derivatives that it has a part in, if the output is the narrow side.
    pub fn interleaved<'w>(
        &self,
        context: Context<'w>,
        out_deriv: View<'_>,
        linear: View<'_>,
    ) -> Option<FormedScratch<'w>> {
        let count = self.first.len();
        if self.narrow(context) != Some(Narrow::Output) || !linear.is_contiguous() {
            return None;
        }
        let mut derivs =
            context.workspace.take_in(out_deriv.element(), self.rows().len(), count * self.dims.1);
        context.backend.interleave_rows(derivs.view_mut(), out_deriv, &self.offsets()[..count]);
        Some(derivs)
    }

    /// The first row of the input that is read.
    pub fn top(&self) -> usize {
        self.rows().start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers of tdnnf_train; products of equal sides are as they were, and so are outputs at every third time.
    #[test]
    fn the_narrow_side_is_spliced() {
        let saved = |first: &[usize], stride, outputs, dims| {
            let times = Times { first, stride, outputs, dims };
            [Narrow::Input, Narrow::Output].map(|narrow| times.saved(narrow))
        };
        // By hand, in columns: 2 · 128 + 3 · 1024 + 2 (1024 + 2 · 128) without, 6 · 128 + 1024 + 1024 + 10 · 128 with.
        assert_eq!(saved(&[0, 32], 1, 5376, (128, 1024))[0], 5376 * 1792);
        let [input, output] = saved(&[0, 32], 1, 5408, (1024, 128));
        assert!(input < 0 && output > 5408 * 1024, "{input}, {output}");
        // A distance as long as the minibatch: no row is in two products.
        assert!(saved(&[0, 1600], 1, 1600, (1024, 128))[1] < 0);
    }
}
