//! Several networks trained side by side in one process.

use crate::replica_runs::compare;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::{Device, cpu};
use nnet3_train::ExampleReader;
use nnet3_train::objective::FrameObjective;
use nnet3_train::replicas::{ReplicaOptions, Replicas};
use nnet3_train::trainer::{Event, TrainerOptions};

fn processors(count: usize) -> Vec<Device> {
    vec![cpu(); count]
}

/// Compares with jobs and the average of their models by `nnet3-average`. Shares of the minibatches may be unequal.
#[test]
fn averaged_at_the_end() {
    compare(&processors(2), TrainerOptions::default(), 0, 12);
    compare(&processors(3), TrainerOptions::default(), 0, 11);
    // Two threads form sums of this many.
    compare(&processors(6), TrainerOptions::default(), 0, 12);
}

#[test]
fn averaged_now_and_then() {
    compare(&processors(2), TrainerOptions::default(), 1, 10);
    let options = TrainerOptions { momentum: 0.5, ..Default::default() };
    compare(&processors(3), options, 2, 17);
    let options = TrainerOptions { backstitch_training_scale: 0.3, ..Default::default() };
    compare(&processors(2), options, 2, 8);
}

/// The network must be the mean of the replicas that have trained.
#[test]
fn more_replicas_than_minibatches() {
    let run = |count| {
        let nnet = Nnet::load(&format!("{}/tests/data/ff.initial.raw", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let options = ReplicaOptions { seed: 1, ..Default::default() };
        let mut replicas: Replicas = Replicas::new(&nnet, &processors(count), options).unwrap();
        let egs = format!("ark:{}/tests/data/minibatches.egs", env!("CARGO_MANIFEST_DIR"));
        let (key, minibatch) = ExampleReader::open(&egs).unwrap().next().unwrap().unwrap();
        replicas.train(key, minibatch, &mut |_: Event| ()).unwrap();
        let (trained, _) = replicas.finish(&mut |_: Event| ()).unwrap();
        trained
            .nnet
            .components()
            .filter_map(|c| c.as_updatable())
            .flat_map(|u| u.vectorize())
            .collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(4));
}

/// The minibatch that an error is about is named, whenever the error is noticed.
#[test]
fn errors_name_their_minibatch() {
    let data = |name: &str| format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let nnet = Nnet::load(&data("ff.initial.raw")).unwrap();
    let options = ReplicaOptions { seed: 1, ..Default::default() };
    let mut replicas: Replicas = Replicas::new(&nnet, &processors(2), options).unwrap();
    let mut egs = ExampleReader::open(&format!("ark:{}", data("minibatches.egs"))).unwrap();
    let mut failed = None;
    for m in 0.. {
        let Some((_, mut minibatch)) = egs.next().unwrap() else { break };
        if m == 1 {
            minibatch.ios.retain(|io| io.name != "output");
        }
        if let Err(failure) = replicas.train(m.to_string(), minibatch, &mut |_: Event| ()) {
            failed = Some(failure);
            break;
        }
    }
    assert_eq!(failed.expect("an error").key.as_deref(), Some("1"));
    let wrong = TrainerOptions { momentum: 2.0, ..Default::default() };
    let options = ReplicaOptions { trainer: wrong, ..Default::default() };
    let error =
        Replicas::<FrameObjective>::new(&nnet, &processors(2), options).err().expect("an error").to_string();
    assert!(error.contains("`momentum`=2"), "{error}");
}
