//! Training of the network and of the embeddings (`RnnlmTrainer`).
//!
//! Each minibatch makes a step of the network (`core`) and one of the embedding matrix (`embedding`), or two with backstitch. With
//! sampling only the embeddings of words in the minibatch are used.

pub(crate) mod core;
mod embedding;

pub use self::core::CoreOptions;
pub use self::embedding::{EmbeddingOptions, EmbeddingSummary};

use nnet3_core::execute::{CachingCompiler, CompilerOptions};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::random::Random;
use nnet3_matrix::{Device, Matrix};
use nnet3_train::max_change::{MaxChange, MaxChangeCounts};

use self::core::CoreTrainer;
pub(crate) use self::core::request;
use self::embedding::EmbeddingTrainer;
use crate::embedding::Embedding;
use crate::error::{Error, Result};
use crate::example::RnnlmExample;
use crate::objective::ObjectiveOptions;
use crate::tracker::{Interval, Overall, Tracker};

/// Upper end of the number that places backstitch steps among the minibatches.
const LARGEST_SEED: i32 = 100_000;
/// The seed of a C program that sets none.
const SEED: i32 = 1;

/// Options of a training.
#[derive(Debug, Clone, Default)]
pub struct TrainerOptions {
    pub core: CoreOptions,
    /// `None`: the embeddings stay as they are.
    pub embedding: Option<EmbeddingOptions>,
    pub objective: ObjectiveOptions,
    pub compiler: CompilerOptions,
}

/// Events of a training.
#[derive(Debug)]
pub enum Event {
    /// Averages over some minibatches.
    Interval(Interval),
    /// A limit on the change of the network's parameters was active.
    MaxChange(MaxChange),
    /// The change of the network was infinite or not a number, and has not been applied.
    ChangeRefused { minibatch: u64 },
    /// The change of the embeddings was larger than its limit, and is multiplied by `scale`.
    EmbeddingMaxChange { scale: f32, change: f32, limit: f32 },
    /// The exact denominator is larger than the number of words.
    LargeDenominator(f64),
}

/// One of the two steps of backstitch, or an ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    Conventional,
    Back,
    Forth,
}

/// A trained model, with statistics of the training.
pub struct Trained {
    pub nnet: Nnet,
    pub embedding: kaldi_io::DenseMatrix<f32>,
    pub minibatches: u64,
    /// Averages over the last minibatches, if an interval had begun, and over all.
    pub objectives: (Option<Interval>, Overall),
    pub max_change: MaxChangeCounts,
    pub core: CoreOptions,
    /// `None` if the embeddings were not trained.
    pub summary: Option<EmbeddingSummary>,
    pub compiler: CachingCompiler,
}

/// Trains a network and embeddings.
pub struct RnnlmTrainer {
    objective: ObjectiveOptions,
    core: CoreTrainer,
    embedding: Embedding,
    embedding_trainer: Option<EmbeddingTrainer>,
    tracker: Tracker,
    seed: i32,
    minibatches: u64,
}

impl RnnlmTrainer {
    /// # Errors
    /// An option is out of its range, or the network's input and output have not the dimension of the embeddings.
    pub fn new(
        mut nnet: Nnet,
        embedding: Embedding,
        options: TrainerOptions,
        device: &Device,
    ) -> Result<RnnlmTrainer> {
        options.core.check()?;
        options.objective.check()?;
        check_network(&nnet, embedding.dim())?;
        let trains_both = options.embedding.as_ref();
        trains_both.map_or(Ok(()), |own| own.check(options.core.backstitch_training_scale > 0.0))?;
        nnet.to_device(device);
        nnet.zero_stats();
        let random = Random::new(SEED);
        let seed = random.int(0, LARGEST_SEED);
        let compiler = CachingCompiler::new(options.compiler, OptimizeOptions::default()).for_device(device);
        let trainer = options.embedding.map(|own| EmbeddingTrainer::new(own, &embedding.matrix));
        Ok(RnnlmTrainer {
            objective: options.objective,
            core: CoreTrainer::new(options.core, nnet, compiler, random, device),
            embedding,
            embedding_trainer: trainer,
            tracker: Tracker::default(),
            seed,
            minibatches: 0,
        })
    }

