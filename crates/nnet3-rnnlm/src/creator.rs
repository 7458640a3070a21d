//! Cutting text into chunks, and chunks into minibatches (`RnnlmExampleCreator`).
//!
//! A sentence with its end that is longer than a chunk is cut into pieces, which have some words before them as context. Chunks
//! wait in a buffer; minibatches are filled with chunks that are drawn from it at random. Short ones share a row.

use std::rc::Rc;

use nnet3_core::Random;

use crate::error::{Error, Result};
use crate::example::RnnlmExample;
use crate::example_sampler::ExampleSampler;
use crate::text::Sentence;

/// Options of the making of minibatches.
#[derive(Debug, Clone, PartialEq)]
pub struct EgsOptions {
    /// One more than the largest word.
    pub vocab_size: i32,
    /// Rows of a minibatch.
    pub num_chunks_per_minibatch: i32,
    pub chunk_length: i32,
    /// Words of context that a piece of a sentence has at least.
    pub min_split_context: i32,
    /// Number of successive times that share a sample of words.
    pub sample_group_size: i32,
    /// Words in a sample; 0: none is drawn.
    pub num_samples: i32,
    /// More chunks than this do not wait.
    pub chunk_buffer_size: i32,
    pub bos_symbol: i32,
    pub eos_symbol: i32,
    pub brk_symbol: i32,
    /// The unigram probability of `<s>` and `<brk>` for sampling.
    pub special_symbol_prob: f32,
    /// Probability that sampling divides among all words.
    pub uniform_prob_mass: f32,
}

impl Default for EgsOptions {
    fn default() -> EgsOptions {
        EgsOptions {
            vocab_size: -1,
            num_chunks_per_minibatch: 128,
            chunk_length: 32,
            min_split_context: 3,
            sample_group_size: 2,
            num_samples: 512,
            chunk_buffer_size: 20000,
            bos_symbol: 1,
            eos_symbol: 2,
            brk_symbol: 3,
            special_symbol_prob: 1e-5,
            uniform_prob_mass: 0.05,
        }
    }
}

/// The largest number of words in a minibatch.
const MOST_ROWS: i64 = 1 << 28;

impl EgsOptions {
    /// # Errors
    /// An option is out of its range; the message names it.
    pub fn check(&self) -> Result<()> {
        let &EgsOptions { chunk_length, num_chunks_per_minibatch: rows, sample_group_size: group, .. } = self;
        let context = self.min_split_context;
        let wrong = |name: &str, found: i32, expected: String| {
            Err(Error::options(format!("`{name}`={found}: expected {expected}")))
        };
        if self.vocab_size <= 0 {
            return Err(Error::options("The `vocab-size` option must be provided."));
        }
        if rows <= 0 {
            return wrong("num-chunks-per-minibatch", rows, "a number above 0".into());
        }
        if context < 0 {
            return wrong("min-split-context", context, "a number that is not negative".into());
        }
        if i64::from(chunk_length) <= 4 * i64::from(context) {
            let least = 4 * i64::from(context);
            return wrong(
                "chunk-length",
                chunk_length,
                format!("more than 4 times `min-split-context`, {least}"),
            );
        }
        if i64::from(chunk_length) * i64::from(rows) > MOST_ROWS {
            return wrong("chunk-length", chunk_length, format!("at most {MOST_ROWS} words in a minibatch"));
        }
        if group <= 0 || chunk_length % group != 0 {
            return wrong("sample-group-size", group, format!("a divisor of `chunk-length`={chunk_length}"));
        }
        let symbols = [self.bos_symbol, self.eos_symbol, self.brk_symbol];
        let differ = symbols[0] != symbols[1] && symbols[1] != symbols[2] && symbols[0] != symbols[2];
        if !differ || symbols.iter().any(|symbol| !(1..self.vocab_size).contains(symbol)) {
            return Err(Error::options(format!(
                "`bos-symbol`={}, `eos-symbol`={}, `brk-symbol`={}: expected three different words from 1 to {}",
                symbols[0],
                symbols[1],
                symbols[2],
                self.vocab_size - 1
            )));
        }
        let least = i64::from(rows) * i64::from(group);
        if self.num_samples != 0 && i64::from(self.num_samples) < least {
            return wrong(
                "num-samples",
                self.num_samples,
                format!("0, or at least {least}: `num-chunks-per-minibatch` times `sample-group-size`"),
            );
        }
        if self.chunk_buffer_size < 0 {
            return wrong(
                "chunk-buffer-size",
                self.chunk_buffer_size,
                "a number that is not negative".into(),
            );
        }
        for (name, value) in
            [("special-symbol-prob", self.special_symbol_prob), ("uniform-prob-mass", self.uniform_prob_mass)]
        {
            if !(0.0..1.0).contains(&value) {
                return Err(Error::options(format!("`{name}`={value}: expected a number from 0 to below 1")));
            }
        }
        Ok(())
    }
}

