//! Counts transfers between host and device while a network trains.

use kaldi_io::DenseMatrix;
use kaldi_io::writer::KaldiWriter;
use nnet3_core::config::parse_config;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::forward::{Chunking, GroupedForward, Ivectors};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::random::Random;
use nnet3_cuda_twin::Twin;
use nnet3_matrix::cuda::GpuBackend;
use nnet3_matrix::{Device, cpu};
use nnet3_train::max_change::MaxChangeCounts;
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use nnet3_train::{ExampleReader, NnetExample};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Statistics, batch normalisation, self-repair, orthonormal constraints, limits on changes, l2.
pub const NETWORK: &str = "\
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

pub fn minibatch() -> NnetExample {
    let egs = format!("ark:{}/../nnet3-train/tests/data/minibatches.egs", env!("CARGO_MANIFEST_DIR"));
    ExampleReader::open(&egs).unwrap().next().unwrap().unwrap().1
}

pub fn network(config: &str) -> Nnet {
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

/// Inputs and targets go to the device; results come back only on request.
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

/// All results are fetched at once, at the end of a phase.
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

/// A cell of each kind that keeps statistics with its parameters, and derivatives clipped by norm with self-repair.
const RECURRENT: &str = "\
component name=i type=NaturalGradientAffineComponent input-dim=4 output-dim=20 max-change=0.1
component name=lstm type=LstmNonlinearityComponent cell-dim=4 max-change=0.0001 self-repair-scale=0.01
component name=clip type=ClipGradientComponent dim=8 norm-based-clipping=true clipping-threshold=0.001 \
    self-repair-clipped-proportion-threshold=0.01 self-repair-target=0.0 self-repair-scale=0.1
component name=g type=NaturalGradientAffineComponent input-dim=8 output-dim=12 max-change=0.1
component name=gru type=GruNonlinearityComponent cell-dim=3 max-change=0.0001 self-repair-scale=0.01
component name=o type=NaturalGradientAffineComponent input-dim=6 output-dim=9 max-change=0.1
component name=ogru type=OutputGruNonlinearityComponent cell-dim=3 max-change=0.0001 self-repair-scale=0.01
component name=a type=NaturalGradientAffineComponent input-dim=6 output-dim=3 max-change=0.1
component name=s type=LogSoftmaxComponent dim=3
input-node name=input dim=4
component-node name=i component=i input=input
component-node name=lstm component=lstm input=i
component-node name=clip component=clip input=lstm
component-node name=g component=g input=clip
component-node name=gru component=gru input=g
component-node name=o component=o input=gru
component-node name=ogru component=ogru input=o
component-node name=a component=a input=ogru
component-node name=s component=s input=a
output-node name=output input=s
";

#[test]
fn recurrent_cells_and_clipping_do_not_wait() {
    let inputs = 2 * MEASURED as u64;
    assert_eq!(transfers(RECURRENT, TrainerOptions::default()), [0, inputs, 0]);
    let options = TrainerOptions { momentum: 0.5, max_param_change: 0.1, ..Default::default() };
    assert_eq!(transfers(RECURRENT, options), [0, inputs, 0]);
}

/// Parts with statistics of each kind, with and without parameters; max-change reduces their sums and counts.
const COMPOSITE: &str = "\
component name=x type=CompositeComponent num-components=8 component1='type=NaturalGradientAffineComponent input-dim=4 \
    output-dim=8' component2='type=RectifiedLinearComponent dim=8 self-repair-scale=0.05' \
    component3='type=BatchNormComponent dim=8' component4='type=SigmoidComponent dim=8 self-repair-scale=0.05 \
    self-repair-lower-threshold=0.24' component5='type=ClipGradientComponent dim=8 norm-based-clipping=true \
    clipping-threshold=0.001 self-repair-clipped-proportion-threshold=0.01 self-repair-scale=0.1' \
    component6='type=TanhComponent dim=8 self-repair-scale=0.05' component7='type=NoOpComponent dim=8' \
    component8='type=NaturalGradientAffineComponent input-dim=8 output-dim=3'
component name=s type=LogSoftmaxComponent dim=3
input-node name=input dim=4
component-node name=x component=x input=input
component-node name=s component=s input=x
output-node name=output input=s
";

#[test]
fn parts_with_statistics_do_not_wait() {
    let inputs = 2 * MEASURED as u64;
    for momentum in [0.0, 0.5] {
        let options = TrainerOptions { momentum, max_param_change: 0.02, ..Default::default() };
        assert_eq!(transfers(COMPOSITE, options), [0, inputs, 0]);
    }
}

/// A network after some minibatches, as text, and how often which components were limited.
fn trained(config: &str, max_param_change: f32, device: &Device) -> (String, MaxChangeCounts) {
    let minibatch = minibatch();
    let options = TrainerOptions { momentum: 0.5, max_param_change, ..Default::default() };
    let mut trainer = Trainer::new(network(config), options, device, 1).unwrap();
    (0..BEFORE).for_each(|_| trainer.train(&minibatch, &mut |_: Event| ()).unwrap());
    let trained = trainer.finish(&mut |_: Event| ()).unwrap();
    let mut w = KaldiWriter::in_memory(false);
    trained.nnet.write(&mut w).unwrap();
    (String::from_utf8(w.into_bytes()).unwrap(), trained.max_change)
}

#[test]
fn parts_with_statistics_train_as_on_the_host() {
    let (there, limited) = trained(COMPOSITE, 0.02, &twin());
    let (here, limited_here) = trained(COMPOSITE, 0.02, &nnet3_matrix::cpu());
    assert_eq!(limited.global, limited_here.global);
    assert!(limited.global > 0, "{limited:?}");
    // The host rounds numbers of rows after each change.
    let rows = |text: &str| -> Vec<f64> {
        let start = text.find("<NumElementsClipped>").unwrap();
        text[start..].split_whitespace().filter_map(|word| word.parse().ok()).take(2).collect()
    };
    for (here, there) in rows(&here).into_iter().zip(rows(&there)) {
        assert!(
            here > 0.0 && (0.0..=BEFORE as f64).contains(&(there - here)),
            "{here} rows here, {there} there"
        );
    }
    let rest = |text: &str| {
        let start = text.find("<NumElementsClipped>").unwrap();
        let end = text.find("<NumSelfRepaired>").unwrap();
        format!("{}{}", &text[..start], &text[end..])
    };
    assert_near(&rest(&here), &rest(&there), 1e-3);
}

/// Parameters, statistics and counts of those networks are the host's, to within roundings.
#[test]
fn recurrent_cells_train_as_on_the_host() {
    let (there, limited) = trained(RECURRENT, 2.0, &twin());
    let (here, limited_here) = trained(RECURRENT, 2.0, &nnet3_matrix::cpu());
    let limited = limited.components;
    assert_eq!(limited, limited_here.components);
    for cell in ["lstm", "gru", "ogru"] {
        assert!(limited.iter().any(|(name, times)| name == cell && *times > 0), "{cell}: {limited:?}");
    }
    let clipped = &here[here.find("<NumElementsClipped>").unwrap()..];
    let numbers: Vec<i32> = clipped.split_whitespace().filter_map(|word| word.parse().ok()).take(4).collect();
    assert!(numbers[0] > 0 && numbers[2] > 0, "rows clipped and passes repaired: {numbers:?}");
    assert_near(&here, &there, 1e-4);
}

/// Layers at several times with a narrow input, a narrow output, and sides that are nearly equal.
const SPLICED: &str = "\
component name=a type=TdnnComponent input-dim=4 output-dim=40 time-offsets=-1,0,1
component name=r type=RectifiedLinearComponent dim=40
component name=l type=TdnnComponent input-dim=40 output-dim=3 time-offsets=-1,0 use-bias=false
component name=b type=TdnnComponent input-dim=3 output-dim=30 time-offsets=0,1
component name=m type=TdnnComponent input-dim=30 output-dim=3 time-offsets=0 use-bias=false
component name=s type=LogSoftmaxComponent dim=3
input-node name=input dim=4
component-node name=a component=a input=input
component-node name=r component=r input=a
component-node name=l component=l input=r
component-node name=b component=b input=l
component-node name=m component=m input=b
component-node name=s component=s input=m
output-node name=output input=s
";

/// Products with one side spliced train as those of single times.
#[test]
fn spliced_layers_train_as_on_the_host() {
    let plain = SPLICED.replace("TdnnComponent", "TdnnComponent use-natural-gradient=false");
    for (config, tolerance) in [(plain.as_str(), 1e-5), (SPLICED, 1e-3)] {
        let ((there, _), (here, _)) = (trained(config, 0.0, &twin()), trained(config, 0.0, &cpu()));
        assert_near(&here, &there, tolerance);
    }
}

fn twin() -> Device {
    Arc::new(GpuBackend::new(Twin::new(true)).unwrap())
}

/// Compares two texts word for word. Numbers may differ by the tolerance.
fn assert_near(here: &str, there: &str, tolerance: f64) {
    let (here, there): (Vec<&str>, Vec<&str>) =
        (here.split_whitespace().collect(), there.split_whitespace().collect());
    assert_eq!(here.len(), there.len());
    for (k, (a, b)) in here.iter().zip(&there).enumerate() {
        let near = match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => (a - b).abs() <= tolerance * (1.0 + a.abs()),
            _ => a == b,
        };
        assert!(near, "{a} here, {b} there, after {}", here[k.saturating_sub(8)..k].join(" "));
    }
}

