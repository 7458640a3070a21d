//! An arc for each phone.

use kaldi_hmm::TransitionModel;

use super::{Aligned, Aligner, Pending, Problems, Unit, phone_end, remove_epsilons, walk};
use crate::error::Result;
use crate::lattice::CompactLattice;
use crate::phones::Ids;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhoneAlignment {
    /// True if states are left before their self-loops are taken.
    pub reorder: bool,
    /// True to remove arcs without a label; they may have transition-ids.
    pub remove_epsilon: bool,
    /// True to write phones as labels in place of words.
    pub replace_output_symbols: bool,
}

struct Phones<'m> {
    ids: Ids<'m>,
    options: PhoneAlignment,
}

/// Makes a lattice with one phone on each arc. A word stays at its phone.
pub fn align_phones(
    lattice: &CompactLattice,
    model: &TransitionModel,
    options: &PhoneAlignment,
) -> Result<Aligned> {
    let aligner = Phones { ids: Ids::of(model, lattice)?, options: *options };
    let mut problems = Problems::default();
    let mut out = walk(lattice, &aligner, None, &mut problems)?;
    if options.remove_epsilon {
        remove_epsilons(&mut out)?;
    }
    Ok((out, problems.0))
}

impl Phones<'_> {
    fn label(&self, pending: &mut Pending) -> i32 {
        let word = pending.take_word();
        match pending.ids.first() {
            Some(&id) if self.options.replace_output_symbols => self.ids.phone(id),
            _ => word,
        }
    }
}

impl Aligner for Phones<'_> {
    fn advance(&self, pending: &mut Pending, word: i32, ids: &[i32]) {
        pending.ids.extend(ids);
        if word != 0 && !self.options.replace_output_symbols {
            pending.words.push(word);
        }
    }

    fn unit(&self, pending: &mut Pending, problems: &mut Problems) -> Option<Unit> {
        if let Some(end) = phone_end(self.ids, &pending.ids, 0, self.options.reorder, problems) {
            let label = self.label(pending);
            return Some(pending.take(label, end));
        }
        // With many words waiting for phones there would be very many states.
        (pending.words.len() > 1).then(|| Unit { label: pending.take_word(), string: Vec::new() })
    }

    fn rest(&self, pending: &mut Pending, problems: &mut Problems) -> Unit {
        if let Some(&first) = pending.ids.first() {
            let phone = self.ids.phone(first);
            if pending.ids.iter().any(|&id| self.ids.phone(id) != phone) {
                problems.add("the last arc has several phones [broken lattice or mismatched model?]");
            }
            let ends = pending.ids.iter().filter(|&&id| self.ids.is_final(id)).count();
            if ends != 1 {
                problems.add(format!("the last phone of the lattice has {ends} ends (forced out?)"));
            }
        }
        let label = self.label(pending);
        pending.take(label, pending.ids.len())
    }
}
