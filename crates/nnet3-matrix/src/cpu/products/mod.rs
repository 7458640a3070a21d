//! Products of matrices on the host: by BLAS, by our own kernels, in halves, with weights in panels or bytes.

pub(super) mod bf16;
pub(super) mod bytes;
pub(super) mod gemm;
pub(super) mod halves;
pub(super) mod nontemporal;
pub(super) mod packed;
pub(super) mod pages;
pub(super) mod panels;
pub(super) mod prefetch;
pub(super) mod unpacked;
