//! Graphs as a search wants them.

use std::cell::Cell;
use std::ops::Deref;

use kaldi_fst::{Arc, EPSILON, FlatFst, MappedFst, PackedArc, StateId};
use kaldi_io::mapped;

use crate::error::{Error, Result};

/// A graph for searches. States are numbered in the order of discovery, and may be expanded when the search visits
/// them.
pub trait Graph {
    /// True if the number of states is not known before.
    const GROWS: bool = false;

    /// `None` if the graph is empty.
    fn start(&mut self) -> Option<StateId>;

    /// All states have numbers below this one, so far.
    fn num_states(&self) -> usize;

    /// Returns a number that decides the order of states in a frame. The default is the state's own number, as in the
    /// reference.
    fn order(&self, state: StateId) -> u32 {
        state
    }

    /// Infinite if the state is not final.
    fn final_cost(&self, state: StateId) -> Result<f32>;

    /// Expands a state, before its arcs are needed.
    fn visit(&mut self, state: StateId) -> Result<()>;

    /// The arcs of a visited state that consume a frame.
    fn emitting(&self, state: StateId) -> impl Iterator<Item = Arc>;

    /// The arcs of a visited state that consume no frame.
    fn epsilons(&self, state: StateId) -> impl Iterator<Item = Arc>;

    /// Checks that the graph has not changed. If `thorough`, asks the operating system too, which takes longer.
    fn check(&self, _thorough: bool) -> Result<()> {
        Ok(())
    }

    /// Announces a visit of this state, so that its data can be prefetched from memory.
    fn expect_state(&self, _state: StateId) {}

    /// Announces that arcs of this state will be needed, for prefetching.
    fn expect_arcs(&self, _state: StateId) {}

    /// True if there can be arcs that consume no frame, as far as this is known without work.
    fn may_have_epsilons(&self, state: StateId) -> bool;

    /// True if the expanded states take so much memory that they should be dropped.
    fn is_full(&self) -> bool {
        false
    }

    /// Drops all states except these, and renumbers these.
    fn forget_others(&mut self, _keep: &mut dyn Iterator<Item = &mut StateId>) -> Result<()> {
        Ok(())
    }
}

/// A graph that does not change. Input labels are transition-ids, output labels are words.
#[derive(Debug)]
pub struct SearchGraph {
    place: Place,
    num_transition_ids: usize,
}

/// Storage of states and arcs.
#[derive(Debug)]
enum Place {
    Memory(FlatFst),
    File(MappedFst),
}

/// A graph, with the states that one search has expanded. `P` points to the graph: a reference, or an owner such as
/// [`Arc`](std::sync::Arc).
#[derive(Debug)]
pub struct VisitedGraph<P> {
    graph: P,
    /// For each state: the position of its first arc, the position behind its epsilon arcs, and the position behind all
    /// arcs plus one. Zeros before the first visit. (Zeroed memory costs no time until it is used.)
    known: Vec<[u32; 3]>,
    /// Set if the arcs of a visited state have changed, because the file was overwritten.
    has_changed: Cell<bool>,
}

impl SearchGraph {
    /// Fails if the graph has input labels above `num_transition_ids`.
    pub fn new(fst: FlatFst, num_transition_ids: usize) -> Result<SearchGraph> {
        for state in 0..fst.num_states() {
            for arc in &fst.arcs[fst.arcs_of(state)] {
                check_label(state as StateId, arc.ilabel, num_transition_ids)?;
            }
        }
        Ok(SearchGraph { place: Place::Memory(fst), num_transition_ids })
    }

    /// Makes a graph that stays in its file. Input labels above `num_transition_ids` are found when a search visits
    /// them.
    pub fn mapped(fst: MappedFst, num_transition_ids: usize) -> SearchGraph {
        SearchGraph { place: Place::File(fst), num_transition_ids }
    }

    /// The graph for one search.
    pub fn unvisited(&self) -> VisitedGraph<&SearchGraph> {
        VisitedGraph::new(self)
    }

    /// Returns the first word for which `is_known` is false. A graph that is left in its file is gone through only if it has
    /// at most `most_arcs` arcs.
    pub fn unknown_word(&self, most_arcs: usize, is_known: impl Fn(i32) -> bool) -> Option<i32> {
        let is_unknown = |word: &i32| *word != EPSILON && !is_known(*word);
        match &self.place {
            Place::Memory(fst) => fst.arcs.iter().map(|arc| arc.olabel).find(is_unknown),
            Place::File(fst) if fst.num_arcs() > most_arcs => None,
            Place::File(fst) => fst.all_arcs().iter().map(|arc| Arc::unpack(arc).olabel).find(is_unknown),
        }
    }

    fn num_states(&self) -> usize {
        match &self.place {
            Place::Memory(fst) => fst.num_states(),
            Place::File(fst) => fst.num_states(),
        }
    }
}

pub(super) fn check_label(state: StateId, label: i32, last: usize) -> Result<()> {
    if label as usize > last {
        return Err(Error::GraphLabel { state, label, last });
    }
    Ok(())
}

