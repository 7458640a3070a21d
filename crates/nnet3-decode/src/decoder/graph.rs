//! Graphs as a search wants them: arcs in one array, those of a state that consume no frame before those that do; or as they are in a
//! file.

use kaldi_fst::{Arc, EPSILON, FlatFst, MappedFst, PackedArc, StateId};

use crate::error::{Error, Result};

/// What a search goes through. States get their numbers as they are found, and what is known of them may be worked out when it
/// is asked for.
pub trait Graph {
    /// `None` if the graph is empty.
    fn start(&mut self) -> Option<StateId>;

    /// All states have numbers below this one, so far.
    fn num_states(&self) -> usize;

    /// Infinite if the state is not final.
    fn final_cost(&self, state: StateId) -> f32;

    /// Arcs among which are all that consume a frame, in their order; those that consume nothing are to be passed over.
    fn emitting(&mut self, state: StateId) -> Arcs<'_>;

    /// Arcs among which are all that consume nothing, in their order; those that consume a frame are to be passed over.
    fn epsilons(&mut self, state: StateId) -> Arcs<'_>;

    /// Says that arcs of this state are going to be asked for, so that they are on their way from memory.
    fn expect(&self, _state: StateId) {}

    /// Whether there can be arcs that consume nothing, as far as it is known without work.
    fn may_have_epsilons(&self, state: StateId) -> bool;

    /// Whether so much has been worked out that it should be forgotten.
    fn is_full(&self) -> bool {
        false
    }

    /// Forgets all states but those, and gives them new numbers.
    fn forget_others(&mut self, _keep: &mut dyn Iterator<Item = &mut StateId>) {}
}

/// Some arcs of a state.
#[derive(Debug, Clone, Copy)]
pub enum Arcs<'g> {
    InMemory(&'g [Arc]),
    InFile(&'g [PackedArc]),
}

impl Arcs<'_> {
    #[inline]
    fn len(self) -> usize {
        match self {
            Arcs::InMemory(arcs) => arcs.len(),
            Arcs::InFile(arcs) => arcs.len(),
        }
    }

    #[inline]
    fn get(self, i: usize) -> Arc {
        match self {
            Arcs::InMemory(arcs) => arcs[i],
            Arcs::InFile(arcs) => Arc::unpack(&arcs[i]),
        }
    }

    #[inline]
    fn iter(self) -> impl Iterator<Item = Arc> {
        (0..self.len()).map(move |i| self.get(i))
    }

    /// The arcs that consume a frame.
    #[inline]
    pub fn with_input(self) -> impl Iterator<Item = Arc> {
        self.iter().filter(|arc| arc.ilabel != EPSILON)
    }

    /// The arcs that consume nothing.
    #[inline]
    pub fn without_input(self) -> impl Iterator<Item = Arc> {
        self.iter().filter(|arc| arc.ilabel == EPSILON)
    }
}

/// A graph that does not change. Input labels are transition-ids, output labels are words.
#[derive(Debug)]
pub struct SearchGraph {
    start: Option<StateId>,
    /// One more than there are states; the last one ends the arcs.
    states: Vec<Bounds>,
    place: Place,
}

/// Where arcs and costs of ending are.
#[derive(Debug)]
enum Place {
    /// The arcs of a state that consume nothing come first.
    Memory {
        arcs: Vec<Arc>,
        finals: Vec<f32>,
    },
    File(MappedFst),
}

/// Positions of the first arc of a state, and of the first one behind all that consume nothing.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    first: u32,
    emitting: u32,
}

impl SearchGraph {
    /// An error if the graph has input labels above `num_transition_ids`.
    pub fn new(fst: FlatFst, num_transition_ids: usize) -> Result<SearchGraph> {
        let mut states = Vec::with_capacity(fst.num_states() + 1);
        let mut emitting_arcs = Vec::new();
        for s in 0..fst.num_states() {
            let range = fst.arcs_of(s);
            let first = range.start as u32;
            for arc in &fst.arcs[range.clone()] {
                check_label(s as StateId, arc, num_transition_ids)?;
            }
            states.push(Bounds { first, emitting: first });
        }
        let end = fst.arcs.len() as u32;
        states.push(Bounds { first: end, emitting: end });
        let FlatFst { start, finals, first_arcs, mut arcs } = fst;
        drop(first_arcs);
        for s in 0..finals.len() {
            let range = states[s].first as usize..states[s + 1].first as usize;
            states[s].emitting += epsilons_first(&mut arcs[range], &mut emitting_arcs) as u32;
        }
        Ok(SearchGraph { start, states, place: Place::Memory { arcs, finals } })
    }

