//! What the sums of a product with panels begin with.

/// As [`Start`](crate::panels::Start), with the row that it is.
#[derive(Clone, Copy)]
pub(super) enum Begin<'a> {
    Zero,
    Row(&'a [f32]),
    Output,
}