pub(super) fn broken(error: kaldi_fst::Error) -> Error {
    Error::BrokenGraph(error.to_string())
}

impl<P: Deref<Target = SearchGraph>> VisitedGraph<P> {
    /// The graph for one search.
    pub fn new(graph: P) -> VisitedGraph<P> {
        VisitedGraph { known: vec![[0; 3]; graph.num_states()], graph, has_changed: Cell::new(false) }
    }

    /// Reads the positions of a state's arcs.
    #[cold]
    fn look_at(&self, state: StateId) -> Result<[u32; 3]> {
        Ok(match &self.graph.place {
            Place::Memory(fst) => {
                let range = fst.arcs_of(state as usize);
                let last = fst.arcs[range.clone()].iter().rposition(|arc| arc.ilabel == EPSILON);
                let end_of_epsilons = last.map_or(range.start, |last| range.start + last + 1);
                [range.start, end_of_epsilons, range.end + 1].map(|position| position as u32)
            }
            Place::File(fst) => {
                let known = fst.state(state).map_err(broken)?;
                check_label(state, known.largest_input_label, self.graph.num_transition_ids)
                    .map_err(|error| Error::BrokenGraph(format!("{}: {error}", fst.name())))?;
                [known.arcs.start, known.end_of_input_epsilons, known.arcs.end + 1]
            }
        })
    }

    #[inline(always)]
    fn arcs(&self, first: u32, end: u32) -> Arcs<'_> {
        match &self.graph.place {
            Place::Memory(fst) => Arcs::Memory(fst.arcs[first as usize..end as usize].iter()),
            Place::File(fst) => Arcs::File {
                arcs: fst.arcs(first..end).iter(),
                states: self.known.len() as u32,
                last_label: self.graph.num_transition_ids as u32,
                has_changed: &self.has_changed,
            },
        }
    }
}

impl<P: Deref<Target = SearchGraph>> Graph for VisitedGraph<P> {
    fn start(&mut self) -> Option<StateId> {
        match &self.graph.place {
            Place::Memory(fst) => fst.start,
            Place::File(fst) => fst.start(),
        }
    }

    fn num_states(&self) -> usize {
        self.known.len()
    }

    fn final_cost(&self, state: StateId) -> Result<f32> {
        Ok(match &self.graph.place {
            Place::Memory(fst) => fst.finals[state as usize],
            Place::File(fst) => fst.final_cost(state).map_err(broken)?,
        })
    }

    #[inline]
    fn visit(&mut self, state: StateId) -> Result<()> {
        if self.known[state as usize][2] == 0 {
            self.known[state as usize] = self.look_at(state)?;
        }
        Ok(())
    }

    fn check(&self, thorough: bool) -> Result<()> {
        let Place::File(fst) = &self.graph.place else { return Ok(()) };
        if self.has_changed.get() {
            return Err(broken(fst.changed()));
        }
        if thorough { fst.check_unchanged().map_err(broken) } else { Ok(()) }
    }

    #[inline]
    fn emitting(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let [first, _, end] = self.known[state as usize];
        self.arcs(first, end.saturating_sub(1)).filter(|arc| arc.ilabel != EPSILON)
    }

    #[inline]
    fn epsilons(&self, state: StateId) -> impl Iterator<Item = Arc> {
        let [first, end, _] = self.known[state as usize];
        self.arcs(first, end).filter(|arc| arc.ilabel == EPSILON)
    }

    #[inline]
    fn expect_state(&self, state: StateId) {
        if let Some(known) = self.known.get(state as usize) {
            mapped::expect(known);
        }
    }

    #[inline]
    fn expect_arcs(&self, state: StateId) {
        let [first, _, end] = self.known[state as usize];
        match &self.graph.place {
            Place::Memory(fst) => {
                if let Some(arc) = fst.arcs.get(first as usize) {
                    mapped::expect(arc);
                }
            }
            Place::File(fst) if end > 0 => fst.expect_arc(first),
            Place::File(fst) => fst.expect_state(state),
        }
    }

    #[inline]
    fn may_have_epsilons(&self, state: StateId) -> bool {
        let [first, end_of_epsilons, end] = self.known[state as usize];
        end == 0 || first < end_of_epsilons
    }
}

/// Some arcs of a state.
enum Arcs<'g> {
    Memory(std::slice::Iter<'g, Arc>),
    /// Arcs that were valid when their state was visited. Overwriting the file may invalidate them.
    File {
        arcs: std::slice::Iter<'g, PackedArc>,
        states: u32,
        last_label: u32,
        has_changed: &'g Cell<bool>,
    },
}

impl Iterator for Arcs<'_> {
    type Item = Arc;

    #[inline(always)]
    fn next(&mut self) -> Option<Arc> {
        match self {
            Arcs::Memory(arcs) => arcs.next().copied(),
            Arcs::File { arcs, states, last_label, has_changed } => {
                let arc = Arc::unpack(arcs.next()?);
                if arc.next >= *states || arc.ilabel as u32 > *last_label {
                    has_changed.set(true);
                    return None;
                }
                Some(arc)
            }
        }
    }
}
