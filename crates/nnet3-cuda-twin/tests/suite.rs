//! The suite of primitives on the twin.

use nnet3_cuda_twin::Twin;
use nnet3_matrix::cuda::GpuBackend;
use nnet3_matrix::{Device, primitive_tests, suite};
use std::sync::Arc;

fn device() -> Option<Device> {
    Some(nnet3_cuda_twin::device())
}

nnet3_matrix::each_primitive!(primitive_tests);

/// What depends on the order of threads is a race.
#[test]
fn threads_in_the_opposite_order() {
    let device: Device = Arc::new(GpuBackend::new(Twin::backwards()).expect("host memory"));
    suite::run_all(&device);
}
