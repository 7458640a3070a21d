//! The states of a grammar, expanded when a search reaches them (`GrammarFstTpl` in `decoder/grammar-fst.h`). A nonterminal
//! is a visit to its graph, which returns to the state after the nonterminal.

use std::collections::hash_map::Entry;

use kaldi_fst::state_table::{Expanded, LastInFirstOut, try_unfold};
use kaldi_fst::{Arc, EPSILON, Fst, State, StateId};
use rustc_hash::FxHashMap;

use super::{FIRST_LABEL, GrammarFst, Nonterminals, SPECIAL_COST};
use crate::error::{Error, Result};

/// A nonterminal that begins with itself at no cost would nest for ever.
const DEEPEST: u32 = 20_000;

/// For each phone, or `#nonterm_bos`, the position of the arc that comes to a state behind this phone.
#[derive(Debug, Clone, Default)]
pub(super) struct PhoneArcs(FxHashMap<i32, usize>);

impl PhoneArcs {
    /// The arcs by which the graph of a nonterminal is entered. An empty graph has none.
    pub(super) fn of_start(fst: &Fst, nonterminals: Nonterminals) -> Result<PhoneArcs> {
        let Some(start) = fst.start else { return Ok(PhoneArcs::default()) };
        PhoneArcs::of(fst.state(start), nonterminals, nonterminals.begin()).map_err(|problem| {
            Error::mismatch(match problem {
                None => "There is something wrong with the graph; did you forget to add #nonterm_begin and #nonterm_end to \
                         the non-top-level FSTs before compiling?"
                    .to_owned(),
                Some(problem) => format!("the start of the graph of a nonterminal: {problem}"),
            })
        })
    }

    /// The arcs by which the graph is entered again behind a nonterminal.
    fn of_return(fst: &Fst, state: StateId, nonterminals: Nonterminals) -> Result<PhoneArcs> {
        PhoneArcs::of(fst.state(state), nonterminals, nonterminals.reenter()).map_err(|problem| {
            let problem = problem.unwrap_or_else(|| "an arc has no nonterminal".to_owned());
            Error::mismatch(format!(
                "There is something wrong with the graph; re-entry state {state} is not as anticipated: {problem}"
            ))
        })
    }

    /// The problem is `None` if an arc has no nonterminal at all.
    fn of(
        state: &State,
        nonterminals: Nonterminals,
        expected: i32,
    ) -> std::result::Result<PhoneArcs, Option<String>> {
        let mut arcs = FxHashMap::default();
        for (i, arc) in state.arcs.iter().enumerate() {
            if arc.ilabel <= FIRST_LABEL {
                return Err(None);
            }
            let Some((nonterminal, phone)) = nonterminals.meaning(arc.ilabel) else {
                return Err(Some(invalid(arc.ilabel)));
            };
            if nonterminal != expected {
                return Err(Some(format!(
                    "Expected arcs from this state to have nonterminal-symbol {expected}, but got {nonterminal}"
                )));
            }
            if arcs.insert(phone, i).is_some() {
                return Err(Some(format!("Two arcs had the same left-context phone {phone}.")));
            }
        }
        Ok(PhoneArcs(arcs))
    }

    /// Joins an arc that leaves a graph with the one that comes to `state` behind `phone`. `None` if there is none.
    fn join(&self, leaving: &Arc, phone: i32, state: &State) -> Option<Arc> {
        let arriving = state.arcs.get(*self.0.get(&phone)?)?;
        // The lexicon has one arc for each possible phone, and these share the probability; only one is possible here.
        let correction = -(self.0.len() as f32).ln();
        let weight = correction + leaving.weight + arriving.weight;
        Some(Arc { ilabel: EPSILON, weight, ..*arriving })
    }
}

fn invalid(label: i32) -> String {
    format!("Decoding invalid label {label}: invalid --nonterm-phones-offset?")
}

/// A state of a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrammarState {
    /// The visit, of which it is a state.
    visit: u32,
    state: StateId,
}

/// An arc of a grammar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrammarArc {
    pub ilabel: i32,
    pub olabel: i32,
    pub weight: f32,
    pub next: GrammarState,
}

/// A visit to a graph.
#[derive(Debug, Clone)]
struct Visit {
    /// The position of the graph's nonterminal; `None` for the graph that is entered first.
    part: Option<usize>,
    /// The state to return to.
    back: Option<GrammarState>,
    depth: u32,
    /// The visits from here: by nonterminal, and the state that they return to.
    children: FxHashMap<(i32, StateId), u32>,
}

