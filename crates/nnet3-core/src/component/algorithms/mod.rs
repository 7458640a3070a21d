//! Algorithms that several components, or several rules that learn, have in common. Nothing here knows a type of
//! component.

pub mod convolution_model;
pub mod convolution_plan;
pub mod grid;
pub mod row_ranges;
pub mod winograd;
