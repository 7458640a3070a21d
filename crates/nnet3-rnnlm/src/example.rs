//! Minibatches of text, as files have them (`RnnlmExample` of `rnnlm/rnnlm-example.h`).

use kaldi_io::holder::ObjectHolder;
use kaldi_io::{KaldiObject, KaldiReader, KaldiWriter, read_vector, write_vector};

/// A minibatch: `num_chunks` sequences of `chunk_length` words. The entry of sequence n at time t is t · num_chunks + n.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RnnlmExample {
    /// One more than the largest word.
    pub vocab_size: i32,
    pub num_chunks: i32,
    pub chunk_length: i32,
    /// Number of successive times that share a sample of words.
    pub sample_group_size: i32,
    /// The number of words in a sample.
    pub num_samples: i32,
    pub input_words: Vec<i32>,
    /// Words to predict; with sampling their positions in the sample of their group.
    pub output_words: Vec<i32>,
    /// The weight of each word to predict.
    pub output_weights: Vec<f32>,
    /// The sample of each group of times, one behind the other; empty without sampling.
    pub sampled_words: Vec<i32>,
    /// One over the probability with which each word got into its sample.
    pub sample_inv_probs: Vec<f32>,
}

/// Minibatches as values of a table.
pub type RnnlmExampleHolder = ObjectHolder<RnnlmExample>;

impl RnnlmExample {
    /// True if words are sampled.
    pub fn is_sampled(&self) -> bool {
        !self.sampled_words.is_empty()
    }

    /// The sum of all weights.
    pub fn weight(&self) -> f64 {
        self.output_weights.iter().map(|&weight| f64::from(weight)).sum()
    }

    /// Rows of one group of times that share a sample: all rows without sampling.
    pub fn rows_of_group(&self) -> usize {
        match self.is_sampled() {
            true => (self.num_chunks * self.sample_group_size) as usize,
            false => self.output_words.len(),
        }
    }

    /// Describes what does not fit together; `None` if all does.
    fn defect(&self) -> Option<String> {
        let &RnnlmExample { vocab_size, num_chunks, chunk_length, sample_group_size, num_samples, .. } = self;
        for (name, value) in [
            ("<VocabSize>", vocab_size),
            ("<NumChunks>", num_chunks),
            ("<ChunkLength>", chunk_length),
            ("<SampleGroupSize>", sample_group_size),
        ] {
            if value <= 0 {
                return Some(format!("{name} is {value}, expected a number above 0"));
            }
        }
        let rows = i64::from(num_chunks) * i64::from(chunk_length);
        let groups = i64::from(chunk_length / sample_group_size);
        let samples = if self.is_sampled() { groups * i64::from(num_samples) } else { 0 };
        for (name, found, expected) in [
            ("<InputWords>", self.input_words.len(), rows),
            ("<OutputWords>", self.output_words.len(), rows),
            ("<OutputWeights>", self.output_weights.len(), rows),
            ("<SampledWords>", self.sampled_words.len(), samples),
            ("<SampleInvProbs>", self.sample_inv_probs.len(), samples),
        ] {
            if found as i64 != expected {
                return Some(format!("{name} has {found} entries, expected {expected}"));
            }
        }
        if chunk_length % sample_group_size != 0 {
            return Some(format!(
                "<SampleGroupSize> {sample_group_size} does not divide <ChunkLength> {chunk_length}"
            ));
        }
        let end = if self.is_sampled() { num_samples } else { vocab_size };
        let first = if self.is_sampled() { 0 } else { 1 };
        let outside =
            |words: &[i32], first: i32, end: i32| words.iter().copied().find(|w| !(first..end).contains(w));
        for (name, words, first, end) in [
            ("<InputWords>", &self.input_words, 0, vocab_size),
            ("<OutputWords>", &self.output_words, first, end),
            ("<SampledWords>", &self.sampled_words, 0, vocab_size),
        ] {
            if let Some(word) = outside(words, first, end) {
                return Some(format!("{name} has {word}, expected numbers from {first} to {}", end - 1));
            }
        }
        let is_wrong = |value: &&f32| !value.is_finite() || **value < 0.0;
        for (name, values) in
            [("<OutputWeights>", &self.output_weights), ("<SampleInvProbs>", &self.sample_inv_probs)]
        {
            if let Some(value) = values.iter().find(is_wrong) {
                return Some(format!("{name} has {value}, expected finite numbers that are not negative"));
            }
        }
        let samples = self.sampled_words.chunks(num_samples.max(1) as usize);
        samples.into_iter().find(|sample| !sample.is_sorted_by(|a, b| a < b)).map(|sample| {
            format!(
                "the words of a sample are not in order, or not all different: {:?} …",
                &sample[..sample.len().min(8)]
            )
        })
    }
}

