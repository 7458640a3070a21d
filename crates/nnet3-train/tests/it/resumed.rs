//! Trainings by rules that were interrupted.

use crate::resumed_runs;
use nnet3_matrix::cpu;

#[test]
fn one_trainer_goes_on() {
    resumed_runs::resumed(&cpu());
}

#[test]
fn replicas_go_on() {
    resumed_runs::resumed_replicas(&[cpu(), cpu(), cpu()]);
}
