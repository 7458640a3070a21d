//! The optimisation passes, in order.

pub mod consolidate_io;
