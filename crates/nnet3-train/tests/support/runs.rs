//! Training runs compared with the reference's, number by number, on any device; `data/README.md` describes them.

use kaldi_io::writer::KaldiWriter;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_matrix::Device;
use nnet3_train::ExampleReader;
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};

/// The largest relative difference, by the norm of the numbers between two tags of a network file.
const TOLERANCE: f64 = 2e-5;

fn data(name: &str) -> String {
    // Tests that run on another machine have their data elsewhere; another crate's tests use this file too.
    if let Ok(folder) = std::env::var("NNET3_TEST_DATA") {
        return format!("{folder}/{name}");
    }
    format!("{}/../nnet3-train/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Tags of the text form, each with the numbers that follow it. Words are left out.
fn fields(nnet: &Nnet) -> Vec<(String, Vec<f64>)> {
    let mut writer = KaldiWriter::in_memory(false);
    nnet.write(&mut writer).unwrap();
    let text = String::from_utf8(writer.into_bytes()).unwrap();
    let mut out = vec![(String::new(), Vec::new())];
    for word in text.split_whitespace() {
        if word.starts_with('<') {
            out.push((word.to_owned(), Vec::new()));
        } else if let Ok(number) = word.parse() {
            out.last_mut().unwrap().1.push(number);
        }
    }
    out
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

fn assert_equal(run: &str, found: &Nnet, expected: &Nnet) {
    let (found, expected) = (fields(found), fields(expected));
    assert_eq!(found.len(), expected.len(), "{run}");
    let mut largest = (0.0, "");
    for ((tag, found), (expected_tag, expected)) in found.iter().zip(&expected) {
        assert_eq!((tag, found.len()), (expected_tag, expected.len()), "{run}");
        let difference = norm(found.iter().zip(expected).map(|(f, e)| f - e));
        let size = norm(expected.iter().copied());
        assert!(difference <= TOLERANCE * size, "{run}, {tag}: expected {expected:?}, found {found:?}");
        if difference > largest.0 * size {
            largest = (difference / size, tag);
        }
    }
    println!("{run}: largest relative difference {:.1e}, in {}", largest.0, largest.1);
}

fn compare(device: &Device, run: &str, network: &str, options: TrainerOptions, total: f64) {
    let nnet = Nnet::load(&data(&format!("{network}.initial.raw"))).unwrap();
    let mut trainer = Trainer::new(nnet, options, device, 1).unwrap();
    let mut egs = ExampleReader::open(&format!("ark:{}", data("minibatches.egs"))).unwrap();
    while let Some((_, minibatch)) = egs.next().unwrap() {
        trainer.train(&minibatch, &mut |_: Event| ()).unwrap();
    }
    assert_eq!(trainer.minibatches(), 6);
    trainer.settle(&mut |_: Event| ());
    let average = trainer.totals()[0].value.average();
    assert!((average - total).abs() < 2e-5, "{run}: expected {total}, found {average}");
    assert_equal(run, trainer.nnet(), &Nnet::load(&data(&format!("expected/{run}.raw"))).unwrap());
}

pub fn conventional(device: &Device) {
    compare(device, "default", "ff", TrainerOptions::default(), -1.3878);
}

pub fn momentum(device: &Device) {
    let options = TrainerOptions {
        momentum: 0.5,
        l2_regularize_factor: 0.5,
        batchnorm_stats_scale: 0.9,
        ..Default::default()
    };
    compare(device, "momentum", "ff", options, -1.44561);
}

pub fn global_limit_of_change(device: &Device) {
    let options = TrainerOptions { max_param_change: 0.1, ..Default::default() };
    compare(device, "maxchange", "ff", options, -1.54806);
}

pub fn backstitch(device: &Device) {
    let options = TrainerOptions {
        backstitch_training_scale: 0.3,
        backstitch_training_interval: 2,
        ..Default::default()
    };
    compare(device, "backstitch", "ff", options, -1.38721);
}

pub fn recurrent(device: &Device) {
    let mut options = TrainerOptions::default();
    options.compile.optimize =
        OptimizeOptions { min_deriv_time: -1, max_deriv_time_relative: 2, ..Default::default() };
    compare(device, "lstm", "lstm", options, -1.20852);
}