/// Outputs of all utterances of a minibatch come to the host at once, and are equal to the host's.
#[test]
fn outputs_of_several_utterances_are_fetched_at_once() {
    const COUNT: usize = 8;
    let device = Arc::new(GpuBackend::new(Twin::new(true)).unwrap());
    let features = |i: usize| {
        let data = (0..12 * 4).map(|k| ((7 * i + k) as f32).sin()).collect();
        DenseMatrix { rows: 12, cols: 4, data }
    };
    let outputs = |on: Device| -> Vec<DenseMatrix<f32>> {
        let mut nnet = network(NETWORK);
        nnet.set_batchnorm_test_mode(true);
        nnet.to_device(&on);
        let compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
        let mut forward = GroupedForward::new(&nnet, &on, Chunking::default(), 0.5, compiler, 1).unwrap();
        (0..COUNT).for_each(|i| forward.accept(&features(i), Ivectors::None).unwrap());
        forward.finish().unwrap();
        std::iter::from_fn(|| forward.next_output()).collect()
    };
    let (found, expected) = (outputs(device.clone()), outputs(cpu()));
    assert_eq!(device.engine().downloads.load(Ordering::Relaxed), 1);
    assert_eq!((found.len(), expected.len()), (COUNT, COUNT));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.rows, found.cols), (12, 3));
        for (found, expected) in found.data.iter().zip(&expected.data) {
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }
}
