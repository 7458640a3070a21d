//! Training on a CUDA device compared with the reference's. Without a device the test is skipped with a message;
//! `NNET3_REQUIRE_GPU` makes that a failure.

#[path = "support/decisions.rs"]
mod decisions;
#[path = "support/runs.rs"]
mod runs;

use nnet3_matrix::Device;
use nnet3_matrix::cuda::driver::{self, Settings};

fn with_device(run: impl FnOnce(&Device)) {
    match driver::open(&Settings::default()) {
        Ok((device, _)) => run(&device),
        Err(why) => {
            assert!(std::env::var_os("NNET3_REQUIRE_GPU").is_none(), "{why}");
            println!("skipped: {why}");
        }
    }
}

#[test]
fn conventional() {
    with_device(runs::conventional);
}

#[test]
fn momentum() {
    with_device(runs::momentum);
}

#[test]
fn global_limit_of_change() {
    with_device(runs::global_limit_of_change);
}

#[test]
fn backstitch() {
    with_device(runs::backstitch);
}

#[test]
fn recurrent() {
    with_device(runs::recurrent);
}

#[test]
fn decisions_are_the_hosts() {
    with_device(|device| {
        decisions::limits_of_norms(device);
        decisions::steps_towards_orthogonal_rows(device);
    });
}
