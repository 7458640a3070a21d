//! Devices that fail: each kind of call, at each of its places in a training or a forward pass, becomes an error. The
//! twin panics if it is called again after the failure.

use std::sync::Arc;

use kaldi_io::DenseMatrix;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::forward::{Chunking, GroupedForward, Ivectors};
use nnet3_core::optimize::OptimizeOptions;
use nnet3_cuda_twin::{Call, Twin};
use nnet3_matrix::Device;
use nnet3_matrix::cuda::GpuBackend;
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};

use crate::transfers::{NETWORK, minibatch, network};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Three minibatches, all that a checkpoint takes, and the network.
fn train(device: &Device) -> Outcome {
    let minibatch = minibatch();
    let options = TrainerOptions { momentum: 0.5, print_interval: 2, ..TrainerOptions::default() };
    let mut trainer = Trainer::new(network(NETWORK), options, device, 1)?;
    // A failed device must not contribute to the reported values of a minibatch.
    let mut report = |event: Event| {
        if let Event::Objective { value, .. } = event {
            assert!(value.objective != 0.0, "an objective of zero");
        }
    };
    for _ in 0..3 {
        trainer.train(&minibatch, &mut report)?;
    }
    trainer.whole_state(&mut report)?;
    trainer.finish(&mut report)?;
    Ok(())
}

fn forward(device: &Device) -> Outcome {
    let mut nnet = network(NETWORK);
    nnet.set_batchnorm_test_mode(true);
    nnet.to_device(device);
    let compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let mut forward = GroupedForward::new(&nnet, device, Chunking::default(), 0.5, compiler, 1)?;
    let features = DenseMatrix { rows: 12, cols: 4, data: vec![0.5; 48] };
    forward.accept(&features, Ivectors::None)?;
    forward.finish()?;
    assert!(forward.next_output().is_some_and(|output| output.data.iter().any(|&x| x != 0.0)));
    Ok(())
}

/// Lets the first call fail, then a later one, and so on, until no call fails. Returns the number of failures.
fn failures(call: Call, work: fn(&Device) -> Outcome) -> usize {
    let expected = match call {
        Call::Allocate => {
            "no memory left on the device for 3 MiB: 1 MiB of 8 MiB are free (smaller minibatches"
        }
        _ => &format!("the device failed in {call:?}: injected (if it happens again"),
    };
    let mut failures = 0;
    for step in 0.. {
        // (All of the first ones, and fewer and fewer of the others.)
        let after = if step < 12 { step } else { 12 << ((step - 12) / 2) | (step % 2) << ((step - 12) / 2) };
        let backend = match GpuBackend::new(Twin::failing(call, after)) {
            Ok(backend) => Arc::new(backend),
            Err(fault) => {
                assert!(fault.to_string().starts_with(expected), "{fault}");
                failures += 1;
                continue;
            }
        };
        let outcome = work(&(backend.clone() as Device));
        if !backend.engine().has_failed() {
            outcome.unwrap();
            return failures;
        }
        let error = outcome.expect_err("what was made of a device that has failed was taken for a result");
        assert!(error.to_string().starts_with(expected), "{call:?} {after}: {error}");
        failures += 1;
    }
    failures
}

#[test]
fn trainings_on_devices_that_fail() {
    for (call, least) in [(Call::Allocate, 15), (Call::Upload, 10), (Call::Download, 5), (Call::Run, 20)] {
        let found = failures(call, train);
        assert!(found >= least, "{call:?}: {found}");
    }
}

#[test]
fn forward_passes_on_devices_that_fail() {
    for (call, least) in [(Call::Allocate, 5), (Call::Upload, 2), (Call::Download, 1), (Call::Run, 3)] {
        let found = failures(call, forward);
        assert!(found >= least, "{call:?}: {found}");
    }
}

/// A driver may report the failure of earlier work during a wait.
#[test]
fn a_failure_while_waiting_is_kept() {
    let device: Device = Arc::new(GpuBackend::new(Twin::failing(Call::Synchronize, 0)).unwrap());
    assert_eq!(nnet3_matrix::check(&device), Ok(()));
    device.synchronize();
    let fault = nnet3_matrix::check(&device).unwrap_err();
    assert!(fault.to_string().starts_with("the device failed in Synchronize: injected"), "{fault}");
    // After the failure no calls are made, and all values read are zero.
    let matrix = nnet3_matrix::Matrix::from_slice(&device, 2, 2, &[1.0; 4]);
    assert_eq!(matrix.to_vec(), [0.0; 4]);
    assert_eq!(nnet3_matrix::check(&device), Err(fault));
}
