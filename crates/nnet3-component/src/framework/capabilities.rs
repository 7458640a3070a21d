//! Methods that only some components have: rules about indexes, statistics, modes of dropout.
//!
//! `dyn Component` has the same methods, with the effect that suits a component without the ability.

use crate::batch_norm::BatchNorm;
use crate::{Available, Backprop, Component, Context, PrecomputedIndexes, Update, fit};
use nnet3_base::error::Result;
use nnet3_base::index::Index;
use nnet3_base::snapshot::Keeper;
use nnet3_matrix::backend::DerivBeforeRelu;
use nnet3_matrix::{Accumulator, Backend, Factor, IndexTable, View, ViewMut};

/// Rules about the indexes of input and output rows. The defaults are those of a simple component.
pub trait Indexed: Component {
    /// Appends the input indexes that `output` may depend on.
    fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        inputs.push(output);
    }

    /// True if some outputs can be computed without some of the inputs that `input_indexes` lists. If false, the caller
    /// need not ask `is_computable`.
    fn has_optional_inputs(&self) -> bool {
        false
    }

    /// True if `output` can be computed from the available inputs; if so, appends those used to `used`.
    fn is_computable(&self, output: Index, available: Available<'_>, used: Option<&mut Vec<Index>>) -> bool {
        let mut inputs = Vec::new();
        self.input_indexes(output, &mut inputs);
        let computable = inputs.iter().all(|&input| available(input));
        if let (true, Some(used)) = (computable, used) {
            used.append(&mut inputs);
        }
        computable
    }

    /// Sorts and pads (with `t` = [`nnet3_base::NO_TIME`]) both lists into the order that propagate needs.
    fn reorder_indexes(&self, inputs: &mut Vec<Index>, outputs: &mut Vec<Index>) -> Result<()> {
        let _ = (inputs, outputs);
        Ok(())
    }

    fn precompute_indexes(
        &self,
        inputs: &[Index],
        outputs: &[Index],
        need_backprop: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let _ = (inputs, outputs, need_backprop);
        Ok(None)
    }

    /// Returns the number of random numbers that the reference takes, for checks, while it makes these precomputed indexes;
    /// with `reordering`, also while it brings the lists into order before.
    fn draws_of_precomputing(&self, indexes: &dyn PrecomputedIndexes, reordering: bool) -> usize {
        let _ = (indexes, reordering);
        0
    }

    /// Checks that propagate (or backprop, if `backprop`) can run with these precomputed indexes and numbers of rows.
    /// Precomputed indexes may come from a file: they may be missing, or belong to another component.
    fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        backprop: bool,
    ) -> fit::Fit {
        let _ = (indexes, input_rows, output_rows, backprop);
        Ok(())
    }
}

/// Statistics that training gathers.
pub trait Statistics: Component {
    /// Adds activation statistics of one propagate. `input` is empty if the propagate was in place.
    fn store_stats(&mut self, context: Context<'_>, input: View<'_>, output: View<'_>, memo: View<'_>) {
        let _ = (context, input, output, memo);
    }

    fn zero_stats(&mut self) {
        self.scale_stats(0.0);
    }

    /// Multiplies statistics by `factor`; 0 gives exact zeros.
    fn scale_stats(&mut self, factor: f32);

    /// Adds `alpha` × the statistics of `other`, which has the same type.
    fn add_stats(&mut self, alpha: f32, other: &dyn Component);

    /// As [`Statistics::scale_stats`], by a factor that lies on the device; the host does not wait for it.
    fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>);

    /// As [`Statistics::add_stats`], with an alpha that lies on the device; the host does not wait for it. An alpha of 0
    /// adds zero.
    fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component);

    /// Takes or puts back the statistics, to the last bit.
    fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()>;
}

/// Normalisation: output = (input − mean) ⊙ scale, with a mean and a scale for each column that depend on all rows. The memo
/// has three rows, as [`nnet3_matrix::backend::Reductions::moments`] sets them.
#[derive(Clone, Copy, Debug)]
pub struct Normalization {
    /// Root-mean-square of the output.
    pub target_rms: f32,
    /// Is added to variances.
    pub epsilon: f32,
}

impl Normalization {
    /// Returns the factor of variances in the moments.
    pub fn variance_factor(&self) -> f32 {
        1.0 / (self.target_rms * self.target_rms)
    }

