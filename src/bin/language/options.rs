//! Groups of options of the programs of this family.

use anyhow::{Result, bail};
use clap::Args;
use kaldi_cli::Group;
use kaldi_io::read_object;
use nnet3::models;
use nnet3::options::compute::{ComputationOptions, OptimizationOptions};
use nnet3_rnnlm::creator::EgsOptions;
use nnet3_rnnlm::objective::ObjectiveOptions;
use nnet3_rnnlm::sentence::{SentenceModel, SentenceOptions};
use nnet3_rnnlm::training::{CoreOptions, EmbeddingOptions};

// Options of the making of minibatches of text.
#[derive(Args, Clone, Debug)]
pub struct ExampleOptions {
    /// Size of the vocabulary (more specifically: the largest integer word-id plus one).
    #[arg(long, default_value_t = -1)]
    pub vocab_size: i32,
    /// Length of sequences that we train on (actual sentences will be split up and re-combined as necessary to achieve this
    /// length)
    #[arg(long, default_value_t = 32)]
    pub chunk_length: i32,
    /// Number of distinct sequences/chunks per minibatch.
    #[arg(long, default_value_t = 128)]
    pub num_chunks_per_minibatch: i32,
    /// Minimum left-context that we supply after breaking up a training sequence into pieces.
    #[arg(long, default_value_t = 3)]
    pub min_split_context: i32,
    /// Number of time-steps for which we draw a single sample of words. Must divide chunk-length.
    #[arg(long, default_value_t = 2)]
    pub sample_group_size: i32,
    /// Number of words we sample, each time we sample (importance sampling). Must be at least num-chunks-per-minibatch *
    /// sample-group-size. Without language model, or if it is zero or exceeds the number of words with nonzero probability,
    /// no sampling will be done.
    #[arg(long, default_value_t = 512)]
    pub num_samples: i32,
    /// Number of chunks of sentence that we buffer while processing the input. Larger means more complete randomization but
    /// also more memory used.
    #[arg(long, default_value_t = 20000)]
    pub chunk_buffer_size: i32,
    /// Integer id of the beginning-of-sentence symbol <s>.
    #[arg(long, default_value_t = 1)]
    pub bos_symbol: i32,
    /// Integer id of the end-of-sentence symbol </s>.
    #[arg(long, default_value_t = 2)]
    pub eos_symbol: i32,
    /// Integer id of the 'break' symbol <brk>, which tells the network that the context is partial.
    #[arg(long, default_value_t = 3)]
    pub brk_symbol: i32,
    /// Probability with which we sample the special symbols <s> and <brk> on each minibatch.
    #[arg(long, default_value_t = 1e-5)]
    pub special_symbol_prob: f32,
    /// We replace this proportion of the unigram distribution's probability mass with a uniform distribution over words.
    #[arg(long, default_value_t = 0.05)]
    pub uniform_prob_mass: f32,
}

impl ExampleOptions {
    /// The options as the library takes them. Without `--vocab-size` the vocabulary is that of the language model, if there is one.
    pub fn egs_options(&self, words: Option<usize>) -> Result<EgsOptions> {
        let vocab_size = match words {
            Some(words) if self.vocab_size <= 0 => i32::try_from(words)?,
            _ => self.vocab_size,
        };
        Ok(EgsOptions {
            vocab_size,
            num_chunks_per_minibatch: self.num_chunks_per_minibatch,
            chunk_length: self.chunk_length,
            min_split_context: self.min_split_context,
            sample_group_size: self.sample_group_size,
            num_samples: self.num_samples,
            chunk_buffer_size: self.chunk_buffer_size,
            bos_symbol: self.bos_symbol,
            eos_symbol: self.eos_symbol,
            brk_symbol: self.brk_symbol,
            special_symbol_prob: self.special_symbol_prob,
            uniform_prob_mass: self.uniform_prob_mass,
        })
    }
}

