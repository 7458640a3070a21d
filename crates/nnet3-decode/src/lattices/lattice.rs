//! Lattices and compact lattices, and the way from one to the other (`lat/kaldi-lattice.h`, `fstext/lattice-utils-inl.h`).

use kaldi_fst::{Algebra, Arc, EPSILON, Fst, State, StateId, Weight, ops};

use crate::error::{Error, Result};
use crate::order::top_sort;
use crate::weight::{CompactLatticeWeight, LatticeWeight};

/// Input labels are transition-ids, one a frame; output labels are words.
pub type Lattice = Fst<LatticeWeight>;
pub type LatticeArc = Arc<LatticeWeight>;

/// Labels are words; the transition-ids are in the weights.
pub type CompactLattice = Fst<CompactLatticeWeight>;
pub type CompactArc = Arc<CompactLatticeWeight>;

/// Methods of lattices of both kinds.
pub trait AnyLattice: Weight {
    /// The sum of costs along a path. As in the reference, it decides between two paths of nearly the same cost. It is a pair of
    /// 32-bit sums for lattices, and one 64-bit sum for compact lattices.
    type PathCost: Copy + PartialEq;
    /// The cost of a path without arcs.
    const NO_ARCS: Self::PathCost;
    /// The cost of a state that no path has reached.
    const NO_PATH: Self::PathCost;
    /// Adds the weight of the next arc, or of the end.
    fn add_to(&self, path: Self::PathCost) -> Self::PathCost;
    /// True if the first path is strictly better.
    fn is_better(new: Self::PathCost, old: Self::PathCost) -> bool;
    fn costs(&self) -> &LatticeWeight;
    fn costs_mut(&mut self) -> &mut LatticeWeight;
    /// Number of frames of an arc.
    fn frames(arc: &Arc<Self>) -> usize;
    /// Number of frames of this final weight.
    fn final_frames(&self) -> usize;
}

impl AnyLattice for LatticeWeight {
    type PathCost = LatticeWeight;
    const NO_ARCS: LatticeWeight = LatticeWeight::ONE;
    const NO_PATH: LatticeWeight = LatticeWeight::ZERO;

    fn add_to(&self, path: LatticeWeight) -> LatticeWeight {
        path.times(self)
    }

    fn is_better(new: LatticeWeight, old: LatticeWeight) -> bool {
        new.compare(&old).is_gt()
    }

    fn costs(&self) -> &LatticeWeight {
        self
    }

    fn costs_mut(&mut self) -> &mut LatticeWeight {
        self
    }

    fn frames(arc: &LatticeArc) -> usize {
        usize::from(arc.ilabel != EPSILON)
    }

    fn final_frames(&self) -> usize {
        0
    }
}

impl AnyLattice for CompactLatticeWeight {
    type PathCost = f64;
    const NO_ARCS: f64 = 0.0;
    const NO_PATH: f64 = f64::INFINITY;

    fn add_to(&self, path: f64) -> f64 {
        path + self.weight.cost()
    }

    fn is_better(new: f64, old: f64) -> bool {
        new < old
    }

    fn costs(&self) -> &LatticeWeight {
        &self.weight
    }

    fn costs_mut(&mut self) -> &mut LatticeWeight {
        &mut self.weight
    }

    fn frames(arc: &CompactArc) -> usize {
        arc.weight.string.len()
    }

    fn final_frames(&self) -> usize {
        self.string.len()
    }
}

/// Scaling of costs: new costs are sums of multiples of the old ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub lm: f64,
    pub acoustic_to_lm: f64,
    pub lm_to_acoustic: f64,
    pub acoustic: f64,
}

impl Scale {
    pub const NONE: Scale = Scale { lm: 1.0, acoustic_to_lm: 0.0, lm_to_acoustic: 0.0, acoustic: 1.0 };

    pub fn new(lm: f64, acoustic: f64) -> Scale {
        Scale { lm, acoustic, ..Scale::NONE }
    }

