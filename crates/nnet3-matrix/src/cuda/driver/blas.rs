//! Products by cuBLAS.

use super::context;
use super::fault::{Fault, blas, cuda};
use crate::backend::Transpose;
use crate::cuda::calls::{SUCCESS, cublas, driver};
use crate::cuda::math::GpuMath;
use crate::cuda::op::{Mat, Product};
use crate::element::Element;
use cudarc::cublas::sys::{
    cublasComputeType_t, cublasGemmAlgo_t, cublasHandle_t, cublasOperation_t, cudaDataType,
};
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;

/// Memory for cuBLAS itself; its own would be allocated while a graph is captured. NVIDIA recommends this size for
/// Hopper.
const WORKSPACE: usize = 32 << 20;

pub(super) struct Blas {
    handle: cublasHandle_t,
    workspace: u64,
    compute: cublasComputeType_t,
}

// SAFETY: a handle may be used from any thread, one at a time; the queue's lock sees to that.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

impl Blas {
    /// Opens the library in the current context.
    pub fn new(stream: CUstream, math: GpuMath) -> Result<Blas, Fault> {
        let compute = match math {
            GpuMath::Fp32 => cublasComputeType_t::CUBLAS_COMPUTE_32F,
            GpuMath::Tf32 => cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
            GpuMath::Bf16 => cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_16BF,
        };
        let mut out = Blas { handle: std::ptr::null_mut(), workspace: 0, compute };
        // Callers that wait for a device try again repeatedly, so failures must not leak.
        out.start(stream).inspect_err(|_| out.free())?;
        Ok(out)
    }

    fn start(&mut self, stream: CUstream) -> Result<(), Fault> {
        // SAFETY: places for a handle and an address; freed by `free`. The stream outlives the handle. Setting it takes away
        // the workspace, so that comes last.
        unsafe {
            match cublas::cublasCreate_v2(&mut self.handle) {
                SUCCESS => {}
                status => return Err(Fault::BlasStart { status, driver: context::driver_version()? }),
            }
            blas("cublasSetStream", cublas::cublasSetStream_v2(self.handle, stream.cast()))?;
            cuda("cuMemAlloc", driver::cuMemAlloc_v2(&mut self.workspace, WORKSPACE))?;
            let memory = self.workspace as usize as *mut c_void;
            blas("cublasSetWorkspace", cublas::cublasSetWorkspace_v2(self.handle, memory, WORKSPACE))
        }
    }

    /// Address and bytes of the library's memory, for other products in the same stream.
    pub fn workspace(&self) -> (u64, usize) {
        (self.workspace, WORKSPACE)
    }

    pub fn version(&self) -> Result<i32, Fault> {
        let mut version = 0;
        // SAFETY: a place for a number.
        blas("cublasGetVersion", unsafe { cublas::cublasGetVersion_v2(self.handle, &mut version) })?;
        Ok(version)
    }

    /// Queues a product, or several. cuBLAS is column-major: to it our row-major matrices are their transposes, so it
    /// computes cᵀ = op(b)ᵀ · op(a)ᵀ.
    pub fn multiply(&self, p: &Product) -> Result<(), Fault> {
        let operation = |t| match t {
            Transpose::No => cublasOperation_t::CUBLAS_OP_N,
            Transpose::Yes => cublasOperation_t::CUBLAS_OP_T,
        };
        let (op_b, op_a) = (operation(p.transpose_b), operation(p.transpose_a));
        let (m, n, k) = (p.c.cols as i32, p.c.rows as i32, p.inner() as i32);
        let pointer = |m: Mat| m.address as usize as *mut c_void;
        let (alpha, beta): (*const c_void, *const c_void) =
            ((&raw const p.alpha).cast(), (&raw const p.beta).cast());
        let (a, b, c) = (pointer(p.a), pointer(p.b), pointer(p.c));
        let (lda, ldb, ldc) = (leading(p.a), leading(p.b), leading(p.c));
        let [step_c, step_a, step_b] = p.steps.map(|step| step as i64);
        let kind = |m: Mat| match m.element {
            Element::Float => cudaDataType::CUDA_R_32F,
            Element::Half => cudaDataType::CUDA_R_16BF,
        };
        let [kind_a, kind_b, kind_c] = [p.a, p.b, p.c].map(kind);
        // Halves are multiplied as they are.
        let compute = match p.a.element {
            Element::Float => self.compute,
            Element::Half => cublasComputeType_t::CUBLAS_COMPUTE_32F,
        };
        let algorithm = cublasGemmAlgo_t::CUBLAS_GEMM_DFALT;
        // SAFETY: the matrices are in memory of this device that lives until the queue has been emptied; their shapes
        // fit (checked when the product was queued).
        #[rustfmt::skip]
        let status = unsafe {
            match p.count {
                1 => cublas::cublasGemmEx(
                    self.handle, op_b, op_a, m, n, k, alpha, b, kind_b, ldb, a, kind_a, lda, beta, c, kind_c, ldc, compute,
                    algorithm,
                ),
                count => cublas::cublasGemmStridedBatchedEx(
                    self.handle, op_b, op_a, m, n, k, alpha, b, kind_b, ldb, step_b, a, kind_a, lda, step_a, beta, c, kind_c,
                    ldc, step_c, count as i32, compute, algorithm,
                ),
            }
        };
        blas("a product by cuBLAS", status)
    }

    /// Frees the handle and its memory. Must be called in the context, after the last work has finished.
    pub fn free(&mut self) {
        // SAFETY: each item is freed once; errors at the end have no effect.
        unsafe {
            if !self.handle.is_null() {
                let _ = cublas::cublasDestroy_v2(std::mem::replace(&mut self.handle, std::ptr::null_mut()));
            }
            if self.workspace != 0 {
                let _ = driver::cuMemFree_v2(std::mem::take(&mut self.workspace));
            }
        }
    }
}

/// Elements from one row to the next; a single row may have any stride, but cuBLAS requires at least its width.
pub(super) fn leading(m: Mat) -> i32 {
    let stride = if m.rows <= 1 { m.cols } else { m.stride };
    i32::try_from(stride).expect("a stride below 2^31")
}
