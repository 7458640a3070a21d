//! Adding the HMMs' self-loops to graphs that have all other transitions (`AddSelfLoops` in `hmm/hmm-utils.cc`).

use kaldi_fst::state_table::StateTable;
use kaldi_fst::{Arc, EPSILON, Fst, StateId};
use kaldi_hmm::TransitionModel;

use crate::error::{Error, Result};
use crate::grammar::FIRST_LABEL;

/// Options for adding self-loops.
#[derive(Debug, Clone, Copy)]
pub struct SelfLoops<'a> {
    /// Input labels that are no transition-ids and may be there nevertheless.
    pub disambiguation: &'a [i32],
    /// Costs are negated logarithms of probabilities times this.
    pub scale: f32,
    /// The self-loop comes behind the transition out of its state, not before it: fewer states, faster decoding.
    pub reorder: bool,
    /// Self-loops in the graph are an error.
    pub check: bool,
}

impl Default for SelfLoops<'_> {
    fn default() -> Self {
        SelfLoops { disambiguation: &[], scale: 1.0, reorder: true, check: true }
    }
}

/// Adds the self-loops to a graph with transition-ids as inputs.
pub fn add_self_loops(fst: &mut Fst, model: &TransitionModel, options: SelfLoops) -> Result<()> {
    let Some(start) = fst.start else { return Ok(()) };
    let adder = Adder { model, options };
    adder.check_labels(fst)?;
    if options.reorder {
        adder.split_states_by_entry(fst, start);
        adder.add_behind(fst);
    } else {
        adder.split_states_by_exit(fst);
        adder.add_before(fst);
    }
    Ok(())
}

/// The self-loop class of an arc's input: the transition state, from 1, or `NO_STATE` for inputs that are no
/// transition-ids.
type Class = u32;
const NO_STATE: Class = 0;
/// The class of states without arcs.
const UNKNOWN: Class = Class::MAX;

/// The costs that belong to a transition state.
struct Costs {
    leaving: f32,
    /// The self-loop's transition-id and its cost.
    self_loop: Option<(i32, f32)>,
}

struct Adder<'a> {
    model: &'a TransitionModel,
    options: SelfLoops<'a>,
}

impl Adder<'_> {
    /// The class of a label, after the labels have been checked.
    fn class(&self, label: i32) -> Class {
        self.model.transition_id(label).map_or(NO_STATE, |id| self.model.state_index(id) as Class + 1)
    }

    /// The costs of a class. (A graph has few of the model's states, so they are not computed in advance.)
    fn costs(&self, class: Class) -> Option<Costs> {
        let state = (class as usize).checked_sub(1).filter(|&state| state < self.model.states().len())?;
        let (model, scale) = (self.model, self.options.scale);
        Some(Costs {
            leaving: -model.leaving_log_prob(state) * scale,
            self_loop: model.self_loop_of(state).map(|id| (id.get() as i32, -model.log_prob(id) * scale)),
        })
    }

    fn check_labels(&self, fst: &Fst) -> Result<()> {
        let mut allowed = self.options.disambiguation.to_vec();
        allowed.sort_unstable();
        for arc in fst.states.iter().flat_map(|state| &state.arcs) {
            match self.model.transition_id(arc.ilabel) {
                Ok(id) if self.options.check && self.model.is_self_loop(id) => {
                    return Err(Error::HasSelfLoops);
                }
                Ok(_) => {}
                Err(_) if arc.ilabel == EPSILON || arc.ilabel >= FIRST_LABEL => {}
                Err(_) if allowed.binary_search(&arc.ilabel).is_ok() => {}
                Err(_) => {
                    return Err(Error::mismatch(format!(
                        "input label {} is neither a transition-id of the model, which has 1 to {}, nor a \
                         disambiguation symbol",
                        arc.ilabel,
                        self.model.num_transition_ids()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Splits states so that all arcs into a state have one class. If a state had several, its incoming labelled arcs
    /// lead to new states, one a class, each with an empty arc to the old state.
    fn split_states_by_entry(&self, fst: &mut Fst, start: StateId) {
        let mut classes = vec![UNKNOWN; fst.states.len()];
        let mut mixed = vec![false; fst.states.len()];
        classes[start as usize] = NO_STATE;
        for arc in fst.states.iter().flat_map(|state| &state.arcs) {
            let (class, next) = (self.class(arc.ilabel), arc.next as usize);
            if classes[next] == UNKNOWN {
                classes[next] = class;
            }
            mixed[next] |= classes[next] != class;
        }
        let mut added: StateTable<(StateId, Class)> = StateTable::default();
        let first_new = fst.states.len() as StateId;
        for arc in fst.states.iter_mut().flat_map(|state| &mut state.arcs) {
            if arc.ilabel != EPSILON && mixed[arc.next as usize] {
                arc.next = first_new + added.number((arc.next, self.class(arc.ilabel)));
            }
        }
        for (destination, _) in added.into_keys() {
            let state = fst.add_state();
            fst.state_mut(state).arcs.push(Arc::new(EPSILON, 0.0, destination));
        }
    }

    fn add_behind(&self, fst: &mut Fst) {
        let mut classes = vec![NO_STATE; fst.states.len()];
        for arc in fst.states.iter().flat_map(|state| &state.arcs) {
            classes[arc.next as usize] = self.class(arc.ilabel);
        }
        for (s, state) in fst.states.iter_mut().enumerate() {
            let Some(costs) = self.costs(classes[s]) else { continue };
            state.final_weight += costs.leaving;
            state.arcs.iter_mut().for_each(|arc| arc.weight += costs.leaving);
            state.arcs.extend(self_loop(&costs, s as StateId));
        }
    }

    /// Splits states so that all arcs out of a state have one class, and final states have none. If a state had
    /// several, labelled arcs become two: an arc without labels to a new state, and one with the labels from there.
    fn split_states_by_exit(&self, fst: &mut Fst) {
        for s in 0..fst.states.len() {
            let state = &fst.states[s];
            let mut classes = state.arcs.iter().map(|arc| self.class(arc.ilabel));
            let Some(first) = classes.next() else { continue };
            let ends_with_class = first != NO_STATE && state.is_final();
            if !ends_with_class && classes.all(|class| class == first) {
                continue;
            }
            for position in 0..fst.states[s].arcs.len() {
                let arc = fst.states[s].arcs[position];
                if arc.ilabel != EPSILON {
                    let next = fst.add_state();
                    fst.state_mut(next).arcs.push(Arc { olabel: EPSILON, weight: 0.0, ..arc });
                    fst.states[s].arcs[position] = Arc { ilabel: EPSILON, next, ..arc };
                }
            }
        }
    }

    fn add_before(&self, fst: &mut Fst) {
        for (s, state) in fst.states.iter_mut().enumerate() {
            let class = state.arcs.first().map_or(NO_STATE, |arc| self.class(arc.ilabel));
            let Some(costs) = self.costs(class) else { continue };
            state.arcs.iter_mut().for_each(|arc| arc.weight += costs.leaving);
            state.arcs.extend(self_loop(&costs, s as StateId));
        }
    }
}

fn self_loop(costs: &Costs, state: StateId) -> Option<Arc> {
    costs.self_loop.map(|(id, weight)| Arc { ilabel: id, olabel: EPSILON, weight, next: state })
}
