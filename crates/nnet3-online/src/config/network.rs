//! Options for running a network over live sound, and for compiling it.

use clap::Args;
use nnet3_core::forward::Streaming;
use nnet3_core::optimize::OptimizeOptions;

use super::Result;

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

// [LOOPED], without acoustic-scale
#[derive(Args, Clone, Debug)]
pub struct LoopedArgs {
    /// Extra left context to use at the first frame of an utterance (note: this will just consist of repeats of the first
    /// frame, and should not usually be necessary)
    #[arg(long, default_value_t = 0)]
    pub extra_left_context_initial: i32,
    /// Frames of the input for each frame of the output, if the network has fewer outputs ('chain' models)
    #[arg(long, default_value_t = 1)]
    pub frame_subsampling_factor: i32,
    /// Number of new input frames of each chunk; the network keeps its state from chunk to chunk
    #[arg(long, default_value_t = 24)]
    pub frames_per_chunk: i32,
    /// As --computation.debug
    #[arg(long)]
    pub debug_computation: bool,
    #[command(flatten)]
    pub optimization: OptimizationOptions,
    /// Log each command of each computation, with the sizes that it changes and its time (very verbose; --verbose=5
    /// does it too)
    #[arg(long = "computation.debug")]
    pub computation_debug: bool,
}

impl LoopedArgs {
    /// Returns the chunks of the network.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn streaming(&self) -> Result<Streaming> {
        if self.frames_per_chunk < 1 || self.frame_subsampling_factor < 1 {
            refuse!("--frames-per-chunk and --frame-subsampling-factor must be at least 1");
        }
        if self.extra_left_context_initial < 0 {
            refuse!("--extra-left-context-initial={}: expected 0 or more", self.extra_left_context_initial);
        }
        Ok(Streaming {
            frames_per_chunk: self.frames_per_chunk,
            frame_subsampling_factor: self.frame_subsampling_factor,
            extra_left_context_initial: self.extra_left_context_initial,
        })
    }

    /// True if the commands of computations are to be logged.
    pub fn debugs(&self) -> bool {
        self.computation_debug || self.debug_computation
    }
}

impl OptimizationOptions {
    /// The options as the library takes them.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn optimize_options(&self) -> Result<OptimizeOptions> {
        if !(0..=2).contains(&self.memory_compression_level) {
            let level = self.memory_compression_level;
            refuse!("--optimization.memory-compression-level={level}: expected 0, 1 or 2");
        }
        Ok(self.into())
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