    /// A graph whose arcs are left in its file. An error if it has input labels above `num_transition_ids`.
    pub fn mapped(fst: MappedFst, num_transition_ids: usize) -> Result<SearchGraph> {
        let all_known = fst.largest_input_label() as usize <= num_transition_ids;
        let mut states = Vec::with_capacity(fst.num_states() + 1);
        let mut end = 0;
        for state in 0..fst.num_states() as StateId {
            let range = fst.arcs_of(state);
            let (first, mut emitting) = (range.start as u32, range.start as u32);
            end = range.end as u32;
            if !all_known || fst.num_input_epsilons(state) > 0 {
                for (arc, position) in fst.arcs(range).iter().map(Arc::unpack).zip(first + 1..) {
                    check_label(state, &arc, num_transition_ids)?;
                    if arc.ilabel == EPSILON {
                        emitting = position;
                    }
                }
            }
            states.push(Bounds { first, emitting });
        }
        states.push(Bounds { first: end, emitting: end });
        Ok(SearchGraph { start: fst.start(), states, place: Place::File(fst) })
    }

    /// `None` if the graph is empty.
    pub fn start(&self) -> Option<StateId> {
        self.start
    }

    pub fn num_states(&self) -> usize {
        self.states.len() - 1
    }

    /// Infinite if the state is not final.
    pub fn final_cost(&self, state: StateId) -> f32 {
        match &self.place {
            Place::Memory { finals, .. } => finals[state as usize],
            Place::File(fst) => fst.final_cost(state),
        }
    }

    /// Arcs among which are all that consume a frame.
    #[inline]
    pub fn emitting(&self, state: StateId) -> Arcs<'_> {
        let Bounds { first, emitting } = self.states[state as usize];
        let end = self.states[state as usize + 1].first as usize;
        match &self.place {
            Place::Memory { arcs, .. } => Arcs::InMemory(&arcs[emitting as usize..end]),
            Place::File(fst) => Arcs::InFile(fst.arcs(first as usize..end)),
        }
    }

    /// Arcs among which are all that consume nothing.
    #[inline]
    pub fn epsilons(&self, state: StateId) -> Arcs<'_> {
        let Bounds { first, emitting } = self.states[state as usize];
        let range = first as usize..emitting as usize;
        match &self.place {
            Place::Memory { arcs, .. } => Arcs::InMemory(&arcs[range]),
            Place::File(fst) => Arcs::InFile(fst.arcs(range)),
        }
    }

    #[inline]
    pub(crate) fn expect(&self, state: StateId) {
        if let Place::File(fst) = &self.place {
            fst.expect_arc(self.states[state as usize].first as usize);
        }
    }

    #[inline]
    pub(crate) fn has_epsilons(&self, state: StateId) -> bool {
        let Bounds { first, emitting } = self.states[state as usize];
        first != emitting
    }
}

fn check_label(state: StateId, arc: &Arc, last: usize) -> Result<()> {
    if arc.ilabel as usize > last {
        return Err(Error::GraphLabel { state, label: arc.ilabel, last });
    }
    Ok(())
}

impl Graph for &SearchGraph {
    fn start(&mut self) -> Option<StateId> {
        SearchGraph::start(self)
    }

    fn num_states(&self) -> usize {
        SearchGraph::num_states(self)
    }

    fn final_cost(&self, state: StateId) -> f32 {
        SearchGraph::final_cost(self, state)
    }

    #[inline]
    fn emitting(&mut self, state: StateId) -> Arcs<'_> {
        SearchGraph::emitting(self, state)
    }

    #[inline]
    fn epsilons(&mut self, state: StateId) -> Arcs<'_> {
        SearchGraph::epsilons(self, state)
    }

    #[inline]
    fn expect(&self, state: StateId) {
        SearchGraph::expect(self, state);
    }

    #[inline]
    fn may_have_epsilons(&self, state: StateId) -> bool {
        self.has_epsilons(state)
    }
}

/// Puts the arcs without input labels first, and changes no order else. How many they are. `others` is memory to use.
fn epsilons_first(arcs: &mut [Arc], others: &mut Vec<Arc>) -> usize {
    others.clear();
    let mut epsilons = 0;
    for i in 0..arcs.len() {
        if arcs[i].ilabel == EPSILON {
            arcs[epsilons] = arcs[i];
            epsilons += 1;
        } else {
            others.push(arcs[i]);
        }
    }
    arcs[epsilons..].copy_from_slice(others);
    epsilons
}