    fn of(&self, weight: &LatticeWeight) -> LatticeWeight {
        let (graph, acoustic) = (f64::from(weight.graph), f64::from(weight.acoustic));
        LatticeWeight {
            graph: (self.lm * graph + self.acoustic_to_lm * acoustic) as f32,
            acoustic: (self.lm_to_acoustic * graph + self.acoustic * acoustic) as f32,
        }
    }
}

/// Returns an error for the first invalid weight: a cost that is NaN or minus infinity, or one infinite cost beside a
/// finite one. They come from costs that are too large for the numbers of a lattice.
pub fn check_weights<W: AnyLattice>(lattice: &Fst<W>) -> Result<()> {
    for (number, state) in lattice.states.iter().enumerate() {
        let finals = std::iter::once(&state.final_weight);
        let wrong = |weight: &&W| !weight.costs().is_member();
        if let Some(weight) = finals.chain(state.arcs.iter().map(|arc| &arc.weight)).find(wrong) {
            let LatticeWeight { graph, acoustic } = *weight.costs();
            return Err(Error::Weight { state: number as StateId, graph, acoustic });
        }
    }
    Ok(())
}

/// As [`scale`]. It is an error if a finite cost becomes too large, or if [`check_weights`] finds one.
pub fn scale_checked<W: AnyLattice>(lattice: &mut Fst<W>, by: Scale) -> Result<()> {
    // (Infinite weight of states that are not final, and of arcs that no path can take.)
    let infinite = |lattice: &Fst<W>| {
        let weights = lattice
            .states
            .iter()
            .flat_map(|state| state.arcs.iter().map(|arc| &arc.weight).chain([&state.final_weight]));
        weights.filter(|weight| *weight.costs() == LatticeWeight::ZERO).count()
    };
    let before = infinite(lattice);
    scale(lattice, by);
    check_weights(lattice)?;
    if infinite(lattice) > before {
        return Err(Error::TooLarge);
    }
    Ok(())
}

/// Scales all costs; infinite costs stay infinite.
pub fn scale<W: AnyLattice>(lattice: &mut Fst<W>, scale: Scale) {
    if scale != Scale::NONE {
        lattice.map_weights(|weight| *weight.costs_mut() = scale.of(weight.costs()));
    }
}

/// Adds a cost to every arc with a word.
pub fn add_word_penalty(lattice: &mut CompactLattice, penalty: f32) {
    for arc in lattice.states.iter_mut().flat_map(|state| &mut state.arcs) {
        if arc.ilabel != EPSILON {
            arc.weight.weight.graph += penalty;
        }
    }
}

/// Removes the transition-ids.
pub fn remove_alignments(lattice: &mut CompactLattice) {
    lattice.map_weights(|weight| weight.string.clear());
}

/// The lattice without transition-ids, with words on both sides. States keep their numbers.
pub fn word_lattice(mut lattice: CompactLattice) -> Lattice {
    remove_alignments(&mut lattice);
    let mut out = expand(&lattice);
    ops::project(&mut out, ops::Side::Output);
    out
}

/// The acceptor of the words, at the sums of both costs. States keep their numbers.
pub fn word_fst(lattice: &CompactLattice) -> Fst {
    let cost = |weight: &CompactLatticeWeight| weight.weight.graph + weight.weight.acoustic;
    let states = lattice.states.iter().map(|state| State {
        final_weight: cost(&state.final_weight),
        arcs: state.arcs.iter().map(|arc| Arc::new(arc.ilabel, cost(&arc.weight), arc.next)).collect(),
    });
    Fst { start: lattice.start, states: states.collect() }
}

/// The lattice with an arc for each transition-id. States keep their numbers; those between the new arcs come after them.
/// The first of these arcs has word and costs.
pub fn expand(compact: &CompactLattice) -> Lattice {
    let mut out = Lattice { start: compact.start, states: Vec::with_capacity(compact.states.len()) };
    out.states.resize_with(compact.states.len(), State::default);
    for (s, state) in compact.numbered() {
        for arc in &state.arcs {
            let (last, before) = split_last(&arc.weight.string);
            let (from, weight, word) = chain(&mut out, s, arc.weight.weight, arc.ilabel, before);
            out.state_mut(from).arcs.push(Arc { ilabel: last, olabel: word, weight, next: arc.next });
        }
        if state.is_final() {
            let end = &state.final_weight;
            let (from, weight, _) = chain(&mut out, s, end.weight, EPSILON, &end.string);
            out.state_mut(from).final_weight = weight;
        }
    }
    out
}

