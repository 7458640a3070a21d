//! Products by a BLAS library, or in plain Rust if there is no library.
//!
//! The library is loaded for the first product ([`loaded`]). So programs without products do not wait for it, and no
//! build needs it. The feature `linked-openblas` links it instead ([`linked`]); the feature `pure-rust` does without
//! it. If memory is limited and the library does not get enough, Rust computes the product ([`memory`]).

#![allow(unsafe_code)]

mod memory;
#[cfg(not(any(feature = "pure-rust", feature = "linked-openblas")))]
mod threads;

use super::whole;
use crate::backend::{Gemm, Operand, Transpose};
use crate::view::{View, ViewMut};
use cblas_sys::{CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_UPLO};
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

type Sgemm = unsafe extern "C" fn(
    CBLAS_LAYOUT,
    CBLAS_TRANSPOSE,
    CBLAS_TRANSPOSE,
    c_int,
    c_int,
    c_int,
    f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    f32,
    *mut f32,
    c_int,
);
type Sgemv = unsafe extern "C" fn(
    CBLAS_LAYOUT,
    CBLAS_TRANSPOSE,
    c_int,
    c_int,
    f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    f32,
    *mut f32,
    c_int,
);
type Ssyrk = unsafe extern "C" fn(
    CBLAS_LAYOUT,
    CBLAS_UPLO,
    CBLAS_TRANSPOSE,
    c_int,
    c_int,
    f32,
    *const f32,
    c_int,
    f32,
    *mut f32,
    c_int,
);

/// The functions of a BLAS library that products need.
struct Library {
    /// The library's own name, or the name it was found by.
    name: &'static str,
    sgemm: Sgemm,
    sgemv: Sgemv,
    ssyrk: Ssyrk,
    /// Only OpenBLAS has these two.
    set_num_threads: Option<unsafe extern "C" fn(c_int)>,
    corename: Option<unsafe extern "C" fn() -> *const c_char>,
}

/// The library in use. OpenBLAS would take all processors unless told otherwise.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let find = || {
        let library = if memory::is_enough_to_load() { find() } else { None };
        if let Some(set) = library.as_ref().and_then(|library| library.set_num_threads) {
            // SAFETY: OpenBLAS allows this call at any time outside its own calls, and there has been no such call yet.
            unsafe { set(1) };
        }
        library
    };
    LIBRARY.get_or_init(find).as_ref()
}

#[cfg(feature = "linked-openblas")]
fn find() -> Option<Library> {
    use blas_src as _;
    unsafe extern "C" {
        fn openblas_set_num_threads(threads: c_int);
        fn openblas_get_corename() -> *const c_char;
    }
    Some(Library {
        name: "OpenBLAS (linked)",
        sgemm: cblas_sys::cblas_sgemm,
        sgemv: cblas_sys::cblas_sgemv,
        ssyrk: cblas_sys::cblas_ssyrk,
        set_num_threads: Some(openblas_set_num_threads),
        corename: Some(openblas_get_corename),
    })
}

#[cfg(not(any(feature = "pure-rust", feature = "linked-openblas")))]
fn find() -> Option<Library> {
    const NAMES: &[&str] = if cfg!(target_os = "macos") {
        &[
            "libopenblas.dylib",
            "/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
            "/System/Library/Frameworks/Accelerate.framework/Accelerate",
        ]
    } else {
        &["libopenblas.so.0", "libopenblas.so"]
    };
    NAMES.iter().find_map(|name| load(name))
}

#[cfg(not(any(feature = "pure-rust", feature = "linked-openblas")))]
fn load(name: &'static str) -> Option<Library> {
    // SAFETY: on loading, a BLAS library only reads processor and environment, and starts its threads.
    let library = threads::without_new_threads(|| unsafe { libloading::Library::new(name) }).ok()?;
    // The functions are called until the process ends.
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    // SAFETY: functions of these names have these signatures in every library with the C interface of BLAS, and in
    // OpenBLAS.
    unsafe {
        Some(Library {
            name,
            sgemm: *library.get(b"cblas_sgemm\0").ok()?,
            sgemv: *library.get(b"cblas_sgemv\0").ok()?,
            ssyrk: *library.get(b"cblas_ssyrk\0").ok()?,
            set_num_threads: library.get(b"openblas_set_num_threads\0").ok().map(|function| *function),
            corename: library.get(b"openblas_get_corename\0").ok().map(|function| *function),
        })
    }
}

#[cfg(all(feature = "pure-rust", not(feature = "linked-openblas")))]
fn find() -> Option<Library> {
    None
}

/// Looks for a library now, instead of at the first product. OpenBLAS starts threads, which spin for a while, if it is
/// loaded when the process has several already.
pub fn load_library() {
    library();
}

/// Name of the library that computes large products, or `Rust`.
pub fn library_name() -> &'static str {
    library().map_or("Rust", |library| library.name)
}

/// True if the kernels in use have AVX-512.
pub(super) fn is_wide() -> bool {
    static WIDE: OnceLock<bool> = OnceLock::new();
    *WIDE.get_or_init(|| {
        let Some(corename) = library().and_then(|library| library.corename) else { return false };
        // SAFETY: the name is a constant string of the library, chosen when it was loaded.
        let name = unsafe { CStr::from_ptr(corename()) };
        ["SkylakeX", "Cooperlake", "SapphireRapids"]
            .iter()
            .any(|wide| name.to_bytes().eq_ignore_ascii_case(wide.as_bytes()))
    })
}

