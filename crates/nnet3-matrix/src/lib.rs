//! Internal: other people's programs use `nnet3-toolkit`, which alone follows semantic versioning.
//!
//! Matrices that live on a device, and the primitives that run on them.
//!
//! [`Backend`] is the list of primitives, one method each and a trait per kind ([`mod@backend`]). [`mod@cpu`]
//! implements them with BLAS and vectorised loops, [`mod@cuda`] with kernels. Users of this crate are written once,
//! against the trait. Memory is `f32`, row-major; a device may keep matrices between layers in half of that ([`Element`]).
//!
//! This crate follows raw pointers. A view is a pointer with a shape, so two views may name the same arena memory
//! (as in-place commands do). Each file with `unsafe` code allows it at its top.

pub mod backend;
mod bf16;
pub mod bytes;
pub mod cpu;
pub mod cuda;
pub mod element;
pub mod fault;
pub mod hmm;
mod learning_step;
pub mod low_rank;
pub mod memory;
pub mod panels;
pub mod sparse;
pub mod view;
pub mod workspace;

pub use backend::{
    Activation, Averages, Backend, Band, ColSumsAndDots, ColumnTerm, Count, Factor, Gemm, GemmBlocks,
    GemmWithBias, LstmBackward, LstmSums, Map, Memory, NormalizedPlus, Operand, SumRange, SumRatio,
    Transpose,
};
pub use cpu::{CpuMath, Helper, InHalves, cpu, cpu_with, load_library, set_num_threads};
pub use element::Element;
pub use fault::{DeviceFault, check};
pub use hmm::{Hmm, HmmArc, HmmPosteriors, HmmStep, HmmWayBack};
pub use learning_step::{Learned, LearningStep, Share, StepRule};
pub use memory::{Accumulator, Arena, Device, IndexTable, Matrix, OffsetTable, RowLists};
pub use panels::{PanelLayout, PanelProducts, PanelView, Panels, Start, WeightForm};
pub use view::{Blocks, View, ViewMut};
pub use workspace::{FormedScratch, HostScratch, Scratch, Workspace};
