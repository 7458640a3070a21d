//! The suite of primitives on the twin.

use nnet3_cuda_twin::Twin;
use nnet3_matrix::cuda::GpuBackend;
use nnet3_matrix::{Device, suite};
use std::sync::Arc;

macro_rules! suite_tests {
    ($($module:ident { $($name:ident)* })*) => {
        mod primitive {
            $($(#[test]
            fn $name() {
                let (_, check) = super::suite::ALL.iter().find(|(name, _)| *name == stringify!($name)).expect("a check");
                check(&nnet3_cuda_twin::device());
            })*)*
        }
    };
}

nnet3_matrix::each_primitive!(suite_tests);

/// What depends on the order of threads is a race.
#[test]
fn threads_in_the_opposite_order() {
    let device: Device = Arc::new(GpuBackend::new(Twin::backwards()).expect("host memory"));
    suite::run_all(&device);
}
