//! Finished graphs that stay in their files: states and arcs are read where they lie.

use std::ops::Range;

use kaldi_io::mapped::MappedFile;

use crate::fst::{Arc, EPSILON, StateId};
use crate::weight::Weight;

/// Bytes of a state in a file of type `const`: its final weight, the position of its first arc, how many it has, how many of
/// them have no input and how many no output label.
pub(crate) const STATE_BYTES: usize = 20;
/// Bytes of an arc in a file: two labels, the weight, the next state.
pub(crate) const ARC_BYTES: usize = 16;

/// An arc as it is in a file, at any address.
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

/// A file of type `const`. Its arcs lead to states that there are, and have no negative labels.
#[derive(Debug)]
pub struct MappedFst {
    file: MappedFile,
    start: Option<StateId>,
    num_states: usize,
    /// Where the states begin in the file, and where the arcs do.
    states_at: usize,
    arcs_at: usize,
    largest_input_label: i32,
}

/// A state as it is in the file.
struct MappedState {
    final_cost: f32,
    arcs: Range<usize>,
    input_epsilons: usize,
}

impl MappedFst {
    /// `None` if the file ends too early, or if something in it is not as it should be: who reads it piece by piece can say what.
    pub(crate) fn new(
        file: MappedFile,
        start: Option<StateId>,
        [num_states, num_arcs]: [usize; 2],
        [states_at, arcs_at]: [usize; 2],
    ) -> Option<MappedFst> {
        let whole = num_arcs.checked_mul(ARC_BYTES)?.checked_add(arcs_at)? <= file.len()
            && num_states.checked_mul(STATE_BYTES)?.checked_add(states_at)? <= arcs_at;
        let mut fst = MappedFst { file, start, num_states, states_at, arcs_at, largest_input_label: 0 };
        fst.largest_input_label = if whole { fst.check(num_arcs)? } else { return None };
        Some(fst)
    }

    /// The largest input label, if all states and arcs are as they should be.
    fn check(&self, num_arcs: usize) -> Option<i32> {
        let (mut total, mut largest) = (0, 0);
        for s in 0..self.num_states {
            let MappedState { final_cost, arcs, input_epsilons } = self.state(s);
            if arcs.start != total || arcs.end > num_arcs || !final_cost.is_member() {
                return None;
            }
            total = arcs.end;
            let (mut good, mut epsilons) = (true, 0);
            for arc in self.arcs(arcs) {
                let Arc { ilabel, olabel, weight, next } = Arc::unpack(arc);
                good &= ilabel >= 0 && olabel >= 0 && weight.is_member() && (next as usize) < self.num_states;
                epsilons += usize::from(ilabel == EPSILON);
                largest = largest.max(ilabel);
            }
            if !good || epsilons != input_epsilons {
                return None;
            }
        }
        (total == num_arcs).then_some(largest)
    }

    pub fn largest_input_label(&self) -> i32 {
        self.largest_input_label
    }

    pub fn start(&self) -> Option<StateId> {
        self.start
    }

    pub fn num_states(&self) -> usize {
        self.num_states
    }

    #[inline]
    fn state(&self, state: usize) -> MappedState {
        let at = self.states_at + state * STATE_BYTES;
        let [final_cost, first, count, input_epsilons] = words(&self.file[at..at + STATE_BYTES]);
        let [first, count, input_epsilons] =
            [first, count, input_epsilons].map(|number| number as u32 as usize);
        MappedState {
            final_cost: f32::from_bits(final_cost as u32),
            arcs: first..first + count,
            input_epsilons,
        }
    }

    /// Infinite if the state is not final.
    pub fn final_cost(&self, state: StateId) -> f32 {
        self.state(state as usize).final_cost
    }

    /// The positions of the arcs of a state. Those of the next state follow.
    pub fn arcs_of(&self, state: StateId) -> Range<usize> {
        self.state(state as usize).arcs
    }

    /// How many arcs of a state have no input label.
    pub fn num_input_epsilons(&self, state: StateId) -> usize {
        self.state(state as usize).input_epsilons
    }

    /// Says that the arc at this position is going to be read.
    #[inline]
    pub fn expect_arc(&self, position: usize) {
        self.file.expect(self.arcs_at + position * ARC_BYTES);
    }

    #[inline]
    pub fn arcs(&self, range: Range<usize>) -> &[PackedArc] {
        let [begin, end] = [range.start, range.end].map(|arc| self.arcs_at + arc * ARC_BYTES);
        self.file[begin..end].as_chunks().0
    }
}
