//! The suite of primitives on the twin.

use nnet3_cuda_twin::Twin;
use nnet3_matrix::Device;
use nnet3_matrix::cuda::GpuBackend;
use nnet3_primitives_suite::{ALL, primitive_tests, run_all, with_both_forms};
use std::sync::Arc;

fn device() -> Option<Device> {
    Some(nnet3_cuda_twin::device())
}

nnet3_primitives_suite::each_primitive!(primitive_tests);

/// Products by a library that has no biases.
#[test]
fn without_biases() {
    let device: Device = Arc::new(GpuBackend::new(Twin::without_biases()).expect("host memory"));
    for (name, check) in ALL {
        if ["gemm_with_bias", "gemm"].contains(name) {
            check(&device);
        }
    }
}

/// A result that depends on the order of threads is a race.
#[test]
fn threads_in_the_opposite_order() {
    let device: Device = Arc::new(GpuBackend::new(Twin::backwards()).expect("host memory"));
    run_all(&device);
}

#[test]
fn no_races() {
    let device: Device = Arc::new(GpuBackend::new(Twin::checked()).expect("host memory"));
    run_all(&device);
}

/// Matrices in floats and in halves, side by side.
#[test]
fn operands_in_both_forms() {
    with_both_forms(|| run_all(&nnet3_cuda_twin::device()));
}

/// Two halves share four bytes.
#[test]
fn no_races_between_halves() {
    let device: Device = Arc::new(GpuBackend::new(Twin::checked()).expect("host memory"));
    let kernels = [
        "copy",
        "copy_transposed",
        "copy_rows",
        "normalized_sum",
        "normalized_deriv",
        "softmax",
        "lstm_cell_backward",
    ];
    for (_, check) in ALL.iter().filter(|(name, _)| kernels.contains(name)) {
        with_both_forms(|| check(&device));
    }
}

/// Kernels with one thing wrong have races, and the same without it have none.
#[test]
fn races_are_found() {
    use nnet3_cuda_twin::races;
    // A thread reads its neighbour's number and writes its own: without barriers, with one, with two.
    assert!(races(0, 0) > 0 && races(0, 1) > 0);
    assert_eq!(races(0, 2), 0);
    // Blocks add to sums of their own, or all to one sum.
    assert_eq!(races(1, 0), 0);
    assert!(races(1, 1) > 0);
    // Four elements of shared memory have been written.
    assert_eq!(races(2, 3), 0);
    assert!(races(2, 4) > 0);
}
