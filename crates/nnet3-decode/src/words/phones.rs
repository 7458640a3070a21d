//! Phones in the place of words or transition-ids.

use kaldi_fst::{Algebra, EPSILON};
use kaldi_hmm::{TransitionId, TransitionModel};

use crate::error::{Error, Result};
use crate::lattice::{CompactLattice, Lattice};

/// The transition-ids of a lattice in terms of a model. All of them must be known to be the model's.
#[derive(Clone, Copy)]
pub struct Ids<'m>(&'m TransitionModel);

impl<'m> Ids<'m> {
    /// Checks the lattice.
    pub fn of(model: &'m TransitionModel, lattice: &CompactLattice) -> Result<Ids<'m>> {
        for state in &lattice.states {
            let strings = state.arcs.iter().map(|arc| &arc.weight.string);
            for &id in strings.chain([&state.final_weight.string]).flatten() {
                checked(model, id)?;
            }
        }
        Ok(Ids(model))
    }

    fn id(&self, id: i32) -> TransitionId {
        self.0.transition_id(id).expect("ids have been checked")
    }

    pub fn phone(&self, id: i32) -> i32 {
        self.0.phone(self.id(id))
    }

    /// True if it leaves the last state of a phone.
    pub fn is_final(&self, id: i32) -> bool {
        self.0.is_final(self.id(id))
    }

    pub fn is_self_loop(&self, id: i32) -> bool {
        self.0.is_self_loop(self.id(id))
    }
}

/// The model's transition-id with a number.
pub fn checked(model: &TransitionModel, id: i32) -> Result<TransitionId> {
    model.transition_id(id).map_err(|_| Error::TransitionId { found: id, last: model.num_transition_ids() })
}

/// Replaces words by phones, each on the arc that leaves the first state of the phone.
pub fn replace_words(model: &TransitionModel, lattice: &mut Lattice) -> Result<()> {
    for arc in lattice.states.iter_mut().flat_map(|state| &mut state.arcs) {
        arc.olabel = EPSILON;
        if arc.ilabel == EPSILON {
            continue;
        }
        let id = checked(model, arc.ilabel)?;
        if model.state(id).hmm_state == 0 && !model.is_self_loop(id) {
            arc.olabel = model.phone(id);
        }
    }
    Ok(())
}

/// Replaces the transition-ids of arcs and ends by the phones that end there.
pub fn replace_ids(model: &TransitionModel, lattice: &mut CompactLattice) -> Result<()> {
    let ids = Ids::of(model, lattice)?;
    let replace = |string: &mut Vec<i32>| {
        *string = string.iter().filter(|&&id| ids.is_final(id)).map(|&id| ids.phone(id)).collect();
    };
    for state in &mut lattice.states {
        state.arcs.iter_mut().for_each(|arc| replace(&mut arc.weight.string));
        if !state.final_weight.is_zero() {
            replace(&mut state.final_weight.string);
        }
    }
    Ok(())
}
