//! The objective: against the reference's figures, and derivatives by finite differences.

use kaldi_io::{DenseMatrix, read_vector};
use nnet3_decode::Lattice;
use nnet3_discriminative::objective::{AcousticModel, Derivatives, Evaluation, evaluate};
use nnet3_discriminative::{Criterion, DiscriminativeOptions, NnetDiscriminativeSupervision, Supervision};
use nnet3_matrix::Matrix;

use crate::{lattice, model, read};

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/objective/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).expect(name)
}

/// Options as a command line has them.
fn options(line: &str) -> DiscriminativeOptions {
    let mut options = DiscriminativeOptions::default();
    for word in line.split_whitespace() {
        let (name, value) = word.trim_start_matches("--").split_once('=').unwrap();
        match name {
            "criterion" => options.criterion = value.parse().unwrap(),
            "acoustic-scale" => options.acoustic_scale = value.parse().unwrap(),
            "drop-frames" => options.drop_frames = value.parse().unwrap(),
            "boost" => options.boost = value.parse().unwrap(),
            "one-silence-class" => options.one_silence_class = value.parse().unwrap(),
            "silence-phones" => {
                options.silence_phones = value.split(':').map(|phone| phone.parse().unwrap()).collect();
            }
            other => panic!("{other}"),
        }
    }
    options
}

/// The evaluation and the derivative, row by row.
fn evaluated(
    options: &DiscriminativeOptions,
    model: &AcousticModel,
    supervision: &Supervision,
    output: &DenseMatrix<f32>,
) -> (Evaluation, Vec<f32>) {
    let (rows, cols) = (output.rows, output.cols);
    let values = Matrix::from_vec(rows, cols, output.data.clone());
    let mut deriv = Matrix::from_vec(rows, cols, vec![f32::NAN; rows * cols]);
    let derivatives = Derivatives { output: Some(deriv.view_mut()), xent: None };
    let device = nnet3_matrix::cpu();
    let found = evaluate(options, model, supervision, values.view(), derivatives, &*device).unwrap();
    (found, deriv.to_vec())
}

/// Values, counts and derivatives that the reference found.
#[test]
fn figures() {
    let mut count = 0;
    for line in data("cases.tsv").lines() {
        let [name, objective, stats, words] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let mut r = kaldi_io::KaldiReader::from_bytes(name, data(&format!("{name}.priors")).into_bytes());
        let priors: Vec<f32> = read_vector(&mut r).unwrap();
        let log_priors = priors.iter().map(|prior| prior.ln()).collect();
        let model = AcousticModel { transitions: model(), log_priors };
        let output: DenseMatrix<f32> = read(&format!("objective/{name}.output"));
        let example: NnetDiscriminativeSupervision = read(&format!("objective/{name}.sup"));
        let options = options(words);
        let (found, deriv) = evaluated(&options, &model, &example.supervision, &output);
        let sums = &found.sums;
        let close = |found: f64, expected: &str| {
            let expected: f64 = expected.parse().unwrap();
            assert!((found - expected).abs() < 2e-5 * expected.abs().max(0.01), "{name}: {found} {expected}");
        };
        close(sums.value(options.criterion) / sums.weight, objective);
        close((sums.positive + sums.negative) / sums.weight, stats);
        assert_eq!(found.floored > 0, name.contains("floored"), "{name}");
        let mut expected = vec![0.0f64; deriv.len()];
        for entry in data(&format!("{name}.derivative")).lines() {
            let [row, col, value] = entry.split(' ').collect::<Vec<_>>()[..] else { panic!("{entry}") };
            let place = row.parse::<usize>().unwrap() * output.cols + col.parse::<usize>().unwrap();
            expected[place] = value.parse().unwrap();
        }
        let norm = expected.iter().map(|v| v * v).sum::<f64>().sqrt();
        let difference =
            expected.iter().zip(&deriv).map(|(a, b)| (a - f64::from(*b)).powi(2)).sum::<f64>().sqrt();
        assert!(difference < 3e-6 * norm, "{name}: {difference} of {norm}");
        count += 1;
    }
    assert_eq!(count, 5);
}

