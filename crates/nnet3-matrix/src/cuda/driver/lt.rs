//! Products by cuBLASLt: with biases, and with one algorithm for each shape.
//!
//! cuBLASLt is asked once for an algorithm for a shape, before the first product of that shape. [`may_add_partial_sums`] says
//! whether it may sum in parts. Parts are added up in a fixed order, never by atomic additions. So the same product gives the
//! same bytes each time.

use super::blas::leading;
use super::fault::{Fault, blas};
use crate::backend::Transpose;
use crate::cuda::calls::{SUCCESS, cublaslt};
use crate::cuda::math::GpuMath;
use crate::cuda::op::{Mat, Op, Product};
use crate::cuda::partial_sums::may_add_partial_sums;
use crate::element::Element;
use cudarc::cublas::sys::cublasOperation_t;
use cudarc::cublaslt::sys::{self, cudaDataType_t};
use cudarc::driver::sys::CUstream;
use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard};

/// Number of shapes with plans; more are forgotten before the next work is prepared.
const MOST_PLANS: usize = 4096;

/// Largest alignment that matters to an algorithm, in bytes.
const MOST_ALIGNMENT: u32 = 256;

/// Alignment of a bias that all algorithms can read, in bytes. The library asks for alignments of matrices only.
const BIAS_ALIGNMENT: u64 = 16;

/// cuBLASLt on one device.
pub(super) struct Lt {
    handle: sys::cublasLtHandle_t,
    stream: CUstream,
    /// Address and bytes of memory for partial sums, which belongs to cuBLAS.
    workspace: (u64, usize),
    compute: sys::cublasComputeType_t,
    multiprocessors: u32,
    /// A plan for each shape; `None` if the library has no algorithm for it.
    plans: Mutex<HashMap<Shape, Option<Plan>>>,
}

// SAFETY: a handle may be used from any thread, one at a time; the queue's lock sees to that.
unsafe impl Send for Lt {}
// SAFETY: as above.
unsafe impl Sync for Lt {}

/// The properties of a product that an algorithm depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    /// Rows, columns and terms.
    sides: [u32; 3],
    transposed: [bool; 2],
    /// Elements from one row to the next, and from one matrix to the next, of c, a and b.
    leading: [i32; 3],
    steps: [u64; 3],
    count: u32,
    /// Forms of c, a and b.
    elements: [Element; 3],
    /// Bytes of which the addresses of all these matrices are multiples.
    alignments: [u32; 3],
    has_bias: bool,
}

impl Shape {
    fn of(p: &Product) -> Shape {
        let mats = [p.c, p.a, p.b];
        let steps = if p.count == 1 { [0; 3] } else { p.steps };
        let alignment =
            |k: usize| alignment(mats[k].address | (mats[k].address_of(steps[k]) - mats[k].address));
        Shape {
            sides: [p.c.rows, p.c.cols, p.inner()],
            transposed: [p.transpose_a, p.transpose_b].map(|t| t == Transpose::Yes),
            leading: mats.map(leading),
            steps,
            count: p.count,
            elements: mats.map(|m| m.element),
            alignments: [0, 1, 2].map(alignment),
            has_bias: p.bias.is_some(),
        }
    }
}

/// The largest power of two that divides the address, up to a limit.
fn alignment(address: u64) -> u32 {
    1 << address.trailing_zeros().min(MOST_ALIGNMENT.ilog2())
}

/// True if the library can add the product's bias.
fn can_add_bias(p: &Product) -> bool {
    p.bias.is_none_or(|bias| bias.address.is_multiple_of(BIAS_ALIGNMENT) && p.count == 1)
}

/// Descriptors and the algorithm of the products of a shape. Not bound to a context.
struct Plan {
    product: sys::cublasLtMatmulDesc_t,
    /// Descriptors of c, a and b.
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: each was made by the library and is destroyed once. An error cannot be handled here.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                let _ = cublaslt::cublasLtMatrixLayoutDestroy(layout);
            }
            if !self.product.is_null() {
                let _ = cublaslt::cublasLtMatmulDescDestroy(self.product);
            }
        }
    }
}

/// Limits on the choice of an algorithm.
struct Preference(sys::cublasLtMatmulPreference_t);

impl Drop for Preference {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made by the library and no longer used. An error cannot be handled here.
            let _ = unsafe { cublaslt::cublasLtMatmulPreferenceDestroy(self.0) };
        }
    }
}

/// Success, or the library's status.
type Status<T = ()> = Result<T, u32>;

