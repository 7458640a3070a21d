//! The cases shipped in `tests/data/conformance`, and the full set where `NNET3_CONFORMANCE_DIR` names it.

#[path = "../support/conformance.rs"]
mod cases;

use cases::{Summary, find_cases};
use nnet3_matrix::cuda::GpuMath;
use std::path::Path;

fn check(folder: &Path) {
    let cases = find_cases(folder);
    assert!(!cases.is_empty(), "no cases below {}", folder.display());
    let summary = Summary::run(&cases, &nnet3_matrix::cpu(), GpuMath::Fp32);
    summary.print();
    assert!(summary.failures.is_empty(), "{} of {} cases failed", summary.failures.len(), cases.len());
    assert_eq!(summary.passed, cases.len());
}

#[test]
fn shipped_cases_agree() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance"));
}

#[test]
fn full_set_agrees_where_present() {
    if let Some(folder) = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR") {
        check(Path::new(&folder));
    }
}
