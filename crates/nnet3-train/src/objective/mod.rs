//! What training maximises.
//!
//! An [`Objective`] belongs to one kind of example. It says what a network should compute for an example, and then sees all
//! outputs at once: it works out what they are worth and, if that is wanted, the derivatives, in the executor's own memory.
//! [`FrameObjective`] is that of plain examples, whose outputs have targets row by row.

mod exchange;
mod frame;
pub(crate) mod value;

pub use exchange::Exchange;
pub(crate) use frame::function_of;
pub use frame::{AccuracyOptions, FrameObjective, ObjectiveFunction, sum};
pub(crate) use frame::{Linear, Quadratic};
pub use value::ObjectiveValue;

use crate::error::Result;
use crate::example::Example;
use crate::ledger::Tally;
use crate::request::MinibatchRequest;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::Device;

/// What the outputs of a network are worth, for one kind of example. It may keep memory from one example to the next, and stays
/// on its thread.
pub trait Objective {
    type Example: Example;

    /// What a network is given for an example, and what it should compute. An example that does not fit the network is an error.
    fn request<'e>(&self, nnet: &Nnet, example: &'e Self::Example) -> Result<MinibatchRequest<'e>>;

    /// How log lines of diagnostics call the value of this output.
    fn title(&self, nnet: &Nnet, output: &str) -> &'static str;

    /// Bytes on the device that [`Objective::evaluate`] will borrow for the example, beside outputs and derivatives.
    fn memory(&mut self, _: &Nnet, _: &Self::Example, _: &Device) -> Result<usize> {
        Ok(0)
    }

    /// Evaluates the outputs of the example's request, whose forward pass is done, and notes in `tally` what they are worth: at
    /// most once for each output of the request. Where the exchange has a place for a derivative of that sum, it writes the
    /// derivative there, whole.
    fn evaluate(
        &mut self,
        example: &Self::Example,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()>;
}
