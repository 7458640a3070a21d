//! Training of chain models: lattice-free MMI as an objective of the trainer.
//!
//! Each output `NAME` of an example is evaluated with [`evaluate`]. With cross-entropy regularisation, the network has
//! an output `NAME-xent` beside it, and its targets are the numerator's posteriors.

mod denominators;
mod lwf;

pub use denominators::Denominators;
pub use lwf::LWF_INPUT;

use kaldi_io::log::{num, ratio};
use nnet3_core::nnet::Nnet;
use nnet3_matrix::{Device, View};
use nnet3_train::ledger::{Remark, Tally};
use nnet3_train::objective::{Exchange, Objective, ObjectiveValue};
use nnet3_train::request::MinibatchRequest;
use nnet3_train::sequence::{self, derivatives_per_frame, xent_name};
use nnet3_train::{Error, Result};

use crate::denominator::{self, OUTPUT_LIMIT};
use crate::example::{NnetChainExample, NnetChainSupervision};
use crate::objective::{ChainObjective, ChainOptions, ChainScratch, evaluate};
use crate::supervision::Graph;
use denominators::Graphs;

/// Upper ends of numbers that are drawn in each minibatch. If the number is 0, the range of the output is checked, the
/// penalty is applied, or derivatives are logged.
const SELDOM_RANGE: i32 = 99;
const PENALTY: i32 = 1;
const SELDOM_DERIVATIVES: i32 = 10;

/// Options of chain training.
#[derive(Debug, Clone)]
pub struct ChainTrainingOptions {
    pub chain: ChainOptions,
    /// True to multiply derivatives by the examples' frame weights.
    pub apply_deriv_weights: bool,
    /// Now and then reports the sum of squares of the derivative, frame by frame. This draws a random number more.
    pub verbose: bool,
}

/// The objective of chain examples.
pub struct ChainTraining {
    options: ChainTrainingOptions,
    graphs: Graphs,
    scratch: Option<ChainScratch>,
    lwf: ObjectiveValue,
}

impl ChainTraining {
    /// Options that make no sense are errors when the first minibatch is evaluated.
    pub fn new(options: ChainTrainingOptions, denominators: Denominators) -> ChainTraining {
        let graphs = Graphs::new(denominators);
        ChainTraining { options, graphs, scratch: None, lwf: ObjectiveValue::default() }
    }

    /// Returns the contribution so far of another model's posteriors to the derivatives, if examples have them.
    pub fn learned_without_forgetting(&self) -> ObjectiveValue {
        self.lwf
    }

    fn xent(&self) -> bool {
        self.options.chain.xent_regularize != 0.0
    }

