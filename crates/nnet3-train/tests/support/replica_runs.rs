//! Compares replicas with their definition: independent trainers, and averages of their models.

use kaldi_io::writer::KaldiWriter;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;
use nnet3_train::average::{average, default_threads};
use nnet3_train::replicas::{ReplicaOptions, Replicas};
use nnet3_train::trainer::{Event, Trained, Trainer, TrainerOptions};
use nnet3_train::{ExampleReader, NnetExample};

const SEED: i32 = 5;

fn data(name: &str) -> String {
    // Another crate's tests use this file too.
    format!("{}/../nnet3-train/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The minibatches several times over, `count` in all.
fn minibatches(count: usize) -> Vec<NnetExample> {
    let mut egs = ExampleReader::open(&format!("ark:{}", data("minibatches.egs"))).unwrap();
    let mut all = Vec::new();
    while let Some((_, minibatch)) = egs.next().unwrap() {
        all.push(minibatch);
    }
    all.into_iter().cycle().take(count).collect()
}

/// Parameters and statistics as they would be stored.
fn bytes(nnet: &Nnet) -> Vec<u8> {
    let mut writer = KaldiWriter::in_memory(true);
    nnet.write(&mut writer).unwrap();
    writer.into_bytes()
}

fn mean(trainers: &[Trainer]) -> Nnet {
    let names: Vec<String> = (0..trainers.len()).map(|i| i.to_string()).collect();
    let weights = vec![1.0 / names.len() as f32; names.len()];
    let on_host = |trainer: &Trainer| {
        let mut nnet = trainer.nnet().clone();
        nnet.to_device(&nnet3_matrix::cpu());
        nnet
    };
    let nnets: Vec<Nnet> = trainers.iter().map(on_host).collect();
    let load = |name: &str| Ok(nnets[name.parse::<usize>().unwrap()].clone());
    average(&names, &weights, default_threads(names.len()), load).unwrap()
}

/// Returns the result of training one network after another: jobs that are averaged each `period` minibatches (0: at
/// the end).
fn one_by_one(devices: &[Device], options: &TrainerOptions, period: usize, count: usize) -> Vec<u8> {
    let nnet = Nnet::load(&data("ff.initial.raw")).unwrap();
    let trainer = |(i, device): (usize, &Device)| {
        Trainer::new(nnet.clone(), options.clone(), device, SEED + i as i32).unwrap()
    };
    let mut trainers: Vec<Trainer> = devices.iter().enumerate().map(trainer).collect();
    for (m, minibatch) in minibatches(count).iter().enumerate() {
        if period > 0 && m > 0 && m % (period * devices.len()) == 0 {
            let average = mean(&trainers);
            trainers.iter_mut().for_each(|trainer| trainer.set_nnet(&average));
        }
        trainers[m % devices.len()].train(minibatch, &mut |_: Event| ()).unwrap();
    }
    bytes(&mean(&trainers))
}

fn together(
    devices: &[Device],
    options: &TrainerOptions,
    average_period: u64,
    count: usize,
    events: &mut Vec<Event>,
) -> Trained {
    let nnet = Nnet::load(&data("ff.initial.raw")).unwrap();
    let options =
        ReplicaOptions { trainer: options.clone(), seed: SEED, average_period, ..Default::default() };
    let mut replicas: Replicas = Replicas::new(&nnet, devices, options).unwrap();
    let mut report = |event: Event| events.push(event);
    for (m, minibatch) in minibatches(count).into_iter().enumerate() {
        replicas.train(m.to_string(), minibatch, &mut report).unwrap();
    }
    replicas.finish(&mut report).unwrap().0
}

/// Asserts that the bytes are those from trainers one after another, and that phases go over all minibatches.
pub fn compare(devices: &[Device], options: TrainerOptions, average_period: u64, count: usize) {
    let options = TrainerOptions { print_interval: 4, ..options };
    let mut events = Vec::new();
    let trained = together(devices, &options, average_period, count, &mut events);
    let expected = one_by_one(devices, &options, average_period as usize, count);
    let what = format!("{} replicas, averaged each {average_period} of {count}", devices.len());
    assert!(bytes(&trained.nnet) == expected, "{what}");
    let passes = if options.backstitch_training_scale > 0.0 { 2 } else { 1 };
    assert_eq!(trained.max_change.updates as usize, passes * count);

    let mut numbers = Vec::new();
    let (mut sum, mut weight, mut phases) = (0.0, 0.0, 0);
    for event in &events {
        match event {
            Event::Objective { minibatch, output, value } if output == "output" => {
                numbers.push(*minibatch);
                sum += value.objective;
                weight += value.weight;
            }
            Event::Phase(phase) if phase.output == "output" => {
                assert_eq!((phase.first, phase.minibatches), (4 * phases, 4), "{what}");
                phases += 1;
            }
            _ => {}
        }
    }
    assert_eq!(numbers, (0..count as u64).collect::<Vec<_>>(), "{what}");
    assert_eq!(phases, (count as u64 - 1) / 4, "{what}");
    let total = trained.totals[0].value;
    assert_eq!((total.objective, total.weight), (sum, weight), "{what}");
}
