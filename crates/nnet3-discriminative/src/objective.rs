//! The objective of a minibatch and its derivatives. Povey and others, "Boosted MMI for model and feature-space discriminative
//! training", 2008; Veselý and others, "Sequence-discriminative training of deep neural networks", 2013.
//!
//! The host fetches the elements of the output that an arc of the lattice reads. It computes forward and backward
//! probabilities of the lattice, and adds derivatives to the same elements.

use std::collections::BTreeMap;

use kaldi_fst::EPSILON;
use kaldi_hmm::TransitionModel;
use kaldi_io::Posterior;
use nnet3_decode::accuracy::{self, Boosting, FrameAccuracy, boost, expected_accuracy};
use nnet3_decode::phones::checked;
use nnet3_decode::posterior::transition_posteriors;
use nnet3_decode::times::state_times;
use nnet3_decode::{Lattice, order};
use nnet3_matrix::{Accumulator, Backend, View, ViewMut};
use nnet3_train::{Error, Result};

use crate::options::{Criterion, DiscriminativeOptions};
use crate::sums::Sums;
use crate::supervision::{Supervision, lattice_error};

/// The least log-probability that is taken from the output: 10⁻²⁰.
const FLOOR: f32 = -20.0 * std::f32::consts::LN_10;

/// The objective per frame of a minibatch that failed: for MMI, and for the other criteria, which are accuracies.
const FAILED_MMI: f64 = -10.0;
const FAILED_ACCURACY: f64 = 0.0;

/// The acoustic model, besides the network.
#[derive(Debug, Clone)]
pub struct AcousticModel {
    pub transitions: TransitionModel,
    /// Logarithms of the priors of pdfs. Empty if they are not known, or not to be divided by.
    pub log_priors: Vec<f32>,
}

/// Results for a minibatch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluation {
    pub sums: Sums,
    /// Log-probabilities that were below 10⁻²⁰ and have been raised to it.
    pub floored: usize,
    /// True if objective or outputs are not finite. Then derivatives are zero.
    pub failed: bool,
}

/// The derivatives of a minibatch, of which some may be wanted. They have the shape of the output and are overwritten.
#[derive(Default)]
pub struct Derivatives<'d> {
    /// The derivative of objective and l2 term by the output.
    pub output: Option<ViewMut<'d>>,
    /// The targets of the cross-entropy output: the pdfs of the alignment times the weight of the supervision.
    pub xent: Option<ViewMut<'d>>,
}

/// Evaluates the output of the network for a minibatch. Row k·N + n of the output is frame k of sequence n of N, and columns
/// are pdfs.
///
/// # Errors
/// Supervision, model and output do not fit each other.
pub fn evaluate(
    options: &DiscriminativeOptions,
    model: &AcousticModel,
    supervision: &Supervision,
    output: View<'_>,
    derivatives: Derivatives<'_>,
    device: &dyn Backend,
) -> Result<Evaluation> {
    options.check()?;
    let minibatch = Minibatch { options, model, supervision, columns: output.cols() };
    minibatch.evaluate(output, derivatives, device)
}

/// Row and column of an element of the output.
pub(crate) type Place = [u32; 2];

/// The arguments of [`evaluate`] that say what the output should be.
struct Minibatch<'a> {
    options: &'a DiscriminativeOptions,
    model: &'a AcousticModel,
    supervision: &'a Supervision,
    columns: usize,
}

/// The row of a frame of the lattice.
fn row(supervision: &Supervision, frame: usize) -> u32 {
    let Supervision { num_sequences, frames_per_sequence, .. } = *supervision;
    (frame % frames_per_sequence * num_sequences + frame / frames_per_sequence) as u32
}

fn pdf(model: &AcousticModel, id: i32) -> Result<u32> {
    let transitions = &model.transitions;
    Ok(transitions.pdf(checked(transitions, id).map_err(lattice_error)?) as u32)
}

/// The element of each frame of the alignment.
pub(crate) fn alignment_places(model: &AcousticModel, supervision: &Supervision) -> Result<Vec<Place>> {
    let ids = supervision.alignment.iter().enumerate();
    ids.map(|(frame, &id)| Ok([row(supervision, frame), pdf(model, id)?])).collect()
}

/// The objective, and derivatives by pdf for each frame of the lattice.
struct Found {
    objective: f64,
    posterior: Posterior,
}