/// The visits of one user of a grammar. All methods get that grammar, so that its owner can be the same as theirs.
#[derive(Debug)]
pub struct Expansion {
    part_of: FxHashMap<i32, usize>,
    visits: Vec<Visit>,
    /// The arcs by which each part is entered, as far as they were needed.
    entries: Vec<Option<PhoneArcs>>,
    /// The arcs by which a graph is entered again at a state, as far as they were needed.
    returns: FxHashMap<(Option<usize>, StateId), PhoneArcs>,
}

impl Expansion {
    pub fn new(grammar: &GrammarFst) -> Expansion {
        let part_of = grammar.parts.iter().enumerate().map(|(part, &(nonterminal, _))| (nonterminal, part));
        Expansion {
            part_of: part_of.collect(),
            visits: vec![Visit { part: None, back: None, depth: 0, children: FxHashMap::default() }],
            entries: vec![None; grammar.parts.len()],
            returns: FxHashMap::default(),
        }
    }

    pub fn start(&self, grammar: &GrammarFst) -> Option<GrammarState> {
        Some(GrammarState { visit: 0, state: grammar.top.start? })
    }

    /// The cost of ending; infinite if the state is not final.
    pub fn final_cost(&self, grammar: &GrammarFst, GrammarState { visit, state }: GrammarState) -> f32 {
        let cost = grammar.top.states.get(state as usize).map_or(f32::INFINITY, |state| state.final_weight);
        if visit != 0 || cost == SPECIAL_COST { f32::INFINITY } else { cost }
    }

    /// True if the arcs of a state leave to other graphs.
    fn leaves(&self, grammar: &GrammarFst, GrammarState { visit, state }: GrammarState) -> bool {
        grammar.graph(self.visits[visit as usize].part).state(state).final_weight == SPECIAL_COST
    }

    /// Adds the arcs of a state to `out`. An error if the graphs do not fit together there.
    pub fn arcs(
        &mut self,
        grammar: &GrammarFst,
        from: GrammarState,
        out: &mut Vec<GrammarArc>,
    ) -> Result<()> {
        let GrammarState { visit, state } = from;
        let part = self.visits[visit as usize].part;
        let graph = grammar.graph(part);
        if !self.leaves(grammar, from) {
            out.extend(graph.state(state).arcs.iter().map(|arc| located(arc, visit)));
            return Ok(());
        }
        for arc in &graph.state(state).arcs {
            let (nonterminal, phone) = grammar
                .nonterminals
                .meaning(arc.ilabel)
                .ok_or_else(|| Error::mismatch(invalid(arc.ilabel)))?;
            if arc.olabel != EPSILON {
                return Err(Error::mismatch(format!(
                    "state {state} of a grammar's graph leaves it with a word (was it prepared by make-grammar-fst?)"
                )));
            }
            if nonterminal == grammar.nonterminals.end() {
                out.push(self.leave(grammar, visit, arc, phone)?);
            } else if nonterminal >= grammar.nonterminals.first_user_defined() {
                out.extend(self.enter(grammar, visit, arc, nonterminal, phone)?);
            } else {
                return Err(Error::mismatch(format!(
                    "Encountered unexpected type of nonterminal {nonterminal} while expanding state."
                )));
            }
        }
        Ok(())
    }

    /// The arc that ends a visit.
    fn leave(&self, grammar: &GrammarFst, visit: u32, arc: &Arc, phone: i32) -> Result<GrammarArc> {
        let visit = &self.visits[visit as usize];
        let back = visit
            .back
            .ok_or_else(|| Error::mismatch("Did not expect #nonterm_end symbol in FST-instance 0."))?;
        let part = self.visits[back.visit as usize].part;
        let joined = self
            .returns
            .get(&(part, back.state))
            .and_then(|returns| returns.join(arc, phone, grammar.graph(part).state(back.state)));
        joined.map(|arc| located(&arc, back.visit)).ok_or_else(|| {
            let nonterminal = visit.part.map_or(0, |part| grammar.parts[part].0);
            Error::mismatch(format!(
                "the FST of nonterminal {nonterminal} ends with left-context-phone {phone} but parent FST does not support \
                 that left-context at the return point."
            ))
        })
    }

    /// The arc that begins a visit. An empty graph has none.
    fn enter(
        &mut self,
        grammar: &GrammarFst,
        visit: u32,
        arc: &Arc,
        nonterminal: i32,
        phone: i32,
    ) -> Result<Option<GrammarArc>> {
        let (child, part) = self.child(grammar, visit, nonterminal, arc.next)?;
        let graph = grammar.graph(Some(part));
        let Some(start) = graph.start else { return Ok(None) };
        let entries = match &mut self.entries[part] {
            Some(entries) => entries,
            unknown => unknown.insert(PhoneArcs::of_start(graph, grammar.nonterminals)?),
        };
        let joined = entries.join(arc, phone, graph.state(start)).ok_or_else(|| {
            Error::mismatch(format!(
                "FST for nonterminal {nonterminal} does not have an entry point for left-context-phone {phone}"
            ))
        })?;
        Ok(Some(located(&joined, child)))
    }

