//! Training compared with the reference's.

use crate::runs;

#[test]
fn conventional() {
    runs::conventional(&nnet3_matrix::cpu());
}

#[test]
fn momentum() {
    runs::momentum(&nnet3_matrix::cpu());
}

#[test]
fn global_limit_of_change() {
    runs::global_limit_of_change(&nnet3_matrix::cpu());
}

#[test]
fn backstitch() {
    runs::backstitch(&nnet3_matrix::cpu());
}

#[test]
fn recurrent() {
    runs::recurrent(&nnet3_matrix::cpu());
}
