//! Options of the programs that train chain models or evaluate their objective.

use clap::Args;
use nnet3_chain::ChainOptions;

// [CHAIN]
#[derive(Args, Clone, Debug)]
pub struct ChainTrainingOptions {
    /// l2 regularization constant for 'chain' training, applied to the output of the neural net
    #[arg(long, default_value_t = 0.0)]
    pub l2_regularize: f32,
    /// Coefficient that allows transitions from each HMM state to each other HMM state, to ensure gradual forgetting of
    /// context (above 0 and below 1)
    #[arg(long, default_value_t = 1e-5)]
    pub leaky_hmm_coefficient: f32,
    /// Cross-entropy regularization constant for 'chain' training. If nonzero, the network is expected to have an output
    /// named 'output-xent', which should have a softmax as its final nonlinearity
    #[arg(long, default_value_t = 0.0)]
    pub xent_regularize: f32,
    /// Constant that controls how much the nnet output is penalized for values beyond +-30, at which the denominator
    /// limits it
    #[arg(long, default_value_t = 0.01)]
    pub out_of_range_regularize: f32,
    /// Scale on the posteriors of another model that examples may have (learning without forgetting)
    #[arg(long, default_value_t = 0.0)]
    pub lwf_scale: f32,
    /// The same for end-to-end examples. The denominator's derivative is scaled by 1 plus this
    #[arg(long, default_value_t = 0.0)]
    pub lwf_den_scale: f32,
    /// Number of threads for the numerators of end-to-end examples (0: the number of processors)
    #[arg(long, default_value_t = ChainOptions::default().numerator_graph_threads)]
    pub numerator_graph_threads: usize,
}

impl ChainTrainingOptions {
    /// The options as the library takes them. It is an error if a number makes no sense.
    pub fn chain_options(&self) -> anyhow::Result<ChainOptions> {
        let options = ChainOptions {
            l2_regularize: self.l2_regularize,
            leaky_hmm_coefficient: self.leaky_hmm_coefficient,
            xent_regularize: self.xent_regularize,
            out_of_range_regularize: self.out_of_range_regularize,
            lwf_scale: self.lwf_scale,
            lwf_den_scale: self.lwf_den_scale,
            numerator_graph_threads: self.numerator_graph_threads,
        };
        options.check()?;
        Ok(options)
    }
}
