//! Aligns lattices: each arc becomes one phone or one word (`lat/phone-align-lattice.cc`, `lat/word-align-lattice.cc`,
//! `lat/word-align-lattice-lexicon.cc`).
//!
//! The search walks through the lattice with pending transition-ids and words: read, and not yet written. As soon as
//! they begin with a whole unit, an arc is written for it.

mod lexicon;
mod phones;
mod test;
mod words;

use kaldi_fst::state_table::{LastInFirstOut, StateTable};
use kaldi_fst::{Algebra, Arc, EPSILON, State, StateId, ops};

use crate::error::{Error, Result};
use crate::lattice::CompactLattice;
use crate::phones::Ids;
use crate::weight::{CompactLatticeWeight, LatticeWeight};

pub use lexicon::{AlignmentLexicon, LexiconAlignment, align_words_by_lexicon};
pub use phones::{PhoneAlignment, align_phones};
pub use test::{test_alignment, test_duplicates};
pub use words::{PhoneType, WordAlignment, WordBoundaries, align_words};

/// The aligned lattice, and the problems found; the list is empty if the alignment succeeded.
pub type Aligned = (CompactLattice, Vec<String>);

/// Input that has been read and not yet been written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Pending {
    ids: Vec<i32>,
    words: Vec<i32>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.words.is_empty()
    }

    /// Takes the first word, or silence.
    fn take_word(&mut self) -> i32 {
        if self.words.is_empty() { EPSILON } else { self.words.remove(0) }
    }

    /// An arc with the first `count` transition-ids.
    fn take(&mut self, label: i32, count: usize) -> Unit {
        Unit { label, string: self.ids.drain(..count).collect() }
    }
}

/// An arc to be written.
struct Unit {
    label: i32,
    string: Vec<i32>,
}

/// Problems of a lattice. Only the first is kept, because others follow from it.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: impl Into<String>) {
        if self.0.is_empty() {
            self.0.push(problem.into());
        }
    }
}

/// A rule that finds units.
trait Aligner {
    /// Takes the labels of an arc.
    fn advance(&self, pending: &mut Pending, word: i32, ids: &[i32]) {
        pending.ids.extend(ids);
        pending.words.extend(Some(word).filter(|&word| word != EPSILON));
    }

    /// Returns the unit at the front of the pending input, if it is complete.
    fn unit(&self, pending: &mut Pending, problems: &mut Problems) -> Option<Unit>;

    /// Returns the unit for the unfinished remainder of the path. Called only if there is one.
    fn rest(&self, pending: &mut Pending, problems: &mut Problems) -> Unit;
}

/// Gives the lattice a single end of cost zero; all other ends lead there.
pub(crate) fn with_one_end(lattice: &CompactLattice) -> CompactLattice {
    let mut out = lattice.clone();
    let ends = out.states.iter().filter(|state| state.is_final()).count();
    let simple = |state: &State<_>| Algebra::is_one(&state.final_weight) && state.arcs.is_empty();
    if ends == 1 && out.states.iter().any(simple) {
        return out;
    }
    let last = out.states.len() as StateId;
    for state in out.states.iter_mut().filter(|state| state.is_final()) {
        let weight = std::mem::replace(&mut state.final_weight, CompactLatticeWeight::zero());
        state.arcs.push(Arc::new(EPSILON, weight, last));
    }
    out.states.push(State { final_weight: CompactLatticeWeight::one(), arcs: Vec::new() });
    out
}

/// Walks through a lattice, with a limit on the states of the result. Arcs with only a weight stay.
fn walk(
    lattice: &CompactLattice,
    aligner: &impl Aligner,
    max_states: Option<usize>,
    problems: &mut Problems,
) -> Result<CompactLattice> {
    let lattice = with_one_end(lattice);
    let mut out = CompactLattice::default();
    let Some(start) = lattice.start else {
        problems.add("trying to align an empty lattice");
        return Ok(out);
    };
    if !crate::order::top_sort(&mut lattice.clone()) {
        return Err(Error::Cyclic);
    }
    out.start = Some(0);
    let mut places: StateTable<(StateId, Pending), LastInFirstOut> =
        StateTable::starting_with((start, Pending::default()));
    while let Some((number, (s, mut pending))) = places.take() {
        out.states.resize_with(places.len(), State::default);
        if max_states.is_some_and(|most| out.states.len() > most) {
            problems.add(format!(
                "number of states in lattice exceeded max-states of {}, original lattice had {} states",
                max_states.unwrap_or(0),
                lattice.states.len()
            ));
            break;
        }
        let state = lattice.state(s);
        let unit = match aligner.unit(&mut pending, problems) {
            None if state.is_final() && !pending.is_empty() => Some(aligner.rest(&mut pending, problems)),
            unit => unit,
        };
        if let Some(Unit { label, string }) = unit {
            let next = places.number((s, pending));
            let weight = CompactLatticeWeight::new(LatticeWeight::ONE, string);
            out.state_mut(number).arcs.push(Arc::new(label, weight, next));
            continue;
        }
        if state.is_final() {
            out.state_mut(number).final_weight = CompactLatticeWeight::one();
        }
        for arc in &state.arcs {
            let mut then = pending.clone();
            aligner.advance(&mut then, arc.ilabel, &arc.weight.string);
            let next = places.number((arc.next, then));
            let weight = CompactLatticeWeight::new(arc.weight.weight, Vec::new());
            out.state_mut(number).arcs.push(Arc::new(EPSILON, weight, next));
        }
    }
    Ok(out)
}

/// Removes arcs without a label.
fn remove_epsilons(lattice: &mut CompactLattice) -> Result<()> {
    ops::remove_epsilons(lattice).map_err(|_| Error::Cyclic)
}

const PHONE_CHANGED: &str = "a phone changes before its last transition-id was found [broken lattice, mismatched model \
                             or wrong --reorder option?]";

/// Returns the end of the phone that begins at `from`; `None` if it may continue after the pending ids.
fn phone_end(ids: Ids, string: &[i32], from: usize, reorder: bool, problems: &mut Problems) -> Option<usize> {
    let phone = ids.phone(*string.get(from)?);
    let last = string[from..].iter().position(|&id| {
        if ids.phone(id) != phone {
            problems.add(PHONE_CHANGED);
        }
        ids.is_final(id)
    });
    let mut end = from + last? + 1;
    if reorder {
        end += string[end..].iter().take_while(|&&id| ids.is_self_loop(id)).count();
    }
    // At the end of the string, it is not known if it continues.
    if end == string.len() {
        return None;
    }
    if ids.phone(string[end - 1]) != phone {
        problems.add(PHONE_CHANGED);
    }
    Some(end)
}

/// True if a string ends at a possible end of a phone.
fn ends_with_phone(ids: Ids, string: &[i32], reorder: bool) -> bool {
    let loops = string.iter().rev().take_while(|&&id| reorder && ids.is_self_loop(id)).count();
    string[..string.len() - loops].last().is_some_and(|&id| ids.is_final(id))
}
