//! Programs to run: a compiler from the option groups of a program, or a stored computation.

use anyhow::{Context, Result};

use nnet3::options::compute::{CachingOptions, OptimizationOptions, compiler_defaults};
use nnet3_core::check::{CheckOptions, check};
use nnet3_core::computation::Computation;
use nnet3_core::execute::CachingCompiler;
use nnet3_core::execute::Program;
use nnet3_core::lower::Watch;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;
use std::sync::Arc;

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
