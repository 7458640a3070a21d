//! Checks that the executor allocates no memory after the first run of a program, in the whole process. (Matrix
//! products in pure Rust pack their factors into memory of their own.)

use nnet3_allocator::CountingAllocator;
use nnet3_core::Random;
use nnet3_core::config::parse_config;
use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::execute::{Executor, Model, Program};
use nnet3_core::learning::Delta;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::request::{ComputationRequest, IoSpecification};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Minibatches after the first: natural gradient changes its ways after ten.
const RUNS: u64 = 16;

/// Random components, self-repair, statistics, memory of gradients, natural gradient of every kind of parameters.
/// Operations that depend on chance or statistics occur only in some runs.
const RANDOM: &str = "\
component name=mask type=SpecAugmentTimeMaskComponent dim=4 zeroed-proportion=0.3 time-mask-max-frames=3
component name=bands type=GeneralDropoutComponent dim=4 specaugment-max-proportion=0.5
component name=a type=NaturalGradientAffineComponent input-dim=8 output-dim=6
component name=sigmoid type=SigmoidComponent dim=6 self-repair-scale=0.01 self-repair-lower-threshold=0.24
component name=drop type=DropoutComponent dim=6 dropout-proportion=0.3
component name=clip type=ClipGradientComponent dim=6 norm-based-clipping=true clipping-threshold=0.001 \
self-repair-scale=0.1 self-repair-clipped-proportion-threshold=0.01 self-repair-target=0.0
component name=b type=TdnnComponent input-dim=6 output-dim=6 time-offsets=-1,0
component name=relu type=RectifiedLinearComponent dim=6 self-repair-scale=0.01 self-repair-lower-threshold=0.9 \
self-repair-upper-threshold=0.95
component name=trunc type=BackpropTruncationComponent dim=6
component name=mix type=NaturalGradientPerElementScaleComponent dim=6
component name=extract type=StatisticsExtractionComponent input-dim=6 include-variance=true
component name=pool type=StatisticsPoolingComponent input-dim=13 left-context=3 right-context=3 output-stddevs=true
component name=c type=NaturalGradientAffineComponent input-dim=18 output-dim=3
component name=softmax type=LogSoftmaxComponent dim=3
input-node name=input dim=4
component-node name=mask component=mask input=input
component-node name=bands component=bands input=mask
component-node name=a component=a input=Append(bands, Offset(bands, 1))
component-node name=sigmoid component=sigmoid input=a
component-node name=drop component=drop input=sigmoid
component-node name=clip component=clip input=drop
component-node name=b component=b input=clip
component-node name=relu component=relu input=Sum(b, IfDefined(Offset(trunc, -1)))
component-node name=mix component=mix input=relu
component-node name=trunc component=trunc input=mix
component-node name=extract component=extract input=relu
component-node name=pool component=pool input=extract
component-node name=c component=c input=Append(pool, trunc)
component-node name=softmax component=softmax input=c
output-node name=output input=softmax";

struct Task {
    name: String,
    nnet: Nnet,
    request: ComputationRequest,
}

/// The case folders below `folder`.
fn case_folders(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    if folder.join("request.txt").is_file() {
        out.push(folder.to_path_buf());
    }
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(case_folders(&path));
        }
    }
    out.sort();
    out
}

fn random_task() -> Task {
    let mut nnet = Nnet::default();
    nnet.read_config(parse_config("test", RANDOM.lines()).unwrap(), &Random::new(1)).unwrap();
    let request = ComputationRequest {
        inputs: vec![IoSpecification::new("input", 4, -10..20, true)],
        outputs: vec![IoSpecification::new("output", 4, 0..8, true)],
        need_model_derivative: true,
        store_component_stats: true,
    };
    Task { name: "random".to_string(), nnet, request }
}

