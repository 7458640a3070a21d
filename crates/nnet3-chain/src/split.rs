//! Parts of the supervision of an utterance.

use std::ops::Range;

use kaldi_fst::{Arc, EPSILON, Fst, StateId, ops};
use nnet3_train::{Error, Result};

use crate::supervision::{Graph, Supervision};
use crate::transition_graph::fst_error;

/// Takes parts out of the supervision of one utterance.
pub(crate) struct SupervisionSplitter<'s> {
    supervision: &'s Supervision,
    fst: &'s Fst,
    /// For each state, the frame that the arcs from it are for; `None` if it cannot be reached.
    times: Vec<Option<usize>>,
    /// For each state, whether an arc with a label leads to it, or it is the start.
    entered: Vec<bool>,
}

impl<'s> SupervisionSplitter<'s> {
    /// Makes a splitter. Errors: several sequences, supervision without times, or fields that contradict each other.
    pub fn new(supervision: &'s Supervision) -> Result<SupervisionSplitter<'s>> {
        supervision.check()?;
        if supervision.num_sequences != 1 {
            return Err(Error::data(format!(
                "the supervision is of {} sequences, expected that of one utterance",
                supervision.num_sequences
            )));
        }
        let Graph::Constrained(fst) = &supervision.graph else {
            return Err(Error::data("end-to-end supervision has no times, so it cannot be split"));
        };
        let (times, _) = ops::state_times(fst).map_err(fst_error)?;
        let start = fst.start.ok_or_else(|| Error::data("the supervision FST is empty"))?;
        let mut entered = vec![false; fst.states.len()];
        entered[start as usize] = true;
        for arc in fst.states.iter().flat_map(|state| &state.arcs).filter(|arc| arc.ilabel != EPSILON) {
            entered[arc.next as usize] = true;
        }
        Ok(SupervisionSplitter { supervision, fst, times, entered })
    }

    /// Returns the supervision of some frames. The start state of its FST has empty arcs to all states in which the
    /// first frame may begin. Costs before the first and after the last frame are left out.
    pub fn part(&self, frames: Range<usize>) -> Result<Supervision> {
        let total = self.supervision.frames_per_sequence;
        if frames.is_empty() || frames.end > total {
            return Err(Error::data(format!(
                "frames {} to {} are not in the supervision, which is of {total} frames",
                frames.start, frames.end
            )));
        }
        let inside = |s: StateId| self.times[s as usize].filter(|time| frames.contains(time));
        let mut out = Fst::default();
        let start = out.add_state();
        out.start = Some(start);
        let mut numbers = vec![None; self.fst.states.len()];
        for (s, _) in self.fst.numbered().filter(|&(s, _)| inside(s).is_some()) {
            numbers[s as usize] = Some(out.add_state());
        }
        let end = out.add_state();
        out.state_mut(end).final_weight = 0.0;
        for (s, state) in self.fst.numbered() {
            let (Some(time), Some(number)) = (inside(s), numbers[s as usize]) else { continue };
            // If only an empty arc leads to a state, it is entered through the state before that arc.
            if time == frames.start && self.entered[s as usize] {
                out.state_mut(start).arcs.push(Arc::new(EPSILON, 0.0, number));
            }
            out.state_mut(number).arcs = state
                .arcs
                .iter()
                .map(|arc| Arc { next: numbers[arc.next as usize].unwrap_or(end), ..*arc })
                .collect();
        }
        Ok(Supervision {
            frames_per_sequence: frames.len(),
            graph: Graph::Constrained(out),
            alignment_pdfs: Vec::new(),
            ..*self.supervision
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::text::parse;

    /// Two ways through four frames.
    fn supervision() -> Supervision {
        let fst =
            parse("0 1 1 1\n0 2 2 2 0.5\n1 3 1 1\n2 4 2 2\n3 5 3 3\n4 5 1 1 0.25\n5 6 2 2\n6 1.5\n").unwrap();
        Supervision {
            weight: 1.0,
            num_sequences: 1,
            frames_per_sequence: 4,
            label_dim: 3,
            graph: Graph::Constrained(fst),
            alignment_pdfs: Vec::new(),
        }
    }

    #[test]
    fn parts() {
        let supervision = supervision();
        let splitter = SupervisionSplitter::new(&supervision).unwrap();
        for (frames, expected) in [
            (0..1, "0 1 0 0\n1 2 1 1\n1 2 2 2 0.5\n2\n"),
            (1..3, "0 1 0 0\n0 2 0 0\n1 3 1 1\n2 4 2 2\n3 5 3 3\n4 5 1 1 0.25\n5\n"),
            (3..4, "0 1 0 0\n1 2 2 2\n2\n"),
        ] {
            let part = splitter.part(frames.clone()).unwrap();
            part.check().unwrap();
            assert_eq!(part.frames_per_sequence, frames.len());
            assert_eq!(part.graph, Graph::Constrained(parse(expected).unwrap()), "{frames:?}");
        }
    }

    #[test]
    fn what_cannot_be_split() {
        let good = supervision();
        for frames in [2..2, 3..5] {
            assert!(SupervisionSplitter::new(&good).unwrap().part(frames).is_err());
        }
        let Graph::Constrained(fst) = &good.graph else { unreachable!() };
        let end_to_end = Supervision { graph: Graph::EndToEnd(vec![fst.clone()]), ..good.clone() };
        let longer = Supervision { frames_per_sequence: 5, ..good.clone() };
        let merged = Supervision { num_sequences: 2, frames_per_sequence: 2, ..good.clone() };
        for bad in [end_to_end, longer, merged] {
            assert!(SupervisionSplitter::new(&bad).is_err());
        }
    }
}