fn split_last(string: &[i32]) -> (i32, &[i32]) {
    string.split_last().map_or((EPSILON, string), |(last, before)| (*last, before))
}

/// Adds states and arcs for the transition-ids; returns their last state, and the weight and word that remain.
fn chain(
    out: &mut Lattice,
    from: StateId,
    weight: LatticeWeight,
    word: i32,
    string: &[i32],
) -> (StateId, LatticeWeight, i32) {
    string.iter().fold((from, weight, word), |(from, weight, word), &id| {
        let next = out.add_state();
        out.state_mut(from).arcs.push(Arc { ilabel: id, olabel: word, weight, next });
        (next, LatticeWeight::ONE, EPSILON)
    })
}

/// Merges chains of arcs: removes each state with one arc in and one out, without a word, that is neither start nor
/// final. The result is topologically sorted, unless it is cyclic. The result is topologically sorted, unless it is
/// cyclic.
pub fn compact(lattice: &Lattice) -> CompactLattice {
    let Some(start) = lattice.start else { return CompactLattice::default() };
    let kept = kept_states(lattice, start);
    let mut numbers: Vec<Option<StateId>> = vec![None; lattice.states.len()];
    numbers[start as usize] = Some(0);
    let mut out = CompactLattice { start: Some(0), states: vec![State::default()] };
    let mut waiting = vec![start];
    while let Some(s) = waiting.pop() {
        let mut arcs = Vec::with_capacity(lattice.state(s).arcs.len());
        for arc in &lattice.state(s).arcs {
            let (mut weight, mut next) = (arc.weight, arc.next);
            let mut string: Vec<i32> = Vec::new();
            string.extend(Some(arc.ilabel).filter(|&id| id != EPSILON));
            while !kept[next as usize] {
                let on = &lattice.state(next).arcs[0];
                weight = weight.times(&on.weight);
                string.extend(Some(on.ilabel).filter(|&id| id != EPSILON));
                next = on.next;
            }
            let number = *numbers[next as usize].get_or_insert_with(|| {
                waiting.push(next);
                out.add_state()
            });
            arcs.push(Arc::new(arc.olabel, CompactLatticeWeight::new(weight, string), number));
        }
        let number = numbers[s as usize].expect("states that wait have a number");
        let final_weight = CompactLatticeWeight::new(lattice.state(s).final_weight, Vec::new());
        *out.state_mut(number) = State { final_weight, arcs };
    }
    // A cyclic lattice is not sorted; functions that need an order return an error.
    top_sort(&mut out);
    out
}

/// States that do not merely join two arcs.
fn kept_states(lattice: &Lattice, start: StateId) -> Vec<bool> {
    let mut incoming = vec![0u32; lattice.states.len()];
    for arc in lattice.states.iter().flat_map(|state| &state.arcs) {
        incoming[arc.next as usize] += 1;
    }
    let joins = |s: StateId, state: &State<LatticeWeight>| {
        let one_on = state.arcs.len() == 1 && state.arcs[0].olabel == EPSILON;
        s != start && one_on && incoming[s as usize] == 1 && !state.is_final()
    };
    lattice.numbered().map(|(s, state)| !joins(s, state)).collect()
}

/// A lattice with one path: an arc for each transition-id, words on the first arcs.
pub fn linear(ids: &[i32], words: &[i32], weight: LatticeWeight) -> Lattice {
    let mut out = Lattice::default();
    let mut last = out.add_state();
    out.start = Some(last);
    for i in 0..ids.len().max(words.len()) {
        let label = |labels: &[i32]| labels.get(i).copied().unwrap_or(EPSILON);
        let next = out.add_state();
        let (ilabel, olabel) = (label(ids), label(words));
        out.state_mut(last).arcs.push(Arc { ilabel, olabel, weight: LatticeWeight::ONE, next });
        last = next;
    }
    out.state_mut(last).final_weight = weight;
    out
}
