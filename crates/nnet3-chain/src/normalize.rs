//! Giving supervision the costs that the same paths have in the denominator graph: with them the
//! objective can never be positive.

use kaldi_fst::ops::{self, SortedAcceptor};
use kaldi_fst::{Error as FstError, Fst};
use kaldi_hmm::TransitionModel;
use nnet3_train::{Error, Result};

use crate::supervision::{Graph, Supervision};
use crate::transition_graph::{fst_error, to_pdfs};

/// Supervision that would need more states is left out: its transcription must be very strange.
pub(crate) const MOST_STATES: usize = 200_000;

/// The normalization FST of a model.
pub struct Normalization(SortedAcceptor);

/// Reason to leave an example out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("its FST has no path in common with the normalization FST")]
    Empty,
    #[error("its FST cannot be made deterministic: {0}")]
    TooManyStates(FstError),
    #[error("its FST has no path")]
    NoPath,
}

/// The result for an example; a rejection is no error of the example itself.
pub type Normalized<T> = std::result::Result<T, Rejection>;

impl Normalization {
    /// Makes a normalization. Costs of the FST are multiplied by `scale`. It is an error if `scale` is negative, or if
    /// the FST is not an acceptor or has empty arcs.
    pub fn new(mut fst: Fst, scale: f32) -> Result<Normalization> {
        if !(scale >= 0.0 && scale.is_finite()) {
            return Err(Error::options(format!(
                "`normalization-fst-scale`={scale}: expected a number that is not negative"
            )));
        }
        if scale != 1.0 {
            fst.scale(scale);
        }
        let sorted = SortedAcceptor::new(fst);
        sorted.map(Normalization).map_err(|e| Error::data(format!("the normalization FST: {e}")))
    }

    /// Returns the supervision with costs. It works for one sequence only.
    pub fn apply(&self, supervision: &Supervision) -> Result<Normalized<Supervision>> {
        if supervision.num_sequences != 1 {
            return Err(Error::data(
                "the example has several sequences: expected one that has not been merged",
            ));
        }
        let composed = match &supervision.graph {
            Graph::Constrained(fst) => self.constrained(fst).map(|fst| fst.map(Graph::Constrained)),
            Graph::EndToEnd(fsts) => match &fsts[..] {
                [fst] => self.end_to_end(fst).map(|fst| fst.map(|fst| Graph::EndToEnd(vec![fst]))),
                _ => return Err(Error::data(format!("{} FSTs for one sequence", fsts.len()))),
            },
        };
        let composed = composed.map_err(|e| Error::data(format!("supervision FST: {e}")))?;
        Ok(composed.map(|graph| Supervision {
            graph,
            alignment_pdfs: supervision.alignment_pdfs.clone(),
            ..*supervision
        }))
    }

    /// Makes supervision without times from an utterance's training graph. The graph has transition-ids as inputs; the
    /// result has pdfs plus 1 as labels, and costs.
    pub fn training_graph(&self, graph: &Fst, transitions: &TransitionModel) -> Result<Normalized<Fst>> {
        let fst = pdf_graph(graph, transitions)?;
        self.end_to_end(&fst).map_err(fst_error)
    }

    fn constrained(&self, fst: &Fst) -> kaldi_fst::Result<Normalized<Fst>> {
        let mut plain = fst.clone();
        ops::remove_epsilons(&mut plain)?;
        let weighted = match smallest(&plain) {
            Ok(smallest) => ops::compose(&smallest, &self.0)?,
            Err(e) => return rejected(e),
        };
        if weighted.start.is_none() {
            return Ok(Err(Rejection::Empty));
        }
        match smallest(&weighted) {
            Ok(mut smallest) => {
                ops::breadth_first(&mut smallest)?;
                Ok(Ok(smallest))
            }
            Err(e) => rejected(e),
        }
    }

    fn end_to_end(&self, fst: &Fst) -> kaldi_fst::Result<Normalized<Fst>> {
        let mut plain = fst.clone();
        ops::remove_epsilons(&mut plain)?;
        let composed = ops::compose(&plain, &self.0)?;
        Ok(if composed.start.is_some() { Ok(composed) } else { Err(Rejection::Empty) })
    }
}