// Options of the training of the network.
#[derive(Args, Clone, Debug)]
pub struct CoreTrainingOptions {
    /// Momentum constant to apply during training (help stabilize update), e.g. 0.9. We automatically multiply the learning rate
    /// by (1-momentum).
    #[arg(id = "rnnlm.momentum", long = "rnnlm.momentum", default_value_t = 0.0)]
    momentum: f32,
    /// The maximum change in parameters allowed per minibatch, measured in Euclidean norm over the entire model; 0 means no limit
    #[arg(id = "rnnlm.max-param-change", long = "rnnlm.max-param-change", default_value_t = 2.0)]
    max_param_change: f32,
    /// Factor that affects the strength of l2 regularization on model parameters; it multiplies the component-level constants.
    #[arg(id = "rnnlm.l2-regularize-factor", long = "rnnlm.l2-regularize-factor", default_value_t = 1.0)]
    l2_regularize_factor: f32,
    /// Backstitch training factor; 0 means conventional training
    #[arg(
        id = "rnnlm.backstitch-training-scale",
        long = "rnnlm.backstitch-training-scale",
        default_value_t = 0.0
    )]
    backstitch_training_scale: f32,
    /// Do backstitch training only on each n-th minibatch
    #[arg(
        id = "rnnlm.backstitch-training-interval",
        long = "rnnlm.backstitch-training-interval",
        default_value_t = 1
    )]
    backstitch_training_interval: i32,
}

impl CoreTrainingOptions {
    /// The options as the library takes them.
    pub fn core(&self) -> CoreOptions {
        CoreOptions {
            momentum: self.momentum,
            max_param_change: self.max_param_change,
            l2_regularize_factor: self.l2_regularize_factor,
            backstitch_training_scale: self.backstitch_training_scale,
            backstitch_training_interval: self.backstitch_training_interval,
        }
    }
}

// Options of the training of the embeddings.
#[derive(Args, Clone, Debug)]
pub struct EmbeddingTrainingOptions {
    /// Momentum constant to apply during training of the embedding (e.g. 0.5 or 0.9). We automatically multiply the learning rate
    /// by (1-momentum).
    #[arg(id = "embedding.momentum", long = "embedding.momentum", default_value_t = 0.0)]
    momentum: f32,
    /// The maximum change in parameters allowed per minibatch, measured in Euclidean norm, for the embedding matrix; 0 means no
    /// limit
    #[arg(id = "embedding.max-param-change", long = "embedding.max-param-change", default_value_t = 1.0)]
    max_param_change: f32,
    /// Strength of l2 regularization on embedding parameters.
    #[arg(id = "embedding.l2-regularize", long = "embedding.l2-regularize", default_value_t = 0.0)]
    l2_regularize: f32,
    /// The learning rate used in training the word-embedding matrix.
    #[arg(id = "embedding.learning-rate", long = "embedding.learning-rate", default_value_t = 0.01)]
    learning_rate: f32,
    /// Backstitch training factor, for minibatches on which the network does backstitch training
    #[arg(
        id = "embedding.backstitch-training-scale",
        long = "embedding.backstitch-training-scale",
        default_value_t = 0.0
    )]
    backstitch_training_scale: f32,
    /// Interval of backstitch training, for the log only: --rnnlm.backstitch-training-interval says on which minibatches it is
    /// done
    #[arg(
        id = "embedding.backstitch-training-interval",
        long = "embedding.backstitch-training-interval",
        default_value_t = 1
    )]
    backstitch_training_interval: i32,
    /// True if you want to use natural gradient to update the embedding matrix
    #[arg(
        id = "embedding.use-natural-gradient",
        long = "embedding.use-natural-gradient",
        default_value_t = true
    )]
    use_natural_gradient: bool,
    /// Smoothing constant alpha to use for natural gradient when updating the embedding matrix
    #[arg(
        id = "embedding.natural-gradient-alpha",
        long = "embedding.natural-gradient-alpha",
        default_value_t = 4.0
    )]
    natural_gradient_alpha: f32,
    /// Rank of the Fisher matrix in natural gradient as applied to learning the embedding matrix
    #[arg(
        id = "embedding.natural-gradient-rank",
        long = "embedding.natural-gradient-rank",
        default_value_t = 80
    )]
    natural_gradient_rank: i32,
    /// Determines how often the Fisher matrix is updated for natural gradient as applied to the embedding matrix
    #[arg(
        id = "embedding.natural-gradient-update-period",
        long = "embedding.natural-gradient-update-period",
        default_value_t = 4
    )]
    natural_gradient_update_period: i32,
    /// Determines how quickly the Fisher estimate for the natural gradient is updated, when training the word embedding.
    #[arg(
        id = "embedding.natural-gradient-num-minibatches-history",
        long = "embedding.natural-gradient-num-minibatches-history",
        default_value_t = 10.0
    )]
    natural_gradient_num_minibatches_history: f32,
}

