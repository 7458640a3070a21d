//! Options for running a network over live sound, and for compiling it.

use nnet3_core::forward::Streaming;
use nnet3_core::optimize::OptimizeOptions;

use super::Result;

kaldi_io::options! {
    /// Options of the optimisation of computations.
    #[derive(Clone, Debug)]
    pub struct OptimizationOptions {
        /// Set this to false to turn off all optimizations
        pub optimize("optimization.optimize"): bool = true,
        /// Update a component's parameters once for all its uses at different times (recurrent networks)
        pub consolidate_model_update("optimization.consolidate-model-update"): bool = true,
        /// Let components write their output over their input, if they can
        pub propagate_in_place("optimization.propagate-in-place"): bool = true,
        /// Let components write the derivative of their input over the derivative of their output, if they can
        pub backprop_in_place("optimization.backprop-in-place"): bool = true,
        /// Extend matrices so that copies of parts of them become unnecessary (TDNNs; saves memory)
        pub extend_matrices("optimization.extend-matrices"): bool = true,
        /// Replace operations on rows by operations on matrices, where rows are consecutive
        pub optimize_row_ops("optimization.optimize-row-ops"): bool = true,
        /// Split operations on rows of several matrices into simpler ones, one a matrix
        pub split_row_ops("optimization.split-row-ops"): bool = true,
        /// Replace an addition by a copy if its destination is still zero
        pub convert_addition("optimization.convert-addition"): bool = true,
        /// Merge matrices if one is only a copy of the other
        pub remove_assignments("optimization.remove-assignments"): bool = true,
        /// Allow remove-assignments to keep the copy
        pub allow_left_merge("optimization.allow-left-merge"): bool = true,
        /// Allow remove-assignments to keep the original
        pub allow_right_merge("optimization.allow-right-merge"): bool = true,
        /// Do not zero matrices that are written before they are read
        pub initialize_undefined("optimization.initialize-undefined"): bool = true,
        /// Allocate matrices as late and free them as early as possible
        pub move_sizing_commands("optimization.move-sizing-commands"): bool = true,
        /// Use a freed matrix again for another of the same size
        pub allocate_from_other("optimization.allocate-from-other"): bool = true,
        /// Leave out rows at the edges without effect
        pub snip_row_ops("optimization.snip-row-ops"): bool = true,
        /// Earliest t for which derivatives are computed
        pub min_deriv_time("optimization.min-deriv-time"): i32 = i32::MIN,
        /// Latest t for which derivatives are computed
        pub max_deriv_time("optimization.max-deriv-time"): i32 = i32::MAX,
        /// If set, the latest t for which derivatives are computed, counted from the largest t of the requested outputs
        pub max_deriv_time_relative("optimization.max-deriv-time-relative"): i32 = i32::MAX,
        /// Degree of compression of matrices that wait for the backward pass: 0, 1 or 2 (training only; the commands are
        /// kept and have no effect: memory is planned before a computation runs)
        pub memory_compression_level("optimization.memory-compression-level"): i32 = 1,
    }
}

kaldi_io::options! {
    /// Options of networks over live sound, without `acoustic-scale`.
    #[derive(Clone, Debug)]
    pub struct LoopedArgs {
        /// Extra left context to use at the first frame of an utterance (note: this will just consist of repeats of the first
        /// frame, and should not usually be necessary)
        pub extra_left_context_initial: i32 = 0,
        /// Frames of the input for each frame of the output, if the network has fewer outputs ('chain' models)
        pub frame_subsampling_factor: i32 = 1,
        /// Number of new input frames of each chunk; the network keeps its state from chunk to chunk
        pub frames_per_chunk: i32 = 24,
        /// As --computation.debug
        pub debug_computation: bool = false,
        pub optimization: OptimizationOptions,
        /// Log each command of each computation, with the sizes that it changes and its time (very verbose; --verbose=5
        /// does it too)
        pub computation_debug("computation.debug"): bool = false,
    }
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
