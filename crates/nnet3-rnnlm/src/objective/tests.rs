use super::*;
use nnet3_core::Random;
use nnet3_matrix::Matrix;

const WORDS: usize = 7;
const DIM: usize = 3;
const ROWS: usize = 6;

/// Three sequences of two words; with sampling two groups, each with a sample of four words.
fn example(sampled: bool) -> RnnlmExample {
    RnnlmExample {
        vocab_size: WORDS as i32,
        num_chunks: 3,
        chunk_length: 2,
        sample_group_size: 1,
        num_samples: 4,
        input_words: vec![1, 1, 1, 4, 5, 6],
        output_words: if sampled { vec![1, 2, 0, 3, 0, 1] } else { vec![4, 5, 6, 6, 2, 5] },
        output_weights: vec![1.0, 0.5, 2.0, 0.0, 1.0, 0.25],
        sampled_words: if sampled { vec![2, 4, 5, 6, 1, 2, 3, 6] } else { Vec::new() },
        sample_inv_probs: if sampled { vec![1.0, 1.5, 1.0, 3.0, 2.5, 1.0, 4.0, 1.0] } else { Vec::new() },
    }
}

struct Case {
    example: RnnlmExample,
    options: ObjectiveOptions,
    embedding: Vec<f32>,
    output: Vec<f32>,
}

impl Case {
    fn new(sampled: bool, options: ObjectiveOptions) -> Case {
        let random = Random::new(4);
        let embedding = random.normal_vec(WORDS * DIM, 0.0, 1.0);
        let output = random.normal_vec(ROWS * DIM, 0.0, 1.0);
        Case { example: example(sampled), options, embedding, output }
    }

    fn evaluate(&self) -> (Value, Vec<f32>, Vec<f32>) {
        let workspace = Workspace::new(&nnet3_matrix::cpu());
        let embedding = Matrix::from_vec(WORDS, DIM, self.embedding.clone());
        let output = Matrix::from_vec(ROWS, DIM, self.output.clone());
        let mut output_deriv = Matrix::from_vec(ROWS, DIM, vec![f32::NAN; ROWS * DIM]);
        let mut embedding_deriv = Matrix::from_vec(WORDS, DIM, vec![0.0; WORDS * DIM]);
        let derivatives =
            Derivatives { output: output_deriv.view_mut(), embedding: Some(embedding_deriv.view_mut()) };
        let views = (embedding.view(), output.view());
        let value = evaluate(&self.options, &workspace, &self.example, views, Some(derivatives)).unwrap();
        (value, output_deriv.to_vec(), embedding_deriv.to_vec())
    }

    /// Numerator, denominator and exact denominator by a loop over all terms, in `f64`.
    fn by_hand(&self) -> [f64; 3] {
        let score = |row: usize, word: usize| -> f64 {
            let (o, e) = (&self.output[row * DIM..], &self.embedding[word * DIM..]);
            (0..DIM).map(|i| f64::from(o[i]) * f64::from(e[i])).sum()
        };
        let mut out = [0.0; 3];
        for row in 0..ROWS {
            let weight = f64::from(self.example.output_weights[row]);
            let target = self.example.output_words[row] as usize;
            let sample: Vec<(usize, f64)> = match self.example.is_sampled() {
                false => (1..WORDS).map(|word| (word, 1.0)).collect(),
                true => (0..4)
                    .map(|i| {
                        let at = row / 3 * 4 + i;
                        (self.example.sampled_words[at] as usize, self.example.sample_inv_probs[at].into())
                    })
                    .collect(),
            };
            let word = if self.example.is_sampled() { sample[target].0 } else { target };
            let q = |l: f64| if l < 0.0 { l.exp() } else { 1.0 + l };
            out[0] += weight * score(row, word);
            out[1] += weight * (1.0 - sample.iter().map(|&(w, p)| p * q(score(row, w))).sum::<f64>());
            if !self.example.is_sampled() {
                out[2] -= weight * sample.iter().map(|&(w, _)| score(row, w).exp()).sum::<f64>().ln();
            }
        }
        out
    }

    fn total(&self) -> f64 {
        let [numerator, denominator, _] = self.by_hand();
        numerator + denominator
    }
}

fn no_limit() -> ObjectiveOptions {
    ObjectiveOptions { den_term_limit: 0.0, ..ObjectiveOptions::default() }
}

