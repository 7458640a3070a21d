//! Trainings by rules that are written, read and resumed, compared with uninterrupted ones: the final states must be
//! equal to the last bit.

use kaldi_io::{KaldiReader, KaldiWriter};
use nnet3_core::config::parse_config;
use nnet3_core::nnet::Nnet;
use nnet3_core::snapshot::{Keeper, Snapshot};
use nnet3_matrix::Device;
use nnet3_train::learn::learner::AverageOptions;
use nnet3_train::learn::state::{LearningState, Within};
use nnet3_train::learn::{LearnerOptions, Plan, Progress, Rules};
use nnet3_train::replicas::{ReplicaOptions, ReplicaRules, Replicas, State};
use nnet3_train::trainer::{Event, Trainer, TrainerOptions};
use nnet3_train::{ExampleReader, NnetExample};
use std::sync::Arc;

const SEED: i32 = 7;
const MINIBATCHES: usize = 12;
/// Number of minibatches before the interruption: within an accumulated step.
const INTERRUPTED: usize = 5;

/// Two optimisers and natural gradient.
const RULES: &str = "\
optimizer name=main type=adamw learning-rate=.02 weight-decay=.01
optimizer name=heavy type=sgd learning-rate=.05 momentum=.9
optimizer name=ng type=kaldi momentum=.5
learn components=* optimizer=main
learn components=linear2 optimizer=heavy
learn components=affine3 optimizer=ng
schedule optimizer=main type=cosine warm-up=.1
clip norm=1";

