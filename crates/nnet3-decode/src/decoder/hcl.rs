//! The first half of a composed graph: from transition-ids to words, with the next words of each state.

use kaldi_fst::look_ahead::{LookAheadFile, Reach};
use kaldi_fst::{Arc, EPSILON, FlatFst, LookAheadFst, MappedFst, StateId};

use super::graph::{broken, check_label};
use crate::error::{Error, Result};

/// HCL, in memory or in its file.
#[derive(Debug)]
pub struct Hcl {
    place: Place,
    pub(super) reach: Reach,
    /// By input label: false if an arc with it consumes no frame. True for labels behind.
    consumes: Vec<bool>,
    num_transition_ids: usize,
}

#[derive(Debug)]
enum Place {
    /// Input labels that consume no frame are epsilons.
    Memory(FlatFst),
    /// Faults of states are found when they are visited.
    File(MappedFst),
}

impl Hcl {
    /// `disambiguation` are input labels that consume no frame. Other labels above `num_transition_ids` are an error; of a
    /// graph in a file it comes when a search visits the state.
    pub(super) fn new(hcl: LookAheadFile, disambiguation: &[i32], num_transition_ids: usize) -> Result<Hcl> {
        let largest = disambiguation.iter().copied().max().unwrap_or(0).max(0) as usize;
        let mut consumes = vec![true; largest + 1];
        for &label in disambiguation {
            if let Some(consumes) = usize::try_from(label).ok().and_then(|label| consumes.get_mut(label)) {
                *consumes = false;
            }
        }
        let (place, reach) = match hcl {
            LookAheadFile::File(fst, reach) => (Place::File(fst), reach),
            LookAheadFile::Memory(LookAheadFst { mut fst, reach }) => {
                for s in 0..fst.num_states() {
                    let range = fst.arcs_of(s);
                    for arc in &mut fst.arcs[range] {
                        prepare(arc, s as StateId, &consumes, num_transition_ids)?;
                    }
                }
                (Place::Memory(fst), reach)
            }
        };
        Ok(Hcl { place, reach, consumes, num_transition_ids })
    }

    /// `None` if the graph is empty.
    pub(super) fn start(&self) -> Option<StateId> {
        match &self.place {
            Place::Memory(fst) => fst.start,
            Place::File(fst) => fst.start(),
        }
    }

    /// Infinite if the state is not final.
    pub(super) fn final_cost(&self, state: StateId) -> Result<f32> {
        match &self.place {
            Place::Memory(fst) => Ok(fst.finals[state as usize]),
            Place::File(fst) => fst.final_cost(state).map_err(broken),
        }
    }

    /// Lists the arcs of a state, in the order of their output labels, and returns the number of those without one.
    pub(super) fn arcs(&self, state: StateId, out: &mut Vec<Arc>) -> Result<usize> {
        out.clear();
        match &self.place {
            Place::Memory(fst) => out.extend_from_slice(&fst.arcs[fst.arcs_of(state as usize)]),
            Place::File(fst) => {
                fst.read_arcs(state, out).map_err(broken)?;
                for arc in &mut *out {
                    prepare(arc, state, &self.consumes, self.num_transition_ids)
                        .map_err(|error| Error::BrokenGraph(format!("{}: {error}", fst.name())))?;
                }
                if !out.is_sorted_by_key(|arc| arc.olabel) {
                    out.sort_by_key(|arc| arc.olabel);
                }
            }
        }
        Ok(out.partition_point(|arc| arc.olabel == EPSILON))
    }

    /// Prefetches what [`arcs`](Self::arcs) reads first.
    pub(super) fn expect(&self, state: StateId) {
        if let Place::File(fst) = &self.place {
            fst.expect_state(state);
        }
    }

    /// See [`Graph::check`](super::graph::Graph::check).
    pub(super) fn check(&self, thorough: bool) -> Result<()> {
        match &self.place {
            Place::File(fst) if thorough => fst.check_unchanged().map_err(broken),
            Place::File(_) | Place::Memory(_) => Ok(()),
        }
    }
}

/// Gives an arc of a file the input label that the search uses.
fn prepare(arc: &mut Arc, state: StateId, consumes: &[bool], num_transition_ids: usize) -> Result<()> {
    if consumes.get(arc.ilabel as usize) == Some(&false) {
        arc.ilabel = EPSILON;
    }
    check_label(state, arc.ilabel, num_transition_ids)
}
