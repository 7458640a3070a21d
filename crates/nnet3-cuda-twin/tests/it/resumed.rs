//! Trainings by rules after an interruption, with states that were on the device.

#[path = "../../../nnet3-train/tests/support/resumed_runs.rs"]
mod resumed_runs;

use nnet3_cuda_twin::device;

#[test]
fn one_trainer_goes_on() {
    resumed_runs::resumed(&device());
}

#[test]
fn replicas_go_on() {
    resumed_runs::resumed_replicas(&[device(), device()]);
}
