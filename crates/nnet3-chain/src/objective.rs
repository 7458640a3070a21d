//! The objective of lattice-free MMI and its derivative: the log-probability of the transcript given the output,
//! relative to all sequences that the phone language model allows.

mod times;

use std::fmt;

use nnet3_matrix::workspace::Workspace;
use nnet3_matrix::{Accumulator, Device, View, ViewMut};
use nnet3_train::{Error, Result};

use crate::denominator::{self, DenominatorGraph, OUTPUT_LIMIT, Posteriors};
use crate::numerator;
use crate::supervision::{Graph, Supervision};
pub use times::ObjectiveTimes;

/// Options of the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainOptions {
    /// Half of this, times the sum of squares of the output, is taken off.
    pub l2_regularize: f32,
    /// Probability, above 0 and below 1, of going from any state to any other.
    pub leaky_hmm_coefficient: f32,
    /// Factor of the derivative for cross-entropy. Callers use it to train a cross-entropy output beside this output.
    pub xent_regularize: f32,
    /// Penalty: twice this is subtracted from the derivative for each unit by which the output exceeds ±30.
    pub out_of_range_regularize: f32,
    /// Factor of the posteriors of another model, for callers that add them to the derivative.
    pub lwf_scale: f32,
    /// The same factor for end-to-end examples. The derivative of the denominator is multiplied by 1 plus this factor.
    pub lwf_den_scale: f32,
    /// Threads for the numerator of end-to-end examples. With 0, the number of processors is used.
    pub numerator_graph_threads: usize,
}

impl Default for ChainOptions {
    fn default() -> ChainOptions {
        ChainOptions {
            l2_regularize: 0.0,
            leaky_hmm_coefficient: 1e-5,
            xent_regularize: 0.0,
            out_of_range_regularize: 0.01,
            lwf_scale: 0.0,
            lwf_den_scale: 0.0,
            numerator_graph_threads: processors().min(4),
        }
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

impl ChainOptions {
    /// Fails if a number makes no sense.
    pub fn check(&self) -> Result<()> {
        let leaky = self.leaky_hmm_coefficient;
        if !(leaky > 0.0 && leaky < 1.0) {
            return Err(Error::options(format!(
                "`leaky-hmm-coefficient`={leaky}: expected a number above 0 and below 1"
            )));
        }
        for (name, value) in [
            ("l2-regularize", self.l2_regularize),
            ("xent-regularize", self.xent_regularize),
            ("out-of-range-regularize", self.out_of_range_regularize),
            ("lwf-scale", self.lwf_scale),
            ("lwf-den-scale", self.lwf_den_scale),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::options(format!(
                    "`{name}`={value}: expected a number that is not negative"
                )));
            }
        }
        Ok(())
    }

    fn threads(&self) -> usize {
        match self.numerator_graph_threads {
            0 => processors(),
            threads => threads,
        }
    }
}

/// Reason why a minibatch counts as a failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Failure {
    /// The objective is no finite number.
    Objective { numerator: f64, denominator: f64 },
    /// Forward and backward pass of the denominator disagree; both sums should be the number of sequences.
    Denominator { product: f64, posteriors: f64, sequences: usize },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Objective { numerator, denominator } => write!(
                f,
                "the objective is no finite number: log-probabilities of numerator and denominator are {numerator} and \
                 {denominator}"
            ),
            Failure::Denominator { product, posteriors, sequences } => write!(
                f,
                "in the denominator computation, the product of alphas and betas is {product} and the sum of posteriors \
                 {posteriors} for {sequences} sequences"
            ),
        }
    }
}

