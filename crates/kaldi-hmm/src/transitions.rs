//! The transition model (`hmm/transition-model.cc`): all combinations of phone, state and pdfs, and the transitions
//! between states with their probabilities.
//!
//! A transition-id names a transition of an HMM, and so also its phone, state and pdf. Ids are numbered from 1 in the
//! order of transition states, and within one in the order of the topology. Making a model from tree and topology is in
//! `build.rs`, files are in `store.rs`.

use crate::error::{Error, Result};
use crate::topology::{HmmState, HmmTopology};
use crate::tree::most_pdfs;
use std::fmt;
use std::sync::Arc;

/// A state of a phone together with the pdfs that it has in some context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransitionState {
    pub phone: i32,
    /// The state's number in the phone's topology entry.
    pub hmm_state: usize,
    /// Pdf-id of the transitions to other states.
    pub forward_pdf: i32,
    /// Pdf-id of the self-loop. `None` if the topology gives it no pdf class.
    pub self_loop_pdf: Option<i32>,
}

/// As messages show it: `phone 3, state 0, pdf 7`.
impl fmt::Display for TransitionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "phone {}, state {}, pdf {}", self.phone, self.hmm_state, self.forward_pdf)?;
        match self.self_loop_pdf {
            Some(pdf) if pdf == self.forward_pdf => Ok(()),
            Some(pdf) => write!(f, ", pdf {pdf} of the self-loop"),
            None => write!(f, " without a self-loop"),
        }
    }
}

/// A number that has been found to be a transition-id of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransitionId(usize);

