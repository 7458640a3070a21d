//! The crate's integration tests: one program, since linking takes most of the time that each more would take.

#[path = "../support/decisions.rs"]
mod decisions;
mod gpu_work;
mod reference;
#[path = "../support/replica_runs.rs"]
mod replica_runs;
mod replicas;
mod resumed;
#[path = "../support/resumed_runs.rs"]
mod resumed_runs;
#[path = "../support/runs.rs"]
mod runs;
mod second_thread;
mod short_runs;
#[path = "../support/gpu_work.rs"]
mod work;

#[test]
fn decisions_are_their_rules() {
    decisions::limits_of_norms(&nnet3_matrix::cpu());
    decisions::steps_towards_orthogonal_rows(&nnet3_matrix::cpu());
}