impl EmbeddingTrainingOptions {
    /// The options as the library takes them.
    pub fn embedding(&self) -> EmbeddingOptions {
        EmbeddingOptions {
            momentum: self.momentum,
            max_param_change: self.max_param_change,
            l2_regularize: self.l2_regularize,
            learning_rate: self.learning_rate,
            backstitch_training_scale: self.backstitch_training_scale,
            backstitch_training_interval: self.backstitch_training_interval,
            use_natural_gradient: self.use_natural_gradient,
            natural_gradient_alpha: self.natural_gradient_alpha,
            natural_gradient_rank: self.natural_gradient_rank,
            natural_gradient_update_period: self.natural_gradient_update_period,
            natural_gradient_num_minibatches_history: self.natural_gradient_num_minibatches_history,
        }
    }
}

// Options of the objective.
#[derive(Args, Clone, Debug)]
pub struct ObjectiveArguments {
    /// Modification to the objective that prevents instability early in training, but in the end makes no difference. If the
    /// average denominator part per word is below this, its derivative is scaled down. 0 to turn off.
    #[arg(long, default_value_t = -10.0)]
    den_term_limit: f32,
    /// Maximum number of elements when we allocate a matrix of size [minibatch-size, num-words] for computing logprobs of words;
    /// larger ones are done in blocks of rows.
    #[arg(long, default_value_t = 1_000_000_000)]
    max_logprob_elements: i32,
}

impl ObjectiveArguments {
    /// The options as the library takes them.
    pub fn objective(&self) -> ObjectiveOptions {
        ObjectiveOptions {
            den_term_limit: self.den_term_limit,
            max_logprob_elements: self.max_logprob_elements.into(),
        }
    }
}

// Options of the probabilities of sentences.
#[derive(Args, Clone, Debug)]
pub struct SentenceArguments {
    /// If true, word probabilities will be correctly normalized (otherwise the sum-to-one normalization is approximate)
    #[arg(long, default_value_t = false)]
    normalize_probs: bool,
    /// Index in wordlist representing the begin-of-sentence symbol
    #[arg(long, default_value_t = -1)]
    bos_symbol: i32,
    /// Index in wordlist representing the end-of-sentence symbol
    #[arg(long, default_value_t = -1)]
    eos_symbol: i32,
    /// Index in wordlist representing the break symbol. It is not needed in the computation and is there for ease of scripting
    #[arg(long, default_value_t = -1)]
    brk_symbol: i32,
    /// Log each command of each computation, as --computation.debug does (very verbose!)
    #[arg(long, default_value_t = false)]
    debug_computation: bool,
    #[command(flatten)]
    optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    computation: ComputationOptions,
}

/// Files of a network and of the embeddings of words.
pub struct Files<'f> {
    pub rnnlm: &'f str,
    pub embedding: &'f str,
}

impl SentenceArguments {
    /// True if the options have the symbols for the beginning and the end of sentences.
    pub fn has_symbols(&self) -> bool {
        self.bos_symbol != -1 && self.eos_symbol != -1
    }

    /// Reads and compiles a model. With `test_mode`, batch norm and dropout are put into test mode.
    pub fn open(&self, files: &Files<'_>, test_mode: (bool, bool)) -> Result<SentenceModel> {
        let (bos_symbol, eos_symbol) = (self.bos_symbol, self.eos_symbol);
        if !self.has_symbols() {
            bail!("You must set --bos-symbol and --eos-symbol options");
        }
        let optimize = self.optimization.optimize_options()?;
        let options =
            SentenceOptions { bos_symbol, eos_symbol, normalize_probs: self.normalize_probs, optimize };
        let mut nnet = models::load(files.rnnlm)?;
        if test_mode.0 {
            nnet.set_batchnorm_test_mode(true);
        }
        if test_mode.1 {
            nnet.set_dropout_test_mode(true);
        }
        let mut model = SentenceModel::new(nnet, &read_object(files.embedding)?, options)?;
        let computation = ComputationOptions { debug: self.computation.debug || self.debug_computation };
        computation.observe(model.executor());
        Ok(model)
    }
}
