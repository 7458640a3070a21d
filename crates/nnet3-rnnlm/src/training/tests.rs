use super::*;
use crate::features::WordFeatures;
use crate::objective::Value;
use crate::probability::ProbComputer;
use crate::testing::{DIM, WORDS, embedding, example, network};
use kaldi_io::{DenseMatrix, KaldiReader};

const RATE: f32 = 1e-3;

/// Features of the six words: four features.
fn features() -> WordFeatures {
    let text = "0\n1 0 1\n2 1 1 3 0.5\n3 1 2\n4 0 -1 2 1\n5 2 1 3 1\n";
    WordFeatures::read(&mut KaldiReader::from_bytes("features", text.as_bytes().to_vec()), 4).unwrap()
}

fn feature_embedding() -> DenseMatrix<f32> {
    DenseMatrix { rows: 4, cols: DIM, data: Random::new(9).normal_vec(4 * DIM, 0.0, 0.7) }
}

fn plain() -> EmbeddingOptions {
    EmbeddingOptions {
        learning_rate: RATE,
        use_natural_gradient: false,
        max_param_change: 0.0,
        ..EmbeddingOptions::default()
    }
}

fn trainer(with_features: bool, options: TrainerOptions, rate: f32) -> RnnlmTrainer {
    trainer_on(&nnet3_matrix::cpu(), with_features, options, rate)
}

fn trainer_on(device: &Device, with_features: bool, options: TrainerOptions, rate: f32) -> RnnlmTrainer {
    let mut nnet = network();
    nnet.set_learning_rate(rate);
    let embedding = match with_features {
        true => Embedding::new(&feature_embedding(), Some(features()), device).unwrap(),
        false => Embedding::new(&embedding(), None, device).unwrap(),
    };
    RnnlmTrainer::new(nnet, embedding, options, device).unwrap()
}

/// The kernels of a GPU, compiled for the CPU, train as the host does.
#[test]
fn a_device_of_its_own() {
    let core = CoreOptions { momentum: 0.5, ..CoreOptions::default() };
    let own = EmbeddingOptions { l2_regularize: 0.01, momentum: 0.5, ..EmbeddingOptions::default() };
    let options = TrainerOptions { core, ..options(own) };
    for (with_features, sampled) in [(false, false), (false, true), (true, false), (true, true)] {
        let trained = [nnet3_matrix::cpu(), nnet3_cuda_twin::device()].map(|device| {
            let mut trainer = trainer_on(&device, with_features, options.clone(), 0.01);
            let examples = [example(sampled), example(false), example(sampled)];
            examples.into_iter().for_each(|example| trainer.train(example, &mut |_| ()).unwrap());
            trainer.finish().unwrap()
        });
        let parameters = |trained: &Trained| -> Vec<f32> {
            let components = trained.nnet.components().filter_map(|c| c.as_updatable());
            components.flat_map(|u| u.vectorize()).chain(trained.embedding.data.iter().copied()).collect()
        };
        let [host, device] = trained.each_ref().map(parameters);
        let largest = host.iter().zip(&device).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest < 1e-4, "{with_features} {sampled}: {largest}");
        assert_eq!(trained[0].objectives.1.to_string(), trained[1].objectives.1.to_string());
    }
}

fn options(embedding: EmbeddingOptions) -> TrainerOptions {
    let objective = ObjectiveOptions { den_term_limit: 0.0, ..ObjectiveOptions::default() };
    TrainerOptions { embedding: Some(embedding), objective, ..TrainerOptions::default() }
}

/// The change that one minibatch makes to the embedding matrix.
fn change(with_features: bool, sampled: bool, own: EmbeddingOptions) -> Vec<f32> {
    let mut trainer = trainer(with_features, options(own), 0.0);
    let before = trainer.embedding.to_dense();
    trainer.train(example(sampled), &mut |_| ()).unwrap();
    let after = trainer.finish().unwrap().embedding;
    after.data.iter().zip(&before.data).map(|(a, b)| a - b).collect()
}

