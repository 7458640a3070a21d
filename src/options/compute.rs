//! Options for compiling and running requests: `--optimization.*`, `--compiler.*`, `--computation.*`.
//!
//! Only the times of derivatives change results.

use anyhow::{Result, bail};
use clap::Args;
use kaldi_io::log::{self, sites::COMPUTE_DEBUG};
use nnet3_core::execute::CompilerOptions;
use nnet3_core::execute::{Executor, Observer, Trace};
use nnet3_core::optimize::OptimizeOptions;

// [OPTIM]
#[derive(Args, Clone, Debug)]
pub struct OptimizationOptions {
    /// Set this to false to turn off all optimizations
    #[arg(long = "optimization.optimize", default_value_t = true)]
    pub optimize: bool,
    /// Update a component's parameters once for all its uses at different times (recurrent networks)
    #[arg(long = "optimization.consolidate-model-update", default_value_t = true)]
    pub consolidate_model_update: bool,
    /// Let components write their output over their input, if they can
    #[arg(long = "optimization.propagate-in-place", default_value_t = true)]
    pub propagate_in_place: bool,
    /// Let components write the derivative of their input over the derivative of their output, if they can
    #[arg(long = "optimization.backprop-in-place", default_value_t = true)]
    pub backprop_in_place: bool,
    /// Extend matrices so that copies of parts of them become unnecessary (TDNNs; saves memory)
    #[arg(long = "optimization.extend-matrices", default_value_t = true)]
    pub extend_matrices: bool,
    /// Replace operations on rows by operations on matrices, where rows are consecutive
    #[arg(long = "optimization.optimize-row-ops", default_value_t = true)]
    pub optimize_row_ops: bool,
    /// Split operations on rows of several matrices into simpler ones, one a matrix
    #[arg(long = "optimization.split-row-ops", default_value_t = true)]
    pub split_row_ops: bool,
    /// Replace an addition by a copy if its destination is still zero
    #[arg(long = "optimization.convert-addition", default_value_t = true)]
    pub convert_addition: bool,
    /// Merge matrices if one is only a copy of the other
    #[arg(long = "optimization.remove-assignments", default_value_t = true)]
    pub remove_assignments: bool,
    /// Allow remove-assignments to keep the copy
    #[arg(long = "optimization.allow-left-merge", default_value_t = true)]
    pub allow_left_merge: bool,
    /// Allow remove-assignments to keep the original
    #[arg(long = "optimization.allow-right-merge", default_value_t = true)]
    pub allow_right_merge: bool,
    /// Do not zero matrices that are written before they are read
    #[arg(long = "optimization.initialize-undefined", default_value_t = true)]
    pub initialize_undefined: bool,
    /// Allocate matrices as late and free them as early as possible
    #[arg(long = "optimization.move-sizing-commands", default_value_t = true)]
    pub move_sizing_commands: bool,
    /// Use a freed matrix again for another of the same size
    #[arg(long = "optimization.allocate-from-other", default_value_t = true)]
    pub allocate_from_other: bool,
    /// Leave out rows at the edges without effect
    #[arg(long = "optimization.snip-row-ops", default_value_t = true)]
    pub snip_row_ops: bool,
    /// Earliest t for which derivatives are computed
    #[arg(long = "optimization.min-deriv-time", default_value_t = i32::MIN)]
    pub min_deriv_time: i32,
    /// Latest t for which derivatives are computed
    #[arg(long = "optimization.max-deriv-time", default_value_t = i32::MAX)]
    pub max_deriv_time: i32,
    /// If set, the latest t for which derivatives are computed, counted from the largest t of the requested outputs
    #[arg(long = "optimization.max-deriv-time-relative", default_value_t = i32::MAX)]
    pub max_deriv_time_relative: i32,
    /// Degree of compression of matrices that wait for the backward pass: 0, 1 or 2 (training only; the commands are
    /// kept and have no effect: memory is planned before a computation runs)
    #[arg(long = "optimization.memory-compression-level", default_value_t = 1)]
    pub memory_compression_level: i32,
}

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

impl OptimizationOptions {
    /// The options as the library takes them.
    pub fn optimize_options(&self) -> Result<OptimizeOptions> {
        if !(0..=2).contains(&self.memory_compression_level) {
            let level = self.memory_compression_level;
            bail!("--optimization.memory-compression-level={level}: expected 0, 1 or 2");
        }
        Ok(self.into())
    }
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

impl From<&OptimizationOptions> for OptimizeOptions {
    fn from(o: &OptimizationOptions) -> OptimizeOptions {
        OptimizeOptions {
            optimize: o.optimize,
            consolidate_model_update: o.consolidate_model_update,
            propagate_in_place: o.propagate_in_place,
            backprop_in_place: o.backprop_in_place,
            extend_matrices: o.extend_matrices,
            optimize_row_ops: o.optimize_row_ops,
            split_row_ops: o.split_row_ops,
            convert_addition: o.convert_addition,
            remove_assignments: o.remove_assignments,
            allow_left_merge: o.allow_left_merge,
            allow_right_merge: o.allow_right_merge,
            initialize_undefined: o.initialize_undefined,
            move_sizing_commands: o.move_sizing_commands,
            allocate_from_other: o.allocate_from_other,
            snip_row_ops: o.snip_row_ops,
            min_deriv_time: o.min_deriv_time,
            max_deriv_time: o.max_deriv_time,
            max_deriv_time_relative: o.max_deriv_time_relative,
            memory_compression_level: o.memory_compression_level,
            ..OptimizeOptions::default()
        }
    }
}
