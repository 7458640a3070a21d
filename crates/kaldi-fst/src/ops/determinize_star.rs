//! Determinization of transducers together with the removal of arcs without input (Kaldi's `DeterminizeStar`; Mohri,
//! "Finite-state transducers in language and speech processing", 1997, for the subsets with strings).
//!
//! A state of the result is a set of states of the input, each with its remaining output and its remaining cost. Empty
//! moves add states to a set, but they do not belong to the identity of the set.
//!
//! Sets and their algebra are those of [`crate::subsets`]. The loop differs from that of
//! [`determinize_pairs`](super::determinize_pairs): an output may need several arcs, two outputs of one input are an error,
//! the semiring is a value, and empty moves may form cycles.

mod closure;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, State, StateId};
use crate::ops::arc_sort::sort_arcs;
use crate::ops::labels::Side;
use crate::ops::semiring::Semiring;
use crate::ops::shortest_distance::check_cycles;
use crate::strings::{StringId, Strings};
use crate::subsets::{Same, Subsets, by_label, merge, take_common};
use closure::Closure;

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
            Ambiguity::Refuse => check_same(strings, first.0, second.0).map(|()| first.0),
            Ambiguity::Cheapest if second.1 < first.1 => Ok(second.0),
            Ambiguity::Cheapest => Ok(first.0),
        }
    }
}

/// Returns an error unless the two are the same: one input must not have two outputs.
fn check_same(strings: &Strings, a: StringId, b: StringId) -> Result<()> {
    if a == b {
        return Ok(());
    }
    Err(Error::NotFunctional { first: strings.to_vec(a), second: strings.to_vec(b) })
}

/// A state that the input may be in, its residual output labels and its residual cost.
type Element = crate::subsets::Element<f32>;

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
    let mut search = Search::new(&fst, options);
    search.set.push(Element { state: start, string: Strings::EMPTY, weight: 0.0 });
    search.find();
    while let Some(state) = search.waiting.pop() {
        search.expand(state)?;
        if let Some(limit) = options.most_states.filter(|&limit| search.subsets.len() > limit) {
            return Err(Error::TooManyStates { limit });
        }
    }
    Ok(search.finish())
}

struct Search<'f> {
    fst: &'f Fst,
    options: DeterminizeStar,
    strings: Strings,
    closure: Closure,
    /// The states of the result.
    subsets: Subsets<f32, Same>,
    /// States without arcs so far; the last one is next.
    waiting: Vec<StateId>,
    arcs: Vec<StringArc>,
    /// The arcs of each state of the result, as ranges.
    arc_ranges: Vec<Range<usize>>,
    /// The set that is looked for.
    set: Vec<Element>,
    closed: Vec<Element>,
    /// Elements reached by a label from the present state.
    reached: Vec<(i32, Element)>,
}

impl<'f> Search<'f> {
    fn new(fst: &'f Fst, options: DeterminizeStar) -> Search<'f> {
        Search {
            fst,
            options,
            strings: Strings::default(),
            closure: Closure::new(fst.states.len()),
            subsets: Subsets::new(Same::Near(options.delta)),
            waiting: Vec::new(),
            arcs: Vec::new(),
            arc_ranges: Vec::new(),
            set: Vec::new(),
            closed: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// The state that is the set that is looked for.
    fn find(&mut self) -> StateId {
        self.subsets.find(&self.set).unwrap_or_else(|vacant| {
            let state = self.subsets.add(&self.set, vacant);
            self.arc_ranges.push(0..0);
            self.waiting.push(state);
            state
        })
    }

    fn expand(&mut self, state: StateId) -> Result<()> {
        let set = self.subsets.get(state);
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
        let mut reached = std::mem::take(&mut self.reached);
        for (label, same_label) in by_label(&mut reached) {
            self.add_arc(label, same_label)?;
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

    /// Adds the arc of a label to the states that it leads to.
    fn add_arc(&mut self, ilabel: i32, reached: &[(i32, Element)]) -> Result<()> {
        let DeterminizeStar { semiring, ambiguity, .. } = self.options;
        merge(reached, &mut self.set, |known, other| {
            let (old, new) = ((known.string, known.weight), (other.string, other.weight));
            known.string = ambiguity.choose(&self.strings, old, new)?;
            known.weight = semiring.plus(known.weight, other.weight);
            Ok(())
        })?;
        let (string, weight) =
            take_common(&mut self.set, &mut self.strings, |&a: &f32, &b: &f32| semiring.plus(a, b));
        let next = Some(self.find());
        self.arcs.push(StringArc { ilabel, string, weight, next });
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
                labels.clear();
                self.strings.append_to(arc.string, &mut labels);
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
