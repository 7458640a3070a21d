//! The primitives of a device: the interface for components, natural gradient and the executor.
//!
//! Conventions for every method: Shapes are checked with `assert!`. The compiler's checker verifies them before a run,
//! so a failure is a defect of ours. A destination comes first. Methods with many arguments take structs of them. "Sets"
//! overwrites the destination, "adds" accumulates. Row vectors are 1 × n views, column vectors n × 1. A source may be
//! the destination itself (same start, same stride) if the method says "in place allowed"; otherwise they must not
//! overlap. `assert!` refuses views of another device than `self`.

mod abilities;
mod banded;
mod broadcast;
mod columns;
mod decisions;
mod elements;
mod elementwise;
mod hmm;
mod learning;
mod lstm;
mod normalized;
mod products;
mod random;
mod rows;
mod rowwise;
mod scalars;
mod storage;
mod sums;
mod whole;

pub use abilities::Abilities;
pub use banded::BandedProducts;
pub use broadcast::{NormalizedPlus, RowsWithVectors};
pub use columns::PickedColumns;
pub use decisions::{Constant, Decision, Decisions, SumRange};
pub use elements::SingleElements;
pub use elementwise::{Activation, Elementwise, Map};
pub use hmm::HiddenMarkovModels;
pub use learning::LearningSteps;
pub use lstm::{LstmBackward, LstmSums, RecurrentCells};
pub use normalized::{Bypass, DerivBeforeRelu, Normalizations, NormalizedDeriv, NormalizedSum};
pub use products::{Gemm, GemmBlocks, GemmOf, GemmWithBias, Operand, Products, Transpose};
pub use random::RandomNumbers;
pub(crate) use rows::check_interleaved;
pub use rows::{MOST_INTERLEAVED, PickedRows};
pub use rowwise::RowFunctions;
pub use scalars::{Averages, Band, Count, Factor, Scalars, SumRatio};
pub use storage::{Memory, Storage, cached_rows};
pub use sums::{ColSumsAndDots, ColumnTerm, Reductions};
pub use whole::WholeMatrices;

/// A device with all primitives; object-safe. See the conventions of this module.
pub trait Backend:
    Send
    + Sync
    + Storage
    + Abilities
    + Products
    + WholeMatrices
    + PickedRows
    + PickedColumns
    + SingleElements
    + Elementwise
    + RowsWithVectors
    + Reductions
    + Normalizations
    + Scalars
    + Decisions
    + RowFunctions
    + RecurrentCells
    + BandedProducts
    + HiddenMarkovModels
    + LearningSteps
    + RandomNumbers
{
}
