//! Options of the programs that evaluate objectives.

use anyhow::Result;
use clap::Args;
use kaldi_cli::Group;
use nnet3_train::diagnostics::ProbOptions;
use nnet3_train::minibatch::CompileOptions;
use nnet3_train::objective::{AccuracyOptions, FrameObjective};

use super::compute::{CachingOptions, ComputationOptions, OptimizationOptions, compiler_defaults};

/// Returns the defaults for programs without such options. `--verbose=3` and `--verbose=5` have their usual effects.
pub fn prob_defaults() -> ProbOptions {
    ProbOptions {
        observer: ComputationOptions { debug: false }.observer(),
        compile: CompileOptions { compiler: compiler_defaults(), ..CompileOptions::default() },
        ..ProbOptions::default()
    }
}

// [PROB]
#[derive(Args, Clone, Debug)]
pub struct ComputeProbOptions {
    /// As --computation.debug
    #[arg(long)]
    pub debug_computation: bool,
    /// If true, compute accuracy values as well as objective functions
    #[arg(long, default_value_t = true)]
    pub compute_accuracy: bool,
    /// If true, compute accuracy values for each dimension of the targets
    #[arg(long)]
    pub compute_per_dim_accuracy: bool,
    #[command(flatten)]
    pub optimization: Group<OptimizationOptions>,
    #[command(flatten)]
    pub caching: CachingOptions,
    #[command(flatten)]
    pub computation: ComputationOptions,
}

impl ComputeProbOptions {
    /// The objective of plain examples.
    pub fn frame_objective(&self) -> FrameObjective {
        FrameObjective::with_accuracy(AccuracyOptions {
            accuracy: self.compute_accuracy,
            per_dim: self.compute_per_dim_accuracy,
        })
    }

    /// The options as the library takes them.
    pub fn prob_options(&self) -> Result<ProbOptions> {
        let debug = self.computation.debug || self.debug_computation;
        Ok(ProbOptions {
            observer: ComputationOptions { debug }.observer(),
            compile: CompileOptions {
                compiler: self.caching.compiler_options(),
                optimize: self.optimization.optimize_options()?,
            },
            ..ProbOptions::default()
        })
    }
}