impl KaldiObject for RnnlmExample {
    fn read(r: &mut KaldiReader) -> kaldi_io::Result<RnnlmExample> {
        r.expect_token("<RnnlmExample>")?;
        let mut numbers = [0; 5];
        let names = ["<VocabSize>", "<NumChunks>", "<ChunkLength>", "<SampleGroupSize>", "<NumSamples>"];
        for (name, number) in names.iter().zip(&mut numbers) {
            r.expect_token(name)?;
            *number = r.read_i32()?;
        }
        let [vocab_size, num_chunks, chunk_length, sample_group_size, num_samples] = numbers;
        r.expect_token("<InputWords>")?;
        let input_words = r.read_i32_vector()?;
        r.expect_token("<OutputWords>")?;
        let output_words = r.read_i32_vector()?;
        r.expect_token("<OutputWeights>")?;
        let output_weights = read_vector(r)?;
        r.expect_token("<SampledWords>")?;
        let sampled_words = r.read_i32_vector()?;
        r.expect_token("<SampleInvProbs>")?;
        let sample_inv_probs = read_vector(r)?;
        r.expect_token("</RnnlmExample>")?;
        let example = RnnlmExample {
            vocab_size,
            num_chunks,
            chunk_length,
            sample_group_size,
            num_samples,
            input_words,
            output_words,
            output_weights,
            sampled_words,
            sample_inv_probs,
        };
        match example.defect() {
            Some(defect) => Err(r.error(defect)),
            None => Ok(example),
        }
    }

    fn write(&self, w: &mut KaldiWriter) -> kaldi_io::Result<()> {
        w.write_token("<RnnlmExample>")?;
        for (name, number) in [
            ("<VocabSize>", self.vocab_size),
            ("<NumChunks>", self.num_chunks),
            ("<ChunkLength>", self.chunk_length),
            ("<SampleGroupSize>", self.sample_group_size),
            ("<NumSamples>", self.num_samples),
        ] {
            w.write_token(name)?;
            w.write_i32(number)?;
        }
        w.write_token("<InputWords>")?;
        w.write_i32_vector(&self.input_words)?;
        w.write_token("<OutputWords>")?;
        w.write_i32_vector(&self.output_words)?;
        w.write_token("<OutputWeights>")?;
        write_vector(w, &self.output_weights)?;
        w.write_token("<SampledWords>")?;
        w.write_i32_vector(&self.sampled_words)?;
        w.write_token("<SampleInvProbs>")?;
        write_vector(w, &self.sample_inv_probs)?;
        w.write_token("</RnnlmExample>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> RnnlmExample {
        RnnlmExample {
            vocab_size: 9,
            num_chunks: 1,
            chunk_length: 2,
            sample_group_size: 1,
            num_samples: 2,
            input_words: vec![1, 5],
            output_words: vec![1, 0],
            output_weights: vec![1.0, 0.5],
            sampled_words: vec![3, 5, 2, 8],
            sample_inv_probs: vec![1.0, 2.0, 1.0, 4.0],
        }
    }

    fn round_trip(example: &RnnlmExample, binary: bool) -> kaldi_io::Result<RnnlmExample> {
        let mut w = KaldiWriter::in_memory(binary);
        example.write(&mut w).unwrap();
        let mut r = KaldiReader::from_bytes("eg", w.into_bytes());
        r.set_binary(binary);
        RnnlmExample::read(&mut r)
    }

    #[test]
    fn round_trips() {
        for binary in [false, true] {
            assert_eq!(round_trip(&example(), binary).unwrap(), example());
        }
        assert_eq!((example().weight(), example().rows_of_group()), (1.5, 1));
    }

    type Change = fn(&mut RnnlmExample);

    #[test]
    fn wrong_contents() {
        let changes: [(Change, &str); 10] = [
            (|e| e.vocab_size = 0, "<VocabSize> is 0"),
            (|e| e.num_chunks = 2, "<InputWords> has 2 entries, expected 4"),
            (|e| e.sample_group_size = 0, "<SampleGroupSize> is 0"),
            (|e| e.sample_group_size = 2, "<SampledWords> has 4 entries, expected 2"),
            (|e| e.output_words[0] = 2, "<OutputWords> has 2, expected numbers from 0 to 1"),
            (|e| e.input_words[0] = 9, "<InputWords> has 9"),
            (|e| e.sampled_words[0] = -1, "<SampledWords> has -1"),
            (|e| e.sampled_words[0] = 5, "not in order"),
            (|e| e.output_weights[1] = f32::NAN, "<OutputWeights> has NaN"),
            (|e| e.output_weights.truncate(1), "<OutputWeights> has 1 entries, expected 2"),
        ];
        for (change, expected) in changes {
            let mut wrong = example();
            change(&mut wrong);
            let error = round_trip(&wrong, true).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
