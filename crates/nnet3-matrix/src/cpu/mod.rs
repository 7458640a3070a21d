//! The host: BLAS for products, vectorised loops for all other primitives.

// Loops by index over several arrays at once are the most readable form here, and the vectoriser takes them.
#![allow(clippy::needless_range_loop)]

mod access;
mod arithmetic;
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
mod sparse;
mod storage;
mod sums;
mod whole;

use crate::backend::{Abilities, Backend};
use crate::memory::Device;
use crate::panels::PanelProducts;
use crate::sparse::SparseProducts;
use arithmetic::Arithmetic;
pub use arithmetic::{CpuMath, NoBf16, UnknownCpuMath, cpu_with, cpu_with_plain_bf16};
pub use blas::{library_name, load_library};
pub use kaldi_simd::{VectorLevel, run_plain, set_vector_level, vector_level};
pub(crate) use products::bf16::Kernel;
pub use products::gemm::{library_product, set_num_threads};
pub use products::halves::{Helper, InHalves};
use products::{halves, nontemporal, pages};
use std::sync::{Arc, OnceLock};

/// The host as a device. There is one per process for each arithmetic of products: [`cpu`], [`cpu_with`].
pub(crate) struct CpuBackend {
    arithmetic: Arithmetic,
}

/// The process-wide host device, which multiplies in floats.
pub fn cpu() -> Device {
    in_floats().clone()
}

fn in_floats() -> &'static Arc<CpuBackend> {
    static CPU: OnceLock<Arc<CpuBackend>> = OnceLock::new();
    CPU.get_or_init(|| Arc::new(CpuBackend { arithmetic: Arithmetic::Floats }))
}

impl Backend for CpuBackend {}

impl Abilities for CpuBackend {
    fn sparse(&self) -> Option<&dyn SparseProducts> {
        Some(self)
    }
    fn panels(&self) -> Option<&dyn PanelProducts> {
        Some(self)
    }
    fn in_floats(&self) -> Option<&dyn Backend> {
        match self.arithmetic {
            Arithmetic::Floats => None,
            Arithmetic::Halves(_) => Some(&**in_floats()),
        }
    }
    fn kernel(&self) -> String {
        match self.arithmetic {
            Arithmetic::Floats => format!("fp32, {} and kernels for {:?}", library_name(), vector_level()),
            Arithmetic::Halves(kernel) => format!("bf16, {kernel}"),
        }
    }
}
