//! The optimisation passes, in order.
//!
//! Every pass takes a computation that the checker accepts. The result is accepted, too, and gives the same values.
//! Passes need debug info only if they say so. One of our own, [`stack_in_place`], is not among them: it changes only what
//! runs (`CachingCompiler` of `nnet3-core`).

pub mod consolidate_io;
mod consolidate_model_update;
mod convert_addition;
mod extend_matrices;
mod limit_derivative_times;
mod looped;
mod memory_compression;
mod move_sizing;
mod options;
mod remove_zeroing;
pub(crate) mod renumber;
mod replace_row_ops;
mod reuse_allocations;
mod snip_row_ops;
mod split_row_ops;
pub mod stack_in_place;
mod variable_merging;

pub use options::OptimizeOptions;

use crate::check;
use crate::computation::Computation;
use nnet3_base::error::{Error, Result};
use nnet3_network::Nnet;
use std::time::{Duration, Instant};

/// A pass, or another stage of compiling, that has been done.
pub struct Stage<'a> {
    pub name: &'static str,
    /// The result.
    pub computation: &'a Computation,
    /// Time of the pass, without checking.
    pub time: Duration,
}

/// Is called after each stage.
pub type Observer<'a> = &'a mut dyn FnMut(Stage<'_>);

/// Runs the passes that `options` ask for. `max_output_time` is the largest time of any requested output.
pub fn optimize(
    options: &OptimizeOptions,
    nnet: &Nnet,
    max_output_time: i32,
    computation: &mut Computation,
) -> Result<()> {
    optimize_observed(options, nnet, max_output_time, computation, cfg!(debug_assertions), &mut |_| ())
}

/// As [`optimize`]. With `check`, runs the checker after each pass.
pub fn optimize_observed(
    options: &OptimizeOptions,
    nnet: &Nnet,
    max_output_time: i32,
    computation: &mut Computation,
    check: bool,
    observer: Observer<'_>,
) -> Result<()> {
    let o = options;
    let on = |flag: bool| o.optimize && flag;
    let looped = o.optimize_looped_computation;
    let merge = o.remove_assignments || o.propagate_in_place || o.backprop_in_place;
    let deriv_times = o.deriv_times(max_output_time);
    let compression = if looped { 0 } else { o.memory_compression_level };

    let mut p = Pipeline { nnet, computation, check, observer };
    p.pass("limit-derivative-times", deriv_times.is_some(), |nnet, c| {
        limit_derivative_times::run(nnet, deriv_times.unwrap_or_default(), c)
    })?;
    p.pass("consolidate-model-update", on(o.consolidate_model_update), consolidate_model_update::run)?;
    p.pass("convert-addition", on(o.convert_addition), convert_addition::run)?;
    let mut changed = false;
    p.pass("snip-row-ops", on(o.snip_row_ops), |_, c| {
        changed |= snip_row_ops::run(c);
        Ok(())
    })?;
    p.pass("split-row-ops", on(o.split_row_ops), |_, c| {
        changed |= split_row_ops::run(c);
        Ok(())
    })?;
    p.pass("optimize-row-ops", on(o.optimize_row_ops), |_, c| {
        changed |= replace_row_ops::run(c);
        Ok(())
    })?;
    p.pass("extend-matrices", on(o.extend_matrices) && !looped, |_, c| {
        changed |= extend_matrices::run(c);
        Ok(())
    })?;
    p.pass("join-equal", changed, |_, c| renumber::run(c))?;
    p.pass("merge-variables", on(merge), |nnet, c| variable_merging::run(o, nnet, c))?;
    p.pass("initialize-undefined", on(o.initialize_undefined), remove_zeroing::run)?;
    p.pass("move-sizing-commands", on(o.move_sizing_commands) || looped, move_sizing::run)?;
    p.pass("loop", looped, looped::run)?;
    p.pass("allocate-from-other", on(o.allocate_from_other) && !looped, |_, c| {
        reuse_allocations::run(c);
        Ok(())
    })?;
    p.pass("remove-no-ops", o.optimize, |_, c| {
        renumber::remove_no_ops(c);
        Ok(())
    })?;
    p.pass("consolidate-io", true, |_, c| {
        consolidate_io::run(c);
        renumber::fix_goto(c);
        Ok(())
    })?;
    p.pass("memory-compression", compression > 0, |nnet, c| memory_compression::run(nnet, compression, c))
}

struct Pipeline<'a, 'o> {
    nnet: &'a Nnet,
    computation: &'a mut Computation,
    check: bool,
    observer: Observer<'o>,
}

impl Pipeline<'_, '_> {
    fn pass(
        &mut self,
        name: &'static str,
        wanted: bool,
        run: impl FnOnce(&Nnet, &mut Computation) -> Result<()>,
    ) -> Result<()> {
        if !wanted {
            return Ok(());
        }
        let start = Instant::now();
        run(self.nnet, self.computation)?;
        let time = start.elapsed();
        if self.check {
            let options = check::CheckOptions::default();
            check::check(self.nnet, self.computation, options).map_err(|e| after_pass(name, e))?;
        }
        (self.observer)(Stage { name, computation: self.computation, time });
        Ok(())
    }
}

/// Says which pass is to blame.
fn after_pass(name: &str, error: Error) -> Error {
    match error {
        Error::Computation { message, command } => {
            Error::Computation { message: format!("after the pass {name}: {message}"), command }
        }
        other => other,
    }
}
