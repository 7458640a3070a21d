//! Discriminative training as an objective of the trainer.

use std::sync::Arc;

use kaldi_io::log::ratio;
use nnet3_core::nnet::Nnet;
use nnet3_matrix::ViewMut;
use nnet3_train::ledger::{Remark, Tally};
use nnet3_train::objective::{Exchange, Objective, ObjectiveValue};
use nnet3_train::request::MinibatchRequest;
use nnet3_train::sequence::{self, derivatives_per_frame, xent_name};
use nnet3_train::{Error, Result};

use crate::objective::{AcousticModel, Derivatives, Evaluation, alignment_places, evaluate};
use crate::options::{Criterion, DiscriminativeOptions};
use crate::sums::{SharedSums, Sums};
use crate::{NnetDiscriminativeExample, NnetDiscriminativeSupervision};

/// The objective of the cross-entropy output per frame, if it is not finite.
const FAILED_XENT: f64 = -10.0;

/// Options of the training.
#[derive(Debug, Clone)]
pub struct DiscriminativeTrainingOptions {
    pub objective: DiscriminativeOptions,
    /// Multiply derivatives by the weights that examples have for their frames.
    pub apply_deriv_weights: bool,
    /// 1: remarks on the derivatives of each frame. 2: on the objective of each minibatch, too.
    pub verbose: i32,
}

/// The objective of discriminative examples.
pub struct DiscriminativeTraining {
    options: DiscriminativeTrainingOptions,
    model: Arc<AcousticModel>,
    sums: SharedSums,
}

impl DiscriminativeTraining {
    /// Makes an objective that adds to `sums`.
    pub fn new(
        options: DiscriminativeTrainingOptions,
        model: Arc<AcousticModel>,
        sums: SharedSums,
    ) -> DiscriminativeTraining {
        DiscriminativeTraining { options, model, sums }
    }

    /// The sums over all examples so far.
    pub fn sums(&self) -> &SharedSums {
        &self.sums
    }

    pub fn criterion(&self) -> Criterion {
        self.options.objective.criterion
    }

    fn evaluate_output(
        &self,
        output: &NnetDiscriminativeSupervision,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()> {
        let options = &self.options.objective;
        let (name, supervision) = (output.name.as_str(), &output.supervision);
        let (device, value) = (exchange.device(), exchange.output(name)?);
        let with_xent = options.xent_regularize != 0.0;
        let xent_name = xent_name(name);
        let deriv = exchange.derivative(name)?;
        let xent = if with_xent { exchange.derivative(&xent_name)? } else { None };
        let derivatives = Derivatives { output: deriv, xent };
        let found = evaluate(options, &self.model, supervision, value, derivatives, &**device)
            .map_err(|e| Error::data(format!("'{name}': {e}")))?;
        self.remark(name, &found, tally);
        if let Some(deriv) = deriv.filter(|_| self.options.verbose >= 1) {
            tally.remark(Remark::Log(derivatives_per_frame(exchange, deriv, supervision.num_sequences)));
        }
        let so_far = self.sums.add(name, &found.sums);
        let Sums { weight, .. } = found.sums;
        let objective = found.sums.value(options.criterion);
        tally.value(name, ObjectiveValue { objective, weight, ..ObjectiveValue::default() });
        if with_xent {
            // As the reference: evaluation without derivatives adds the weight of all minibatches so far.
            let weight = if exchange.derivatives() { weight } else { so_far };
            self.add_xent(output, weight, &xent_name, exchange, tally)?;
        }
        self.finish_derivatives(output, deriv, xent, exchange);
        Ok(())
    }

    /// Remarks on what has become of a minibatch.
    fn remark(&self, name: &str, found: &Evaluation, tally: &mut Tally<'_>) {
        if found.floored > 0 {
            tally.remark(Remark::Warning(format!("Floored {} probabilities from nnet.", found.floored)));
        }
        if found.failed {
            let per_frame = ratio(found.sums.value(self.criterion()), found.sums.weight);
            tally.remark(Remark::Warning(format!(
                "'{name}': the objective is no finite number. Setting it to {per_frame} per frame, and its derivatives to 0"
            )));
        }
        if self.options.verbose >= 2 {
            let lines = found.sums.lines(self.criterion());
            lines.into_iter().for_each(|line| tally.remark(Remark::Log(line)));
        }
    }

    /// Notes the log-probability that the cross-entropy output gives the alignment.
    fn add_xent(
        &self,
        output: &NnetDiscriminativeSupervision,
        weight: f64,
        name: &str,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()> {
        let supervision = &output.supervision;
        let places = alignment_places(&self.model, supervision)?;
        let mut scores = vec![0.0; places.len()];
        exchange.device().fetch_elements(&mut scores, exchange.output(name)?, &places);
        let sum: f64 = scores.into_iter().map(f64::from).sum();
        let mut objective = f64::from(supervision.weight) * sum;
        if !objective.is_finite() {
            objective = FAILED_XENT * f64::from(supervision.weight) * places.len() as f64;
        }
        // As the reference: for MMI the sign is that of a denominator.
        let sums = Sums { weight, objective, ..Sums::default() };
        self.sums.add(name, &sums);
        let objective = sums.value(self.criterion());
        tally.value(name, ObjectiveValue { objective, weight, ..ObjectiveValue::default() });
        Ok(())
    }

    /// Multiplies derivatives by the weights of frames, and by the factor of cross-entropy.
    fn finish_derivatives(
        &self,
        output: &NnetDiscriminativeSupervision,
        deriv: Option<ViewMut<'_>>,
        xent: Option<ViewMut<'_>>,
        exchange: &Exchange<'_>,
    ) {
        let device = exchange.device();
        if self.options.apply_deriv_weights && !output.deriv_weights.is_empty() {
            let mut weights = exchange.workspace().take(output.deriv_weights.len(), 1);
            device.upload(weights.view_mut(), &output.deriv_weights);
            deriv.into_iter().chain(xent).for_each(|deriv| device.scale_rows(deriv, weights.view()));
        }
        if let Some(xent) = xent {
            device.scale(xent, self.options.objective.xent_regularize);
        }
    }
}

impl Objective for DiscriminativeTraining {
    type Example = NnetDiscriminativeExample;

    /// Requests every output in the example, and its cross-entropy output if there is to be one, from every input.
    fn request<'e>(
        &self,
        nnet: &Nnet,
        example: &'e NnetDiscriminativeExample,
    ) -> Result<MinibatchRequest<'e>> {
        sequence::request(nnet, example, self.options.objective.xent_regularize)
    }

    fn title(&self, _: &Nnet, _: &str) -> &'static str {
        "objective"
    }

    fn evaluate(
        &mut self,
        example: &NnetDiscriminativeExample,
        exchange: &Exchange<'_>,
        tally: &mut Tally<'_>,
    ) -> Result<()> {
        example.outputs.iter().try_for_each(|output| self.evaluate_output(output, exchange, tally))
    }
}