    /// Returns the factor of Σ e ⊙ y over this many rows, with which the output y contributes to the derivative, if e is the
    /// derivative at the output. It is still to be multiplied by the scale.
    pub fn deriv_factor(&self, rows: usize) -> f32 {
        -1.0 / (self.target_rms * self.target_rms * rows as f32)
    }
}

/// Rectification: output = max(input, 0), with statistics of outputs and derivatives, and self-repair. For callers that do its
/// work together with other steps.
pub trait Rectification: Component {
    /// Decides about statistics as [`Statistics::store_stats`] of this many rows does. If it stores, returns the sums over rows
    /// of outputs, and of numbers of outputs above 0: the caller must add to them.
    fn begin_statistics(&mut self, context: Context<'_>, rows: usize) -> Option<[&mut Accumulator; 2]>;

    /// Decides about statistics and self-repair as [`Component::backprop`] of this many rows does. Sets `terms` (1 × columns) if
    /// there is a repair. The caller must add to the sums of squares of derivatives at the output, if they are given, and
    /// `repair` times the terms to each row of the derivative.
    fn begin_backprop<'t>(
        &'t mut self,
        context: Context<'_>,
        rows: usize,
        terms: ViewMut<'_>,
        update: Update<'t>,
    ) -> DerivBeforeRelu<'t>;
}

/// Masks: each row of the output is the row of the input times a mask, which other rows share.
pub trait Masks: Component {
    /// Sets the memo of propagate, which has the masks. Returns the number of the mask of each row; `None` if the output is
    /// the input.
    fn masks<'i>(
        &self,
        context: Context<'_>,
        indexes: Option<&'i dyn PrecomputedIndexes>,
        memo: ViewMut<'_>,
    ) -> Option<&'i IndexTable>;

    /// Returns the number of the mask of each row for backprop; `None` if propagate has left no masks in the memo.
    fn masks_left<'i>(
        &self,
        indexes: Option<&'i dyn PrecomputedIndexes>,
        memo: View<'_>,
    ) -> Option<&'i IndexTable>;
}

/// A recurrent component that updates its parameters once, by the rows of all steps. Steps can collect the update while they compute
/// derivatives. `sums` has what all of them need, and what they collect; it is the same matrix from the beginning to the end.
pub trait Stepwise: Component {
    /// Returns the rows and columns of `sums`.
    fn step_sums(&self) -> (usize, usize);

