//! Algorithms shared by several components or by several update rules. They do not depend on any component type.

pub mod convolution_model;
pub mod convolution_plan;
pub mod grid;
pub mod row_ranges;
pub mod winograd;
