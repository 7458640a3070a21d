//! The host's memory, and its transfers to and from matrices.

#![allow(unsafe_code)]

use super::{CpuBackend, access, pages};
use crate::backend::Storage;
use crate::view::{View, ViewMut};

impl Storage for CpuBackend {
    fn name(&self) -> &str {
        "cpu"
    }
    fn id(&self) -> u32 {
        0
    }
    /// 1 MiB.
    fn cached_elements(&self) -> Option<usize> {
        Some(1 << 18)
    }
    fn allocate(&self, len: usize) -> *mut f32 {
        pages::allocate(len)
    }
    unsafe fn free(&self, pointer: *mut f32, len: usize) {
        // SAFETY: this method's contract is that function's.
        unsafe { pages::free(pointer, len) }
    }
    fn upload(&self, dst: ViewMut<'_>, data: &[f32]) {
        assert_eq!(
            data.len(),
            dst.rows() * dst.cols(),
            "elements for a {} x {} matrix",
            dst.rows(),
            dst.cols()
        );
        if dst.is_empty() {
            return;
        }
        let mut dst = access::destination(dst);
        for (i, row) in data.chunks_exact(dst.cols()).enumerate() {
            dst.row(i).copy_from_slice(row);
        }
    }
    fn download(&self, src: View<'_>) -> Vec<f32> {
        let mut out = vec![0.0; src.rows() * src.cols()];
        self.download_into(src, &mut out);
        out
    }
    fn download_into(&self, src: View<'_>, out: &mut [f32]) {
        assert_eq!(
            out.len(),
            src.rows() * src.cols(),
            "elements of a {} x {} matrix",
            src.rows(),
            src.cols()
        );
        if src.is_empty() {
            return;
        }
        let src = access::source(src);
        for (i, row) in out.chunks_exact_mut(src.cols()).enumerate() {
            row.copy_from_slice(src.row(i));
        }
    }
}
