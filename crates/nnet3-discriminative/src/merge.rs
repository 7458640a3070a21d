//! Merging supervision.

use kaldi_fst::ops;
use nnet3_decode::order;
use nnet3_train::Result;
use nnet3_train::sequence::differ;

use crate::supervision::{Supervision, lattice_error};

/// Makes one supervision for all sequences: alignments and lattices one after the other.
pub(crate) fn merge_supervision(all: Vec<Supervision>) -> Result<Supervision> {
    let first = &all[0];
    for other in &all[1..] {
        differ("weight", first.weight, other.weight)?;
        differ("number of frames", first.frames_per_sequence, other.frames_per_sequence)?;
    }
    let mut lattice = ops::concatenate(all.iter().map(|supervision| &supervision.lattice));
    order::sort(&mut lattice).map_err(lattice_error)?;
    Ok(Supervision {
        weight: first.weight,
        num_sequences: all.iter().map(|supervision| supervision.num_sequences).sum(),
        frames_per_sequence: first.frames_per_sequence,
        alignment: all.iter().flat_map(|supervision| &supervision.alignment).copied().collect(),
        lattice,
    })
}