fn data(name: &str) -> String {
    // Another crate's tests use this file too.
    format!("{}/../nnet3-train/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn minibatches() -> Vec<NnetExample> {
    let mut egs = ExampleReader::open(&format!("ark:{}", data("minibatches.egs"))).unwrap();
    let mut all = Vec::new();
    while let Some((_, minibatch)) = egs.next().unwrap() {
        all.push(minibatch);
    }
    all.into_iter().cycle().take(MINIBATCHES).collect()
}

fn network() -> Nnet {
    Nnet::load(&data("ff.initial.raw")).unwrap()
}

fn plan() -> (Arc<Plan>, LearnerOptions) {
    let mut rules = Rules::default();
    parse_config("rules", RULES.lines()).unwrap().into_iter().for_each(|line| rules.push(line).unwrap());
    let average = Some(AverageOptions { decay: 0.8, warm_up: true });
    let options = LearnerOptions { average, l2_factor: 1.0, ..LearnerOptions::default() };
    (Arc::new(Plan::new(&network(), &rules).unwrap()), options)
}

fn options() -> TrainerOptions {
    TrainerOptions { accumulate: 3, momentum: 0.5, ..TrainerOptions::default() }
}

fn progress(minibatch: usize) -> Progress {
    Progress { epochs: 0, of: 1, within: minibatch as f64 / MINIBATCHES as f64 }
}

fn trainer(nnet: Nnet, device: &Device) -> Trainer {
    Trainer::with_rules(Default::default(), nnet, options(), Some(plan()), device, SEED).unwrap()
}

fn train(trainer: &mut Trainer, from: usize, to: usize) {
    for (m, minibatch) in minibatches().iter().enumerate().take(to).skip(from) {
        trainer.learner().unwrap().set_progress(progress(m));
        trainer.train(minibatch, &mut |_: Event| ()).unwrap();
    }
}

/// Network and state as a checkpoint has them.
fn written_and_read(nnet: &Nnet, state: &LearningState) -> (Nnet, LearningState) {
    let mut w = KaldiWriter::in_memory(true);
    nnet.write(&mut w).unwrap();
    state.write(&mut w).unwrap();
    let mut r = KaldiReader::from_bytes("checkpoint", w.into_bytes());
    r.set_binary(true);
    (Nnet::read(&mut r).unwrap(), LearningState::read(&mut r).unwrap())
}

/// One trainer.
pub fn resumed(device: &Device) {
    let mut whole = trainer(network(), device);
    train(&mut whole, 0, MINIBATCHES);

    let mut first = trainer(network(), device);
    train(&mut first, 0, INTERRUPTED);
    let taken = first.snapshot(&mut |_: Event| ()).unwrap();
    let within = Within { minibatches: INTERRUPTED as u64, trainer: taken, ..Within::default() };
    let learner = first.learner().unwrap().state();
    let state = LearningState { within: Some(within), learner, ..LearningState::default() };
    let (nnet, read) = written_and_read(first.nnet(), &state);
    assert_eq!(read, state);
    let mut second = trainer(nnet, device);
    second.learner().unwrap().set_state(&read.learner).unwrap();
    second.resume(&read.within.unwrap().trainer).unwrap();
    train(&mut second, INTERRUPTED, MINIBATCHES);

    let [whole, second] = [whole, second].map(|mut trainer| trainer.whole_state(&mut |_: Event| ()).unwrap());
    assert!(whole == second, "a trainer goes on to another state");
    assert!(whole.learner.steps >= 3 && whole.learner.parts.iter().any(|part| part.matrices.len() > 1));
}

fn replicas(devices: &[Device]) -> Replicas {
    let (plan, learner) = plan();
    // That of a learner that begins.
    let state = Arc::new(trainer(network(), &nnet3_matrix::cpu()).learner().unwrap().state());
    let rules = Some(ReplicaRules { plan, options: learner, state });
    let options =
        ReplicaOptions { trainer: options(), seed: SEED, average_period: 2, rules, ..Default::default() };
    Replicas::new(&network(), devices, options).unwrap()
}

/// The exact network, parameters and statistics, and the reported lines of outputs.
type End = (Snapshot, Vec<String>);

fn end(replicas: Replicas, mut said: Vec<String>) -> End {
    let mut trained = replicas.finish(&mut |event: Event| said.extend(words(&event))).ok().unwrap().0;
    let mut snapshot = Snapshot::default();
    trained.nnet.keep(&mut Keeper::taking(&mut snapshot)).unwrap();
    said.extend(trained.learner.iter().map(|learner| format!("{learner:?}")));
    (snapshot, said)
}

fn words(event: &Event) -> Option<String> {
    matches!(event, Event::Objective { .. } | Event::Gradient { .. }).then(|| format!("{event:?}"))
}

fn train_together(replicas: &mut Replicas, from: usize, to: usize, said: &mut Vec<String>) {
    for (m, minibatch) in minibatches().into_iter().enumerate().take(to).skip(from) {
        let mut report = |event: Event| said.extend(words(&event));
        replicas.train_at(Some(progress(m)), m.to_string(), minibatch, &mut report).ok().unwrap();
    }
}

/// Replicas, one on each device.
pub fn resumed_replicas(devices: &[Device]) {
    let (mut whole, mut said) = (replicas(devices), Vec::new());
    train_together(&mut whole, 0, MINIBATCHES, &mut said);
    let expected = end(whole, said);

    let (mut first, mut said) = (replicas(devices), Vec::new());
    train_together(&mut first, 0, INTERRUPTED, &mut said);
    let (nnet, taken) = first.state(&mut |event: Event| said.extend(words(&event))).ok().unwrap();
    drop(first);
    let within = Within {
        minibatches: INTERRUPTED as u64,
        trainer: taken.common,
        replicas: taken.replicas,
        ..Within::default()
    };
    let state = LearningState { within: Some(within), ..LearningState::default() };
    let (_, read) = written_and_read(&nnet, &state);
    let within = read.within.unwrap();
    let mut second = replicas(devices);
    second.resume(State { common: within.trainer, replicas: within.replicas }).unwrap();
    train_together(&mut second, INTERRUPTED, MINIBATCHES, &mut said);
    let (nnet, said) = end(second, said);
    for (found, expected) in said.iter().zip(&expected.1) {
        assert_eq!(found, expected);
    }
    assert_eq!(said.len(), expected.1.len(), "events");
    assert!(nnet == expected.0, "replicas go on to another state");
}
