//! Trainings of the reference, with its random numbers. They run if the environment variable NNET3_RNNLM_DIR names the folder with
//! the figures.

use std::path::PathBuf;

use kaldi_io::{DenseMatrix, SequentialReader, read_object};
use nnet3_core::nnet::Nnet;
use nnet3_rnnlm::embedding::Embedding;
use nnet3_rnnlm::example::RnnlmExampleHolder;
use nnet3_rnnlm::features::WordFeatures;
use nnet3_rnnlm::training::{CoreOptions, EmbeddingOptions, RnnlmTrainer, TrainerOptions};

/// Largest ‖ours - theirs‖ / ‖theirs‖ of a component's parameters.
const TOLERANCE: f64 = 2e-5;

struct Run<'r> {
    name: &'r str,
    learning_rate: Option<f32>,
    embedding: &'r str,
    features: bool,
    examples: &'r str,
    options: TrainerOptions,
}

fn norm(values: &[f32]) -> f64 {
    values.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt()
}

fn close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let difference: Vec<f32> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    let relative = norm(&difference) / norm(expected).max(1e-9);
    assert!(relative <= TOLERANCE, "{what}: a relative difference of {relative:.2e}");
}

fn compare(run: Run<'_>) {
    let Some(folder) = kaldi_io::testing::data_folder("NNET3_RNNLM_DIR") else { return };
    let path = |name: &str| PathBuf::from(&folder).join(name).to_string_lossy().into_owned();
    let mut nnet = Nnet::load(&path("final.raw")).unwrap();
    run.learning_rate.into_iter().for_each(|rate| nnet.set_learning_rate(rate));
    let matrix: DenseMatrix<f32> = read_object(&path(run.embedding)).unwrap();
    let features = run.features.then(|| WordFeatures::load(&path("word_feats.txt"), matrix.rows).unwrap());
    let device = nnet3_matrix::cpu();
    let trains_embedding = run.options.embedding.is_some();
    let embedding = Embedding::new(&matrix, features, &device).unwrap();
    let mut trainer = RnnlmTrainer::new(nnet, embedding, run.options, &device).unwrap();
    let rspecifier = format!("ark:{}", path(run.examples));
    let mut examples = SequentialReader::<RnnlmExampleHolder>::open(&rspecifier).unwrap();
    while let Some((_, example)) = examples.next().unwrap() {
        trainer.train(example, &mut |_| ()).unwrap();
    }
    let trained = trainer.finish().unwrap();
    let expected = Nnet::load(&path(&format!("{}.raw", run.name))).unwrap();
    let parameters = |nnet: &Nnet| -> Vec<Vec<f32>> {
        nnet.components().filter_map(|c| c.as_updatable()).map(|u| u.vectorize()).collect()
    };
    for (k, (found, expected)) in parameters(&trained.nnet).iter().zip(&parameters(&expected)).enumerate() {
        close(&format!("{}, parameters of component {k}", run.name), found, expected);
    }
    if trains_embedding {
        let expected: DenseMatrix<f32> = read_object(&path(&format!("{}.mat", run.name))).unwrap();
        close(&format!("{}, embeddings", run.name), &trained.embedding.data, &expected.data);
    }
}

#[test]
fn network_alone() {
    compare(Run {
        name: "train.core",
        learning_rate: None,
        embedding: "feat_embedding.final.mat",
        features: true,
        examples: "egs.long.txt",
        options: TrainerOptions::default(),
    });
}

#[test]
fn features_and_samples() {
    let embedding =
        EmbeddingOptions { learning_rate: 0.001, l2_regularize: 0.001, ..EmbeddingOptions::default() };
    compare(Run {
        name: "train.sampled",
        learning_rate: Some(0.005),
        embedding: "feat_embedding.final.mat",
        features: true,
        examples: "egs.sampled",
        options: TrainerOptions { embedding: Some(embedding), ..TrainerOptions::default() },
    });
}

#[test]
fn words_with_momentum() {
    let embedding = EmbeddingOptions {
        learning_rate: 0.003,
        use_natural_gradient: false,
        max_param_change: 0.05,
        momentum: 0.5,
        ..EmbeddingOptions::default()
    };
    let core = CoreOptions { momentum: 0.3, ..CoreOptions::default() };
    compare(Run {
        name: "train.word",
        learning_rate: None,
        embedding: "word_embedding.final.txt",
        features: false,
        examples: "egs.train",
        options: TrainerOptions { core, embedding: Some(embedding), ..TrainerOptions::default() },
    });
}

/// Each step of backstitch begins the sequence of random numbers anew, also in the first minibatch.
#[test]
fn backstitch() {
    let embedding = EmbeddingOptions {
        learning_rate: 0.002,
        backstitch_training_scale: 0.4,
        backstitch_training_interval: 2,
        ..EmbeddingOptions::default()
    };
    let core = CoreOptions {
        backstitch_training_scale: 0.4,
        backstitch_training_interval: 2,
        ..CoreOptions::default()
    };
    compare(Run {
        name: "train.backstitch",
        learning_rate: None,
        embedding: "feat_embedding.final.mat",
        features: true,
        examples: "egs.train",
        options: TrainerOptions { core, embedding: Some(embedding), ..TrainerOptions::default() },
    });
}
