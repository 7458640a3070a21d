//! Expected frame accuracies of lattices, compared with alignments: the criteria sMBR and MPFE of discriminative
//! training, and the boosting of lattices.
//!
//! Povey and Kingsbury, "Evaluation of proposed modifications to MPE for large scale discriminative training", 2007.

use std::collections::BTreeMap;

use kaldi_fst::EPSILON;
use kaldi_hmm::{TransitionId, TransitionModel};
use kaldi_io::Posterior;

use crate::error::{Error, Result};
use crate::lattice::Lattice;
use crate::order;
use crate::phones::checked;
use crate::posterior::forward_backward;
use crate::times::state_times;

/// Units that must be equal for a frame to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// Pdfs: state-level minimum Bayes risk.
    Smbr,
    /// Phones: minimum phone frame error.
    Mpfe,
}

/// The accuracy of an arc in a frame.
#[derive(Debug, Clone)]
pub struct FrameAccuracy<'m> {
    pub model: &'m TransitionModel,
    pub criterion: Criterion,
    pub silence_phones: Vec<i32>,
    /// True if all silence phones are one class. If false, frames of silence are never right.
    pub one_silence_class: bool,
}

impl FrameAccuracy<'_> {
    /// True if a transition-id counts as correct for one of the alignment.
    fn is_right(&self, found: TransitionId, expected: TransitionId) -> bool {
        let model = self.model;
        let same = match self.criterion {
            Criterion::Smbr => model.pdf(found) == model.pdf(expected),
            Criterion::Mpfe => model.phone(found) == model.phone(expected),
        };
        let is_silence = |id| self.silence_phones.contains(&model.phone(id));
        match self.one_silence_class {
            true => same || (is_silence(found) && is_silence(expected)),
            false => same && !is_silence(found),
        }
    }
}

/// Derivatives of the expected accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivatives {
    /// For each frame, transition-ids in their order with the derivative by the log-likelihood of each.
    pub posterior: Posterior,
    /// The expected number of right frames.
    pub accuracy: f64,
}

/// Computes the expected number of correct frames of a lattice, compared with an alignment, and its derivatives: Σ
/// γ(arc)·(A_forward + accuracy + A_backward − A). The lattice is sorted.
///
/// # Errors
/// The alignment is not as long as the lattice, or one of them has transition-ids that the model has not. The lattice
/// is empty, has a cycle, or has no path.
pub fn expected_accuracy(
    lattice: &mut Lattice,
    alignment: &[i32],
    accuracy: &FrameAccuracy,
) -> Result<Derivatives> {
    let expected = alignment.iter().map(|&id| checked(accuracy.model, id)).collect::<Result<Vec<_>>>()?;
    let times = times_beside(lattice, &expected)?;
    let sums = forward_backward(lattice)?;
    // For each arc, 1 if it is right.
    let mut right: Vec<Vec<f64>> = Vec::with_capacity(lattice.states.len());
    for (state, time) in lattice.states.iter().zip(&times) {
        let of = |arc: &crate::LatticeArc| -> Result<f64> {
            let expected = time.and_then(|time| expected.get(time));
            let (Some(&expected), true) = (expected, arc.ilabel != EPSILON) else { return Ok(0.0) };
            let found = checked(accuracy.model, arc.ilabel)?;
            Ok(f64::from(u8::from(accuracy.is_right(found, expected))))
        };
        right.push(state.arcs.iter().map(of).collect::<Result<_>>()?);
    }
    // Expected accuracies of the ways to each state and from it.
    let count = lattice.states.len();
    let (mut before, mut after) = (vec![0.0; count], vec![0.0; count]);
    for (s, state) in lattice.states.iter().enumerate() {
        for (arc, right) in state.arcs.iter().zip(&right[s]) {
            let next = arc.next as usize;
            let share = share(sums.forward[s] - arc.weight.cost() - sums.forward[next]);
            before[next] += share * (before[s] + right);
        }
    }
    for (s, state) in lattice.states.iter().enumerate().rev() {
        for (arc, right) in state.arcs.iter().zip(&right[s]) {
            let next = arc.next as usize;
            let share = share(sums.backward[next] - arc.weight.cost() - sums.backward[s]);
            after[s] += share * (after[next] + right);
        }
    }
    let mean = lattice.start.map_or(0.0, |start| after[start as usize]);
    let mut frames: Vec<BTreeMap<i32, f64>> = vec![BTreeMap::new(); alignment.len()];
    for (s, state) in lattice.states.iter().enumerate() {
        let Some(frame) = times[s].and_then(|time| frames.get_mut(time)) else { continue };
        for (arc, right) in state.arcs.iter().zip(&right[s]).filter(|(arc, _)| arc.ilabel != EPSILON) {
            let next = arc.next as usize;
            let gamma = share(sums.forward[s] - arc.weight.cost() + sums.backward[next] - sums.total);
            *frame.entry(arc.ilabel).or_default() += gamma * (before[s] + right + after[next] - mean);
        }
    }
    let entries = |frame: BTreeMap<i32, f64>| {
        frame.into_iter().map(|(id, value)| (id, value as f32)).filter(|entry| entry.1 != 0.0).collect()
    };
    Ok(Derivatives { posterior: frames.into_iter().map(entries).collect(), accuracy: mean })
}

/// The probability with this logarithm; 0 if states are on no path.
fn share(logarithm: f64) -> f64 {
    if logarithm.is_nan() { 0.0 } else { logarithm.exp() }
}

/// Sorts a lattice, and returns the frame of each state.
fn times_beside(lattice: &mut Lattice, alignment: &[TransitionId]) -> Result<Vec<Option<usize>>> {
    order::sort(lattice)?;
    lattice.start.ok_or(Error::Empty)?;
    let (times, found) = state_times(lattice)?;
    match alignment.len() {
        expected if expected != found => Err(Error::AlignmentLength { found, expected }),
        _ => Ok(times),
    }
}

/// Costs that boosting takes away.
#[derive(Debug, Clone)]
pub struct Boosting<'m> {
    pub model: &'m TransitionModel,
    /// The cost of a wrong frame.
    pub factor: f32,
    pub silence_phones: Vec<i32>,
    /// Errors of a frame in which a silence phone is wrong. Other phones: 1.
    pub max_silence_error: f32,
}

/// Subtracts `factor` times its error from the graph cost of each arc that has another phone than the alignment. Paths
/// with errors become more probable. The lattice is sorted.
///
/// # Errors
/// The alignment is not as long as the lattice, or one of them has transition-ids that the model has not. The lattice
/// is empty or has a cycle.
pub fn boost(lattice: &mut Lattice, alignment: &[i32], boosting: &Boosting) -> Result<()> {
    let model = boosting.model;
    let expected = alignment.iter().map(|&id| checked(model, id)).collect::<Result<Vec<_>>>()?;
    let times = times_beside(lattice, &expected)?;
    for (state, time) in lattice.states.iter_mut().zip(times) {
        let Some(&expected) = time.and_then(|time| expected.get(time)) else { continue };
        for arc in state.arcs.iter_mut().filter(|arc| arc.ilabel != EPSILON) {
            let phone = model.phone(checked(model, arc.ilabel)?);
            let error = match () {
                () if phone == model.phone(expected) => 0.0,
                () if boosting.silence_phones.contains(&phone) => boosting.max_silence_error,
                () => 1.0,
            };
            arc.weight.graph -= boosting.factor * error;
        }
    }
    Ok(())
}
