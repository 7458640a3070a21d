//! What the sums of a product with panels begin with.

/// What [`Start`](crate::panels::Start) says, with the values of the row that it names.
#[derive(Clone, Copy)]
pub(super) enum Begin<'a> {
    Zero,
    Row(&'a [f32]),
    Output,
}
