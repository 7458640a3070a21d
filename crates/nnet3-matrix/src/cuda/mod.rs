//! Graphics processors: the primitives as kernels, on CUDA devices, or on anything else that implements [`Engine`].
//!
//! [`GpuBackend`] turns each primitive into [`Op`]s ([`mod@launch`] chooses grids and arguments), its [`Queue`] sends them in
//! segments that are captured as graphs when they come again. [`driver`] is the engine that talks to the CUDA driver,
//! [`kernels`] the sources of `kernels/*.cu` and how they are compiled. Everything but the driver runs in tests without a
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
pub mod queue;
mod table;

pub use backend::GpuBackend;
pub use engine::{Engine, Outcome};
pub use math::GpuMath;
pub use op::{Arg, Kind, Launch, Mat, Op, Product};
pub use queue::Queue;