    /// One minibatch.
    ///
    /// # Errors
    /// The minibatch does not fit the model.
    pub fn train(&mut self, mut example: RnnlmExample, report: &mut dyn FnMut(Event)) -> Result<()> {
        let (expected, found) = (self.embedding.vocab_size(), example.vocab_size as usize);
        if expected != found {
            return Err(Error::data(format!("Vocabulary size mismatch: expected {expected}, got {found}")));
        }
        self.minibatches += 1;
        let active = self.embedding.active(example.is_sampled().then(|| renumber(&mut example)));
        let device = self.core.device().clone();
        let words = example.vocab_size as usize;
        let mut derivative =
            self.embedding_trainer.as_ref().map(|_| Matrix::zeros(&device, words, self.embedding.dim()));
        let interval = i64::from(self.core.options().backstitch_training_interval);
        let is_backstitch = self.core.options().backstitch_training_scale > 0.0
            && self.minibatches as i64 % interval == i64::from(self.seed) % interval;
        let passes: &[Pass] = if is_backstitch { &[Pass::Back, Pass::Forth] } else { &[Pass::Conventional] };
        // Both steps of backstitch use these, as the reference does.
        let own =
            self.embedding.of_words(self.core.workspace(), &active).map(|scratch| scratch.into_matrix());
        for &pass in passes {
            if is_backstitch {
                self.core.random().reseed(self.seed.wrapping_add(self.minibatches as i32));
            }
            let view = own.as_ref().map_or(self.embedding.all(), |own| own.view());
            let deriv = derivative.as_mut().map(|derivative| derivative.view_mut());
            let value = self.core.pass(&example, view, deriv, (pass, &self.objective), report)?;
            if !example.is_sampled() && value.exact.abs() > example.output_words.len() as f64 {
                report(Event::LargeDenominator(value.exact));
            }
            if pass != Pass::Forth {
                self.tracker.add(&value).into_iter().for_each(|interval| report(Event::Interval(interval)));
            }
            if let (Some(trainer), Some(derivative)) = (&mut self.embedding_trainer, &mut derivative) {
                let context = self.core.context();
                trainer.step(context, &mut self.embedding, &active, derivative, pass, report);
            }
        }
        if let Some(own) = own {
            self.core.workspace().take_back(own);
        }
        self.core.check_device()
    }

    /// Minibatches so far.
    pub fn minibatches(&self) -> u64 {
        self.minibatches
    }

    /// Returns the trained model, on the host.
    pub fn finish(mut self) -> Result<Trained> {
        let summary = self.embedding_trainer.map(|trainer| trainer.summary(&self.embedding.matrix));
        let embedding = self.embedding.to_dense();
        self.core.check_device()?;
        let core = self.core.options().clone();
        let (nnet, max_change, compiler) = self.core.finish()?;
        Ok(Trained {
            nnet,
            embedding,
            minibatches: self.minibatches,
            objectives: self.tracker.finish(),
            max_change,
            core,
            summary,
            compiler,
        })
    }
}

/// An error unless the network's 'input' and 'output' have this dimension.
pub(crate) fn check_network(nnet: &Nnet, dim: usize) -> Result<()> {
    let (input, output) = (nnet.input_dim("input"), nnet.output_dim("output"));
    let (Some(input), Some(output)) = (input, output) else {
        return Err(Error::data("expected a network with an input-node 'input' and an output-node 'output'"));
    };
    if (input, output) != (dim, dim) {
        return Err(Error::data(format!(
            "expected a network with the input and output dimension {dim} of the embeddings, found {input} and {output}"
        )));
    }
    Ok(())
}

/// Renumbers inputs and samples of a minibatch to the words that are among them. Returns these words, in order.
fn renumber(example: &mut RnnlmExample) -> Vec<i32> {
    let mut words: Vec<i32> = example.input_words.iter().chain(&example.sampled_words).copied().collect();
    words.sort_unstable();
    words.dedup();
    for word in example.input_words.iter_mut().chain(&mut example.sampled_words) {
        *word = words.partition_point(|known| known < word) as i32;
    }
    example.vocab_size = words.len() as i32;
    words
}

#[cfg(test)]
mod tests;