fn status(status: u32) -> Status {
    if status == SUCCESS { Ok(()) } else { Err(status) }
}

/// Passes a value's address and size to a function that copies it.
fn with_bytes<T: Copy>(value: T, set: impl FnOnce(*const c_void, usize) -> u32) -> Status {
    status(set((&raw const value).cast(), size_of::<T>()))
}

impl Plan {
    /// The descriptors, without an algorithm.
    fn describe(p: &Product, compute: sys::cublasComputeType_t) -> Status<Plan> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let algorithm = sys::cublasLtMatmulAlgo_t { data: [0; 8] };
        let mut plan = Plan { product: null_mut(), layouts: [null_mut(); 3], algorithm };
        // Halves are multiplied as they are.
        let compute = match p.a.element {
            Element::Float => compute,
            Element::Half => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
        };
        let scale = cudaDataType_t::CUDA_R_32F;
        // SAFETY: a place for a descriptor, destroyed when dropped.
        status(unsafe { cublaslt::cublasLtMatmulDescCreate(&mut plan.product, compute, scale) })?;
        // The library is column-major: its first factor is our second one, and the product is cᵀ.
        plan.attribute(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, operation(p.transpose_b))?;
        plan.attribute(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, operation(p.transpose_a))?;
        if let Some(bias) = p.bias {
            let epilogue = sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS as u32;
            plan.attribute(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue)?;
            plan.set_bias(bias)?;
        }
        let matrices = [p.c, p.a, p.b].into_iter().zip(p.steps);
        for (layout, (m, step)) in plan.layouts.iter_mut().zip(matrices) {
            let (rows, cols, leading) = (u64::from(m.cols), u64::from(m.rows), i64::from(leading(m)));
            let kind = match m.element {
                Element::Float => cudaDataType_t::CUDA_R_32F,
                Element::Half => cudaDataType_t::CUDA_R_16BF,
            };
            // SAFETY: a place for a descriptor, destroyed when dropped.
            status(unsafe { cublaslt::cublasLtMatrixLayoutCreate(layout, kind, rows, cols, leading) })?;
            if p.count > 1 {
                use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
                // SAFETY: the layout was just made; the library copies the value, which is of the attribute's type.
                let set = |which, value: *const c_void, bytes| unsafe {
                    cublaslt::cublasLtMatrixLayoutSetAttribute(*layout, which, value, bytes)
                };
                let (count, step) = (p.count as i32, step as i64);
                with_bytes(count, |v, n| set(Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, v, n))?;
                with_bytes(step, |v, n| set(Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, v, n))?;
            }
        }
        Ok(plan)
    }

    fn attribute<T: Copy>(&self, which: sys::cublasLtMatmulDescAttributes_t, value: T) -> Status {
        // SAFETY: the descriptor is alive; the library copies the value, which is of the attribute's type.
        with_bytes(value, |value, bytes| unsafe {
            cublaslt::cublasLtMatmulDescSetAttribute(self.product, which, value, bytes)
        })
    }

    /// Sets the address of the bias, which differs among products of one shape.
    fn set_bias(&self, bias: Mat) -> Status {
        self.attribute(sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.address)
    }
}

/// A transposition as the library's number.
fn operation(t: Transpose) -> i32 {
    match t {
        Transpose::No => cublasOperation_t::CUBLAS_OP_N as i32,
        Transpose::Yes => cublasOperation_t::CUBLAS_OP_T as i32,
    }
}

/// Limits for an algorithm: memory, partial sums, and the alignments of b, a and c.
fn preference(bytes: usize, partial_sums: bool, alignments: [u32; 3]) -> Status<Preference> {
    use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;
    use sys::cublasLtReductionScheme_t as Scheme;
    let mut out = Preference(null_mut());
    // SAFETY: a place for a descriptor, destroyed when dropped.
    status(unsafe { cublaslt::cublasLtMatmulPreferenceCreate(&mut out.0) })?;
    // SAFETY: the descriptor is alive; the library copies the value, which is of the attribute's type.
    let set = |which, value: *const c_void, bytes| unsafe {
        cublaslt::cublasLtMatmulPreferenceSetAttribute(out.0, which, value, bytes)
    };
    // Both go through memory, in a fixed order. The scheme in place is left out: it counts with atomic operations.
    let schemes = match partial_sums {
        true => {
            Scheme::CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE as u32
                | Scheme::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE as u32
        }
        false => Scheme::CUBLASLT_REDUCTION_SCHEME_NONE as u32,
    };
    with_bytes(bytes as u64, |v, n| set(Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, v, n))?;
    with_bytes(schemes, |v, n| set(Attribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, v, n))?;
    let [c, a, b] = alignments;
    for (which, alignment) in [
        (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b),
        (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a),
        (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c),
        (Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c),
    ] {
        with_bytes(alignment, |v, n| set(which, v, n))?;
    }
    Ok(out)
}