/// The shipped cases, those of `$NNET3_CONFORMANCE_DIR`, and a network of our own. Statistics are stored, dropout is
/// on.
fn tasks() -> Vec<Task> {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/conformance");
    let mut folders = case_folders(&shipped);
    if let Some(more) = kaldi_io::testing::data_folder("NNET3_CONFORMANCE_DIR") {
        folders.extend(case_folders(Path::new(&more)));
    }
    let text = |path: PathBuf| path.to_str().unwrap().to_string();
    let task = |case: PathBuf| {
        let mut request = ComputationRequest::load(&text(case.join("request.txt"))).unwrap();
        request.store_component_stats = true;
        let mut nnet = Nnet::load(&text(case.join("model.raw"))).unwrap();
        nnet.set_dropout_test_mode(false);
        Task { name: case.display().to_string(), nnet, request }
    };
    folders.into_iter().map(task).chain([random_task()]).collect()
}

/// Runs a program to its end. Only the executor is counted, so the inputs are made on its device.
fn run(executor: &mut Executor, program: &Arc<Program>, model: &mut Model<'_>, random: &Random, seed: u64) {
    let device = executor.device().clone();
    executor.start(program).unwrap();
    while !executor.finished() {
        while let Some(node) = executor.wants() {
            let nnet = model.nnet();
            device.fill_normal(executor.input(nnet, nnet.node_name(node)).unwrap(), seed + u64::from(node.0));
        }
        executor.run(model, random).unwrap();
    }
}

/// The kind of run: forward and backward with natural gradient, as in training; with the plain gradient; or forward
/// only.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Train,
    Gradient,
    Forward,
}

/// Allocations of each run after the first.
fn allocations(task: &Task, kind: Kind) -> Vec<usize> {
    let mut nnet = task.nnet.clone();
    let mut delta = Delta::new(&nnet);
    let mut request = task.request.clone();
    match kind {
        Kind::Train => {}
        Kind::Gradient => delta.nnet_mut().set_as_gradient(),
        Kind::Forward => {
            request.inputs.iter_mut().chain(&mut request.outputs).for_each(|io| io.has_deriv = false);
            request.need_model_derivative = false;
        }
    }
    let mut compiler = CachingCompiler::new(CompilerOptions::default(), OptimizeOptions::default());
    let program = compiler.program(&nnet, &request).unwrap();
    let mut executor = Executor::new(&nnet3_matrix::cpu());
    let random = Random::new(1);
    let mut model = match kind {
        Kind::Train => Model::Train { nnet: &mut nnet, delta: &mut delta },
        Kind::Gradient => Model::Gradient { nnet: &mut nnet, gradient: delta.nnet_mut() },
        Kind::Forward => Model::Frozen(&nnet),
    };
    run(&mut executor, &program, &mut model, &random, 0);
    (1..=RUNS)
        .map(|i| {
            let before = ALLOCATOR.allocations();
            run(&mut executor, &program, &mut model, &random, 1000 * i);
            ALLOCATOR.allocations() - before
        })
        .collect()
}

/// As [`allocations`], without what does not occur again: after a minute the test's own harness prints a line.
fn repeated_allocations(task: &Task, kind: Kind) -> Vec<usize> {
    let first = allocations(task, kind);
    match first.iter().any(|&count| count > 0) {
        true => first.into_iter().zip(allocations(task, kind)).map(|(a, b)| a.min(b)).collect(),
        false => first,
    }
}

/// One test a file: other threads would be counted too.
#[test]
fn nothing_is_allocated_after_the_first_run() {
    let before = ALLOCATOR.allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATOR.allocations(), before + 1, "allocations are not counted");
    let mut failures = Vec::new();
    for task in tasks() {
        for kind in [Kind::Train, Kind::Gradient, Kind::Forward] {
            let counts = repeated_allocations(&task, kind);
            if counts.iter().any(|&count| count > 0) {
                failures.push(format!("{} {kind:?}: {counts:?}", task.name));
            }
        }
    }
    assert!(failures.is_empty(), "allocations in each run:\n{}", failures.join("\n"));
}
