//! Whole networks on the twin: the cases shipped in `tests/data/conformance`, and the full set where
//! `NNET3_CONFORMANCE_DIR` names it.

#[path = "../../../../tests/support/conformance.rs"]
mod cases;

use cases::{Summary, find_cases};
use nnet3_cuda_twin::Twin;
use nnet3_matrix::Device;
use nnet3_matrix::cuda::{GpuBackend, GpuMath};
use std::path::Path;
use std::sync::Arc;

fn check(folder: &Path) {
    check_in(folder, &nnet3_cuda_twin::device(), GpuMath::Fp32)
}

fn check_in(folder: &Path, device: &Device, math: GpuMath) {
    let cases = find_cases(folder);
    assert!(!cases.is_empty(), "no cases below {}", folder.display());
    let summary = Summary::run(&cases, device, math);
    summary.print();
    assert!(summary.failures.is_empty(), "{} of {} cases failed", summary.failures.len(), cases.len());
    assert_eq!(summary.passed, cases.len());
}

#[test]
fn shipped_cases() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance"));
}

fn check_in_fewer_bits(folder: &Path) {
    for math in [GpuMath::Tf32, GpuMath::Bf16] {
        check_in(folder, &(Arc::new(GpuBackend::new(Twin::with_math(math)).unwrap()) as Device), math);
    }
}

/// Products in tf32, and products and memory in bf16, agree within the tolerances of `docs/gpu.md`.
#[test]
fn shipped_cases_in_fewer_bits() {
    check_in_fewer_bits(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance"));
}

#[test]
fn full_set_in_fewer_bits() {
    if let Some(folder) = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR") {
        check_in_fewer_bits(Path::new(&folder));
    }
}

#[test]
fn full_set() {
    if let Some(folder) = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR") {
        check(Path::new(&folder));
    }
}