fn objective(matrix: &DenseMatrix<f32>, with_features: bool, sampled: bool) -> f64 {
    let words = if with_features { features().word_embedding(matrix).unwrap() } else { matrix.clone() };
    let device = nnet3_matrix::cpu();
    let embedding = Embedding::new(&words, None, &device).unwrap();
    let mut computer = ProbComputer::new(network(), embedding, CompilerOptions::default(), &device).unwrap();
    let Value { numerator, denominator, .. } = computer.compute(&example(sampled)).unwrap().value;
    numerator + denominator
}

/// The change over the learning rate is the derivative of the objective: by finite differences, of words and of features, with
/// sampling and without.
#[test]
fn derivatives_by_finite_differences() {
    for (with_features, sampled) in [(false, false), (false, true), (true, false), (true, true)] {
        let matrix = if with_features { feature_embedding() } else { embedding() };
        let change = change(with_features, sampled, plain());
        for (i, change) in change.iter().enumerate() {
            let step = 1e-2f32;
            let at = |by: f32| {
                let mut moved = matrix.clone();
                moved.data[i] += by;
                objective(&moved, with_features, sampled)
            };
            let slope = (at(step) - at(-step)) / (2.0 * f64::from(step));
            let found = f64::from(change / RATE);
            assert!((found - slope).abs() < 5e-3, "{with_features} {sampled} {i}: {found} for {slope}");
        }
    }
}

/// l2 regularisation takes 2 λ M away; with sampling of active rows only, and word 0 is none.
#[test]
fn l2_regularization() {
    for (with_features, sampled) in [(false, false), (false, true), (true, true)] {
        let matrix = if with_features { feature_embedding() } else { embedding() };
        let without = change(with_features, sampled, plain());
        let with = change(with_features, sampled, EmbeddingOptions { l2_regularize: 0.25, ..plain() });
        for (i, (with, without)) in with.iter().zip(&without).enumerate() {
            let inactive = sampled && !with_features && i < DIM;
            let expected = if inactive { 0.0 } else { -RATE * 0.5 * matrix.data[i] };
            assert!((with - without - expected).abs() < 1e-6, "{with_features} {sampled} {i}");
        }
    }
}

#[test]
fn limits_on_the_change() {
    let whole = change(false, false, plain());
    let norm = whole.iter().map(|x| x * x).sum::<f32>().sqrt();
    let limited = change(false, false, EmbeddingOptions { max_param_change: norm / 4.0, ..plain() });
    let close = whole.iter().zip(&limited).all(|(a, b)| (a / 4.0 - b).abs() < 1e-6);
    assert!(close);
    let mut events = Vec::new();
    let own = EmbeddingOptions { max_param_change: norm / 4.0, ..plain() };
    let mut trainer = trainer(false, options(own), 0.0);
    trainer.train(example(false), &mut |event| events.push(event)).unwrap();
    let scales = events.iter().filter_map(|event| match event {
        Event::EmbeddingMaxChange { scale, .. } => Some(*scale),
        _ => None,
    });
    let scales: Vec<f32> = scales.collect();
    assert!(scales.len() == 1 && (scales[0] - 0.25).abs() < 1e-4, "{scales:?}");
    let summary = trainer.finish().unwrap().summary.unwrap();
    assert_eq!((summary.steps, summary.limited), (1, 100.0));
    assert!((summary.change - f64::from(norm / 4.0)).abs() < 1e-5);
}

/// With momentum μ the steps are (1 - μ) g₁, and then μ (1 - μ) g₁ + (1 - μ) g₂.
#[test]
fn momentum() {
    let own = EmbeddingOptions { momentum: 0.5, ..plain() };
    let first = change(false, true, plain());
    let half = change(false, true, own.clone());
    assert!(first.iter().zip(&half).all(|(a, b)| (a / 2.0 - b).abs() < 1e-7));
    let mut trainer = trainer(false, options(own), 0.0);
    let before = trainer.embedding.to_dense();
    trainer.train(example(true), &mut |_| ()).unwrap();
    trainer.train(example(true), &mut |_| ()).unwrap();
    let after = trainer.finish().unwrap().embedding;
    // The second gradient is nearly the first.
    for (i, first) in first.iter().enumerate() {
        let found = after.data[i] - before.data[i];
        assert!((found - 1.25 * first).abs() < 0.02 * first.abs() + 1e-5, "{found} for {}", 1.25 * first);
    }
}

