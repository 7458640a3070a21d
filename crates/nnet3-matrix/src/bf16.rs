//! Numbers of 16 bits (bf16) in pairs, as instructions multiply them: two terms of a sum for each of sixteen outputs.

use crate::cpu::Kernel;

/// Pairs side by side.
pub(crate) const LANES: usize = 16;

/// Sixteen pairs. The first term of a pair is in the lower half.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Line(pub [u32; LANES]);

impl Line {
    pub const ZERO: Line = Line([0; LANES]);
}

/// Weights, O × I, rounded to bf16.
#[derive(Clone, Debug)]
pub(crate) struct HalfWeights {
    /// Blocks of sixteen outputs, in each a line for two terms; zeros pad missing outputs and terms.
    pub lines: Vec<Line>,
    /// Lines of a block.
    pub pairs: usize,
    /// Multiplies with them, on any backend of the host.
    pub kernel: Kernel,
}
