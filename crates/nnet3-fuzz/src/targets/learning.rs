//! Inputs of trainings by rules: rules, states behind models, IDX files.

use kaldi_io::DenseMatrix;
use kaldi_io::KaldiReader;
use nnet3_core::config::parse_config;
use nnet3_core::snapshot::Snapshot;
use nnet3_images::Idx;
use nnet3_train::learn::Rules;
use nnet3_train::learn::schedule::{PlateauState, Watch};
use nnet3_train::learn::state::{LearnerState, LearningState, PartState, ReplicaState, Within};

use super::{both, reader};

pub fn read_rules(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Ok(lines) = parse_config("rules", text.lines()) else { return };
    let mut rules = Rules::default();
    for line in lines {
        let _ = rules.push(line);
    }
}

pub fn corpus_rules() -> Vec<Vec<u8>> {
    [
        "optimizer name=main type=adamw learning-rate=.002 weight-decay=.01\nlearn components=* optimizer=main",
        "optimizer name=m type=muon momentum=.9 iterations=5\nlearn type=Linear* part=bias max-change=model",
        "schedule optimizer=main type=set at=2,6 to=.6,.4\nschedule type=cosine warm-up=.05 by=epoch",
        "clip norm=1 value=5\ncost output=output type=smooth-l1 sigma=2 smoothing=.1\ninitialize name=* type=kaiming",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

pub fn read_state(input: &[u8]) {
    let _ = LearningState::read(&mut reader(input));
}

pub fn corpus_states() -> Vec<Vec<u8>> {
    let part = PartState {
        component: "a".into(),
        part: "linear".into(),
        optimizer: "adam".into(),
        matrices: vec![DenseMatrix::from_rows(&[[0.5f32, -1.0]]); 2],
    };
    let learner =
        LearnerState { steps: 7, plateaus: vec![PlateauState::default()], averaged: 7, parts: vec![part] };
    let snapshot = Snapshot {
        numbers: vec![0.5, 3.0],
        texts: vec!["output".into()],
        matrices: vec![DenseMatrix::from_rows(&[[0.5f32, -1.0]])],
    };
    let state = LearningState {
        settings: vec![("rule".into(), "optimizer name=a type=adam".into())],
        epochs: 3,
        within: Some(Within {
            minibatches: 2,
            trainer: snapshot.clone(),
            replicas: vec![ReplicaState { trainer: snapshot, learner: learner.clone() }],
            happened: Snapshot::default(),
        }),
        statistics: Snapshot { numbers: vec![1.5], ..Snapshot::default() },
        watch: Watch::default(),
        learner,
    };
    both(|w| state.write(w).expect("memory"))
}

pub fn read_idx(input: &[u8]) {
    let Ok(mut idx) = Idx::open(KaldiReader::from_bytes("input", input.to_vec())) else { return };
    while let Ok(Some(_)) = idx.next() {}
}

pub fn corpus_idx() -> Vec<Vec<u8>> {
    let labels = [&[0, 0, 8, 1, 0, 0, 0, 2][..], &[3, 4]].concat();
    let images = [&[0, 0, 13, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2][..], &[0; 8]].concat();
    vec![labels, images]
}