/// Values by a loop over all terms, derivatives by finite differences of that.
#[test]
fn values_and_derivatives() {
    for sampled in [false, true] {
        let mut case = Case::new(sampled, no_limit());
        let (value, output, embedding) = case.evaluate();
        for (found, expected) in [value.numerator, value.denominator, value.exact].iter().zip(case.by_hand())
        {
            assert!((found - expected).abs() < 1e-5, "{found} for {expected}");
        }
        assert_eq!(value.weight, 4.75);
        for (which, found) in [output, embedding].into_iter().enumerate() {
            for (i, &found) in found.iter().enumerate() {
                let step = 1e-2f32;
                let mut at = |change: f32| {
                    let values = if which == 0 { &mut case.output } else { &mut case.embedding };
                    let before = values[i];
                    values[i] = before + change;
                    let total = case.total();
                    let values = if which == 0 { &mut case.output } else { &mut case.embedding };
                    values[i] = before;
                    total
                };
                let slope = (at(step) - at(-step)) / (2.0 * f64::from(step));
                assert!(
                    (slope - f64::from(found)).abs() < 2e-3,
                    "{sampled} {which} {i}: {found} for {slope}"
                );
            }
        }
    }
}

/// The objective is a lower bound of the exact one.
#[test]
fn a_lower_bound() {
    let (value, ..) = Case::new(false, no_limit()).evaluate();
    assert!(value.denominator <= value.exact + 1e-9, "{value:?}");
}

/// Blocks of rows give the same as all rows at once.
#[test]
fn blocks_of_rows() {
    let (value, output, embedding) = Case::new(false, no_limit()).evaluate();
    for elements in [1, WORDS as i64, 2 * WORDS as i64 + 3] {
        let options = ObjectiveOptions { max_logprob_elements: elements, ..no_limit() };
        let (in_blocks, output2, embedding2) = Case::new(false, options).evaluate();
        assert!((value.denominator - in_blocks.denominator).abs() < 1e-5);
        assert!((value.exact - in_blocks.exact).abs() < 1e-5);
        let pairs = output.iter().zip(&output2).chain(embedding.iter().zip(&embedding2));
        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-5));
    }
}

/// With a limit the denominator's part of the derivative is smaller: it is the difference of two derivatives.
#[test]
fn limited_denominators() {
    let whole = Case::new(false, no_limit()).evaluate();
    let average = whole.0.denominator / whole.0.weight;
    let limit = (average / 4.0) as f32;
    assert!(limit < -0.5, "{limit}");
    let limited = Case::new(false, ObjectiveOptions { den_term_limit: limit, ..no_limit() }).evaluate();
    assert_eq!(limited.0, whole.0);
    // The numerator's part: w · embedding of the word, less the denominator's.
    let case = Case::new(false, no_limit());
    for row in 0..ROWS {
        for i in 0..DIM {
            let word = case.example.output_words[row] as usize;
            let numerator = case.example.output_weights[row] * case.embedding[word * DIM + i];
            let at = row * DIM + i;
            let (whole, limited) = (whole.1[at] - numerator, limited.1[at] - numerator);
            assert!((limited - whole / 4.0).abs() < 1e-5, "{limited} for {whole} / 4");
        }
    }
}

#[test]
fn wrong_shapes_and_options() {
    let case = Case::new(false, no_limit());
    let workspace = Workspace::new(&nnet3_matrix::cpu());
    let matrix = |rows: usize, cols: usize| Matrix::from_vec(rows, cols, vec![0.0; rows * cols]);
    for (embedding, output, expected) in [
        (matrix(WORDS + 1, DIM), matrix(ROWS, DIM), "the embedding matrix has 8 rows"),
        (matrix(WORDS, DIM), matrix(ROWS, DIM + 1), "4 columns, expected 6 rows and 3 columns"),
    ] {
        let views = (embedding.view(), output.view());
        let error = evaluate(&case.options, &workspace, &case.example, views, None).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for (wrong, expected) in [
        (ObjectiveOptions { den_term_limit: -0.5, ..no_limit() }, "`den-term-limit`=-0.5"),
        (ObjectiveOptions { max_logprob_elements: 0, ..no_limit() }, "`max-logprob-elements`=0"),
    ] {
        assert!(wrong.check().unwrap_err().to_string().contains(expected));
    }
}