    fn evaluate_output(
        &mut self,
        example: &NnetChainExample,
        output: &NnetChainSupervision,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()> {
        let name = output.name.as_str();
        let options = &self.options;
        let device = exchange.device();
        let value = exchange.output(name)?;
        let deriv = exchange.derivative(name)?;
        let draws = Draws::draw(output, exchange, options.verbose);
        let xent_name = xent_name(name);
        let mut scratch = None;
        let xent_deriv = match self.xent() {
            false => None,
            true => Some(match exchange.derivative(&xent_name)? {
                Some(deriv) => deriv,
                None => scratch.insert(exchange.workspace().take(value.rows(), value.cols())).view_mut(),
            }),
        };
        if draws.check_range {
            check_range(exchange, name, value, tally);
        }
        let graph = self.graphs.of(name, value.cols())?;
        let memory = self.scratch.get_or_insert_with(|| ChainScratch::new(device));
        let found = evaluate(
            &options.chain,
            graph,
            &output.supervision,
            value,
            draws.penalty,
            deriv,
            xent_deriv,
            memory,
        )
        .map_err(|e| Error::data(format!("'{name}': {e}")))?;
        remark(name, output, &found, tally);
        if let Some(deriv) = deriv.filter(|_| draws.log_derivatives) {
            let sequences = output.supervision.num_sequences;
            tally.remark(Remark::Log(derivatives_per_frame(exchange, deriv, sequences)));
        }
        if let Some(posteriors) = lwf::input(example) {
            let scale = lwf::scale(&options.chain);
            self.lwf += lwf::add(exchange, posteriors, output, scale, value, deriv)?;
        }
        let ChainObjective { objf: objective, l2_term: auxiliary, weight, .. } = found;
        tally.value(name, ObjectiveValue { objective, auxiliary, weight });
        if let Some(xent_deriv) = xent_deriv {
            let xent_value = exchange.output(&xent_name)?;
            let place = tally.sum(&xent_name, weight);
            device.accumulate_dot(place.sums, place.index, 1.0, xent_value, xent_deriv.as_view());
        }
        if !exchange.derivatives() {
            return Ok(());
        }
        let derivs = deriv.into_iter().chain(xent_deriv);
        if options.apply_deriv_weights && !output.deriv_weights.is_empty() {
            let mut weights = exchange.workspace().take(value.rows(), 1);
            device.upload(weights.view_mut(), &output.deriv_weights);
            derivs.for_each(|deriv| device.scale_rows(deriv, weights.view()));
        }
        if let Some(xent_deriv) = xent_deriv {
            device.scale(xent_deriv, options.chain.xent_regularize);
        }
        Ok(())
    }
}

/// The random draws for a minibatch, in the reference's order.
struct Draws {
    check_range: bool,
    penalty: bool,
    log_derivatives: bool,
}

impl Draws {
    fn draw(output: &NnetChainSupervision, exchange: &Exchange<'_>, verbose: bool) -> Draws {
        let zero = |last: i32| exchange.random().int(0, last) == 0;
        let penalty = || exchange.derivatives() && zero(PENALTY);
        let (check_range, penalty) = match output.supervision.graph {
            Graph::Constrained(_) => {
                let check_range = zero(SELDOM_RANGE);
                (check_range, penalty())
            }
            Graph::EndToEnd(_) => {
                let penalty = penalty();
                (zero(SELDOM_RANGE), penalty)
            }
        };
        let log_derivatives = verbose && exchange.derivatives() && zero(SELDOM_DERIVATIVES);
        Draws { check_range, penalty, log_derivatives }
    }
}

/// Remarks on outputs beyond the range that the denominator accepts unchanged.
fn check_range(exchange: &Exchange<'_>, name: &str, output: View<'_>, tally: &mut Tally<'_>) {
    let values = exchange.device().download(output);
    let lowest = values.iter().copied().fold(f32::INFINITY, f32::min);
    let highest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if lowest < -OUTPUT_LIMIT || highest > OUTPUT_LIMIT {
        tally.remark(Remark::Warning(format!(
            "'{name}' has values from {} to {}: the denominator limits them to ±{}",
            num(lowest.into()),
            num(highest.into()),
            num(OUTPUT_LIMIT.into())
        )));
    }
}

/// Prints remarks on a minibatch.
fn remark(name: &str, output: &NnetChainSupervision, found: &ChainObjective, tally: &mut Tally<'_>) {
    if matches!(output.supervision.graph, Graph::EndToEnd(_)) {
        tally.remark(Remark::Log(format!("Numerator objf: {}", num(found.numerator))));
    }
    if let Some(failure) = &found.failed {
        let per_frame = ratio(found.objf, found.weight);
        tally.remark(Remark::Warning(format!(
            "'{name}': {failure}. Setting the objective function to {per_frame} per frame, and its derivatives to 0"
        )));
    }
    if let Some(doubtful) = &found.doubtful {
        tally.remark(Remark::Warning(format!("'{name}': {doubtful}")));
    }
}

impl Objective for ChainTraining {
    type Example = NnetChainExample;

    /// Requests every output in the example, and its cross-entropy output if there is to be one, from every input.
    fn request<'e>(&self, nnet: &Nnet, example: &'e NnetChainExample) -> Result<MinibatchRequest<'e>> {
        self.options.chain.check()?;
        sequence::request(nnet, example, self.options.chain.xent_regularize)
    }

    fn title(&self, _: &Nnet, _: &str) -> &'static str {
        "log-probability"
    }

    fn memory(&mut self, nnet: &Nnet, example: &NnetChainExample, device: &Device) -> Result<usize> {
        let mut most = 0;
        for NnetChainSupervision { name, supervision, .. } in &example.outputs {
            let Some(output) = nnet.find_output(name) else { continue };
            let graph = self.graphs.of(name, nnet.node_dim(output))?;
            let (sequences, frames) = (supervision.num_sequences, supervision.frames_per_sequence);
            most = most.max(denominator::memory(graph, device, sequences, frames));
        }
        Ok(most)
    }

    fn evaluate(
        &mut self,
        example: &NnetChainExample,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()> {
        example.outputs.iter().try_for_each(|output| self.evaluate_output(example, output, exchange, tally))
    }
}
