//! The host: BLAS for products, vectorised loops for all other primitives.

// Loops by index over several arrays at once are the most readable form here, and the vectoriser takes them.
#![allow(clippy::needless_range_loop)]

mod access;
mod banded;
mod begin;
mod blas;
mod broadcast;
mod columns;
mod decisions;
mod elements;
mod elementwise;
mod hmm;
mod lanes;
mod learning;
mod lstm;
mod math;
mod normalized;
mod products;
mod random;
mod rows;
mod rowwise;
mod scalars;
mod simd;
mod sparse;
mod storage;
mod sums;
mod vector;
mod whole;

use crate::backend::{Abilities, Backend};
use crate::memory::Device;
use crate::panels::PanelProducts;
use crate::sparse::SparseProducts;
pub use blas::{library_name, load_library};
pub use products::gemm::{library_product, set_num_threads};
pub use products::halves::{Helper, InHalves};
use products::{halves, nontemporal, pages};
pub use simd::{VectorLevel, run_plain, set_vector_level, vector_level};
use std::sync::{Arc, OnceLock};

/// The host as a device. There is one per process: [`cpu`].
pub(crate) struct CpuBackend {
    _private: (),
}

/// The process-wide host device.
pub fn cpu() -> Device {
    static CPU: OnceLock<Arc<CpuBackend>> = OnceLock::new();
    CPU.get_or_init(|| Arc::new(CpuBackend { _private: () })).clone()
}

impl Backend for CpuBackend {}

impl Abilities for CpuBackend {
    fn sparse(&self) -> Option<&dyn SparseProducts> {
        Some(self)
    }
    fn panels(&self) -> Option<&dyn PanelProducts> {
        Some(self)
    }
}