/// The objective of a minibatch. Divide by `weight` for the value per frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainObjective {
    /// Numerator less denominator; -10 · `weight` if the minibatch failed.
    pub objf: f64,
    /// Regularisation term; not positive.
    pub l2_term: f64,
    /// The supervision's weight times the number of frames.
    pub weight: f64,
    /// The numerator's log-probability times the supervision's weight (but not for end-to-end supervision).
    pub numerator: f64,
    /// The denominator's log-probability times the supervision's weight.
    pub denominator: f64,
    /// The failure, if any. After a failure, derivatives are zero except for the regularisation's.
    pub failed: Option<Failure>,
    /// A warning without effect: forward and backward pass of the denominator differ somewhat.
    pub doubtful: Option<Failure>,
}

/// Objective per frame of a failed minibatch.
const FAILED_OBJECTIVE: f64 = -10.0;

/// Limits for differences between passes of the denominator (Σ α β, and Σ of posteriors). Above the first, the
/// minibatch is abandoned. Above the second, relative to the number of sequences, there is a warning.
pub(crate) const ABANDONED: f64 = 2.0;
const DOUBTFUL: [f64; 2] = [0.001, 0.01];

/// Memory of one thread on one device, which the following minibatches use again.
pub struct ChainScratch {
    workspace: Workspace,
    numerator: numerator::Scratch,
    /// Sums that the device adds to: two of the denominator, and the output's squares.
    sums: Accumulator,
}

const SQUARES: usize = 2;

impl ChainScratch {
    /// Makes scratch memory for outputs and derivatives on `device`.
    pub fn new(device: &Device) -> ChainScratch {
        ChainScratch {
            workspace: Workspace::new(device),
            numerator: numerator::Scratch::default(),
            sums: Accumulator::zeros(3),
        }
    }
}

/// Computes the objective of a minibatch. `nnet_output` has a row for each sequence of the first frame, then of the
/// second, and so on, and a column for each pdf. The derivatives have the same shape, and are overwritten if the caller
/// passes them. `deriv` becomes the derivative of objective and terms. `xent_deriv` becomes the numerator's posteriors
/// times the supervision's weight. With `apply_penalty` the derivative has the out-of-range penalty; callers draw it
/// for half of the minibatches. All matrices are on the scratch memory's device. The host computes the numerator, from
/// the elements of the output that the supervision reads, while the device computes the denominator. It waits for the
/// device before and after that.
///
/// It is an error if supervision, graph and output do not fit each other.
#[allow(clippy::too_many_arguments)]
pub fn evaluate(
    options: &ChainOptions,
    graph: &DenominatorGraph,
    supervision: &Supervision,
    nnet_output: View<'_>,
    apply_penalty: bool,
    deriv: Option<ViewMut<'_>>,
    xent_deriv: Option<ViewMut<'_>>,
    scratch: &mut ChainScratch,
) -> Result<ChainObjective> {
    options.check()?;
    check_shapes(graph, supervision, nnet_output)?;
    let minibatch = Minibatch { options, graph, supervision, apply_penalty };
    minibatch.evaluate(nnet_output, deriv, xent_deriv, scratch)
}

/// The arguments of [`evaluate`].
struct Minibatch<'a> {
    options: &'a ChainOptions,
    graph: &'a DenominatorGraph,
    supervision: &'a Supervision,
    apply_penalty: bool,
}