/// Two sequences of three frames with paths that part and meet, an arc without label, and a path that is never right.
fn two_sequences() -> Supervision {
    let one = |shift: i32| -> Lattice {
        lattice(
            &[
                (0, 1, 1 + shift, 0.5, 0.0),
                (0, 2, 13 + shift, 0.25, 9.0),
                (1, 3, 1 + shift, 0.5, 0.0),
                (2, 3, 14 + shift, 1.0, 0.0),
                (2, 4, 14 + shift, 0.75, 1.0),
                (3, 4, 0, 0.1, 0.0),
                (4, 5, 15 + shift, 0.0, 0.0),
                (4, 5, 40 + shift, 0.3, 0.0),
            ],
            5,
        )
    };
    let first = Supervision::new(vec![1, 1, 15], one(0), 0.5).unwrap();
    let second = Supervision::new(vec![13 + 6, 14 + 6, 2], one(6), 0.5).unwrap();
    nnet3_train::SequenceSupervision::merge(vec![first, second]).unwrap()
}

/// Numbers from -3 to 0 that look random.
fn outputs(rows: usize, cols: usize) -> DenseMatrix<f32> {
    let value = |k: usize| -(((k * 7919 + 13) % 997) as f32) / 332.0;
    DenseMatrix { rows, cols, data: (0..rows * cols).map(value).collect() }
}

/// Derivatives against differences of the objective. The derivative is that by the scaled output.
#[test]
fn derivatives_are_slopes() {
    let supervision = two_sequences();
    let transitions = model();
    let pdfs = transitions.num_pdfs();
    let log_priors = (0..pdfs).map(|pdf| -1.0 - (pdf % 5) as f32 / 4.0).collect();
    let model = AcousticModel { transitions, log_priors };
    let output = outputs(6, pdfs);
    let silence_phones = vec![1, 2, 3, 4, 5];
    let base = DiscriminativeOptions { acoustic_scale: 0.5, silence_phones, ..Default::default() };
    let all = [
        DiscriminativeOptions { criterion: Criterion::Mmi, ..base.clone() },
        DiscriminativeOptions { criterion: Criterion::Mmi, boost: 0.7, ..base.clone() },
        DiscriminativeOptions { criterion: Criterion::Smbr, ..base.clone() },
        DiscriminativeOptions { criterion: Criterion::Smbr, one_silence_class: true, ..base.clone() },
        DiscriminativeOptions { criterion: Criterion::Mpfe, one_silence_class: true, ..base.clone() },
        DiscriminativeOptions { criterion: Criterion::Mpfe, silence_phones: Vec::new(), ..base },
    ];
    for options in all {
        let (_, deriv) = evaluated(&options, &model, &supervision, &output);
        let value_at = |place: usize, change: f32| {
            let mut moved = output.clone();
            moved.data[place] += change;
            evaluated(&options, &model, &supervision, &moved).0.sums.value(options.criterion)
        };
        let mut largest = 0.0f64;
        for (place, &derivative) in deriv.iter().enumerate() {
            let step = 1.0 / 128.0;
            let slope = (value_at(place, step) - value_at(place, -step)) / (2.0 * f64::from(step));
            let expected = f64::from(options.acoustic_scale * derivative);
            assert!((slope - expected).abs() < 2e-5, "{options:?}, {place}: {slope} {expected}");
            largest = largest.max(slope.abs());
        }
        assert!(largest > 0.01, "{options:?}");
    }
}

/// The regularisation with l2: value and derivative by hand.
#[test]
fn l2_regularisation() {
    let supervision = two_sequences();
    let model = AcousticModel { transitions: model(), log_priors: Vec::new() };
    let output = outputs(6, model.transitions.num_pdfs());
    let without = DiscriminativeOptions::default();
    let with = DiscriminativeOptions { l2_regularize: 0.25, ..without.clone() };
    let (_, plain) = evaluated(&without, &model, &supervision, &output);
    let (found, deriv) = evaluated(&with, &model, &supervision, &output);
    let squares: f64 = output.data.iter().map(|&x| f64::from(x).powi(2)).sum();
    assert!((found.sums.l2 + 0.5 * 0.5 * 0.25 * squares).abs() < 1e-3, "{}", found.sums.l2);
    for ((d, p), x) in deriv.iter().zip(&plain).zip(&output.data) {
        assert!((d - (p - 0.5 * 0.25 * x)).abs() < 1e-5, "{d} {p} {x}");
    }
}

