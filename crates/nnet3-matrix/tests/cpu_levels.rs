//! The suite with each set of vector instructions that this machine has. Alone in its process, because the level is
//! the whole process's.

use nnet3_matrix::cpu::{VectorLevel, set_vector_level};
use nnet3_matrix::{cpu, suite};

#[test]
fn every_level() {
    for level in [VectorLevel::Portable, VectorLevel::Avx2, VectorLevel::Avx512] {
        if set_vector_level(level) == level {
            println!("{level:?}");
            suite::run_all(&cpu());
        } else {
            eprintln!("skipped: this processor has no {level:?}");
        }
    }
}