/// The acceptor of pdfs plus 1 of a training graph, without empty arcs.
pub(crate) fn pdf_graph(graph: &Fst, transitions: &TransitionModel) -> Result<Fst> {
    let mut fst = graph.clone();
    ops::project(&mut fst, ops::Side::Input);
    ops::remove_epsilons(&mut fst).map_err(fst_error)?;
    to_pdfs(transitions, &mut fst)?;
    Ok(fst)
}

/// The smallest deterministic acceptor for the same.
fn smallest(fst: &Fst) -> kaldi_fst::Result<Fst> {
    if fst.states.len() >= MOST_STATES {
        return Err(FstError::TooManyStates { limit: MOST_STATES });
    }
    let mut smallest = ops::determinize(fst, MOST_STATES)?;
    ops::minimize(&mut smallest)?;
    Ok(smallest)
}

/// If an FST is too large, only its example is lost. All other failures are errors.
fn rejected(error: FstError) -> kaldi_fst::Result<Normalized<Fst>> {
    match error {
        FstError::TooManyStates { .. } => Ok(Err(Rejection::TooManyStates(error))),
        other => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kaldi_fst::text::parse;

    fn supervision(graph: Graph) -> Supervision {
        Supervision {
            weight: 0.5,
            num_sequences: 1,
            frames_per_sequence: 2,
            label_dim: 3,
            graph,
            alignment_pdfs: Vec::new(),
        }
    }

    /// Accepts any sequence of the labels 1 and 2, at costs that depend on the history. It does not accept label 3.
    fn normalization(scale: f32) -> Normalization {
        let fst = parse("0 1 1 1 0.5\n0 2 2 2 1\n1 1 1 1 0.25\n1 2 2 2 2\n2 1 1 1 4\n1\n2\n").unwrap();
        Normalization::new(fst, scale).unwrap()
    }

    #[test]
    fn costs_of_paths() {
        // As chunks are before: empty arcs from a new start, two ways of the same labels.
        let fst = parse("0 1 0 0\n0 2 0 0\n1 3 1 1\n2 3 1 1\n3 4 2 2\n3 4 1 1\n4\n").unwrap();
        let given = supervision(Graph::Constrained(fst));
        for (scale, expected) in [
            (1.0, "0 1 1 1 0.75\n1 2 1 1\n1 2 2 2 1.75\n2\n"),
            (2.0, "0 1 1 1 1.5\n1 2 1 1\n1 2 2 2 3.5\n2\n"),
            (0.0, "0 1 1 1\n1 2 1 1\n1 2 2 2\n2\n"),
        ] {
            let result = normalization(scale).apply(&given).unwrap().unwrap();
            let Graph::Constrained(fst) = &result.graph else { panic!("end to end") };
            let expected = parse(expected).unwrap();
            assert_eq!((fst.start, fst.states.len()), (Some(0), 3));
            for (found, expected) in fst.states.iter().zip(&expected.states) {
                assert_eq!(found.is_final(), expected.is_final());
                for (found, expected) in found.arcs.iter().zip(&expected.arcs) {
                    assert_eq!((found.ilabel, found.next), (expected.ilabel, expected.next));
                    assert!((found.weight - expected.weight).abs() < 1e-5, "{found:?} {expected:?}");
                }
            }
            result.check().unwrap();
            assert_eq!(result.weight, 0.5);
        }
    }

    #[test]
    fn end_to_end_and_rejections() {
        let given = supervision(Graph::EndToEnd(vec![parse("0 0 1 1\n0 1 2 2\n1\n").unwrap()]));
        let result = normalization(1.0).apply(&given).unwrap().unwrap();
        // The cycle exists once for each state of the other FST.
        assert_eq!((result.fsts()[0].states.len(), result.fsts()[0].num_arcs()), (3, 4));
        let impossible = parse("0 1 3 3\n1 2 1 1\n2\n").unwrap();
        let found = normalization(1.0).apply(&supervision(Graph::Constrained(impossible))).unwrap();
        assert_eq!(found, Err(Rejection::Empty));
        assert!(Normalization::new(parse("0 0 0 0\n0\n").unwrap(), 1.0).is_err());
        assert!(Normalization::new(parse("0 0 1 1\n0\n").unwrap(), -1.0).is_err());
        let merged = Supervision { num_sequences: 2, ..given };
        assert!(normalization(1.0).apply(&merged).unwrap_err().to_string().contains("has not been merged"));
    }
}
