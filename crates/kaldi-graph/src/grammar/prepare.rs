//! Preparing graphs for a grammar (`PrepareForGrammarFst` in `decoder/grammar-fst.cc`). Afterwards, all arcs of a state that
//! leave to other graphs lead to the same place and write no word. Such a state is marked.

use std::collections::{BTreeMap, BTreeSet};

use kaldi_fst::{Arc, EPSILON, Fst, StateId};
use rustc_hash::FxHashMap;

use super::{FIRST_LABEL, Nonterminals, SPECIAL_COST};
use crate::error::{Error, Result};

/// Counts of a preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prepared {
    pub new_states: usize,
    /// States that had the mark before.
    pub marked_before: usize,
}

/// Prepares a graph for a grammar. Numbers of new states, and the order of arcs, are those of the reference. An error if
/// nonterminals are in places where they make no sense.
pub fn prepare_for_grammar(fst: &mut Fst, nonterminals: Nonterminals) -> Result<Prepared> {
    if fst.start.is_none() {
        return Err(Error::mismatch("FST has no states."));
    }
    let states_before = fst.states.len();
    let mut preparer = Preparer { nonterminals, fst, simple_final_state: None };
    let mut marked_before = 0;
    let mut state = 0;
    while state < preparer.fst.states.len() {
        let s = state as StateId;
        marked_before += usize::from(preparer.fst.state(s).final_weight == SPECIAL_COST);
        if preparer.fst.state(s).arcs.iter().any(|arc| arc.ilabel >= FIRST_LABEL) {
            preparer.prepare(s)?;
        }
        state += 1;
    }
    Ok(Prepared { new_states: fst.states.len() - states_before, marked_before })
}

/// Arcs of one category may leave a state together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Category {
    /// 0 for arcs within the graph.
    nonterminal: i32,
    /// The state to return to, for symbols that users have defined.
    next: Option<StateId>,
    /// The word of arcs that leave to other graphs.
    olabel: i32,
}

impl Category {
    const ORDINARY: Category = Category { nonterminal: 0, next: None, olabel: EPSILON };
}

struct Preparer<'f> {
    nonterminals: Nonterminals,
    fst: &'f mut Fst,
    /// The final state, at no cost, that is shared by arcs whose final cost was moved.
    simple_final_state: Option<StateId>,
}

