//! State numbers of text. They come in any order and with any gaps; memory grows only with the number of states.

use crate::fst::{Fst, StateId};
use crate::state_table::StateTable;
use crate::weight::Weight;

/// The states of a text by their numbers. While lines are read, states have places in the order in which they come.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    places: StateTable<i64>,
}

/// Gaps that are filled with states without arcs however few states there are.
const FREE_GAPS: i64 = 1000;
/// Numbers up to this multiple of the number of states are kept.
const SPARSE: i64 = 4;

/// Bounds if the numbers must be kept: allowed states for each state of the text, and states that are always allowed.
const KEPT_SPARSE: i64 = 64;
const KEPT_FREE: i64 = 1 << 20;

impl Numbering {
    /// Returns the place of the state with a number, which is added to the FST if it is new.
    pub fn place<W: Weight>(&mut self, fst: &mut Fst<W>, number: i64) -> StateId {
        let place = self.places.number(number);
        fst.states.resize_with(self.places.len(), Default::default);
        place
    }

    /// Puts the states in the order of their numbers.
    ///
    /// A state gets exactly its number if the gaps are small; states without arcs fill them. Otherwise the gaps are closed.
    pub fn sort<W: Weight>(self, fst: Fst<W>) -> Fst<W> {
        let keeps_gaps = self.largest() < SPARSE * self.count() + FREE_GAPS;
        self.arrange(fst, keeps_gaps)
    }

    /// Gives each state exactly its number. It is an error if the largest number requires too many states.
    pub fn keep<W: Weight>(self, fst: Fst<W>) -> Result<Fst<W>, String> {
        let (largest, count) = (self.largest(), self.count());
        if largest >= KEPT_SPARSE * count + KEPT_FREE {
            return Err(format!(
                "keeping the state numbers would take {} states: the largest of {count} states has number {largest}",
                largest.saturating_add(1)
            ));
        }
        Ok(self.arrange(fst, true))
    }

    fn largest(&self) -> i64 {
        self.places.keys().iter().copied().max().unwrap_or(-1)
    }

    fn count(&self) -> i64 {
        self.places.len() as i64
    }

    fn arrange<W: Weight>(self, mut fst: Fst<W>, keeps_gaps: bool) -> Fst<W> {
        if self.places.keys().iter().enumerate().all(|(place, &number)| number == place as i64) {
            return fst;
        }
        let mut order: Vec<StateId> = (0..self.places.len() as StateId).collect();
        order.sort_unstable_by_key(|&place| *self.places.key(place));
        let mut ids = vec![0; order.len()];
        for (rank, &place) in order.iter().enumerate() {
            let number = *self.places.key(place);
            ids[place as usize] = if keeps_gaps { number as StateId } else { rank as StateId };
        }
        let states = std::mem::take(&mut fst.states);
        fst.states.resize_with(ids.iter().max().map_or(0, |&last| last as usize + 1), Default::default);
        for (mut state, &id) in states.into_iter().zip(&ids) {
            state.arcs.iter_mut().for_each(|arc| arc.next = ids[arc.next as usize]);
            fst.states[id as usize] = state;
        }
        fst.start = fst.start.map(|place| ids[place as usize]);
        fst
    }
}
