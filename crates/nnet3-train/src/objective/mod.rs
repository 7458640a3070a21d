//! Objectives: the functions that training maximises.
//!
//! An [`Objective`] belongs to one kind of example. It requests the outputs for an example, and then receives them all
//! at once. It computes their values and, if wanted, their derivatives, in the executor's own memory.
//! [`FrameObjective`] is the one for plain examples, with targets for each row of an output. [`cost`] has the functions
//! that rules name for outputs, and [`metrics`] the measures of classes.

pub mod cost;
mod exchange;
mod frame;
pub mod metrics;
pub(crate) mod value;

pub use cost::Costs;
pub use exchange::Exchange;
pub(crate) use frame::function_of;
pub use frame::{AccuracyOptions, FrameObjective, ObjectiveFunction, sum};
pub(crate) use frame::{Linear, Quadratic};
pub use metrics::Metric;
pub use value::ObjectiveValue;

use crate::error::Result;
use crate::example::Example;
use crate::ledger::Tally;
use crate::request::MinibatchRequest;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;

/// An objective for one kind of example. It may keep memory from one example to the next, and stays on its thread.
pub trait Objective {
    type Example: Example;

    /// Returns the inputs for an example and the outputs to compute. An example that does not fit the network is an
    /// error.
    fn request<'e>(&self, nnet: &Nnet, example: &'e Self::Example) -> Result<MinibatchRequest<'e>>;

    /// Returns the name of this output's value in log lines of diagnostics.
    fn title(&self, nnet: &Nnet, output: &str) -> &'static str;

    /// Bytes on the device that [`Objective::evaluate`] will need for the example, beside outputs and derivatives.
    fn memory(&mut self, _: &Nnet, _: &Self::Example, _: &Device) -> Result<usize> {
        Ok(0)
    }

    /// Evaluates the outputs of the example's request after its forward pass, and adds their values to `tally`, at most
    /// once for each output. If the exchange has a matrix for the derivative of that sum, writes all of it.
    fn evaluate(
        &mut self,
        example: &Self::Example,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()>;
}
