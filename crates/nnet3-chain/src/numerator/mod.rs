//! The numerator of the objective: the probability of the output under the supervision, and the posteriors of pdfs
//! given both. All computations are in logarithms and `f64`, on the host. Only the elements of the output that an
//! arc of the supervision reads are fetched.

mod constrained;
mod end_to_end;

use kaldi_fst::{Arc, Fst, ops};
use nnet3_matrix::{Backend, View, ViewMut};
use nnet3_train::{Error, Result};

use crate::supervision::{Graph, Supervision};

/// Memory for the numerator, which later minibatches use again.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Row and column of each element that is read.
    places: Vec<[u32; 2]>,
    /// The elements read, and afterwards the additions to the derivative there.
    scores: Vec<f32>,
    posteriors: Vec<f32>,
    constrained: constrained::Scratch,
    end_to_end: end_to_end::Scratch,
    /// The supervision without empty arcs, if it has some.
    plain: Option<Supervision>,
}

impl Scratch {
    /// Fetches the elements of the output that a minibatch reads.
    pub(crate) fn fetch_for(
        &mut self,
        supervision: &Supervision,
        device: &dyn Backend,
        output: View<'_>,
    ) -> Result<()> {
        self.plain = without_empty_arcs(supervision)?;
        let supervision = self.plain.as_ref().unwrap_or(supervision);
        supervision.fsts().iter().try_for_each(|fst| check(fst, output.cols()))?;
        self.places.clear();
        match &supervision.graph {
            Graph::Constrained(fst) => self.constrained.arrange(fst, supervision, &mut self.places)?,
            Graph::EndToEnd(fsts) => {
                self.end_to_end.arrange(fsts, supervision.frames_per_sequence, &mut self.places)
            }
        }
        self.fetch(device, output);
        Ok(())
    }

    /// The numerator of the minibatch that [`Scratch::fetch_for`] has fetched: its log-probability, summed over
    /// sequences. The posteriors stay here.
    pub fn forward_backward(&mut self, supervision: &Supervision, threads: usize) -> f64 {
        let Scratch { scores, posteriors, constrained, end_to_end, plain, .. } = self;
        match &plain.as_ref().unwrap_or(supervision).graph {
            Graph::Constrained(fst) => constrained.forward_backward(fst, scores, posteriors),
            Graph::EndToEnd(fsts) => {
                let frames = supervision.frames_per_sequence;
                end_to_end.forward_backward(fsts, frames, scores, posteriors, threads)
            }
        }
    }

    fn fetch(&mut self, device: &dyn Backend, output: View<'_>) {
        self.scores.resize(self.places.len(), 0.0);
        self.posteriors.clear();
        self.posteriors.resize(self.places.len(), 0.0);
        device.fetch_elements(&mut self.scores, output, &self.places);
    }

    /// Adds `factor` times the posteriors of the last minibatch to `deriv`.
    pub(crate) fn add_posteriors(&self, device: &dyn Backend, deriv: ViewMut<'_>, factor: f32) {
        device.add_elements(deriv, factor, &self.posteriors, &self.places);
    }
}

/// Returns a copy without arcs that have no label, or nothing if there are none. A chunk from the middle of an utterance
/// starts with such arcs if it has not been composed with a normalization FST.
fn without_empty_arcs(supervision: &Supervision) -> Result<Option<Supervision>> {
    let has_some = |fst: &Fst| fst.states.iter().flat_map(|state| &state.arcs).any(Arc::is_epsilon);
    if !supervision.fsts().iter().any(has_some) {
        return Ok(None);
    }
    let mut plain = supervision.clone();
    for fst in plain.fsts_mut() {
        ops::remove_epsilons(fst).map_err(|e| Error::data(format!("supervision FST: {e}")))?;
    }
    Ok(Some(plain))
}

/// Labels have to be pdfs plus 1, and there must be a path to start on.
fn check(fst: &Fst, num_pdfs: usize) -> Result<()> {
    let problem = |why: String| Err(Error::data(format!("supervision FST: {why}")));
    if fst.start.is_none() {
        return problem("it has no start state".to_owned());
    }
    for (number, state) in fst.numbered() {
        for arc in &state.arcs {
            if arc.ilabel == kaldi_fst::EPSILON {
                return problem(format!("an arc of state {number} has an output label but no input label"));
            }
            if arc.ilabel as usize > num_pdfs {
                return problem(format!(
                    "an arc of state {number} has the label {}, but the output has {num_pdfs} columns",
                    arc.ilabel
                ));
            }
        }
    }
    Ok(())
}