    /// The visit to a nonterminal's graph that returns to `state`, and the position of the nonterminal.
    fn child(
        &mut self,
        grammar: &GrammarFst,
        visit: u32,
        nonterminal: i32,
        state: StateId,
    ) -> Result<(u32, usize)> {
        let part = *self.part_of.get(&nonterminal).ok_or_else(|| {
            Error::mismatch(format!("Nonterminal {nonterminal} was requested, but there is no FST for it."))
        })?;
        let parent = &self.visits[visit as usize];
        if let Some(&child) = parent.children.get(&(nonterminal, state)) {
            return Ok((child, part));
        }
        let (own_part, depth) = (parent.part, parent.depth + 1);
        if depth > DEEPEST {
            return Err(Error::mismatch(format!(
                "nonterminal {nonterminal} is entered {DEEPEST} levels deep; does a nonterminal begin with itself?"
            )));
        }
        if let Entry::Vacant(unknown) = self.returns.entry((own_part, state)) {
            unknown.insert(PhoneArcs::of_return(grammar.graph(own_part), state, grammar.nonterminals)?);
        }
        let child = self.visits.len() as u32;
        let back = Some(GrammarState { visit, state });
        self.visits.push(Visit { part: Some(part), back, depth, children: FxHashMap::default() });
        self.visits[visit as usize].children.insert((nonterminal, state), child);
        Ok((child, part))
    }

    /// Forgets all visits that no state in `kept` is in or returns to, and changes the states accordingly.
    pub fn forget_others(&mut self, kept: &mut [GrammarState]) {
        let mut numbers: Vec<Option<u32>> = vec![None; self.visits.len()];
        numbers[0] = Some(0);
        for state in kept.iter() {
            let mut visit = state.visit;
            while numbers[visit as usize].is_none() {
                numbers[visit as usize] = Some(0);
                visit = self.visits[visit as usize].back.map_or(0, |back| back.visit);
            }
        }
        (0..).zip(numbers.iter_mut().flatten()).for_each(|(new, number)| *number = new);
        let renumber = |visit: u32| numbers[visit as usize];
        for (old, mut visit) in std::mem::take(&mut self.visits).into_iter().enumerate() {
            if numbers[old].is_none() {
                continue;
            }
            visit.children =
                visit.children.into_iter().filter_map(|(key, child)| Some((key, renumber(child)?))).collect();
            // A visit comes after the one that it returns to, so this one has a number.
            visit.back =
                visit.back.and_then(|back| Some(GrammarState { visit: renumber(back.visit)?, ..back }));
            self.visits.push(visit);
        }
        for state in kept {
            state.visit = renumber(state.visit).unwrap_or_default();
        }
    }

    /// True if a nonterminal is visited inside of a visit to itself.
    fn is_recursive(&self, visit: u32) -> bool {
        let part = self.visits[visit as usize].part;
        let mut back = self.visits[visit as usize].back;
        while let Some(state) = back {
            let above = &self.visits[state.visit as usize];
            if above.part == part {
                return true;
            }
            back = above.back;
        }
        false
    }
}

fn located(arc: &Arc, visit: u32) -> GrammarArc {
    let Arc { ilabel, olabel, weight, next: state } = *arc;
    GrammarArc { ilabel, olabel, weight, next: GrammarState { visit, state } }
}

impl GrammarFst {
    /// Returns the graph of a nonterminal at this position, or the graph that is entered first.
    fn graph(&self, part: Option<usize>) -> &Fst {
        part.map_or(&self.top, |part| &self.parts[part].1)
    }

    /// Puts a graph in the place of each reference to it (`CopyToVectorFst`). States are numbered as they are found; the last one
    /// found is gone through next. An error if a nonterminal refers to itself: then there is no finite graph.
    pub fn expanded(&self) -> Result<Fst> {
        let mut expansion = Expansion::new(self);
        let Some(start) = expansion.start(self) else { return Ok(Fst::default()) };
        let mut arcs = Vec::new();
        try_unfold(start, |from, out: &mut Expanded<_, f32, LastInFirstOut>| {
            arcs.clear();
            expansion.arcs(self, from, &mut arcs)?;
            for GrammarArc { ilabel, olabel, weight, next } in arcs.drain(..) {
                let known = out.num_states();
                out.add((ilabel, olabel), weight, next);
                if out.num_states() > known && expansion.is_recursive(next.visit) {
                    return Err(Error::mismatch(
                        "a nonterminal refers to itself, so there is no finite graph; write the grammar as it is",
                    ));
                }
            }
            Ok(expansion.final_cost(self, from))
        })
    }
}
