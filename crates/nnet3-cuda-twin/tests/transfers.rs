//! What crosses between host and device while a network trains.

use nnet3_core::config::parse_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::random::Random;
use nnet3_cuda_twin::Twin;
use nnet3_matrix::Device;
use nnet3_matrix::cuda::GpuBackend;
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use nnet3_train::{ExampleReader, NnetExample};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Statistics, batch normalisation, self-repair, orthonormal constraints, limits on changes, l2.
const NETWORK: &str = "\
component name=a type=TdnnComponent input-dim=4 output-dim=8 time-offsets=-1,0,1 use-natural-gradient=false \
    max-change=0.1 l2-regularize=0.01
component name=r type=RectifiedLinearComponent dim=8 self-repair-scale=0.01
component name=b type=BatchNormComponent dim=8
component name=t type=TanhComponent dim=8 self-repair-scale=0.01
component name=l type=TdnnComponent input-dim=8 output-dim=6 time-offsets=0 use-natural-gradient=false use-bias=false \
    orthonormal-constraint=-1
component name=c type=AffineComponent input-dim=18 output-dim=3 max-change=0.05 l2-regularize=0.01
component name=s type=LogSoftmaxComponent dim=3
input-node name=input dim=4
component-node name=a component=a input=input
component-node name=r component=r input=a
component-node name=b component=b input=r
component-node name=t component=t input=b
component-node name=l component=l input=t
component-node name=c component=c input=Append(Offset(l,-1),l,Offset(l,1))
component-node name=s component=s input=c
output-node name=output input=s
";

fn minibatch() -> NnetExample {
    let egs = format!("ark:{}/../nnet3-train/tests/data/minibatches.egs", env!("CARGO_MANIFEST_DIR"));
    ExampleReader::open(&egs).unwrap().next().unwrap().unwrap().1
}

fn network(config: &str) -> Nnet {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", config.lines()).unwrap(), &Random::new(17)).unwrap();
    nnet
}

/// Minibatches after which each of them has done all that chance may choose.
const BEFORE: usize = 30;
const MEASURED: usize = 20;

/// Allocations, uploads and downloads in [`MEASURED`] minibatches.
fn transfers(config: &str, options: TrainerOptions) -> [u64; 3] {
    let device = Arc::new(GpuBackend::new(Twin::new(true)).unwrap());
    let counts = || {
        let twin = device.engine();
        [&twin.allocations, &twin.uploads, &twin.downloads].map(|count| count.load(Ordering::Relaxed))
    };
    let minibatch = minibatch();
    let mut trainer = Trainer::new(network(config), options, &(device.clone() as Device), 1).unwrap();
    let mut objectives = 0;
    let mut report = |event: Event| objectives += matches!(event, Event::Objective { .. }) as usize;
    let mut train = |count: usize| {
        (0..count).for_each(|_| trainer.train(&minibatch, &mut report).unwrap());
        counts()
    };
    let before = train(BEFORE);
    let after = train(MEASURED);
    trainer.settle(&mut report);
    assert!(objectives >= BEFORE + MEASURED, "{objectives} objectives");
    [0, 1, 2].map(|k| after[k] - before[k])
}

/// Inputs and targets go to the device, and nothing comes back until somebody asks.
#[test]
fn inputs_go_and_nothing_comes_back() {
    let inputs = 2 * MEASURED as u64;
    assert_eq!(transfers(NETWORK, TrainerOptions::default()), [0, inputs, 0]);
    let options = TrainerOptions { momentum: 0.5, max_param_change: 0.1, ..Default::default() };
    assert_eq!(transfers(NETWORK, options), [0, inputs, 0]);
    let options = TrainerOptions { backstitch_training_scale: 0.3, ..Default::default() };
    // Each minibatch is given twice.
    assert_eq!(transfers(NETWORK, options), [0, 2 * inputs, 0]);
}

/// What has happened is fetched at the end of a phase, all at once.
#[test]
fn one_download_a_phase() {
    let options = TrainerOptions { print_interval: 5, ..Default::default() };
    assert_eq!(transfers(NETWORK, options)[2], MEASURED as u64 / 5);
}

/// Nor for natural gradient.
#[test]
fn natural_gradient_stays_there() {
    let natural = NETWORK
        .replace("use-natural-gradient=false", "use-natural-gradient=true")
        .replace("type=AffineComponent", "type=NaturalGradientAffineComponent");
    assert_eq!(transfers(&natural, TrainerOptions::default()), [0, 2 * MEASURED as u64, 0]);
}