/// Events while minibatches are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EgsEvent {
    /// The sentence of this line ends with `</s>`, and gets another one.
    EndsWithEos(u64),
    /// No row of a group of times has a weight.
    NoHistories,
    /// The language model's probabilities after some history do not sum to one.
    TotalOff,
}

/// A piece of a sentence.
#[derive(Debug, Clone)]
struct Chunk {
    /// The words and `</s>`.
    sequence: Rc<[i32]>,
    weight: f32,
    /// The first word that is read.
    context_begin: usize,
    /// The first word that is predicted, and one more than the last.
    begin: usize,
    end: usize,
}

impl Chunk {
    /// Words that are read.
    fn len(&self) -> usize {
        self.end - self.context_begin
    }
}

/// Counts over all minibatches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    pub sequences: u64,
    pub chunks: u64,
    pub words: u64,
    pub minibatches: u64,
    pub left_over: usize,
}

/// Number of chunks that are drawn in a row and find no room, after which a minibatch ends.
const MOST_REJECTIONS: usize = 5;

/// Makes minibatches of sentences.
pub struct ExampleCreator {
    options: EgsOptions,
    sampler: Option<Box<ExampleSampler>>,
    random: Random,
    chunks: Vec<Chunk>,
    summary: Summary,
}

/// Takes minibatches, with their keys, and events.
pub trait Sink {
    fn example(&mut self, key: String, example: RnnlmExample) -> Result<()>;
    fn event(&mut self, event: EgsEvent);
}

impl ExampleCreator {
    /// `seed` is that of `--srand`.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(
        options: EgsOptions,
        sampler: Option<Box<ExampleSampler>>,
        seed: i32,
    ) -> Result<ExampleCreator> {
        options.check()?;
        let random = Random::new(seed);
        Ok(ExampleCreator { options, sampler, random, chunks: Vec::new(), summary: Summary::default() })
    }

    /// Takes a sentence. Minibatches leave while more chunks wait than the buffer may hold.
    ///
    /// # Errors
    /// The weight is not above 0, or a word is out of range or one of `<s>` and `<brk>`.
    pub fn accept(&mut self, sentence: &Sentence, sink: &mut dyn Sink) -> Result<()> {
        self.check(sentence)?;
        if sentence.words.last() == Some(&self.options.eos_symbol) {
            sink.event(EgsEvent::EndsWithEos(sentence.line));
        }
        self.split(sentence);
        self.summary.sequences += 1;
        while self.chunks.len() > self.options.chunk_buffer_size as usize {
            self.minibatch(sink)?;
        }
        Ok(())
    }

    /// Makes minibatches of all chunks that wait.
    pub fn finish(mut self, sink: &mut dyn Sink) -> Result<Summary> {
        while !self.chunks.is_empty() {
            self.minibatch(sink)?;
        }
        Ok(self.summary)
    }

    fn check(&self, sentence: &Sentence) -> Result<()> {
        let Sentence { line, weight, words } = sentence;
        if *weight <= 0.0 {
            return Err(Error::data(format!("line {line}: expected a weight above 0, found {weight}")));
        }
        let &EgsOptions { vocab_size, bos_symbol: bos, brk_symbol: brk, .. } = &self.options;
        let is_wrong = |&&word: &&i32| word <= 0 || word >= vocab_size || word == bos || word == brk;
        match words.iter().find(is_wrong) {
            None => Ok(()),
            Some(word) => Err(Error::data(format!(
                "line {line}: expected words from 1 to {} other than <s> ({bos}) and <brk> ({brk}), found {word}",
                vocab_size - 1
            ))),
        }
    }

    fn split(&mut self, sentence: &Sentence) {
        let sequence: Rc<[i32]> = sentence.words.iter().copied().chain([self.options.eos_symbol]).collect();
        let (length, context) = (self.options.chunk_length as usize, self.options.min_split_context as usize);
        let lengths = match sequence.len() <= length {
            true => vec![sequence.len()],
            false => piece_lengths(sequence.len(), length, context, &self.random),
        };
        let mut begin = 0;
        for length in lengths {
            let end = begin + length;
            let context_begin = begin.saturating_sub(context);
            let (sequence, weight) = (sequence.clone(), sentence.weight);
            self.chunks.push(Chunk { sequence, weight, context_begin, begin, end });
            begin = end;
        }
    }

    fn minibatch(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let mut rows = Rows::new(&self.options);
        let mut rejections = 0;
        while !self.chunks.is_empty() && rejections < MOST_REJECTIONS {
            let place = self.random.int(0, self.chunks.len() as i32 - 1) as usize;
            let Some(row) = rows.place(self.chunks[place].len()) else {
                rejections += 1;
                continue;
            };
            let chunk = self.chunks.swap_remove(place);
            self.summary.chunks += 1;
            self.summary.words += chunk.len() as u64;
            rows.rows[row].push(chunk);
            rejections = 0;
        }
        let mut example = rows.example(&self.options);
        if let Some(sampler) = &self.sampler {
            sampler.sample(&mut example, &self.random, &mut |event| sink.event(event))?;
        }
        let key = format!("minibatch-{}", self.summary.minibatches);
        self.summary.minibatches += 1;
        sink.example(key, example)
    }
}