/// Frames in which the lattice lacks the right pdf give no derivative, but count for the objective.
#[test]
fn dropped_frames() {
    let supervision = two_sequences();
    let model = AcousticModel { transitions: model(), log_priors: Vec::new() };
    let cols = model.transitions.num_pdfs();
    let output = outputs(6, cols);
    let keep = DiscriminativeOptions { criterion: Criterion::Mmi, ..Default::default() };
    let drop = DiscriminativeOptions { drop_frames: true, ..keep.clone() };
    let (kept, all) = evaluated(&keep, &model, &supervision, &output);
    let (dropped, fewer) = evaluated(&drop, &model, &supervision, &output);
    assert_eq!(kept.sums.value(Criterion::Mmi), dropped.sums.value(Criterion::Mmi));
    // Frame 2 of sequence 1 is aligned to transition-id 2; rows are frame by frame.
    for (row, (all, fewer)) in all.chunks(cols).zip(fewer.chunks(cols)).enumerate() {
        if row == 5 {
            assert!(all.iter().any(|&v| v != 0.0) && fewer.iter().all(|&v| v == 0.0));
        } else {
            assert_eq!(all, fewer, "row {row}");
        }
    }
}

/// An output that is not a number gives no derivative, and does not spoil the sums.
#[test]
fn outputs_that_are_not_finite() {
    let supervision = two_sequences();
    let model = AcousticModel { transitions: model(), log_priors: Vec::new() };
    let mut output = outputs(6, model.transitions.num_pdfs());
    output.data.iter_mut().for_each(|x| *x = f32::NAN);
    for (criterion, per_frame) in [(Criterion::Mmi, -10.0), (Criterion::Smbr, 0.0), (Criterion::Mpfe, 0.0)] {
        let options = DiscriminativeOptions { criterion, l2_regularize: 0.1, ..Default::default() };
        let (found, deriv) = evaluated(&options, &model, &supervision, &output);
        assert!(found.failed && deriv.iter().all(|&v| v == 0.0), "{criterion}");
        assert_eq!(found.sums.value(criterion) / found.sums.weight, per_frame);
        assert_eq!(found.sums.l2, 0.0);
    }
}

/// Supervision, model and output that do not fit each other.
#[test]
fn what_is_refused() {
    let model = AcousticModel { transitions: model(), log_priors: Vec::new() };
    let (pdfs, options) = (model.transitions.num_pdfs(), DiscriminativeOptions::default());
    let error = |supervision: &Supervision, rows: usize, cols: usize, options: &DiscriminativeOptions| {
        let values = Matrix::from_vec(rows, cols, vec![-1.0; rows * cols]);
        let device = nnet3_matrix::cpu();
        let found = evaluate(options, &model, supervision, values.view(), Derivatives::default(), &*device);
        found.unwrap_err().to_string()
    };
    let supervision = two_sequences();
    let message = error(&supervision, 5, pdfs, &options);
    assert!(message.contains("expected 6 rows for 2 sequences of 3 frames"), "{message}");
    let message = error(&supervision, 6, pdfs - 1, &options);
    assert!(message.contains("a column for each of the model's"), "{message}");
    let mut foreign = supervision.clone();
    foreign.alignment[1] = 100_000;
    let message = error(&foreign, 6, pdfs, &options);
    assert!(message.contains("transition-id 100000, but the model has"), "{message}");
    let wrong = DiscriminativeOptions { l2_regularize: -1.0, ..options };
    let message = error(&supervision, 6, pdfs, &wrong);
    assert!(message.contains("`l2-regularize`=-1: expected a number that is not negative"), "{message}");
    let message = "mwe".parse::<Criterion>().unwrap_err().to_string();
    assert_eq!(message, "Unknown criterion mwe; expected mmi, mpfe or smbr");
}
