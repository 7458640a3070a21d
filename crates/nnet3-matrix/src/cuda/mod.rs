//! Graphics processors: the primitives as kernels, on CUDA devices, or on any other [`Engine`].
//!
//! [`GpuBackend`] turns each primitive into [`Op`]s ([`mod@launch`] chooses grids and arguments), its [`Queue`] sends
//! them in segments, and captures repeated ones as graphs. [`driver`] is the engine that talks to the CUDA driver,
//! [`kernels`] has the sources of `kernels/*.cu` and their options. All parts except the driver run in tests without a
//! GPU. See `docs/gpu.md`.

mod backend;
mod calls;
pub mod driver;
pub mod engine;
pub mod kernels;
mod launch;
mod math;
pub mod nvrtc;
pub mod op;
mod partial_sums;
pub mod queue;
mod table;

pub use backend::GpuBackend;
pub use engine::{Engine, Outcome};
pub use math::GpuMath;
pub use op::{Arg, Kind, Launch, Mat, Op, Product};
pub use partial_sums::may_add_partial_sums;
pub use queue::Queue;