/// Lengths of the pieces of a sentence that is longer than a chunk: all but the first have `context` words before them.
fn piece_lengths(sentence: usize, chunk: usize, context: usize, random: &Random) -> Vec<usize> {
    let (total, whole) = (sentence - context, chunk - context);
    let mut lengths = vec![whole; total / whole];
    let rest = total % whole;
    if rest != 0 {
        let place = random.int(0, lengths.len() as i32 - 1) as usize;
        lengths[place] = rest;
        lengths.push(whole);
    }
    lengths[0] += context;
    lengths
}

/// The rows of a minibatch while it is filled.
struct Rows {
    length: usize,
    rows: Vec<Vec<Chunk>>,
    /// Rows without chunks; the last one is taken first.
    empty: Vec<usize>,
    /// Rows with room left, and how much.
    partial: Vec<(usize, usize)>,
}

impl Rows {
    fn new(options: &EgsOptions) -> Rows {
        let count = options.num_chunks_per_minibatch as usize;
        let length = options.chunk_length as usize;
        Rows { length, rows: vec![Vec::new(); count], empty: (0..count).collect(), partial: Vec::new() }
    }

    /// The row for a chunk of so many words: that with the least room that is enough. `None` if there is none.
    fn place(&mut self, words: usize) -> Option<usize> {
        if words == self.length {
            return self.empty.pop();
        }
        let enough = self.partial.iter().enumerate().filter(|(_, (_, room))| *room >= words);
        let best = enough.min_by_key(|(_, (_, room))| *room).map(|(place, _)| place);
        let (row, room) = match best {
            Some(place) => self.partial.swap_remove(place),
            None => (self.empty.pop()?, self.length),
        };
        if room > words {
            self.partial.push((row, room - words));
        }
        Some(row)
    }

    fn example(mut self, options: &EgsOptions) -> RnnlmExample {
        let (count, length) = (self.rows.len(), self.length);
        let mut example = RnnlmExample {
            vocab_size: options.vocab_size,
            num_chunks: options.num_chunks_per_minibatch,
            chunk_length: options.chunk_length,
            sample_group_size: 1,
            num_samples: options.num_samples,
            input_words: vec![options.bos_symbol; count * length],
            output_words: vec![options.eos_symbol; count * length],
            output_weights: vec![0.0; count * length],
            sampled_words: Vec::new(),
            sample_inv_probs: Vec::new(),
        };
        for (n, chunks) in self.rows.iter_mut().enumerate() {
            let used: usize = chunks.iter().map(Chunk::len).sum();
            lengthen(chunks, length - used);
            let words =
                chunks.iter().flat_map(|chunk| (chunk.context_begin..chunk.end).map(move |i| (chunk, i)));
            for (t, (chunk, i)) in words.enumerate() {
                let at = t * count + n;
                example.input_words[at] = match i {
                    0 => options.bos_symbol,
                    _ if i == chunk.context_begin => options.brk_symbol,
                    _ => chunk.sequence[i - 1],
                };
                example.output_words[at] = chunk.sequence[i];
                example.output_weights[at] = if i < chunk.begin { 0.0 } else { chunk.weight };
            }
        }
        example
    }
}

/// Gives room that is left to chunks that can take more context, a word to each in turn.
fn lengthen(chunks: &mut [Chunk], mut room: usize) {
    loop {
        let before = room;
        for chunk in chunks.iter_mut().filter(|chunk| chunk.context_begin > 0) {
            if room > 0 {
                chunk.context_begin -= 1;
                room -= 1;
            }
        }
        if room == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