    /// Sets `sums` for an update by this number of rows.
    fn begin_steps(&mut self, context: Context<'_>, sums: ViewMut<'_>, rows: usize, update: Update<'_>);

    /// Backprop of some of the rows. Unless `update` is none, statistics go to its target and gradients to `sums`.
    fn backprop_step(
        &mut self,
        context: Context<'_>,
        args: Backprop<'_>,
        sums: ViewMut<'_>,
        update: Update<'_>,
    );

    /// Tells `update` of the gradients. `rows` is the same as at the beginning.
    fn end_steps(&mut self, context: Context<'_>, sums: ViewMut<'_>, rows: usize, update: Update<'_>);
}

/// Modes of components with random masks.
pub trait DropoutMode {
    /// Switches the masks off or on again.
    fn set_test_mode(&mut self, on: bool);

    /// Sets the proportion of zeros. Returns false if the type has none.
    fn set_proportion(&mut self, proportion: f32) -> bool {
        let _ = proportion;
        false
    }
}

impl dyn Component {
    // ---- indexes -----------------------------------------------------------------------------------------------

    /// As [`Indexed::input_indexes`].
    pub fn input_indexes(&self, output: Index, inputs: &mut Vec<Index>) {
        match self.as_indexed() {
            Some(indexed) => indexed.input_indexes(output, inputs),
            None => inputs.push(output),
        }
    }

    /// As [`Indexed::has_optional_inputs`].
    pub fn has_optional_inputs(&self) -> bool {
        self.as_indexed().is_some_and(|indexed| indexed.has_optional_inputs())
    }

    /// As [`Indexed::is_computable`].
    pub fn is_computable(
        &self,
        output: Index,
        available: Available<'_>,
        used: Option<&mut Vec<Index>>,
    ) -> bool {
        if let Some(indexed) = self.as_indexed() {
            return indexed.is_computable(output, available, used);
        }
        let computable = available(output);
        if let (true, Some(used)) = (computable, used) {
            used.push(output);
        }
        computable
    }

    /// As [`Indexed::reorder_indexes`].
    pub fn reorder_indexes(&self, inputs: &mut Vec<Index>, outputs: &mut Vec<Index>) -> Result<()> {
        self.as_indexed().map_or(Ok(()), |indexed| indexed.reorder_indexes(inputs, outputs))
    }

    /// As [`Indexed::precompute_indexes`].
    pub fn precompute_indexes(
        &self,
        inputs: &[Index],
        outputs: &[Index],
        need_backprop: bool,
    ) -> Result<Option<Box<dyn PrecomputedIndexes>>> {
        let indexed = self.as_indexed();
        indexed.map_or(Ok(None), |indexed| indexed.precompute_indexes(inputs, outputs, need_backprop))
    }

    /// As [`Indexed::draws_of_precomputing`].
    pub fn draws_of_precomputing(&self, indexes: &dyn PrecomputedIndexes, reordering: bool) -> usize {
        self.as_indexed().map_or(0, |indexed| indexed.draws_of_precomputing(indexes, reordering))
    }

    /// As [`Indexed::check_precomputed`].
    pub fn check_precomputed(
        &self,
        indexes: Option<&dyn PrecomputedIndexes>,
        input_rows: usize,
        output_rows: usize,
        backprop: bool,
    ) -> fit::Fit {
        let indexed = self.as_indexed();
        indexed.map_or(Ok(()), |own| own.check_precomputed(indexes, input_rows, output_rows, backprop))
    }

    // ---- statistics --------------------------------------------------------------------------------------------

    /// As [`Statistics::store_stats`].
    pub fn store_stats(&mut self, context: Context<'_>, input: View<'_>, output: View<'_>, memo: View<'_>) {
        if let Some(own) = self.as_statistics_mut() {
            own.store_stats(context, input, output, memo);
        }
    }

    /// As [`Statistics::zero_stats`].
    pub fn zero_stats(&mut self) {
        if let Some(own) = self.as_statistics_mut() {
            own.zero_stats();
        }
    }

    /// As [`Statistics::scale_stats`].
    pub fn scale_stats(&mut self, factor: f32) {
        if let Some(own) = self.as_statistics_mut() {
            own.scale_stats(factor);
        }
    }

    /// As [`Statistics::add_stats`].
    pub fn add_stats(&mut self, alpha: f32, other: &dyn Component) {
        if let Some(own) = self.as_statistics_mut() {
            own.add_stats(alpha, other);
        }
    }

    /// As [`Statistics::scale_stats_by`].
    pub fn scale_stats_by(&mut self, backend: &dyn Backend, factor: Factor<'_>) {
        if let Some(own) = self.as_statistics_mut() {
            own.scale_stats_by(backend, factor);
        }
    }

    /// As [`Statistics::add_stats_by`].
    pub fn add_stats_by(&mut self, backend: &dyn Backend, alpha: Factor<'_>, other: &dyn Component) {
        if let Some(own) = self.as_statistics_mut() {
            own.add_stats_by(backend, alpha, other);
        }
    }

    /// As [`Statistics::keep_stats`].
    pub fn keep_stats(&mut self, keeper: &mut Keeper<'_>) -> Result<()> {
        self.as_statistics_mut().map_or(Ok(()), |own| own.keep_stats(keeper))
    }

    // ---- modes -------------------------------------------------------------------------------------------------

    /// As [`DropoutMode::set_test_mode`]. Returns false if the type has no such mode.
    pub fn set_dropout_test_mode(&mut self, on: bool) -> bool {
        self.as_dropout_mut().map(|own| own.set_test_mode(on)).is_some()
    }

    /// As [`DropoutMode::set_proportion`].
    pub fn set_dropout_proportion(&mut self, proportion: f32) -> bool {
        self.as_dropout_mut().is_some_and(|own| own.set_proportion(proportion))
    }

    /// Switches batch normalisation to fixed statistics or back. Returns false for other types.
    pub fn set_batchnorm_test_mode(&mut self, on: bool) -> bool {
        self.downcast_mut::<BatchNorm>().map(|own| own.set_test_mode(on)).is_some()
    }

    /// Multiplies the statistics of batch normalisation by `factor`; has no effect on other types.
    pub fn scale_batchnorm_stats(&mut self, factor: f32) {
        if let Some(own) = self.downcast_mut::<BatchNorm>() {
            own.scale_stats(factor);
        }
    }
}
