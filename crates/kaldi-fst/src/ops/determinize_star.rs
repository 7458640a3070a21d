//! Determinization of transducers together with the removal of arcs without input (Kaldi's `DeterminizeStar`; Mohri,
//! "Finite-state transducers in language and speech processing", 1997, for the subsets with strings).
//!
//! A state of the result is a set of states of the input, each with its remaining output and its remaining cost. Empty
//! moves add states to a set, but they do not belong to the identity of the set.

mod closure;
mod strings;

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::ops::arc_sort::sort_arcs;
use crate::ops::labels::Side;
use crate::ops::semiring::{Semiring, approximately_equal};
use crate::ops::shortest_distance::check_cycles;
use closure::Closure;
use strings::{StringId, Strings};

/// Default tolerance of OpenFst and Kaldi for equal costs.
pub const DELTA: f32 = 1.0 / 1024.0;

/// Options of determinization.
#[derive(Debug, Clone, Copy)]
pub struct DeterminizeStar {
    /// Semiring that combines the costs of paths with the same labels.
    pub semiring: Semiring,
    /// Subsets with costs that differ by at most this are one.
    pub delta: f32,
    /// The largest allowed number of states. A result with more states is an error as soon as it exceeds this number.
    pub most_states: Option<usize>,
    /// Inputs that have several outputs.
    pub ambiguity: Ambiguity,
    /// The input label of the arcs that write the residual output at the end of a path.
    pub end_label: i32,
}

/// Treatment of an input that has several outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ambiguity {
    /// It is an error.
    #[default]
    Refuse,
    /// The output of the cheapest path counts.
    Cheapest,
}

impl Default for DeterminizeStar {
    fn default() -> DeterminizeStar {
        DeterminizeStar {
            semiring: Semiring::Tropical,
            delta: DELTA,
            most_states: None,
            ambiguity: Ambiguity::Refuse,
            end_label: EPSILON,
        }
    }
}

impl Ambiguity {
    /// Returns one of two outputs of the same input; the second number of each is its cost.
    fn choose(self, strings: &Strings, first: (StringId, f32), second: (StringId, f32)) -> Result<StringId> {
        match self {
            Ambiguity::Refuse => strings.check_same(first.0, second.0).map(|()| first.0),
            Ambiguity::Cheapest if second.1 < first.1 => Ok(second.0),
            Ambiguity::Cheapest => Ok(first.0),
        }
    }
}

/// A state that the input may be in.
#[derive(Debug, Clone, Copy)]
struct Element {
    state: StateId,
    /// Residual output labels.
    string: StringId,
    /// Residual cost.
    weight: f32,
}

/// An arc of the result that writes a string.
struct StringArc {
    ilabel: i32,
    string: StringId,
    weight: f32,
    /// `None` at the end of a path.
    next: Option<StateId>,
}

/// Returns the FST with at most one arc of each input label from each state. Arcs with an empty input follow only if
/// several labels are written at once. Arcs are in the order of input labels.
///
/// It is an error if one input has two outputs, unless `ambiguity` allows that (only for FSTs without empty inputs). It
/// is an error too if arcs without input form a cycle of negative cost. If the FST has no deterministic equivalent, the
/// algorithm stops only at the limit on the number of states.
pub fn determinize_star(mut fst: Fst, options: DeterminizeStar) -> Result<Fst> {
    sort_arcs(&mut fst, Side::Input);
    let Some(start) = fst.start else { return Ok(Fst::default()) };
    check_cycles(&fst, options.delta, |arc| arc.ilabel == EPSILON)?;
    let mut subsets = Subsets::new(&fst, options);
    subsets.scratch.push(Element { state: start, string: Strings::EMPTY, weight: 0.0 });
    subsets.find();
    while let Some(state) = subsets.waiting.pop() {
        subsets.expand(state)?;
        if let Some(limit) = options.most_states.filter(|&limit| subsets.ranges.len() > limit) {
            return Err(Error::TooManyStates { limit });
        }
    }
    Ok(subsets.finish())
}

struct Subsets<'f> {
    fst: &'f Fst,
    options: DeterminizeStar,
    strings: Strings,
    closure: Closure,
    /// The elements of all sets, one set after the other.
    elements: Vec<Element>,
    /// The range of each result state's set.
    ranges: Vec<Range<usize>>,
    /// For each hash of states and strings, the state that was found last.
    last_found: FxHashMap<u64, StateId>,
    /// For each state of the result, the state with the same hash that was found before it.
    found_before: Vec<Option<StateId>>,
    /// States without arcs so far; the last one is next.
    waiting: Vec<StateId>,
    arcs: Vec<StringArc>,
    /// The arcs of each state of the result, as ranges.
    arc_ranges: Vec<Range<usize>>,
    /// The set that is looked for.
    scratch: Vec<Element>,
    closed: Vec<Element>,
    /// Elements reached by a label from the present state.
    reached: Vec<(i32, Element)>,
}

