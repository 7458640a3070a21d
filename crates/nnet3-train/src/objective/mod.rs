//! What training maximises.
//!
//! An [`Objective`] belongs to one kind of example. It says what a network should compute for an example, and then sees all
//! outputs at once: it works out what they are worth and, if that is wanted, the derivatives, in the executor's own memory.
//! [`FrameObjective`] is that of plain examples, whose outputs have targets row by row.

mod exchange;
mod frame;

pub use exchange::Exchange;
pub(crate) use frame::function_of;
pub use frame::{AccuracyOptions, FrameObjective, ObjectiveFunction, sum};
pub(crate) use frame::{Linear, Quadratic};

use crate::error::Result;
use crate::example::Example;
use crate::ledger::Tally;
use crate::request::MinibatchRequest;
use nnet3_core::nnet::Nnet;
use nnet3_core::snapshot::Keeper;
use nnet3_matrix::Device;

/// Sums over frames: the objective, and what to divide it by.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ObjectiveValue {
    pub objective: f64,
    /// Terms that are part of what is maximised and reported beside the objective, such as a penalty on large outputs.
    pub auxiliary: f64,
    pub weight: f64,
}

impl ObjectiveValue {
    /// Takes or puts back the sums.
    pub fn keep(&mut self, keeper: &mut Keeper<'_>) -> nnet3_core::Result<()> {
        let ObjectiveValue { objective, auxiliary, weight } = self;
        [objective, auxiliary, weight].into_iter().try_for_each(|sum| keeper.number(sum))
    }

    /// The objective per frame, without auxiliary terms.
    pub fn average(&self) -> f64 {
        self.objective / self.weight
    }

    /// The average of all that is maximised, per frame.
    pub fn total_average(&self) -> f64 {
        (self.objective + self.auxiliary) / self.weight
    }
}

impl std::ops::AddAssign for ObjectiveValue {
    fn add_assign(&mut self, other: ObjectiveValue) {
        self.objective += other.objective;
        self.auxiliary += other.auxiliary;
        self.weight += other.weight;
    }
}

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
