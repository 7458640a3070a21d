//! Supervision of a chunk that fixes the states at its beginning and end, but not the times at which phones change in
//! between.

use kaldi_fst::ops::{self, DeterminizeStar, Side};
use kaldi_fst::random_paths::{Choice, random_paths};
use kaldi_fst::{EPSILON, Error as FstError, Fst};
use kaldi_graph::{SelfLoops, add_self_loops};
use kaldi_hmm::TransitionModel;
use nnet3_train::{Error, Result};

use crate::normalize::{MOST_STATES, Normalized, Rejection};
use crate::supervision::{Graph, Supervision};
use crate::transition_graph::{fst_error, to_pdfs};

/// Turns supervision of one sequence with transition-ids as labels into end-to-end supervision. Its `alignment_pdfs`
/// are those of a random path chosen by `seed`, with equal probabilities for all arcs of a state.
///
/// Self-loops are removed, and then allowed everywhere. Only the self-loops of the first frame stay unchanged: with
/// them, a chunk may begin in the middle of a phone. Self-loops follow the transition into a state, so the end needs no
/// change.
pub fn unconstrained(
    supervision: &Supervision,
    transitions: &TransitionModel,
    seed: u64,
) -> Result<Normalized<Supervision>> {
    let Graph::Constrained(fst) = &supervision.graph else {
        return Err(Error::data("the supervision is end-to-end already"));
    };
    let (found, expected) = (supervision.label_dim as usize, transitions.num_transition_ids());
    if found != expected || supervision.num_sequences != 1 {
        return Err(Error::data(format!(
            "the supervision has labels up to {found}, expected the {expected} transition-ids of the transition model (made with \
             chain-get-supervision `convert-to-pdfs`=false)"
        )));
    }
    let mut fst = fst.clone();
    ops::remove_epsilons(&mut fst).map_err(fst_error)?;
    let Some(start) = fst.start else { return Ok(Err(Rejection::NoPath)) };
    let frames = supervision.frames_per_sequence;
    let alignment_pdfs = random_alignment(&fst, frames, transitions, seed)?;

    for (s, state) in fst.states.iter_mut().enumerate() {
        for arc in &mut state.arcs {
            arc.olabel = EPSILON;
            let id = transitions.transition_id(arc.ilabel)?;
            if transitions.is_self_loop(id) && s != start as usize {
                arc.ilabel = EPSILON;
            }
        }
    }
    let fst = match without_times(fst, transitions) {
        Ok(fst) => fst?,
        Err(error @ FstError::TooManyStates { .. }) => return Ok(Err(Rejection::TooManyStates(error))),
        Err(error) => return Err(fst_error(error)),
    };
    if fst.start.is_none() {
        return Ok(Err(Rejection::NoPath));
    }
    Ok(Ok(Supervision {
        label_dim: transitions.num_pdfs() as i32,
        graph: Graph::EndToEnd(vec![fst]),
        alignment_pdfs,
        ..*supervision
    }))
}

fn random_alignment(fst: &Fst, frames: usize, transitions: &TransitionModel, seed: u64) -> Result<Vec<i32>> {
    let path = random_paths(fst, 1, frames, Choice::Uniform, seed);
    let labels = path.states.iter().flat_map(|state| &state.arcs).map(|arc| arc.ilabel);
    let pdfs: Vec<i32> =
        labels.map(|label| Ok(transitions.pdf(transitions.transition_id(label)?))).collect::<Result<_>>()?;
    if pdfs.len() != frames {
        return Err(Error::data(format!(
            "a path of the supervision FST has {} labels, expected {frames}",
            pdfs.len()
        )));
    }
    Ok(pdfs)
}

/// The acceptor of pdfs plus 1, with all self-loops, of an acceptor of transition-ids without.
fn without_times(fst: Fst, transitions: &TransitionModel) -> kaldi_fst::Result<Result<Fst>> {
    let options = DeterminizeStar { most_states: Some(MOST_STATES), ..DeterminizeStar::default() };
    let mut fst = ops::determinize_star(fst, options)?;
    ops::project(&mut fst, Side::Input);
    ops::minimize(&mut fst)?;
    let loops = SelfLoops { scale: 0.0, check: false, ..SelfLoops::default() };
    if let Err(error) = add_self_loops(&mut fst, transitions, loops) {
        return Ok(Err(Error::data(error.to_string())));
    }
    if let Err(error) = to_pdfs(transitions, &mut fst) {
        return Ok(Err(error));
    }
    fst.states.iter_mut().flat_map(|state| &mut state.arcs).for_each(|arc| arc.olabel = EPSILON);
    let mut fst = ops::determinize_star(fst, options)?;
    ops::project(&mut fst, Side::Input);
    ops::minimize_encoded(&mut fst, ops::DELTA);
    Ok(Ok(fst))
}
