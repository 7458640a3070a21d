//! Extraction and pooling of statistics without the statistics of each frame. Pooling needs only their sums over its
//! windows, and extraction needs only the derivatives of these sums.
//!
//! The matrix between the two is then *summed*. Column 0 still holds counts, and the backward pass ignores it. In the
//! other columns, row i belongs to window i. It holds the sums over the window's frames or, in the backward pass, the
//! derivatives of those sums. All other rows are unspecified.

use crate::pooling::{Pooling, Windows};
use crate::row_ranges::Ranges;
use crate::statistics::{Extraction, Groups};
use crate::{Backprop, Component, Context, PrecomputedIndexes, precomputed};
use nnet3_matrix::{ColSumsAndDots, View, ViewMut};
use std::any::Any;

/// If windows have at least this many frames on average, a call for each window is worth it.
const SHORTEST: usize = 8;

/// True if these are an extraction with one frame a row, of `frames` frames, and a pooling of its output in consecutive
/// windows. Then the matrix between the two can be summed.
pub fn can_sum(
    extraction: (&dyn Component, Option<&dyn PrecomputedIndexes>),
    pooling: (&dyn Component, Option<&dyn PrecomputedIndexes>),
    frames: usize,
) -> bool {
    let groups = extraction.1.and_then(|indexes| (indexes as &dyn Any).downcast_ref::<Groups>());
    let windows = pooling.1.and_then(|indexes| (indexes as &dyn Any).downcast_ref::<Windows>());
    let (Some(groups), Some(windows)) = (groups, windows) else { return false };
    extraction.0.is::<Extraction>()
        && pooling.0.is::<Pooling>()
        && groups.one_by_one(frames)
        && SHORTEST * windows.forward.count() <= frames
        && follow_each_other(&windows.forward, frames)
}

/// True if this is a pooling. Its backprop reads only the counts (column 0) of its input.
pub fn is_pooling(component: &dyn Component) -> bool {
    component.is::<Pooling>()
}

/// True if each of `frames` is in exactly one window.
fn follow_each_other(windows: &Ranges, frames: usize) -> bool {
    let mut end = 0;
    windows
        .iter()
        .all(|window| std::mem::replace(&mut end, window.end) == window.start && end >= window.start)
        && end == frames
}

/// Does the work of a [`Component::propagate`] that sets its output, for an extraction or a pooling that passed [`can_sum`], with the
/// pooling's indexes.
pub fn propagate(
    component: &dyn Component,
    context: Context<'_>,
    indexes: Option<&dyn PrecomputedIndexes>,
    windows: &dyn PrecomputedIndexes,
    input: View<'_>,
    output: ViewMut<'_>,
) {
    let windows = precomputed::<Windows>(Some(windows));
    match component.downcast_ref::<Extraction>() {
        Some(extraction) => {
            extraction.propagate_summed(context, precomputed(indexes), &windows.forward, input, output)
        }
        None => crate::downcast::<Pooling>(component).propagate_summed(context, windows, input, output),
    }
}

/// Does the work of a [`Component::backprop`] that sets its input derivative.
pub fn backprop(
    component: &dyn Component,
    context: Context<'_>,
    args: Backprop<'_>,
    windows: &dyn PrecomputedIndexes,
) {
    let Some(in_deriv) = args.in_deriv else { return };
    let windows = precomputed::<Windows>(Some(windows));
    match component.downcast_ref::<Extraction>() {
        Some(extraction) => {
            extraction.backprop_summed(context, &windows.forward, args.in_value, args.out_deriv, in_deriv)
        }
        None => {
            let pooling = crate::downcast::<Pooling>(component);
            let derivs = in_deriv.row_range(0..args.out_deriv.rows()).col_range(1..pooling.input_dim());
            pooling.derivs_of_sums(context, windows, &args, derivs);
        }
    }
}

impl Extraction {
    fn propagate_summed(
        &self,
        context: Context<'_>,
        groups: &Groups,
        windows: &Ranges,
        input: View<'_>,
        output: ViewMut<'_>,
    ) {
        context.backend.upload(output.col_range(0..1), groups.counts());
        for (i, window) in windows.iter().enumerate() {
            let (frames, row) = (input.row_range(window), output.row(i));
            let sums = row.col_range(self.sums());
            match self.include_variance() {
                true => {
                    let dots = row.col_range(self.square_sums());
                    let (a, b) = (frames, frames);
                    let both = ColSumsAndDots { sums, sums_factor: 1.0, dots, dots_factor: 1.0, a, b };
                    context.backend.col_sums_and_dots(both)
                }
                false => context.backend.col_sums(sums, 1.0, frames, 0.0),
            }
        }
    }

    fn backprop_summed(
        &self,
        context: Context<'_>,
        windows: &Ranges,
        in_value: View<'_>,
        out_deriv: View<'_>,
        in_deriv: ViewMut<'_>,
    ) {
        let backend = context.backend;
        let mut doubled = context.workspace.take(1, in_deriv.cols());
        let doubled = doubled.view_mut();
        for (i, window) in windows.iter().enumerate() {
            let (frames, derivs) = (in_deriv.row_range(window.clone()), out_deriv.row_range(i..i + 1));
            let of_sums = derivs.col_range(self.sums());
            if self.include_variance() {
                backend.copy_scaled(doubled, 2.0, derivs.col_range(self.square_sums()));
                backend.affine_cols(frames, in_value.row_range(window), doubled.as_view(), of_sums);
            } else {
                backend.set_rows(frames, of_sums);
            }
        }
    }
}

impl Pooling {
    fn propagate_summed(
        &self,
        context: Context<'_>,
        windows: &Windows,
        input: View<'_>,
        output: ViewMut<'_>,
    ) {
        let sums = input.row_range(0..output.rows()).col_range(1..self.input_dim());
        context.backend.copy(output.col_range(self.statistics()), sums);
        self.finish(context, windows, input, output);
    }
}