/// Sets the number of threads for one product, if the library has such a setting.
pub(super) fn set_num_threads(threads: usize) {
    if let Some(set) = library().and_then(|library| library.set_num_threads) {
        // SAFETY: as in `library`.
        unsafe { set(int(threads)) }
    }
}

fn int(value: usize) -> c_int {
    value.try_into().expect("matrix too large for BLAS")
}

fn code(transpose: Transpose) -> CBLAS_TRANSPOSE {
    match transpose {
        Transpose::No => CBLAS_TRANSPOSE::CblasNoTrans,
        Transpose::Yes => CBLAS_TRANSPOSE::CblasTrans,
    }
}

/// BLAS requires at least the row length, even without a second row.
fn leading(view: &View<'_>) -> c_int {
    int(view.stride().max(view.cols()).max(1))
}

/// Computes a product of shapes that fit. No shape is empty, and c is apart from a and b.
pub(super) fn gemm(product: Gemm<'_>) {
    let (Some(library), Some(_place)) = (library(), memory::place()) else {
        return plain_gemm(product);
    };
    let Gemm { c, alpha, a, b, beta } = product;
    if c.rows() == 1 {
        // cᵀ = op(b)ᵀ op(a)ᵀ
        let matrix = if b.is_transposed() { b.matrix.into() } else { b.matrix.transposed() };
        return gemv(library, Gemv { y: (c, 1), alpha, matrix, x: (a.matrix, spacing(&a.matrix)), beta });
    }
    if c.cols() == 1 {
        let x = (b.matrix, spacing(&b.matrix));
        return gemv(library, Gemv { y: (c, c.stride()), alpha, matrix: a, x, beta });
    }
    let ((_, k), ta, tb) = (a.shape(), code(a.transpose), code(b.transpose));
    let (a, b) = (a.matrix, b.matrix);
    // SAFETY: shapes were checked by the caller, strides are at least the row lengths, the memory of all views is
    // allocated, and c, the only one written, overlaps neither factor.
    unsafe {
        (library.sgemm)(
            CBLAS_LAYOUT::CblasRowMajor,
            ta,
            tb,
            int(c.rows()),
            int(c.cols()),
            int(k),
            alpha,
            a.pointer,
            leading(&a),
            b.pointer,
            leading(&b),
            beta,
            c.pointer,
            leading(&c.as_view()),
        )
    }
}

/// c = aᵀ a: half of it by BLAS. As for [`gemm`]; c has more than one row.
pub(super) fn gram(c: ViewMut<'_>, a: View<'_>) {
    let (Some(library), Some(_place)) = (library(), memory::place()) else {
        return plain_gemm(Gemm::set(c, a.transposed(), a));
    };
    // SAFETY: as in `gemm`.
    unsafe {
        (library.ssyrk)(
            CBLAS_LAYOUT::CblasRowMajor,
            CBLAS_UPLO::CblasLower,
            CBLAS_TRANSPOSE::CblasTrans,
            int(c.rows()),
            int(a.rows()),
            1.0,
            a.pointer,
            leading(&a),
            0.0,
            c.pointer,
            leading(&c.as_view()),
        )
    }
    whole::mirror_below(c);
}

/// Distance between the elements of a view that is one row or one column.
fn spacing(vector: &View<'_>) -> usize {
    if vector.rows() == 1 { 1 } else { vector.stride() }
}

/// y = alpha · op(matrix) · x + beta · y; vectors come with the distance between their elements.
struct Gemv<'a> {
    y: (ViewMut<'a>, usize),
    alpha: f32,
    matrix: Operand<View<'a>>,
    x: (View<'a>, usize),
    beta: f32,
}

fn gemv(library: &Library, Gemv { y, alpha, matrix, x, beta }: Gemv<'_>) {
    let Operand { matrix, transpose } = matrix;
    let mut beta = beta;
    if beta == 0.0 {
        // Some versions of OpenBLAS multiply NaN by 0 here.
        whole::set(y.0, 0.0);
        beta = 1.0;
    }
    // SAFETY: as for `gemm`; both vectors have the lengths that the matrix's shape asks for.
    unsafe {
        (library.sgemv)(
            CBLAS_LAYOUT::CblasRowMajor,
            code(transpose),
            int(matrix.rows()),
            int(matrix.cols()),
            alpha,
            matrix.pointer,
            leading(&matrix),
            x.0.pointer,
            int(x.1),
            beta,
            y.0.pointer,
            int(y.1),
        )
    }
}

/// As [`gemm`], without a library.
fn plain_gemm(Gemm { c, alpha, a, b, beta }: Gemm<'_>) {
    /// Distances between neighbours in a column and in a row of op(m).
    fn strides(factor: &Operand<View<'_>>) -> (isize, isize) {
        let stride = factor.matrix.stride() as isize;
        if factor.is_transposed() { (1, stride) } else { (stride, 1) }
    }
    let (_, k) = a.shape();
    let ((row_a, col_a), (row_b, col_b)) = (strides(&a), strides(&b));
    let (a, b) = (a.matrix, b.matrix);
    let (m, n) = (c.rows(), c.cols());
    let row_c = c.stride() as isize;
    // SAFETY: shapes were checked by the caller, the memory of all views is allocated, and c, the only one written,
    // overlaps neither factor.
    unsafe {
        matrixmultiply::sgemm(
            m, k, n, alpha, a.pointer, row_a, col_a, b.pointer, row_b, col_b, beta, c.pointer, row_c, 1,
        )
    }
}
