//! Training on several devices in one process.

#[path = "../../../nnet3-train/tests/support/replica_runs.rs"]
mod replica_runs;

use nnet3_cuda_twin::device;
use nnet3_train::trainer::TrainerOptions;
use replica_runs::compare;

/// Compares with the bytes from devices that are used one after another.
#[test]
fn two_devices() {
    compare(&[device(), device()], TrainerOptions::default(), 2, 6);
}

#[test]
fn a_device_and_the_processor() {
    compare(&[device(), nnet3_matrix::cpu()], TrainerOptions::default(), 0, 5);
}
