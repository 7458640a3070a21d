//! Initial values of the sums in a product with panels.

/// The values of a [`Start`](crate::panels::Start), with the elements of its row.
#[derive(Clone, Copy)]
pub(super) enum Begin<'a> {
    Zero,
    Row(&'a [f32]),
    Output,
}
