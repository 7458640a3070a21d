//! Readers of recurrent language models: minibatches, language models for sampling, text, features of words.

use kaldi_fst::store::Symbols;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter};
use nnet3_rnnlm::creator::{EgsEvent, EgsOptions, ExampleCreator, Sink};
use nnet3_rnnlm::example::RnnlmExample;
use nnet3_rnnlm::features::WordFeatures;
use nnet3_rnnlm::sampling_lm::SamplingLm;
use nnet3_rnnlm::sampling_lm::estimate::{EstimateOptions, Estimator};
use nnet3_rnnlm::text::Text;

use super::{both, reader};

fn bytes(input: &[u8]) -> KaldiReader {
    KaldiReader::from_bytes("input", input.to_vec())
}

pub fn read_example(input: &[u8]) {
    let Ok(example) = RnnlmExample::read(&mut reader(input)) else { return };
    let mut w = KaldiWriter::in_memory(true);
    example.write(&mut w).expect("an example that was read");
    let mut r = bytes(&w.into_bytes());
    r.set_binary(true);
    assert_eq!(RnnlmExample::read(&mut r).expect("an example that was written"), example);
}

pub fn corpus_examples() -> Vec<Vec<u8>> {
    let plain = RnnlmExample {
        vocab_size: 9,
        num_chunks: 2,
        chunk_length: 2,
        sample_group_size: 1,
        num_samples: 2,
        input_words: vec![1, 1, 5, 6],
        output_words: vec![5, 6, 2, 7],
        output_weights: vec![1.0, 0.5, 1.0, 0.0],
        sampled_words: Vec::new(),
        sample_inv_probs: Vec::new(),
    };
    let sampled = RnnlmExample {
        output_words: vec![0, 1, 0, 1],
        sampled_words: vec![5, 6, 2, 7],
        sample_inv_probs: vec![1.0, 1.5, 1.0, 3.0],
        ..plain.clone()
    };
    [plain, sampled].iter().flat_map(|example| both(|w| example.write(w).expect("in memory"))).collect()
}

/// A model that can be read can be asked.
fn ask(lm: &SamplingLm) {
    let histories = [(vec![1], 0.5), (vec![5, 6], 1.0), (Vec::new(), 0.25)];
    let _ = lm.distribution(&histories.into());
    assert!(!lm.probability(&[5, 6], 7).is_nan() || lm.order() > 1);
}

pub fn read_lm(input: &[u8]) {
    if let Ok(lm) = SamplingLm::read(&mut reader(input)) {
        ask(&lm);
    }
}

fn estimator() -> Estimator {
    let options = EstimateOptions {
        vocab_size: 9,
        unigram_factor: 1.1,
        backoff_factor: 1.0,
        bos_factor: 1.0,
        ..EstimateOptions::default()
    };
    Estimator::new(options).expect("options that make sense")
}

const TEXT: &str = "1 5 6 7\n0.5 5 6 6\n2 7 5\n1\n";

fn symbols() -> Symbols {
    let mut symbols = Symbols::new("words");
    for name in ["<eps>", "<s>", "</s>", "<brk>", "w", "a", "b", "c", "d"] {
        symbols.number_or_add(name);
    }
    symbols
}

fn estimated(arpa: bool) -> nnet3_rnnlm::sampling_lm::estimate::Estimated {
    let (mut estimator, mut text) = (estimator(), Text::new(bytes(TEXT.as_bytes())));
    while let Some(sentence) = text.next().expect("text") {
        estimator.add(&sentence).expect("known words");
    }
    estimator.estimate(arpa, &mut |_| ()).expect("counts")
}

pub fn corpus_lms() -> Vec<Vec<u8>> {
    let lm = SamplingLm::from(&estimated(false));
    both(|w| lm.write(w).expect("in memory"))
}

pub fn read_arpa(input: &[u8]) {
    if let Ok(lm) = SamplingLm::from_arpa(&mut bytes(input), symbols(), (1, 2), &mut |_| ()) {
        ask(&lm);
    }
}

pub fn corpus_arpas() -> Vec<Vec<u8>> {
    let mut w = KaldiWriter::in_memory(false);
    estimated(true).write_arpa(&mut w, &symbols()).expect("names of all words");
    vec![w.into_bytes()]
}

struct Nowhere;

impl Sink for Nowhere {
    fn example(&mut self, _: String, _: RnnlmExample) -> nnet3_rnnlm::Result<()> {
        Ok(())
    }
    fn event(&mut self, _: EgsEvent) {}
}

/// Text is counted and made minibatches of.
pub fn read_text(input: &[u8]) {
    let egs = EgsOptions {
        vocab_size: 9,
        num_chunks_per_minibatch: 2,
        chunk_length: 4,
        min_split_context: 0,
        num_samples: 0,
        ..EgsOptions::default()
    };
    let mut creator = ExampleCreator::new(egs, None, 0).expect("options that make sense");
    let (mut estimator, mut text) = (estimator(), Text::new(bytes(input)));
    while let Ok(Some(sentence)) = text.next() {
        let _ = estimator.add(&sentence);
        let _ = creator.accept(&sentence, &mut Nowhere);
    }
    let _ = estimator.estimate(false, &mut |_| ());
    let _ = creator.finish(&mut Nowhere);
}

pub fn corpus_texts() -> Vec<Vec<u8>> {
    vec![TEXT.as_bytes().to_vec(), b"1.5e0\t5  6 7 8 4 5 6\r\n".to_vec()]
}

pub fn read_features(input: &[u8]) {
    let _ = WordFeatures::read(&mut bytes(input), 5);
}

pub fn corpus_features() -> Vec<Vec<u8>> {
    vec![b"0\n1 0 1\n2\t1 0.5 3 -2\n3 4 1e-3\n".to_vec()]
}