impl TransitionId {
    /// The number, from 1.
    pub fn get(self) -> usize {
        self.0
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransitionModel {
    topology: HmmTopology,
    /// Sorted, none twice. Kaldi's number of a transition state is its index here plus 1.
    states: Vec<TransitionState>,
    /// Indexed by transition-id; [0] is unused.
    log_probs: Vec<f32>,
    /// The first transition-id of each state, and one past the last of all.
    first_id: Vec<u32>,
    /// Index of the state that a transition leaves, by transition-id; [0] is unused.
    state_of: Vec<u32>,
    /// The pdf of each transition-id; the first element is unused.
    pdf_of: Arc<[i32]>,
    /// True for self-loops, by transition-id; the first element is unused.
    is_loop: Vec<bool>,
    num_pdfs: usize,
}

impl TransitionModel {
    /// Makes a model with these states and the logarithms of probabilities, by transition-id from 1 (the first element
    /// is unused). Without logarithms, takes the topology's probabilities.
    pub(crate) fn from_parts(
        topology: HmmTopology,
        states: Vec<TransitionState>,
        log_probs: Option<Vec<f32>>,
    ) -> Result<TransitionModel> {
        if let Some(s) = (1..states.len()).find(|&s| states[s - 1] >= states[s]) {
            return Err(Error::model(format!("transition-states {s} and {} are not in order", s + 1)));
        }
        let (mut first_id, mut state_of, mut pdf_of, mut is_loop) = (vec![1], vec![0], vec![0], vec![false]);
        let (mut initial, mut largest_pdf) = (vec![0.0], None);
        for (s, state) in states.iter().enumerate() {
            let hmm_state = check_state(&topology, state)
                .map_err(|why| Error::model(format!("transition-state {}: {why}", s + 1)))?;
            largest_pdf = largest_pdf.max(Some(state.forward_pdf)).max(state.self_loop_pdf);
            for &(next, probability) in &hmm_state.transitions {
                state_of.push(s as u32);
                is_loop.push(next == state.hmm_state);
                pdf_of.push(if next == state.hmm_state {
                    state.self_loop_pdf.unwrap_or(-1)
                } else {
                    state.forward_pdf
                });
                initial.push(probability.ln());
            }
            first_id.push(state_of.len() as u32);
        }
        state_of.shrink_to_fit();
        let Some(largest_pdf) = largest_pdf else {
            return Err(Error::model("the transition model has no states"));
        };
        let log_probs = log_probs.unwrap_or(initial);
        let num_pdfs = largest_pdf as usize + 1;
        if num_pdfs > most_pdfs(states.len()) {
            let count = states.len();
            return Err(Error::model(format!(
                "the pdf-id {largest_pdf} is too large for a model of {count} transition-states"
            )));
        }
        let pdf_of = pdf_of.into();
        let model =
            TransitionModel { topology, states, log_probs, first_id, state_of, pdf_of, is_loop, num_pdfs };
        model.check_log_probs()?;
        Ok(model)
    }

    fn check_log_probs(&self) -> Result<()> {
        let (expected, found) = (self.num_transition_ids() + 1, self.log_probs.len());
        if expected != found {
            return Err(Error::model(format!(
                "expected {expected} logarithms of probabilities (one a transition-id and one more), found {found}"
            )));
        }
        let wrong = |&id: &usize| !self.log_probs[id].is_finite() || self.log_probs[id] > 0.0;
        match (1..expected).find(wrong) {
            Some(id) => Err(Error::model(format!(
                "{} is not a log-probability (transition-id {id})",
                self.log_probs[id]
            ))),
            None => Ok(()),
        }
    }

    pub fn topology(&self) -> &HmmTopology {
        &self.topology
    }
    pub fn states(&self) -> &[TransitionState] {
        &self.states
    }
    /// Transition-ids are from 1 to this.
    pub fn num_transition_ids(&self) -> usize {
        self.state_of.len() - 1
    }
    /// Pdf-ids are below this: it is one more than the largest that occurs.
    pub fn num_pdfs(&self) -> usize {
        self.num_pdfs
    }
    /// The logarithm of each transition-id's probability; the first element is unused.
    pub(crate) fn log_probs(&self) -> &[f32] {
        &self.log_probs
    }
    pub(crate) fn log_probs_mut(&mut self) -> &mut [f32] {
        &mut self.log_probs
    }

    /// Returns a number as a transition-id. Fails if it is out of range.
    pub fn transition_id(&self, id: i32) -> Result<TransitionId> {
        let count = self.num_transition_ids();
        match usize::try_from(id) {
            Ok(number) if (1..=count).contains(&number) => Ok(TransitionId(number)),
            _ => Err(Error::TransitionId { id, count }),
        }
    }

    /// Converts an alignment to transition-ids. If a number is not a transition-id, the error names its frame.
    pub fn transition_ids(&self, alignment: &[i32]) -> Result<Vec<TransitionId>> {
        let frames = alignment.iter().enumerate();
        frames.map(|(t, &id)| self.transition_id(id).map_err(|e| e.at_frame(t))).collect()
    }

    /// Iterates over all transition-ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = TransitionId> + use<> {
        (1..=self.num_transition_ids()).map(TransitionId)
    }

    /// The ids of the transitions out of the state with this index.
    pub fn ids_of_state(&self, state: usize) -> impl ExactSizeIterator<Item = TransitionId> + use<> {
        (self.first_id[state] as usize..self.first_id[state + 1] as usize).map(TransitionId)
    }

    /// Index of the transition state that a transition leaves.
    pub fn state_index(&self, id: TransitionId) -> usize {
        self.state_of[id.0] as usize
    }
    /// The transition state that a transition leaves.
    pub fn state(&self, id: TransitionId) -> &TransitionState {
        &self.states[self.state_index(id)]
    }
    pub fn phone(&self, id: TransitionId) -> i32 {
        self.state(id).phone
    }
    pub fn pdf(&self, id: TransitionId) -> i32 {
        self.pdf_of[id.0]
    }
    /// The pdf of each transition-id; the first element is unused.
    pub fn pdfs(&self) -> &Arc<[i32]> {
        &self.pdf_of
    }
    /// The pdf class of a transition: of its state's self-loop, or of its other transitions.
    pub fn pdf_class(&self, id: TransitionId) -> i32 {
        let state = self.hmm_state(self.state(id));
        let class = if self.is_self_loop(id) { state.self_loop_pdf_class } else { state.forward_pdf_class };
        class.expect("transitions of a transition state have pdfs")
    }
    /// The phones that have each pdf in some context, sorted.
    pub fn phones_by_pdf(&self) -> Vec<Vec<i32>> {
        let mut phones: Vec<Vec<i32>> = vec![Vec::new(); self.num_pdfs()];
        for id in self.ids() {
            let (phone, pdf) = (self.phone(id), self.pdf(id));
            if let Some(of_pdf) = usize::try_from(pdf).ok().and_then(|pdf| phones.get_mut(pdf))
                && of_pdf.last() != Some(&phone)
            {
                of_pdf.push(phone);
            }
        }
        phones
    }
    /// Number of a transition among its state's, from 0, in the order of the topology.
    pub(crate) fn transition_index(&self, id: TransitionId) -> usize {
        id.0 - self.first_id[self.state_index(id)] as usize
    }
    /// The state of the phone that a transition leads to.
    pub fn next_hmm_state(&self, id: TransitionId) -> usize {
        self.hmm_state(self.state(id)).transitions[self.transition_index(id)].0
    }
    /// True if a transition leads to the state that it leaves.
    pub fn is_self_loop(&self, id: TransitionId) -> bool {
        self.is_loop[id.0]
    }
    /// True if a transition leads to the end of the phone.
    pub fn is_final(&self, id: TransitionId) -> bool {
        self.next_hmm_state(id) + 1 == self.entry(self.phone(id)).len()
    }
    pub fn log_prob(&self, id: TransitionId) -> f32 {
        self.log_probs[id.0]
    }

    /// The states of a phone of the model.
    pub(crate) fn entry(&self, phone: i32) -> &[HmmState] {
        self.topology.entry(phone).unwrap_or_default()
    }

    fn hmm_state(&self, state: &TransitionState) -> &HmmState {
        &self.entry(state.phone)[state.hmm_state]
    }
}

/// The topology's state for a transition state, if it fits.
fn check_state<'a>(
    topology: &'a HmmTopology,
    state: &TransitionState,
) -> std::result::Result<&'a HmmState, String> {
    let phone = state.phone;
    let entry = topology.entry(phone).ok_or_else(|| format!("phone {phone} is not in the topology"))?;
    let hmm_state = entry
        .get(state.hmm_state)
        .filter(|s| s.forward_pdf_class.is_some())
        .ok_or_else(|| format!("phone {phone} has no state {} that emits something", state.hmm_state))?;
    for pdf in [Some(state.forward_pdf), state.self_loop_pdf].into_iter().flatten() {
        if pdf < 0 {
            return Err(format!("invalid pdf-id {pdf}"));
        }
    }
    if state.self_loop_pdf.is_none() && hmm_state.transitions.iter().any(|t| t.0 == state.hmm_state) {
        return Err("it has a self-loop, but no pdf for it".to_owned());
    }
    Ok(hmm_state)
}