impl Minibatch<'_> {
    fn evaluate(
        &self,
        nnet_output: View<'_>,
        deriv: Option<ViewMut<'_>>,
        xent_deriv: Option<ViewMut<'_>>,
        scratch: &mut ChainScratch,
    ) -> Result<ChainObjective> {
        let Minibatch { options, graph, supervision, apply_penalty } = *self;
        let ChainScratch { workspace, numerator: numerator_memory, sums } = scratch;
        let device = workspace.device();
        let weight = supervision.weight;
        let end_to_end = matches!(supervision.graph, Graph::EndToEnd(_));

        numerator_memory.fetch_for(supervision, &**device, nnet_output)?;
        sums.scale(0.0);
        let lwf = if end_to_end { 1.0 + options.lwf_den_scale } else { 1.0 };
        let posteriors = deriv.map(|deriv| Posteriors { deriv, factor: -weight * lwf });
        let denominator = denominator::begin(
            graph,
            nnet_output,
            supervision.num_sequences,
            options.leaky_hmm_coefficient,
            posteriors,
            sums,
            workspace,
        );
        if options.l2_regularize != 0.0 {
            device.accumulate_dot(sums, SQUARES, 1.0, nnet_output, nnet_output);
        }
        device.mark();
        let numerator = numerator_memory.forward_backward(supervision, options.threads());
        let sums = sums.values();
        let denominator = denominator.finish(&sums);

        let mut result = ChainObjective {
            objf: 0.0,
            l2_term: 0.0,
            weight: f64::from(weight) * supervision.num_frames() as f64,
            numerator: if end_to_end { numerator } else { numerator * f64::from(weight) },
            denominator: denominator.log_probability * f64::from(weight),
            failed: None,
            doubtful: None,
        };
        result.objf = result.numerator - result.denominator;
        judge(&mut result, denominator.checks, supervision.num_sequences);
        if result.failed.is_some() {
            result.objf = FAILED_OBJECTIVE * result.weight;
            deriv.into_iter().chain(xent_deriv).for_each(|deriv| device.set(deriv, 0.0));
        } else {
            if let Some(deriv) = deriv {
                if apply_penalty {
                    device.add_excess(
                        deriv,
                        -2.0 * options.out_of_range_regularize,
                        nnet_output,
                        OUTPUT_LIMIT,
                    );
                }
                numerator_memory.add_posteriors(&**device, deriv, weight);
            }
            if let Some(xent_deriv) = xent_deriv {
                device.set(xent_deriv, 0.0);
                numerator_memory.add_posteriors(&**device, xent_deriv, weight);
            }
        }
        let regularized = !end_to_end || numerator.is_finite();
        if options.l2_regularize != 0.0 && regularized {
            let scale = weight * options.l2_regularize;
            result.l2_term = -0.5 * f64::from(scale) * sums[SQUARES];
            if let Some(deriv) = deriv {
                device.add(deriv, -scale, nnet_output);
            }
        }
        Ok(result)
    }
}

/// Says whether the minibatch has failed, or is doubtful.
fn judge(result: &mut ChainObjective, checks: Option<[f64; 2]>, sequences: usize) {
    if let Some([product, posteriors]) = checks {
        let failure = Failure::Denominator { product, posteriors, sequences };
        let wanted = sequences as f64;
        let far = |found: f64, limit: f64| found.is_nan() || (found - wanted).abs() > limit;
        if far(product, ABANDONED) || far(posteriors, ABANDONED) {
            result.failed = Some(failure);
        } else if far(product, DOUBTFUL[0] * wanted) || far(posteriors, DOUBTFUL[1] * wanted) {
            result.doubtful = Some(failure);
        }
    }
    if !(result.objf as f32).is_finite() {
        let ChainObjective { numerator, denominator, .. } = *result;
        result.failed = Some(Failure::Objective { numerator, denominator });
    }
}

fn check_shapes(graph: &DenominatorGraph, supervision: &Supervision, output: View<'_>) -> Result<()> {
    let pdfs = graph.num_pdfs();
    if supervision.label_dim as usize != pdfs {
        return Err(Error::data(format!(
            "the supervision has labels up to {}, the denominator graph is for {pdfs} pdfs",
            supervision.label_dim
        )));
    }
    if output.cols() != pdfs || output.rows() != supervision.num_frames() {
        return Err(Error::data(format!(
            "the output is {} x {}, expected {} rows for {} sequences of {} frames and a column for each of {pdfs} pdfs",
            output.rows(),
            output.cols(),
            supervision.num_frames(),
            supervision.num_sequences,
            supervision.frames_per_sequence
        )));
    }
    if supervision.num_frames() == 0 {
        return Err(Error::data("the supervision is for no frames"));
    }
    Ok(())
}
