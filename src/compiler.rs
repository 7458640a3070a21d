//! Programs to run: a compiler from the option groups of a program, or a stored computation.

use anyhow::{Context, Result};

use crate::options::compute::{CachingOptions, OptimizationOptions, compiler_defaults};
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::computation::Computation;
use nnet3_core::execute::CachingCompiler;
use nnet3_core::execute::Program;
use nnet3_core::lower::Watch;
use nnet3_core::nnet::Nnet;
use nnet3_core::optimize::OptimizeOptions;
use nnet3_matrix::Device;
use std::sync::Arc;

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

/// A caching compiler with these options.
pub fn new(optimization: &OptimizationOptions, caching: &CachingOptions) -> CachingCompiler {
    CachingCompiler::new(caching.compiler_options(), optimization.into())
}

/// The program of a stored computation (text or binary), which must fit the network.
pub fn load(nnet: &Nnet, rxfilename: &str, device: &Device) -> Result<Arc<Program>> {
    let computation = Computation::load(rxfilename)?;
    let fits = check(nnet, &computation, CheckOptions { unused_variables: false, ..CheckOptions::default() });
    fits.with_context(|| format!("{rxfilename} does not fit the network"))?;
    lower(nnet, computation, device)
}

/// The program of a computation on `device`; with `--verbose=3` checked after every pass over its operations.
pub fn lower(nnet: &Nnet, computation: Computation, device: &Device) -> Result<Arc<Program>> {
    let mut watch = Watch { check: compiler_defaults().check_all, ..Watch::default() };
    Ok(Arc::new(Program::for_device(nnet, computation, device, &mut watch)?))
}
