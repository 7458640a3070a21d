//! The objective of a model on minibatches, without training (`RnnlmCoreComputer`).

use nnet3_core::execute::{CachingCompiler, CompilerOptions, Executor, Model};
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_core::random::Random;
use nnet3_matrix::{Device, Matrix};

use crate::embedding::Embedding;
use crate::error::Result;
use crate::example::RnnlmExample;
use crate::objective::{ObjectiveOptions, Value, evaluate};
use crate::tracker::{Interval, Overall, Tracker};
use crate::training::{check_network, request};

/// Computes objectives.
pub struct ProbComputer {
    nnet: Nnet,
    embedding: Matrix,
    compiler: CachingCompiler,
    executor: Executor,
    random: Random,
    tracker: Tracker,
}

/// Result for a minibatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Computed {
    pub value: Value,
    /// Averages over some minibatches, of which this is the last.
    pub interval: Option<Interval>,
    /// The exact denominator, if it is larger than the number of words.
    pub large_denominator: Option<f64>,
}

impl ProbComputer {
    /// `embedding` is that of words.
    ///
    /// # Errors
    /// The network's input and output have not the dimension of the embeddings.
    pub fn new(
        mut nnet: Nnet,
        embedding: Embedding,
        compiler: CompilerOptions,
        device: &Device,
    ) -> Result<ProbComputer> {
        check_network(&nnet, embedding.dim())?;
        nnet.to_device(device);
        let compiler = CachingCompiler::new(compiler, OptimizeOptions::default()).for_device(device);
        Ok(ProbComputer {
            nnet,
            embedding: embedding.matrix,
            compiler,
            executor: Executor::new(device),
            random: Random::new(1),
            tracker: Tracker::default(),
        })
    }

    /// Computes the objective of a minibatch.
    ///
    /// # Errors
    /// The minibatch does not fit the model.
    pub fn compute(&mut self, example: &RnnlmExample) -> Result<Computed> {
        let (words, expected) = (example.vocab_size as usize, self.embedding.rows());
        if words != expected {
            let message = format!("Vocabulary size mismatch: expected {expected}, got {words}");
            return Err(crate::Error::data(message));
        }
        let program = self.compiler.program(&self.nnet, &request(example, false, false))?;
        let executor = &mut self.executor;
        executor.start(&program)?;
        let embedding = self.embedding.view();
        executor.pick_input(&self.nnet, "input", embedding, &example.input_words)?;
        executor.run(&mut Model::Frozen(&self.nnet), &self.random)?;
        let output = executor.output(&self.nnet, "output")?;
        let options = ObjectiveOptions::default();
        let value = evaluate(&options, executor.workspace(), example, (embedding, output), None);
        executor.check_device()?;
        let value = value?;
        let is_large = !example.is_sampled() && value.exact.abs() > example.output_words.len() as f64;
        Ok(Computed {
            value,
            interval: self.tracker.add(&value),
            large_denominator: is_large.then_some(value.exact),
        })
    }

    /// Returns averages over the last minibatches, if an interval has begun, and over all.
    pub fn finish(mut self) -> (Option<Interval>, Overall, CachingCompiler) {
        let (interval, overall) = self.tracker.finish();
        (interval, overall, self.compiler)
    }
}
