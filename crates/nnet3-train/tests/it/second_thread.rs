//! Training on two threads, against training on one.

use nnet3_core::learning::SecondThread;
use nnet3_core::nnet::Nnet;
use nnet3_train::ExampleReader;
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The network in the form of its file, after four times these minibatches.
fn train(network: &str, options: TrainerOptions) -> Vec<u8> {
    let nnet = Nnet::load(&data(&format!("{network}.initial.raw"))).unwrap();
    let mut trainer = Trainer::new(nnet, options, &nnet3_matrix::cpu(), 1).unwrap();
    for _ in 0..4 {
        let mut egs = ExampleReader::open(&format!("ark:{}", data("minibatches.egs"))).unwrap();
        while let Some((_, minibatch)) = egs.next().unwrap() {
            trainer.train(&minibatch, &mut |_: Event| ()).unwrap();
        }
    }
    assert_eq!(trainer.minibatches(), 24);
    let mut writer = kaldi_io::writer::KaldiWriter::in_memory(true);
    trainer.nnet().write(&mut writer).unwrap();
    writer.into_bytes()
}

#[test]
fn same_bytes_as_one_thread() {
    let backstitch = TrainerOptions { backstitch_training_scale: 0.3, ..Default::default() };
    let momentum = TrainerOptions { momentum: 0.5, ..Default::default() };
    for (network, options) in [
        ("ff", TrainerOptions::default()),
        ("ff", momentum),
        ("ff", backstitch),
        ("lstm", TrainerOptions::default()),
    ] {
        let alone = train(network, TrainerOptions { second_thread: SecondThread::Never, ..options.clone() });
        for _ in 0..3 {
            let beside =
                train(network, TrainerOptions { second_thread: SecondThread::Always, ..options.clone() });
            assert!(alone == beside, "{network} with {options:?}");
        }
    }
}