/// Several passes over a minibatch make it more likely, whatever is trained.
#[test]
fn training_raises_the_objective() {
    let backstitch = CoreOptions { backstitch_training_scale: 0.3, ..CoreOptions::default() };
    let own = EmbeddingOptions { learning_rate: 0.05, ..EmbeddingOptions::default() };
    for (name, options) in [
        ("network", TrainerOptions { embedding: None, ..options(plain()) }),
        ("both", options(own.clone())),
        (
            "backstitch",
            TrainerOptions {
                core: backstitch,
                ..options(EmbeddingOptions { backstitch_training_scale: 0.3, ..own })
            },
        ),
    ] {
        for (with_features, sampled) in [(false, false), (true, true), (false, true)] {
            let mut trainer = trainer(with_features, options.clone(), 0.05);
            let mut averages = Vec::new();
            let mut record = |event: Event| {
                if let Event::Interval(interval) = event {
                    averages.push(interval.to_string());
                }
            };
            (0..20).for_each(|_| trainer.train(example(sampled), &mut record).unwrap());
            let trained = trainer.finish().unwrap();
            assert_eq!((trained.minibatches, averages.len()), (20, 2));
            let value = |line: &str| -> f64 {
                let end = line.split(") = ").nth(1).unwrap();
                end.split(' ').next().unwrap().parse().unwrap()
            };
            assert!(value(&averages[1]) > value(&averages[0]) + 0.01, "{name}: {averages:?}");
        }
    }
}

#[test]
fn words_of_a_sampled_minibatch() {
    let mut renumbered = example(true);
    renumbered.sampled_words[0] = 1;
    renumbered.input_words[5] = 0;
    let words = renumber(&mut renumbered);
    assert_eq!(words, [0, 1, 2, 3, 4, 5]);
    let mut few = RnnlmExample { input_words: vec![5], sampled_words: vec![2, 5], ..example(true) };
    assert_eq!(renumber(&mut few), [2, 5]);
    assert_eq!((few.vocab_size, few.input_words, few.sampled_words), (2, vec![1], vec![0, 1]));
}

#[test]
fn what_does_not_fit() {
    let device = nnet3_matrix::cpu();
    let mut trainer = trainer(false, options(plain()), 0.0);
    let wrong = RnnlmExample { vocab_size: 7, ..example(false) };
    let error = trainer.train(wrong, &mut |_| ()).unwrap_err().to_string();
    assert_eq!(error, "Vocabulary size mismatch: expected 6, got 7");
    let narrow = Embedding::new(&DenseMatrix::new(WORDS, DIM + 1), None, &device).unwrap();
    let error = RnnlmTrainer::new(network(), narrow, options(plain()), &device).err().expect("an error");
    assert!(error.to_string().contains("dimension 5 of the embeddings, found 4 and 4"), "{error}");
    let error = Embedding::new(&embedding(), Some(features()), &device).err().expect("an error").to_string();
    assert!(error.contains("4 features") && error.contains("6 rows"), "{error}");
    let mut infinite = embedding();
    infinite.data[5] = f32::INFINITY;
    let error = Embedding::new(&infinite, None, &device).err().expect("an error").to_string();
    assert!(error.contains("row 1, column 1"), "{error}");
    for (wrong, expected) in [
        (EmbeddingOptions { learning_rate: 0.0, ..plain() }, "`embedding.learning-rate`=0"),
        (EmbeddingOptions { momentum: 1.0, ..plain() }, "`embedding.momentum`=1"),
        (EmbeddingOptions { natural_gradient_rank: 0, ..plain() }, "`embedding.natural-gradient-rank`=0"),
        (
            EmbeddingOptions { natural_gradient_num_minibatches_history: 1.0, ..plain() },
            "`embedding.natural-gradient-num-minibatches-history`=1",
        ),
    ] {
        let error = wrong.check(false).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let core = CoreOptions { backstitch_training_interval: 0, ..CoreOptions::default() };
    assert!(core.check().unwrap_err().to_string().contains("`rnnlm.backstitch-training-interval`=0"));
}
