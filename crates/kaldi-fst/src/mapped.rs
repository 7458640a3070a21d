//! Finished graphs that stay in their files. States and arcs are read directly from the mapped file.

use std::ops::Range;

use kaldi_io::mapped::{MappedFile, expect};

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, StateId};
use crate::store;
use crate::weight::Weight;

/// Bytes of a state in a file of type `const`: its final weight, the position of its first arc, and three numbers
/// of arcs. These are all arcs, arcs without input label, and arcs without output label.
pub(crate) const STATE_BYTES: usize = 20;
/// Bytes of an arc in a file: two labels, the weight, the next state.
pub(crate) const ARC_BYTES: usize = 16;

/// An arc in the form of the file, at any address.
pub type PackedArc = [u8; ARC_BYTES];

/// Little-endian 32-bit integers.
pub(crate) fn words<const N: usize>(raw: &[u8]) -> [i32; N] {
    std::array::from_fn(|i| i32::from_le_bytes(std::array::from_fn(|byte| raw[4 * i + byte])))
}

impl Arc {
    #[inline]
    pub fn unpack(packed: &PackedArc) -> Arc {
        let [ilabel, olabel, weight, next] = words(packed);
        Arc { ilabel, olabel, weight: f32::from_bits(weight as u32), next: next as StateId }
    }
}

/// A mapped file of type `const`, whose states are read one at a time.
#[derive(Debug)]
pub struct MappedFst {
    file: MappedFile,
    name: String,
    start: Option<StateId>,
    num_states: usize,
    num_arcs: usize,
    /// Byte positions of the states and of the arcs in the file.
    states_at: usize,
    arcs_at: usize,
}

/// A checked state: its arcs lead to existing states and have no negative labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedState {
    /// The positions of its arcs.
    pub arcs: Range<u32>,
    /// The position after the last arc without input label. It is the position of the first arc if the state has no
    /// such arc.
    pub end_of_input_epsilons: u32,
    /// 0 if it has no arcs.
    pub largest_input_label: i32,
}

impl MappedFst {
    /// `None` if the file ends too early. `name` is for errors.
    pub(crate) fn new(
        file: MappedFile,
        name: &str,
        start: Option<StateId>,
        [num_states, num_arcs]: [usize; 2],
        [states_at, arcs_at]: [usize; 2],
    ) -> Option<MappedFst> {
        let whole = num_arcs.checked_mul(ARC_BYTES)?.checked_add(arcs_at)? <= file.len()
            && num_states.checked_mul(STATE_BYTES)?.checked_add(states_at)? <= arcs_at;
        let name = name.to_owned();
        whole.then_some(MappedFst { file, name, start, num_states, num_arcs, states_at, arcs_at })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fails if the file has been overwritten since it was opened.
    pub fn check_unchanged(&self) -> Result<()> {
        match self.file.is_unchanged() {
            true => Ok(()),
            false => Err(self.changed()),
        }
    }

    /// The error for a file that has been overwritten since it was opened.
    pub fn changed(&self) -> Error {
        self.broken("the file has been changed while it was read".to_owned())
    }

    /// The byte position after the last arc.
    pub(crate) fn end(&self) -> usize {
        self.arcs_at + self.num_arcs * ARC_BYTES
    }

    pub fn start(&self) -> Option<StateId> {
        self.start
    }

    pub fn num_states(&self) -> usize {
        self.num_states
    }

    pub fn num_arcs(&self) -> usize {
        self.num_arcs
    }

    /// Returns the arcs of all states. They have not been checked.
    pub fn all_arcs(&self) -> &[PackedArc] {
        self.file[self.arcs_at..self.arcs_at + self.num_arcs * ARC_BYTES].as_chunks().0
    }

    /// Returns the record of a state: its final weight, the position of its first arc, and three numbers of arcs.
    /// These are all arcs, arcs without input label, and arcs without output label.
    #[inline]
    fn record(&self, state: StateId) -> [u32; 5] {
        let at = self.states_at + state as usize * STATE_BYTES;
        words(&self.file[at..at + STATE_BYTES]).map(|number| number as u32)
    }

    /// Adds the arcs of a state, checked, to `out`. (They are checked after they have been copied: the file may change.)
    pub fn read_arcs(&self, state: StateId, out: &mut Vec<Arc>) -> Result<()> {
        let range = self.arcs_of(state)?;
        out.extend(self.arcs(range).iter().map(Arc::unpack));
        for arc in &*out {
            let checked = store::check_arc(state as usize, arc, self.num_states);
            checked.map_err(|problem| self.broken(problem))?;
        }
        Ok(())
    }

    /// Reads and checks a state.
    pub fn state(&self, state: StateId) -> Result<MappedState> {
        let arcs = self.arcs_of(state)?;
        self.final_cost(state)?;
        let mut known = MappedState { end_of_input_epsilons: arcs.start, arcs, largest_input_label: 0 };
        for (arc, end) in self.arcs(known.arcs.clone()).iter().map(Arc::unpack).zip(known.arcs.start + 1..) {
            let checked = store::check_arc(state as usize, &arc, self.num_states);
            checked.map_err(|problem| self.broken(problem))?;
            if arc.ilabel == EPSILON {
                known.end_of_input_epsilons = end;
            }
            known.largest_input_label = known.largest_input_label.max(arc.ilabel);
        }
        Ok(known)
    }

    /// The positions of the arcs of a state.
    fn arcs_of(&self, state: StateId) -> Result<Range<u32>> {
        let [_, first, count, ..] = self.record(state);
        let expected = match state.checked_sub(1).map(|before| self.record(before)) {
            None => 0,
            Some([_, first, count, ..]) => u64::from(first) + u64::from(count),
        };
        let end = u64::from(first) + u64::from(count);
        if u64::from(first) != expected || end > self.num_arcs as u64 {
            let num_arcs = self.num_arcs;
            return Err(self.broken(format!(
                "state {state} has the arcs from {first} to {end}, expected arcs from {expected} on, of {num_arcs}"
            )));
        }
        Ok(first..end as u32)
    }

    /// The cost of ending in a state; infinite if it is not final.
    pub fn final_cost(&self, state: StateId) -> Result<f32> {
        let [final_cost, ..] = self.record(state);
        let final_cost = f32::from_bits(final_cost);
        if !final_cost.is_member() {
            return Err(self.broken(format!("state {state} has the final weight {final_cost:?}")));
        }
        Ok(final_cost)
    }

    fn broken(&self, problem: String) -> Error {
        Error::BrokenFile { file: self.name.clone(), problem }
    }

    /// Announces that the caller will read a state soon, so the processor can load it.
    #[inline]
    pub fn expect_state(&self, state: StateId) {
        self.expect_byte(self.states_at + state as usize * STATE_BYTES);
    }

    /// Says that the arc at this position is going to be read.
    #[inline]
    pub fn expect_arc(&self, position: u32) {
        self.expect_byte(self.arcs_at + position as usize * ARC_BYTES);
    }

    #[inline]
    fn expect_byte(&self, at: usize) {
        if let Some(byte) = self.file.get(at) {
            expect(byte);
        }
    }

    /// Returns arcs of a state that has been visited.
    #[inline]
    pub fn arcs(&self, range: Range<u32>) -> &[PackedArc] {
        let [begin, end] = [range.start, range.end].map(|arc| self.arcs_at + arc as usize * ARC_BYTES);
        self.file[begin..end].as_chunks().0
    }
}