impl<'f> Subsets<'f> {
    fn new(fst: &'f Fst, options: DeterminizeStar) -> Subsets<'f> {
        Subsets {
            fst,
            options,
            strings: Strings::default(),
            closure: Closure::new(fst.states.len()),
            elements: Vec::new(),
            ranges: Vec::new(),
            last_found: FxHashMap::default(),
            found_before: Vec::new(),
            waiting: Vec::new(),
            arcs: Vec::new(),
            arc_ranges: Vec::new(),
            scratch: Vec::new(),
            closed: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// The state that is the set in `scratch`.
    fn find(&mut self) -> StateId {
        let mut hasher = FxHasher::default();
        self.scratch.iter().for_each(|element| (element.state, element.string).hash(&mut hasher));
        let hash = hasher.finish();
        let mut candidate = self.last_found.get(&hash).copied();
        while let Some(state) = candidate {
            if self.is_same(&self.elements[self.ranges[state as usize].clone()]) {
                return state;
            }
            candidate = self.found_before[state as usize];
        }
        let state = self.ranges.len() as StateId;
        self.found_before.push(self.last_found.insert(hash, state));
        let begin = self.elements.len();
        self.elements.extend_from_slice(&self.scratch);
        self.ranges.push(begin..self.elements.len());
        self.arc_ranges.push(0..0);
        self.waiting.push(state);
        state
    }

    fn is_same(&self, set: &[Element]) -> bool {
        set.len() == self.scratch.len()
            && set.iter().zip(&self.scratch).all(|(a, b)| {
                a.state == b.state
                    && a.string == b.string
                    && approximately_equal(a.weight, b.weight, self.options.delta)
            })
    }

    fn expand(&mut self, state: StateId) -> Result<()> {
        let set = &self.elements[self.ranges[state as usize].clone()];
        self.closure.of(self.fst, self.options, &mut self.strings, set, &mut self.closed)?;
        let begin = self.arcs.len();
        self.add_end()?;
        self.reached.clear();
        for element in &self.closed {
            for arc in self.fst.state(element.state).arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
                let string = self.strings.append(element.string, arc.olabel);
                let weight = element.weight + arc.weight;
                self.reached.push((arc.ilabel, Element { state: arc.next, string, weight }));
            }
        }
        self.reached.sort_by_key(|(label, element)| (*label, element.state));
        let reached = std::mem::take(&mut self.reached);
        for same_label in reached.chunk_by(|a, b| a.0 == b.0) {
            self.add_arc(same_label)?;
        }
        self.reached = reached;
        self.arc_ranges[state as usize] = begin..self.arcs.len();
        Ok(())
    }

    /// Adds the final cost and the residual output.
    fn add_end(&mut self) -> Result<()> {
        let mut end: Option<(StringId, f32)> = None;
        for element in &self.closed {
            let state = self.fst.state(element.state);
            if !state.is_final() {
                continue;
            }
            let weight = element.weight + state.final_weight;
            end = Some(match end {
                None => (element.string, weight),
                Some((string, other)) => {
                    let string = self.options.ambiguity.choose(
                        &self.strings,
                        (string, other),
                        (element.string, weight),
                    )?;
                    (string, self.options.semiring.plus(other, weight))
                }
            });
        }
        self.arcs.extend(end.map(|(string, weight)| StringArc {
            ilabel: self.options.end_label,
            string,
            weight,
            next: None,
        }));
        Ok(())
    }

    /// `reached` is sorted by state.
    fn add_arc(&mut self, reached: &[(i32, Element)]) -> Result<()> {
        let DeterminizeStar { semiring, ambiguity, .. } = self.options;
        self.scratch.clear();
        for (_, element) in reached {
            match self.scratch.last_mut() {
                Some(same) if same.state == element.state => {
                    let (old, new) = ((same.string, same.weight), (element.string, element.weight));
                    same.string = ambiguity.choose(&self.strings, old, new)?;
                    same.weight = semiring.plus(same.weight, element.weight);
                }
                _ => self.scratch.push(*element),
            }
        }
        let strings = self.scratch.iter().map(|element| element.string);
        let string = strings.reduce(|a, b| self.strings.common_prefix(a, b)).unwrap_or(Strings::EMPTY);
        let weights = self.scratch.iter().map(|element| element.weight);
        let weight = weights.reduce(|a, b| semiring.plus(a, b)).unwrap_or(f32::INFINITY);
        for element in &mut self.scratch {
            element.weight -= weight;
            element.string = self.strings.without_prefix(element.string, string);
        }
        let next = Some(self.find());
        self.arcs.push(StringArc { ilabel: reached[0].0, string, weight, next });
        Ok(())
    }

    /// The result; arcs that write several labels become chains through states that are added behind the others.
    fn finish(self) -> Fst {
        let end_label = self.options.end_label;
        let mut out = Fst { start: Some(0), ..Fst::default() };
        out.states = self
            .arc_ranges
            .iter()
            .map(|range| State { arcs: Vec::with_capacity(range.len()), ..State::default() })
            .collect();
        let mut labels = Vec::new();
        for (s, range) in self.arc_ranges.into_iter().enumerate() {
            for arc in &self.arcs[range] {
                self.strings.labels(arc.string, &mut labels);
                let (mut from, mut ilabel, mut weight) = (s as StateId, arc.ilabel, arc.weight);
                // Of a string that leads to a state, the last label belongs on the arc to that state.
                let through = if arc.next.is_some() { labels.len().saturating_sub(1) } else { labels.len() };
                for &olabel in &labels[..through] {
                    let next = out.add_state();
                    out.state_mut(from).arcs.push(Arc { ilabel, olabel, weight, next });
                    let further = if arc.next.is_some() { EPSILON } else { end_label };
                    (from, ilabel, weight) = (next, further, 0.0);
                }
                let state = out.state_mut(from);
                match arc.next {
                    None => state.final_weight = weight,
                    Some(next) => {
                        let olabel = labels.get(through).copied().unwrap_or(EPSILON);
                        state.arcs.push(Arc { ilabel, olabel, weight, next });
                    }
                }
            }
        }
        out
    }
}
