//! Merging supervision.

use kaldi_fst::{Fst, ops};
use nnet3_train::sequence::differ;
use nnet3_train::{Error, Result};

use crate::supervision::{Graph, Supervision};

/// Makes one supervision for all sequences.
pub(crate) fn merge_supervision(all: Vec<Supervision>) -> Result<Supervision> {
    let first = &all[0];
    for other in &all[1..] {
        differ("weight", first.weight, other.weight)?;
        differ("number of frames", first.frames_per_sequence, other.frames_per_sequence)?;
        differ("largest label", first.label_dim, other.label_dim)?;
    }
    let num_sequences = all.iter().map(|supervision| supervision.num_sequences).sum();
    let header = Supervision {
        num_sequences,
        graph: Graph::EndToEnd(Vec::new()),
        alignment_pdfs: Vec::new(),
        ..*first
    };
    let graph = match &first.graph {
        Graph::Constrained(_) => Graph::Constrained(merge_constrained(&all)?),
        Graph::EndToEnd(_) => Graph::EndToEnd(merge_end_to_end(all)?),
    };
    Ok(Supervision { graph, ..header })
}

const MIXED: &str = "some examples are end-to-end, others have times";

/// One after the other, without the empty arcs between them, states in the order of time.
fn merge_constrained(all: &[Supervision]) -> Result<Fst> {
    let mut fsts = Vec::with_capacity(all.len());
    for supervision in all {
        match &supervision.graph {
            Graph::Constrained(_) if !supervision.alignment_pdfs.is_empty() => {
                return Err(Error::data("an example with times has alignment pdfs, which cannot be merged"));
            }
            Graph::Constrained(fst) => fsts.push(fst),
            Graph::EndToEnd(_) => return Err(Error::data(MIXED)),
        }
    }
    let mut merged = ops::concatenate(fsts);
    let problem = |e: kaldi_fst::Error| Error::data(format!("supervision FST: {e}"));
    ops::remove_epsilons(&mut merged).map_err(problem)?;
    ops::breadth_first(&mut merged).map_err(problem)?;
    Ok(merged)
}

fn merge_end_to_end(all: Vec<Supervision>) -> Result<Vec<Fst>> {
    let mut merged = Vec::with_capacity(all.len());
    for supervision in all {
        match supervision.graph {
            Graph::EndToEnd(fsts) => merged.extend(fsts),
            Graph::Constrained(_) => return Err(Error::data(MIXED)),
        }
    }
    Ok(merged)
}
