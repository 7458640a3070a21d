use super::*;
use crate::example_sampler::{ExampleSampler, Sampling};
use crate::sampling_lm::SamplingLm;
use crate::sampling_lm::estimate::{EstimateOptions, Estimator};

#[derive(Default)]
struct Collected {
    examples: Vec<RnnlmExample>,
    events: Vec<EgsEvent>,
}

impl Sink for Collected {
    fn example(&mut self, key: String, example: RnnlmExample) -> Result<()> {
        assert_eq!(key, format!("minibatch-{}", self.examples.len()));
        self.examples.push(example);
        Ok(())
    }
    fn event(&mut self, event: EgsEvent) {
        self.events.push(event);
    }
}

fn options() -> EgsOptions {
    EgsOptions {
        vocab_size: 50,
        num_chunks_per_minibatch: 4,
        chunk_length: 10,
        min_split_context: 2,
        num_samples: 12,
        chunk_buffer_size: 6,
        ..EgsOptions::default()
    }
}

/// Sentences of 1 to 40 words; no word comes twice in one, so that positions can be told apart.
fn sentences() -> Vec<Sentence> {
    let lengths = [3, 9, 10, 25, 1, 40, 17, 6, 6, 33, 2, 12];
    let words = |length: i32| (0..length).map(|i| 4 + (7 * i + length) % 45).collect();
    (1..)
        .zip(lengths)
        .map(|(line, length)| Sentence { line, weight: 0.5 * line as f32, words: words(length) })
        .collect()
}

fn make(options: &EgsOptions, sampler: Option<Box<ExampleSampler>>) -> (Collected, Summary) {
    let mut creator = ExampleCreator::new(options.clone(), sampler, 5).unwrap();
    let mut sink = Collected::default();
    sentences().iter().for_each(|sentence| creator.accept(sentence, &mut sink).unwrap());
    let summary = creator.finish(&mut sink).unwrap();
    (sink, summary)
}

/// Each word of each sentence, and its end, is predicted once with its sentence's weight. The network reads the word before it,
/// or `<s>` at the beginning of a sentence, or `<brk>`. A piece has at least the least context.
#[test]
fn every_word_is_predicted_once() {
    let options = options();
    let (collected, summary) = make(&options, None);
    assert_eq!(summary.sequences, 12);
    assert_eq!((summary.minibatches as usize, summary.left_over), (collected.examples.len(), 0));
    let mut predicted = Vec::new();
    for example in &collected.examples {
        assert_eq!((example.num_chunks, example.chunk_length, example.sample_group_size), (4, 10, 1));
        for n in 0..4 {
            let at = |t: usize| t * 4 + n;
            let mut since_begin = 0;
            for t in 0..10 {
                let (input, weight) = (example.input_words[at(t)], example.output_weights[at(t)]);
                let begins = input == options.bos_symbol || input == options.brk_symbol;
                since_begin = if begins { 0 } else { since_begin + 1 };
                assert!(t > 0 || begins);
                if !begins {
                    assert_eq!(input, example.output_words[at(t - 1)]);
                }
                if weight > 0.0 {
                    // The weight says which sentence it is.
                    predicted.push(((2.0 * weight) as u64, example.output_words[at(t)]));
                    let first = example.input_words[at(t - since_begin)];
                    assert!(first == options.bos_symbol || since_begin >= 2);
                }
            }
        }
    }
    let words = sentences().into_iter().flat_map(|s| {
        let ends = [(s.line, options.eos_symbol)];
        s.words.into_iter().map(move |word| (s.line, word)).chain(ends).collect::<Vec<_>>()
    });
    let mut expected: Vec<(u64, i32)> = words.collect();
    expected.sort_unstable();
    predicted.sort_unstable();
    assert_eq!(predicted, expected);
}

#[test]
fn pieces_of_long_sentences() {
    let random = Random::new(2);
    for sentence in 11..200 {
        let lengths = piece_lengths(sentence, 10, 3, &random);
        assert_eq!(lengths.iter().sum::<usize>(), sentence);
        assert!(lengths[0] <= 10 && lengths[1..].iter().all(|&length| (1..=7).contains(&length)));
        assert!(lengths.iter().filter(|&&length| length < 7).count() <= 1);
    }
}