impl Lt {
    /// Opens the library in the current context. `None` if it is not installed, or does not start.
    pub fn new(stream: CUstream, math: GpuMath, workspace: (u64, usize), multiprocessors: u32) -> Option<Lt> {
        use sys::cublasComputeType_t as Compute;
        if !cublaslt::is_there() {
            return None;
        }
        let compute = match math {
            GpuMath::Fp32 => Compute::CUBLAS_COMPUTE_32F,
            GpuMath::Tf32 => Compute::CUBLAS_COMPUTE_32F_FAST_TF32,
            GpuMath::Bf16 => Compute::CUBLAS_COMPUTE_32F_FAST_16BF,
        };
        let mut handle = null_mut();
        // SAFETY: a place for a handle; destroyed by `free`.
        status(unsafe { cublaslt::cublasLtCreate(&mut handle) }).ok()?;
        Some(Lt { handle, stream, workspace, compute, multiprocessors, plans: Mutex::default() })
    }

    fn plans(&self) -> MutexGuard<'_, HashMap<Shape, Option<Plan>>> {
        // A panic of another thread leaves at worst a plan that was not added.
        self.plans.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Finds algorithms for the products among this work. A stream that captures would refuse to be asked.
    pub fn prepare(&self, ops: &[Op]) {
        let mut plans = self.plans();
        if plans.len() > MOST_PLANS {
            plans.clear();
        }
        for op in ops {
            let Op::Product(product) = op else { continue };
            let has_plan = |plans: &mut HashMap<_, _>, p: &Product| {
                can_add_bias(p) && plans.entry(Shape::of(p)).or_insert_with(|| self.plan(p).ok()).is_some()
            };
            if !has_plan(&mut plans, product)
                && let Some((_, rest)) = product.in_two_steps()
            {
                has_plan(&mut plans, &rest);
            }
        }
    }

