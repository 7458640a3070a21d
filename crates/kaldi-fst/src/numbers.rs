//! Numbers of states and labels.

/// A position in [`Fst::states`](crate::fst::Fst::states).
pub type StateId = u32;

/// The label of arcs without input or output.
pub const EPSILON: i32 = 0;