#[test]
fn room_goes_to_context() {
    let chunk = |context_begin, begin| Chunk {
        sequence: vec![9; 20].into(),
        weight: 1.0,
        context_begin,
        begin,
        end: begin + 1,
    };
    let mut chunks = [chunk(2, 4), chunk(0, 0), chunk(9, 11)];
    lengthen(&mut chunks, 7);
    assert_eq!(chunks.map(|chunk| chunk.context_begin), [0, 0, 4]);
}

fn sampler(options: &EgsOptions) -> Sampling {
    let estimate = EstimateOptions {
        vocab_size: 50,
        unigram_factor: 1.5,
        backoff_factor: 1.0,
        bos_factor: 1.0,
        ..EstimateOptions::default()
    };
    let mut estimator = Estimator::new(estimate).unwrap();
    sentences().iter().for_each(|sentence| estimator.add(sentence).unwrap());
    let lm = SamplingLm::from(&estimator.estimate(false, &mut |_| ()).unwrap());
    ExampleSampler::new(options.clone(), lm).unwrap()
}

/// With sampling the words to predict are positions in the samples; without it they are the same words.
#[test]
fn samples_have_the_words_to_predict() {
    let options = options();
    let Sampling::Some(sampler) = sampler(&options) else { panic!("enough words") };
    let (collected, _) = make(&options, Some(sampler));
    // (The random numbers of sampling change later minibatches.)
    let plain = make(&options, None).0.examples.swap_remove(0);
    let first = &collected.examples[0];
    assert_eq!((&first.input_words, first.sampled_words.len()), (&plain.input_words, 5 * 12));
    for example in &collected.examples {
        for (group, sample) in example.sampled_words.chunks(12).enumerate() {
            assert!(sample.is_sorted_by(|a, b| a < b));
            for row in 8 * group..8 * group + 8 {
                let word = sample[example.output_words[row] as usize];
                assert!(word >= 2);
                if std::ptr::eq(example, first) {
                    assert_eq!(word, plain.output_words[row]);
                }
            }
        }
        assert!(example.sample_inv_probs.iter().all(|&p| p >= 1.0 - 1e-6));
    }
}

#[test]
fn too_few_words_to_sample() {
    let options = EgsOptions { num_samples: 60, ..options() };
    assert!(matches!(sampler(&options), Sampling::TooFewWords(49)));
    assert!(matches!(sampler(&EgsOptions { num_samples: 0, ..options }), Sampling::None));
}

#[test]
fn wrong_sentences() {
    let mut creator = ExampleCreator::new(options(), None, 0).unwrap();
    let mut sink = Collected::default();
    for (weight, words, expected) in [
        (0.0, vec![5], "line 3: expected a weight above 0, found 0"),
        (1.0, vec![5, 50], "line 3: expected words from 1 to 49 other than <s> (1) and <brk> (3), found 50"),
        (1.0, vec![1], "found 1"),
        (1.0, vec![3], "found 3"),
        (1.0, vec![0], "found 0"),
    ] {
        let error = creator.accept(&Sentence { line: 3, weight, words }, &mut sink).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    creator.accept(&Sentence { line: 4, weight: 1.0, words: vec![5, 2] }, &mut sink).unwrap();
    assert_eq!(sink.events, [EgsEvent::EndsWithEos(4)]);
}

#[test]
fn wrong_options() {
    for (wrong, expected) in [
        (EgsOptions { vocab_size: 0, ..options() }, "The `vocab-size` option must be provided."),
        (EgsOptions { chunk_length: 8, ..options() }, "`chunk-length`=8"),
        (EgsOptions { chunk_length: 11, ..options() }, "`sample-group-size`=2"),
        (EgsOptions { num_samples: 7, ..options() }, "`num-samples`=7: expected 0, or at least 8"),
        (EgsOptions { brk_symbol: 2, ..options() }, "`brk-symbol`=2"),
        (EgsOptions { bos_symbol: 50, ..options() }, "`bos-symbol`=50"),
        (EgsOptions { uniform_prob_mass: 1.0, ..options() }, "`uniform-prob-mass`=1"),
        (EgsOptions { num_chunks_per_minibatch: 0, ..options() }, "`num-chunks-per-minibatch`=0"),
        (
            EgsOptions { chunk_length: i32::MAX - 1, sample_group_size: 1, ..options() },
            "words in a minibatch",
        ),
    ] {
        let error = ExampleCreator::new(wrong, None, 0).err().expect("an error").to_string();
        assert!(error.contains(expected), "{error}");
    }
}