impl Preparer<'_> {
    fn nonterminal(&self, label: i32) -> Result<i32> {
        if label < FIRST_LABEL {
            return Ok(0);
        }
        self.nonterminals.meaning(label).map(|(nonterminal, _)| nonterminal).ok_or_else(|| {
            Error::mismatch(format!(
                "Problem decoding nonterminal symbol (wrong --nonterm-phones-offset option?), ilabel={label}"
            ))
        })
    }

    fn category(&self, arc: &Arc) -> Result<Category> {
        let nonterminal = self.nonterminal(arc.ilabel)?;
        Ok(if nonterminal >= self.nonterminals.first_user_defined() {
            Category { nonterminal, next: Some(arc.next), olabel: arc.olabel }
        } else {
            let is_end = nonterminal == self.nonterminals.end();
            Category { nonterminal, next: None, olabel: if is_end { arc.olabel } else { EPSILON } }
        })
    }

    /// Prepares a state that has an arc with a nonterminal.
    fn prepare(&mut self, s: StateId) -> Result<()> {
        let mut categories = BTreeSet::new();
        if self.fst.state(s).is_final() {
            categories.insert(Category::ORDINARY);
        }
        for arc in &self.fst.state(s).arcs {
            let category = self.category(arc)?;
            self.check(s, arc, category.nonterminal)?;
            categories.insert(category);
        }
        let enters = |category: &Category| {
            [self.nonterminals.begin(), self.nonterminals.reenter()].contains(&category.nonterminal)
        };
        if categories.len() > 1 && categories.iter().any(enters) {
            return Err(Error::mismatch(format!(
                "state {s}: We do not expect states with arcs of type #nonterm_begin or #nonterm_reenter coming out of them, to \
                 also have other types of arc."
            )));
        }
        if categories.len() > 1 || categories.iter().any(|category| category.olabel != EPSILON) {
            return self.split(s);
        }
        self.move_final_costs(s)?;
        let only = categories.first().copied().unwrap_or(Category::ORDINARY).nonterminal;
        if only == self.nonterminals.end() || only >= self.nonterminals.first_user_defined() {
            self.fst.state_mut(s).final_weight = SPECIAL_COST;
        }
        if self.fst.start == Some(s) && only == self.nonterminals.begin() {
            self.make_inputs_unique(s);
        }
        Ok(())
    }

    /// Checks that the nonterminal of an arc may be where it is.
    fn check(&self, s: StateId, arc: &Arc, nonterminal: i32) -> Result<()> {
        let next = self.fst.state(arc.next);
        if nonterminal >= self.nonterminals.first_user_defined() {
            let after = next.arcs.first().map(|arc| self.nonterminal(arc.ilabel)).transpose()?;
            if after != Some(self.nonterminals.reenter()) {
                return Err(Error::mismatch(format!(
                    "state {s}: Expected arcs with user-defined nonterminals to be followed by arcs with #nonterm_reenter."
                )));
            }
        }
        if nonterminal == self.nonterminals.begin() && self.fst.start != Some(s) {
            return Err(Error::mismatch(format!(
                "#nonterm_begin symbol is present at state {s} but this is not the first state.  Did you do \
                 fstdeterminizestar while compiling?"
            )));
        }
        if nonterminal == self.nonterminals.end() && !(next.arcs.is_empty() && next.is_final()) {
            return Err(Error::mismatch(format!("state {s}: Arc with #nonterm_end is not the final arc.")));
        }
        Ok(())
    }

    /// Gives each category of nonterminals a state of its own, behind an arc without input.
    fn split(&mut self, s: StateId) -> Result<()> {
        let arcs = std::mem::take(&mut self.fst.state_mut(s).arcs);
        let mut new_states: BTreeMap<Category, (StateId, f32)> = BTreeMap::new();
        for arc in &arcs {
            let category = self.category(arc)?;
            if category.nonterminal == 0 {
                continue;
            }
            match new_states.get_mut(&category) {
                Some((_, cost)) => *cost = add_costs(*cost, arc.weight),
                None => {
                    new_states.insert(category, (self.fst.add_state(), arc.weight));
                }
            }
        }
        let entry = |(category, &(next, weight)): (&Category, &(StateId, f32))| Arc {
            ilabel: EPSILON,
            olabel: category.olabel,
            weight,
            next,
        };
        let mut stay: Vec<Arc> = new_states.iter().map(entry).collect();
        for arc in arcs {
            let category = self.category(&arc)?;
            match new_states.get(&category) {
                None => stay.push(arc),
                Some(&(new_state, cost)) => {
                    let olabel = if arc.olabel == category.olabel { EPSILON } else { arc.olabel };
                    let moved = Arc { olabel, weight: arc.weight - cost, ..arc };
                    self.fst.state_mut(new_state).arcs.push(moved);
                }
            }
        }
        self.fst.state_mut(s).arcs = stay;
        Ok(())
    }

    /// Moves costs of ending behind `#nonterm_end` onto its arcs.
    fn move_final_costs(&mut self, s: StateId) -> Result<()> {
        for i in 0..self.fst.state(s).arcs.len() {
            let arc = self.fst.state(s).arcs[i];
            let ending = self.fst.state(arc.next).final_weight;
            if self.nonterminal(arc.ilabel)? != self.nonterminals.end() || ending == 0.0 {
                continue;
            }
            let end = *self.simple_final_state.get_or_insert_with(|| {
                let end = self.fst.add_state();
                self.fst.state_mut(end).final_weight = 0.0;
                end
            });
            self.fst.state_mut(s).arcs[i] = Arc { weight: arc.weight + ending, next: end, ..arc };
        }
        Ok(())
    }

    /// Joins arcs of a state that have the same input: one arc leads to a new state, from which all go on.
    fn make_inputs_unique(&mut self, s: StateId) {
        struct Group {
            count: usize,
            cost: f32,
            state: Option<StateId>,
        }
        let mut groups: FxHashMap<i32, Group> = FxHashMap::default();
        for arc in &self.fst.state(s).arcs {
            groups
                .entry(arc.ilabel)
                .and_modify(|group| {
                    group.count += 1;
                    group.cost = add_costs(group.cost, arc.weight);
                })
                .or_insert(Group { count: 1, cost: arc.weight, state: None });
        }
        let mut arcs = Vec::new();
        for arc in std::mem::take(&mut self.fst.state_mut(s).arcs) {
            let Some(group) = groups.get_mut(&arc.ilabel).filter(|group| group.count > 1) else {
                arcs.push(arc);
                continue;
            };
            let state = *group.state.get_or_insert_with(|| {
                let next = self.fst.add_state();
                arcs.push(Arc { ilabel: arc.ilabel, olabel: EPSILON, weight: group.cost, next });
                next
            });
            let weight = arc.weight - group.cost;
            self.fst.state_mut(state).arcs.push(Arc { ilabel: EPSILON, weight, ..arc });
        }
        self.fst.state_mut(s).arcs = arcs;
    }
}

/// The cost of two alternatives whose probabilities add up, in 32 bits as in the reference.
fn add_costs(a: f32, b: f32) -> f32 {
    let (less, more) = if a <= b { (a, b) } else { (b, a) };
    if less - more >= f32::EPSILON.ln() { less - (less - more).exp().ln_1p() } else { less }
}
