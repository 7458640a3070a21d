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

/// Products in tf32 and bf16 agree within the tolerances of `docs/gpu.md`.
#[test]
fn shipped_cases_in_fewer_bits() {
    for (bits, math) in [(10, GpuMath::Tf32), (7, GpuMath::Bf16)] {
        let device: Device = Arc::new(GpuBackend::new(Twin::rounding(bits)).unwrap());
        check_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance"), &device, math);
    }
}

#[test]
fn full_set() {
    if let Some(folder) = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR") {
        check(Path::new(&folder));
    }
}
