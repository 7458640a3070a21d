//! Closure over arcs without input: the states they lead to, with outputs and costs.

use std::collections::VecDeque;

use super::{DeterminizeStar, Element, check_same};
use crate::error::{Error, Result};
use crate::fst::{EPSILON, Fst};
use crate::ops::semiring::approximately_equal;
use crate::strings::Strings;

struct Entry {
    element: Element,
    /// The additional cost of further ways to this state. The states after it do not have this cost yet.
    further: f32,
    waiting: bool,
}

/// Scratch memory of the search.
pub(super) struct Closure {
    /// For each state, its possible position among the entries. It is valid only if the entry has this state.
    positions: Vec<u32>,
    entries: Vec<Entry>,
    queue: VecDeque<usize>,
}

impl Closure {
    pub fn new(states: usize) -> Closure {
        Closure { positions: vec![0; states], entries: Vec::new(), queue: VecDeque::new() }
    }

    /// The set with all that empty moves lead to, sorted by state. Further ways to a state are followed on while they
    /// change its cost by more than delta; `options.most_states` limits how often.
    pub fn of(
        &mut self,
        fst: &Fst,
        options: DeterminizeStar,
        strings: &mut Strings,
        set: &[Element],
        closed: &mut Vec<Element>,
    ) -> Result<()> {
        closed.clear();
        // Arcs are sorted on input.
        let moves = |e: &Element| fst.state(e.state).arcs.first().is_some_and(|arc| arc.ilabel == EPSILON);
        if !set.iter().any(moves) {
            closed.extend_from_slice(set);
            return Ok(());
        }
        self.entries.clear();
        self.queue.clear();
        for &element in set {
            self.positions[element.state as usize] = self.entries.len() as u32;
            self.queue.push_back(self.entries.len());
            let nothing = Element { weight: f32::INFINITY, ..element };
            self.entries.push(Entry { element: nothing, further: element.weight, waiting: true });
        }
        // The states of the set come first, once each.
        let mut rounds = 0;
        while let Some(position) = self.queue.pop_front() {
            rounds += 1;
            if let Some(limit) = options.most_states.filter(|&limit| rounds > set.len() + limit + 1) {
                return Err(Error::TooManyStates { limit });
            }
            let entry = &mut self.entries[position];
            let further = std::mem::replace(&mut entry.further, f32::INFINITY);
            entry.element.weight = options.semiring.plus(entry.element.weight, further);
            entry.waiting = false;
            let Element { state, string, .. } = entry.element;
            for arc in fst.state(state).arcs.iter().take_while(|arc| arc.ilabel == EPSILON) {
                let string = strings.append(string, arc.olabel);
                self.add(
                    options,
                    strings,
                    Element { state: arc.next, string, weight: further + arc.weight },
                )?;
            }
        }
        let plus = |entry: &Entry| options.semiring.plus(entry.element.weight, entry.further);
        closed.extend(self.entries.iter().map(|entry| Element { weight: plus(entry), ..entry.element }));
        closed.sort_unstable_by_key(|element| element.state);
        Ok(())
    }

    fn add(&mut self, options: DeterminizeStar, strings: &Strings, element: Element) -> Result<()> {
        let position = &mut self.positions[element.state as usize];
        let known = self.entries.get_mut(*position as usize).filter(|e| e.element.state == element.state);
        let Some(entry) = known else {
            *position = self.entries.len() as u32;
            self.queue.push_back(self.entries.len());
            let nothing = Element { weight: f32::INFINITY, ..element };
            self.entries.push(Entry { element: nothing, further: element.weight, waiting: true });
            return Ok(());
        };
        check_same(strings, entry.element.string, element.string)?;
        entry.further = options.semiring.plus(entry.further, element.weight);
        let total = options.semiring.plus(entry.element.weight, entry.further);
        if !entry.waiting && !approximately_equal(total, entry.element.weight, options.delta) {
            entry.waiting = true;
            self.queue.push_back(*position as usize);
        }
        Ok(())
    }
}