    fn plan(&self, p: &Product) -> Status<Plan> {
        let mut plan = Plan::describe(p, self.compute)?;
        let partial_sums = may_add_partial_sums(p, self.multiprocessors);
        let preference = preference(self.workspace.1, partial_sums, Shape::of(p).alignments)?;
        let [c, a, b] = plan.layouts;
        // All zeros are a valid result: the status of success.
        let (mut found, mut count) = (MaybeUninit::<sys::cublasLtMatmulHeuristicResult_t>::zeroed(), 0);
        // SAFETY: all descriptors are alive; there are places for one result and a number.
        status(unsafe {
            cublaslt::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                plan.product,
                b,
                a,
                c,
                c,
                preference.0,
                1,
                found.as_mut_ptr(),
                &mut count,
            )
        })?;
        // SAFETY: zeros, or written by the library. A status is read as a number, since a later library may have others than the
        // enum.
        let (state, algorithm) = unsafe {
            let found = found.as_ptr();
            ((&raw const (*found).state).cast::<u32>().read(), (&raw const (*found).algo).read())
        };
        status(state)?;
        plan.algorithm = algorithm;
        if count > 0 { Ok(plan) } else { Err(sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED as u32) }
    }

    /// Queues a prepared product, or several. False if there is no algorithm for it, or none that can add its bias.
    pub fn multiply(&self, p: &Product) -> Result<bool, Fault> {
        const CALL: &str = "a product by cuBLASLt";
        let (mut plans, shape) = (self.plans(), Shape::of(p));
        let Some(Some(plan)) = plans.get(&shape).filter(|_| can_add_bias(p)) else { return Ok(false) };
        if let Some(bias) = p.bias {
            plan.set_bias(bias).or_else(|status| blas(CALL, status))?;
        }
        let pointer = |m: Mat| m.address as usize as *mut c_void;
        let (a, b, c) = (pointer(p.a), pointer(p.b), pointer(p.c));
        let ([of_c, of_a, of_b], (memory, bytes)) = (plan.layouts, self.workspace);
        // SAFETY: the matrices are in memory of this device that lives until the queue has been emptied; their shapes fit (checked
        // when the product was queued) and are those of the plan. The workspace belongs to work in this stream only.
        let status = unsafe {
            cublaslt::cublasLtMatmul(
                self.handle,
                plan.product,
                (&raw const p.alpha).cast(),
                b,
                of_b,
                a,
                of_a,
                (&raw const p.beta).cast(),
                c,
                of_c,
                c,
                of_c,
                &plan.algorithm,
                memory as usize as *mut c_void,
                bytes,
                self.stream.cast(),
            )
        };
        // The library refuses such a product before it sends any work.
        use sys::cublasStatus_t::{
            CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_NOT_SUPPORTED,
        };
        let refusals =
            [CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_ARCH_MISMATCH];
        if refusals.map(|refusal| refusal as u32).contains(&status) {
            plans.insert(shape, None);
            return Ok(false);
        }
        blas(CALL, status).map(|()| true)
    }

    /// Frees the handle. Must be called in the context, after the last work has finished.
    pub fn free(self) {
        self.plans().clear();
        // SAFETY: destroyed once; errors at the end have no effect.
        let _ = unsafe { cublaslt::cublasLtDestroy(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(address: u64, count: u32) -> Product {
        let mat = |rows, cols, stride| Mat { stride, ..Mat::plain(address, rows, cols) };
        Product {
            c: mat(5, 3, 8),
            alpha: 1.0,
            a: mat(5, 7, 7),
            transpose_a: Transpose::No,
            b: mat(3, 7, 9),
            transpose_b: Transpose::Yes,
            beta: 0.0,
            bias: None,
            count,
            steps: [40, 0, 27],
        }
    }

    #[test]
    fn alignments() {
        assert_eq!([4, 8, 12, 48, 256, 4096, 0].map(alignment), [4, 8, 4, 16, 256, 256, 256]);
        // Of several matrices all must be aligned.
        let of = |address, count| Shape::of(&product(address, count)).alignments;
        assert_eq!((of(512, 1), of(512, 2), of(20, 2)), ([256; 3], [32, 256, 4], [4; 3]));
    }

    /// Products of one shape share a plan wherever they are, if the alignment is the same.
    #[test]
    fn shapes() {
        let of = |p: Product| Shape::of(&p);
        let first = product(512, 1);
        assert_eq!(of(first), of(product(1024, 1)));
        assert_eq!(of(first), of(Product { alpha: -0.5, beta: 1.0, steps: [1, 2, 3], ..first }));
        assert_ne!(of(first), of(product(516, 1)));
        assert_ne!(of(first), of(product(512, 2)));
        assert_ne!(
            of(first),
            of(Product { transpose_b: Transpose::No, b: Mat { rows: 7, cols: 3, ..first.b }, ..first })
        );
        let bias = Mat::plain(256, 1, 3);
        assert_ne!(of(first), of(Product { bias: Some(bias), ..first }));
        let half = |m| Mat { element: Element::Half, ..m };
        assert_ne!(of(first), of(Product { a: half(first.a), b: half(first.b), ..first }));
    }

    #[test]
    fn biases_that_the_library_can_read() {
        let at = |address| Product { bias: Some(Mat { address, ..product(0, 1).c }), ..product(512, 1) };
        assert_eq!([16, 512, 20, 8].map(|address| can_add_bias(&at(address))), [true, true, false, false]);
        assert!(can_add_bias(&product(4, 1)));
    }

    /// The library takes all attributes, in the sizes given here. Needs the library, but no device.
    #[test]
    fn descriptors() {
        if !cublaslt::is_there() {
            assert!(cublaslt::version().is_none());
            return println!("skipped: the library cuBLASLt is not installed");
        }
        println!("cuBLASLt {:?}", cublaslt::version());
        let bias = Mat::plain(256, 1, 3);
        let half = |m| Mat { element: Element::Half, ..m };
        let floats = [product(512, 1), product(512, 4), Product { bias: Some(bias), ..product(512, 1) }];
        let gradients = floats.map(|p| Product { a: half(p.a), b: half(p.b), ..p });
        let values = gradients.map(|p| Product { c: half(p.c), bias: p.bias.map(half), ..p });
        for p in floats.into_iter().chain(gradients).chain(values) {
            for compute in [
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_16BF,
            ] {
                assert_eq!(Plan::describe(&p, compute).map(|_| ()), Ok(()));
            }
            for partial_sums in [false, true] {
                let alignments = Shape::of(&p).alignments;
                assert_eq!(preference(32 << 20, partial_sums, alignments).map(|_| ()), Ok(()));
            }
        }
    }
}
