//! Training on the twin compared with the reference's: statistics, natural gradient and updates by way of the kernels.

#[path = "../../../nnet3-train/tests/support/decisions.rs"]
mod decisions;
#[path = "../../../nnet3-train/tests/support/runs.rs"]
mod runs;

#[test]
fn conventional() {
    runs::conventional(&nnet3_cuda_twin::device());
}

#[test]
fn momentum() {
    runs::momentum(&nnet3_cuda_twin::device());
}

#[test]
fn global_limit_of_change() {
    runs::global_limit_of_change(&nnet3_cuda_twin::device());
}

#[test]
fn backstitch() {
    runs::backstitch(&nnet3_cuda_twin::device());
}

#[test]
fn recurrent() {
    runs::recurrent(&nnet3_cuda_twin::device());
}

#[test]
fn decisions_are_the_hosts() {
    decisions::limits_of_norms(&nnet3_cuda_twin::device());
    decisions::steps_towards_orthogonal_rows(&nnet3_cuda_twin::device());
}
