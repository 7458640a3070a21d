//! Options for compiling and running requests: `--optimization.*`, `--compiler.*`, `--computation.*`.
//!
//! Only the times of derivatives change results.

use clap::Args;
use kaldi_cli::log::{self, sites::COMPUTE_DEBUG};
use nnet3_core::execute::CompilerOptions;
use nnet3_core::execute::{Executor, Observer, Trace};
pub use nnet3_online::config::network::OptimizationOptions;

// [COMPILER]
#[derive(Args, Clone, Debug)]
pub struct CachingOptions {
    /// Compile requests of a regular structure for two sequences, and expand
    #[arg(long = "compiler.use-shortcut", default_value_t = true)]
    pub use_shortcut: bool,
    /// Number of compiled computations to keep, the most recently used
    #[arg(long = "compiler.cache-capacity", default_value_t = 64)]
    pub cache_capacity: u32,
}

// [COMPUTE]
#[derive(Args, Clone, Debug)]
pub struct ComputationOptions {
    /// Log each command of each computation, with the sizes that it changes and its time (very verbose; --verbose=5
    /// does it too)
    #[arg(long = "computation.debug")]
    pub debug: bool,
}

/// The defaults, with which computations are checked after every pass if there is `--verbose=3`.
pub fn compiler_defaults() -> CompilerOptions {
    let defaults = CompilerOptions::default();
    CompilerOptions { check_all: defaults.check_all || log::verbose() >= 3, ..defaults }
}

impl CachingOptions {
    /// The options as the library takes them.
    pub fn compiler_options(&self) -> CompilerOptions {
        CompilerOptions {
            use_shortcut: self.use_shortcut,
            cache_capacity: self.cache_capacity as usize,
            ..compiler_defaults()
        }
    }
}

impl ComputationOptions {
    /// Lets `executor` log each command, if this option or `--verbose=5` requests it.
    pub fn observe(&self, executor: &mut Executor) {
        self.observer().into_iter().for_each(|new| executor.observe(new()));
    }

    /// Returns the maker of an observer that logs each command, if that is wanted.
    pub fn observer(&self) -> Option<fn() -> Box<dyn Observer>> {
        let new: fn() -> Box<dyn Observer> =
            || Box::new(Trace::new(|line: &str| log::log(&COMPUTE_DEBUG, line)));
        (self.debug || log::verbose() >= 5).then_some(new)
    }
}
