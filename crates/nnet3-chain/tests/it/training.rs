//! Compares training runs with the reference on two minibatches, and derivatives of the parameters with finite
//! differences. `dev/chain-figures.sh` compares all runs of the reference.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nnet3_chain::training::{ChainTraining, ChainTrainingOptions, Denominators};
use nnet3_chain::{ChainOptions, DenominatorGraph, NnetChainExample, language};
use nnet3_core::nnet::Nnet;
use nnet3_cuda_twin::Twin;
use nnet3_matrix::cuda::GpuBackend;
use nnet3_matrix::{Device, cpu};
use nnet3_train::diagnostics::{ProbComputer, ProbOptions};
use nnet3_train::merge::ExampleMerger;
use nnet3_train::progress::differences;
use nnet3_train::replicas::{ReplicaOptions, Replicas};
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use nnet3_train::{EgsReader, Example};

fn data(name: &str) -> String {
    format!("{}/tests/data/chain/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn nnet(name: &str) -> Nnet {
    Nnet::load(&data(name)).unwrap()
}

fn minibatches() -> Vec<NnetChainExample> {
    let mut egs = EgsReader::open(&format!("ark:{}", data("training/short2.cegs"))).unwrap();
    let mut merger = ExampleMerger::new("4".parse().unwrap(), false);
    let mut all = Vec::new();
    while let Some((_, example)) = egs.next().unwrap() {
        all.extend(merger.push(example).unwrap().map(|(_, minibatch)| minibatch));
    }
    all
}

fn denominators() -> Denominators {
    let fst = kaldi_fst::read_fst(&data("lang/den.bi.fst")).unwrap();
    let network = nnet("training/tdnn.initial.raw");
    let pdfs = network.node_dim(network.find_output("output").unwrap());
    Denominators::One(Arc::new(DenominatorGraph::new(&fst, pdfs).unwrap()))
}

/// The options of the stock driver.
fn options() -> ChainTrainingOptions {
    let chain = ChainOptions {
        l2_regularize: 5e-5,
        leaky_hmm_coefficient: 0.1,
        xent_regularize: 0.1,
        ..ChainOptions::default()
    };
    ChainTrainingOptions { chain, apply_deriv_weights: false, verbose: false }
}

fn trainer(options: ChainTrainingOptions) -> Trainer<ChainTraining> {
    trainer_on(&cpu(), options, 1)
}

fn trainer_on(device: &Device, options: ChainTrainingOptions, print_interval: u64) -> Trainer<ChainTraining> {
    let objective = ChainTraining::new(options, denominators());
    let trainer = TrainerOptions { print_interval, ..TrainerOptions::default() };
    Trainer::with_objective(objective, nnet("training/tdnn.initial.raw"), trainer, device, 1).unwrap()
}

#[test]
fn two_minibatches_of_the_reference() {
    two_minibatches(trainer(options()));
}

/// Trains by the kernels for GPUs.
#[test]
fn two_minibatches_of_the_reference_on_a_device() {
    two_minibatches(trainer_on(&nnet3_cuda_twin::device(), options(), 1));
}

/// Shows that after a few minibatches a device has all memory that a minibatch needs. Beside the inputs, these go up: the
/// initial probabilities, the places that the supervision reads, and for each of the two derivatives places and
/// posteriors. The output at these places, Σ α, and three sums come down.
#[test]
fn what_crosses_to_a_device() {
    let device = Arc::new(GpuBackend::new(Twin::new(true)).unwrap());
    let mut trainer = trainer_on(&(device.clone() as Device), options(), 1000);
    let minibatch = minibatches().remove(0);
    let counts = || {
        let twin = device.engine();
        [&twin.allocations, &twin.uploads, &twin.downloads].map(|count| count.load(Ordering::Relaxed))
    };
    let mut train = |count: u64| {
        (0..count).for_each(|_| trainer.train(&minibatch, &mut |_: Event| ()).unwrap());
        counts()
    };
    let before = train(3);
    let after = train(2);
    let inputs = minibatch.inputs.len() as u64;
    let each = [0, 1, 2].map(|k| (after[k] - before[k]) as f64 / 2.0);
    assert_eq!(each, [0.0, (inputs + 6) as f64, 3.0]);
}

/// The memory of a minibatch is reported before it runs, once for minibatches of one size.
#[test]
fn memory_is_reported_before_the_first_minibatch() {
    let (mut trainer, mut events) = (trainer(options()), Vec::new());
    let parameters = trainer.nnet().num_parameters();
    for minibatch in minibatches() {
        trainer.train(&minibatch, &mut |event: Event| events.push(event)).unwrap();
    }
    let Event::Memory { minibatch: 0, memory } = &events[0] else { panic!("{:?}", events[0]) };
    assert_eq!((memory.sequences, memory.parameters), (4, 2 * 4 * parameters));
    assert!(memory.matrices > 0);
    // Memory of four sequences of twenty frames: α of each state, before the first frame and after each.
    let states = kaldi_fst::read_fst(&data("lang/den.bi.fst")).unwrap().states.len();
    let alphas = 4 * 4 * 21 * states;
    assert!((alphas..4 * alphas).contains(&memory.objective), "{memory:?}, alphas {alphas}");
    assert!(!events[1..].iter().any(|event| matches!(event, Event::Memory { .. })));
}

fn two_minibatches(mut trainer: Trainer<ChainTraining>) {
    let mut found = Vec::new();
    let mut report = |event: Event| {
        if let Event::Objective { minibatch, output, value } = event {
            found.push((minibatch, output, value.average(), value.auxiliary));
        }
    };
    minibatches().iter().for_each(|minibatch| trainer.train(minibatch, &mut report).unwrap());
    // From the log of the reference's run: the first minibatch and all together.
    let near = |what: &str, found: f64, expected: f64| {
        println!("{what}: {found}, expected {expected}");
        assert!((found - expected).abs() < 1e-5 * expected.abs(), "{what}: {found}, expected {expected}");
    };
    assert_eq!(found.len(), 4);
    for ((minibatch, output, average, auxiliary), (name, expected)) in
        found.iter().zip([("output", -0.728623), ("output-xent", -4.47734)])
    {
        assert_eq!((*minibatch, output.as_str(), *auxiliary), (0, name, 0.0));
        near(name, *average, expected);
    }
    let totals = trainer.totals();
    for (total, (name, expected)) in totals.iter().zip([("output", -0.754804), ("output-xent", -4.47707)]) {
        assert_eq!((total.output.as_str(), total.value.weight), (name, 160.0));
        near(name, total.value.average(), expected);
    }
    let l2 = totals[0].value.auxiliary / totals[0].value.weight;
    assert!((l2 + 3.27751e-8).abs() < 1e-3 * 3.27751e-8, "{l2}");
    let mut trained = trainer.nnet().clone();
    trained.to_device(&cpu());
    let relative = differences(&nnet("training/tdnn-short2.raw"), &trained).unwrap().relative;
    println!("{relative}");
    assert!(relative.values.iter().all(|(_, value)| *value < 5e-4), "{relative}");
}

/// Zero weights of derivatives leave only the objectives.
#[test]
fn weights_of_derivatives() {
    let mut minibatch = minibatches().remove(0);
    minibatch.outputs[0].deriv_weights = vec![0.0; minibatch.outputs[0].indexes.len()];
    let mut values = Vec::new();
    for apply in [false, true] {
        let mut trainer = trainer(ChainTrainingOptions { apply_deriv_weights: apply, ..options() });
        let mut report = |event: Event| {
            if let Event::Objective { value, .. } = event {
                values.push(value);
            }
        };
        trainer.train(&minibatch, &mut report).unwrap();
        let before = nnet("training/tdnn.initial.raw");
        let norms = differences(&before, trainer.nnet()).unwrap().absolute;
        let moved = norms.values.iter().any(|(_, norm)| *norm > 1e-6);
        assert_eq!(moved, !apply, "{norms}");
    }
    assert_eq!(values[..2], values[2..]);
}

/// The derivative of the objective, with all its terms, by the bias of the output layer.
#[test]
fn derivatives_are_slopes() {
    let chain = ChainOptions { l2_regularize: 0.01, leaky_hmm_coefficient: 0.1, ..ChainOptions::default() };
    let options = ChainTrainingOptions { chain, ..options() };
    let examples = minibatches();
    let denominators = denominators();
    let compute = |nnet: &Nnet, derivative: bool| {
        let objective = ChainTraining::new(options.clone(), denominators.clone());
        let prob = ProbOptions { derivative, ..ProbOptions::default() };
        let mut computer = ProbComputer::with_objective(objective, nnet.clone(), prob, &cpu());
        examples.iter().for_each(|example| computer.compute(example).unwrap());
        computer
    };
    let nnet = nnet("training/tdnn-short2.raw");
    let computer = compute(&nnet, true);
    let gradient = computer.gradient();
    let at = |step: f32| {
        let mut moved = nnet.clone();
        moved.add(step, gradient);
        let total = compute(&moved, false).total();
        total.objective + total.auxiliary
    };
    let square: f64 = gradient.component_dot_products(gradient).iter().sum();
    let step = (0.002 / square.sqrt()) as f32;
    let slope = (at(step) - at(-step)) / (2.0 * f64::from(step));
    assert!((slope - square).abs() < 0.01 * square, "{slope} {square}");
}

/// Two replicas are the mean of two trainers.
#[test]
fn replicas_train_chain_models() {
    let found = {
        let denominators = denominators();
        let options = ReplicaOptions {
            objective: Arc::new(move || ChainTraining::new(options(), denominators.clone())),
            trainer: TrainerOptions::default(),
            seed: 1,
            average_period: 0,
            prepare: Arc::new(|_, _| ()),
            rules: None,
        };
        let nnet = nnet("training/tdnn.initial.raw");
        let mut replicas: Replicas<ChainTraining> = Replicas::new(&nnet, &[cpu(), cpu()], options).unwrap();
        for minibatch in minibatches() {
            replicas
                .train("key".to_owned(), minibatch, &mut |_: Event| ())
                .unwrap_or_else(|e| panic!("{e:?}"));
        }
        replicas.finish(&mut |_: Event| ()).unwrap_or_else(|e| panic!("{e:?}")).0.nnet
    };
    let mut mean = nnet("training/tdnn.initial.raw");
    mean.scale(0.0);
    for minibatch in minibatches() {
        let mut trainer = trainer(options());
        trainer.train(&minibatch, &mut |_: Event| ()).unwrap();
        mean.add(0.5, trainer.nnet());
    }
    let relative = differences(&mean, &found).unwrap().relative;
    assert!(relative.values.iter().all(|(_, value)| *value < 1e-5), "{relative}");
}

#[test]
fn what_does_not_fit_is_said() {
    let minibatch = minibatches().remove(0);
    assert_eq!(minibatch.num_sequences().unwrap(), 4);
    let error = |options: ChainTrainingOptions, minibatch: &NnetChainExample| {
        trainer(options).train(minibatch, &mut |_: Event| ()).unwrap_err().to_string()
    };
    let mut other = minibatch.clone();
    other.outputs[0].name = "output-other".to_owned();
    assert!(error(options(), &other).contains("'output-other'"));
    let chain = ChainOptions { leaky_hmm_coefficient: 1.0, ..ChainOptions::default() };
    let message = error(ChainTrainingOptions { chain, ..options() }, &minibatch);
    assert!(message.contains("`leaky-hmm-coefficient`=1"), "{message}");
}

#[test]
fn outputs_are_named_after_languages() {
    let minibatch = minibatches().remove(0);
    let named = |key: &str, name: &str| {
        let mut minibatch = minibatch.clone();
        minibatch.outputs[0].name = name.to_owned();
        language::name_outputs(key, &mut minibatch).map(|()| minibatch.outputs[0].name.clone())
    };
    assert_eq!(named("merged-1-4?lang=b", "output").unwrap(), "output-b");
    assert_eq!(named("merged-1-4?lang=b", "output-b").unwrap(), "output-b");
    assert_eq!(named("merged-1-4", "output").unwrap(), "output-default");
    assert!(named("merged-1-4?lang=b", "output-a").unwrap_err().to_string().contains("'output-a'"));
    assert!(named("merged-1-4?lang=../b", "output").is_err());
}