impl Minibatch<'_> {
    fn evaluate(
        &self,
        output: View<'_>,
        derivatives: Derivatives<'_>,
        device: &dyn Backend,
    ) -> Result<Evaluation> {
        let Minibatch { options, supervision, .. } = *self;
        let frames = supervision.num_frames();
        self.check_shapes(output)?;
        let alignment = alignment_places(self.model, supervision)?;
        let mut lattice = supervision.lattice.clone();
        order::sort(&mut lattice).map_err(lattice_error)?;
        if options.criterion == Criterion::Mmi && options.boost != 0.0 {
            self.boost(&mut lattice)?;
        }
        let mut places = self.arc_places(&lattice)?;
        let arcs = places.len();
        if options.criterion == Criterion::Mmi {
            places.extend(&alignment);
        }
        let mut scores = vec![0.0; places.len()];
        device.fetch_elements(&mut scores, output, &places);
        let floored = self.to_log_likelihoods(&places, &mut scores);
        let (arc_scores, alignment_scores) = scores.split_at(arcs);
        set_acoustic_costs(&mut lattice, arc_scores);

        let weight = f64::from(supervision.weight);
        let numerator: f64 = alignment_scores.iter().copied().map(f64::from).sum();
        let mut sums = Sums {
            frames: frames as f64,
            weight: weight * frames as f64,
            numerator: weight * numerator,
            ..Sums::default()
        };
        let found = match scores.iter().all(|score| score.is_finite()) {
            true => Some(self.forward_backward(&mut lattice)?),
            false => None,
        };
        let found = found.filter(|found| (numerator - found.objective).is_finite());
        let failed = found.is_none();
        let posterior = match found {
            Some(found) => {
                sums.objective = weight * found.objective;
                found.posterior
            }
            None => {
                sums.numerator = 0.0;
                sums.objective = match options.criterion {
                    Criterion::Mmi => -FAILED_MMI * sums.weight,
                    Criterion::Mpfe | Criterion::Smbr => FAILED_ACCURACY * sums.weight,
                };
                Vec::new()
            }
        };
        let entries = self.entries(&posterior);
        for (_, value) in &entries {
            let value = f64::from(*value);
            *(if value > 0.0 { &mut sums.positive } else { &mut sums.negative }) += value.abs();
        }
        self.accumulate(&mut sums, &entries, output, device);
        if let Some(deriv) = derivatives.output {
            device.set(deriv, 0.0);
            let (places, values): (Vec<Place>, Vec<f32>) = entries.into_iter().unzip();
            device.add_elements(deriv, supervision.weight, &values, &places);
        }
        if let Some(xent) = derivatives.xent {
            device.set(xent, 0.0);
            device.add_elements(xent, supervision.weight, &vec![1.0; alignment.len()], &alignment);
        }
        if options.l2_regularize != 0.0 && !failed {
            let scale = supervision.weight * options.l2_regularize;
            let mut squares = Accumulator::zeros(1);
            device.accumulate_dot(&mut squares, 0, 1.0, output, output);
            sums.l2 = -0.5 * f64::from(scale) * squares.values()[0];
            if let Some(deriv) = derivatives.output {
                device.add(deriv, -scale, output);
            }
        }
        Ok(Evaluation { sums, floored, failed })
    }

    fn check_shapes(&self, output: View<'_>) -> Result<()> {
        let (supervision, model) = (self.supervision, self.model);
        let (rows, cols) = (output.rows(), output.cols());
        let (frames, pdfs) = (supervision.num_frames(), model.transitions.num_pdfs());
        let priors = model.log_priors.len();
        if rows != frames || cols < pdfs || (priors != 0 && priors != cols) {
            let with_priors = if priors == 0 { String::new() } else { format!(" and {priors} priors") };
            return Err(Error::data(format!(
                "the output is {rows} x {cols}, expected {frames} rows for {} sequences of {} frames, and a column for each of \
                 the model's {pdfs} pdfs{with_priors}",
                supervision.num_sequences, supervision.frames_per_sequence
            )));
        }
        Ok(())
    }

    fn row(&self, frame: usize) -> u32 {
        row(self.supervision, frame)
    }

    fn pdf(&self, id: i32) -> Result<u32> {
        pdf(self.model, id)
    }

    /// The element of each arc with a transition-id, in the order of states and arcs.
    fn arc_places(&self, lattice: &Lattice) -> Result<Vec<Place>> {
        let (times, _) = state_times(lattice).map_err(lattice_error)?;
        let mut places = Vec::with_capacity(lattice.num_arcs());
        for (state, time) in lattice.states.iter().zip(times) {
            for arc in state.arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
                // (What no path reaches may read anything.)
                places.push([self.row(time.unwrap_or(0)), self.pdf(arc.ilabel)?]);
            }
        }
        Ok(places)
    }

    fn boost(&self, lattice: &mut Lattice) -> Result<()> {
        let boosting = Boosting {
            model: &self.model.transitions,
            factor: self.options.boost,
            silence_phones: self.options.silence_phones.clone(),
            max_silence_error: 0.0,
        };
        boost(lattice, &self.supervision.alignment, &boosting).map_err(lattice_error)
    }

    /// Makes scaled log-likelihoods of elements of the output. Returns the number of those that were raised to the floor.
    fn to_log_likelihoods(&self, places: &[Place], scores: &mut [f32]) -> usize {
        let mut floored = 0;
        for (score, [_, pdf]) in scores.iter_mut().zip(places) {
            if *score < FLOOR {
                *score = FLOOR;
                floored += 1;
            }
            let prior = self.model.log_priors.get(*pdf as usize).copied().unwrap_or(0.0);
            *score = (*score - prior) * self.options.acoustic_scale;
        }
        floored
    }

    fn forward_backward(&self, lattice: &mut Lattice) -> Result<Found> {
        let transitions = &self.model.transitions;
        let alignment = &self.supervision.alignment;
        let criterion = match self.options.criterion {
            Criterion::Mmi => {
                let frames = transition_posteriors(lattice).map_err(lattice_error)?;
                let posterior = self.less_denominator(&frames.posterior)?;
                return Ok(Found { objective: frames.log_like, posterior });
            }
            Criterion::Mpfe => accuracy::Criterion::Mpfe,
            Criterion::Smbr => accuracy::Criterion::Smbr,
        };
        let accuracy = FrameAccuracy {
            model: transitions,
            criterion,
            silence_phones: self.options.silence_phones.clone(),
            one_silence_class: self.options.one_silence_class,
        };
        let found = expected_accuracy(lattice, alignment, &accuracy).map_err(lattice_error)?;
        let posterior = found.posterior.iter().map(|frame| self.by_pdf(frame)).collect::<Result<_>>()?;
        Ok(Found { objective: found.accuracy, posterior })
    }

    /// Sums of a frame's entries by pdf.
    fn by_pdf(&self, frame: &[(i32, f32)]) -> Result<Vec<(i32, f32)>> {
        let mut sums: BTreeMap<i32, f32> = BTreeMap::new();
        for &(id, value) in frame {
            *sums.entry(self.pdf(id)? as i32).or_default() += value;
        }
        Ok(sums.into_iter().filter(|(_, value)| *value != 0.0).collect())
    }

    /// For each frame, 1 for the pdf of the alignment less the posteriors of the denominator.
    fn less_denominator(&self, denominator: &Posterior) -> Result<Posterior> {
        let frame = |(frame, &id): (&[(i32, f32)], &i32)| -> Result<Vec<(i32, f32)>> {
            let right = self.pdf(id)? as i32;
            let mut entries = self.by_pdf(frame)?;
            entries.iter_mut().for_each(|(_, value)| *value = -*value);
            match entries.binary_search_by_key(&right, |(pdf, _)| *pdf) {
                Ok(place) => entries[place].1 += 1.0,
                Err(_) if self.options.drop_frames => entries.clear(),
                Err(place) => entries.insert(place, (right, 1.0)),
            }
            entries.retain(|(_, value)| *value != 0.0);
            Ok(entries)
        };
        let frames = denominator.iter().map(Vec::as_slice).zip(&self.supervision.alignment);
        frames.map(frame).collect()
    }

    /// The elements of the derivative that are not zero.
    fn entries(&self, posterior: &Posterior) -> Vec<(Place, f32)> {
        let entries = posterior.iter().enumerate().flat_map(|(frame, entries)| {
            let row = self.row(frame);
            entries.iter().map(move |&(pdf, value)| ([row, pdf as u32], value))
        });
        entries.collect()
    }

    /// Adds up derivatives and outputs by pdf, if the options ask for it.
    fn accumulate(&self, sums: &mut Sums, entries: &[(Place, f32)], output: View<'_>, device: &dyn Backend) {
        if self.options.accumulate_gradients {
            sums.gradients = vec![0.0; self.columns];
            for ([_, pdf], value) in entries {
                sums.gradients[*pdf as usize] += f64::from(self.supervision.weight * value);
            }
        }
        if self.options.accumulate_output {
            sums.output = vec![0.0; self.columns];
            for row in device.download(output).chunks_exact(self.columns) {
                sums.output.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value).exp());
            }
        }
    }
}

/// Sets the acoustic costs of arcs with a transition-id to negated log-likelihoods, given in the order of states and arcs. Ends
/// get none. As in the reference, arcs without label keep theirs: in merged examples they have those of ends.
fn set_acoustic_costs(lattice: &mut Lattice, log_likelihoods: &[f32]) {
    let mut values = log_likelihoods.iter();
    for state in &mut lattice.states {
        let labelled = state.arcs.iter_mut().filter(|arc| arc.ilabel != EPSILON);
        labelled.zip(&mut values).for_each(|(arc, value)| arc.weight.acoustic = -value);
        if state.is_final() {
            state.final_weight.acoustic = 0.0;
        }
    }
}
