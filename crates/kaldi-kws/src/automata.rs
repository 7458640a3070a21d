//! Acceptors over pairs of labels: determinization and minimization. The FSTs have weights that are not numbers.

use std::collections::BTreeMap;

use kaldi_fst::ops::topological_order;
use kaldi_fst::{Arc, EPSILON, Fst, State, StateId, Weight};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

use crate::error::Result;
use crate::weight::{Divisible, HitWeight};

/// Weights that are equal but for this are one.
pub const DELTA: f32 = 1.0 / 1024.0;

/// An acceptor whose labels are pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Automaton<W> {
    pub start: StateId,
    pub states: Vec<Node<W>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Node<W> {
    /// The weight of ending here.
    pub ending: W,
    pub arcs: Vec<Edge<W>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge<W> {
    pub label: Label,
    pub weight: W,
    pub next: StateId,
}

/// A word and its cluster, or what marks the end of a factor and the utterance.
pub type Label = (i32, i32);

/// Arcs without either label may be passed without consuming one, or count like others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    Passed,
    Counts,
}

/// The result of a determinization.
#[derive(Debug, Clone, PartialEq)]
pub struct Determinized<W> {
    pub automaton: Automaton<W>,
    /// False if states were left without arcs, since there were too many.
    pub complete: bool,
}

impl<W: Divisible> Node<W> {
    pub fn new() -> Node<W> {
        Node { ending: W::none(), arcs: Vec::new() }
    }
}

impl<W: Divisible> Default for Node<W> {
    fn default() -> Node<W> {
        Node::new()
    }
}

/// States of the input with the weights that are left over.
type Subset<W> = Vec<(StateId, W)>;

/// Returns an acceptor with at most one arc of each label from a state. Arcs that are passed lead to larger numbers of states. If
/// there are more than `most_states`, the states that are left have no arcs.
pub fn determinize<W: Divisible>(
    input: &Automaton<W>,
    empty: Empty,
    most_states: Option<usize>,
) -> Determinized<W> {
    let mut out = Automaton { start: 0, states: Vec::new() };
    let mut subsets: Vec<Subset<W>> = Vec::new();
    let mut by_hash: FxHashMap<u64, Vec<StateId>> = FxHashMap::default();
    let mut find =
        |subset: Subset<W>, out: &mut Automaton<W>, subsets: &mut Vec<Subset<W>>| -> (StateId, bool) {
            let mut hasher = FxHasher::default();
            subset.iter().for_each(|(state, _)| state.hash(&mut hasher));
            let candidates = by_hash.entry(hasher.finish()).or_default();
            let is_same = |known: &Subset<W>| {
                known.len() == subset.len()
                    && known.iter().zip(&subset).all(|(a, b)| a.0 == b.0 && a.1.is_near(&b.1, DELTA))
            };
            if let Some(&known) = candidates.iter().find(|&&id| is_same(&subsets[id as usize])) {
                return (known, false);
            }
            let id = subsets.len() as StateId;
            candidates.push(id);
            subsets.push(subset);
            out.states.push(Node::new());
            (id, true)
        };
    // The start has no weight left over, whatever that is in this semiring.
    let mut waiting: Vec<StateId> = Vec::new();
    let mut complete = true;
    let mut closed = vec![(input.start, None)];
    close(input, empty, &mut closed);
    let mut first = Some(closed);
    let (start, _) = find(Vec::new(), &mut out, &mut subsets);
    waiting.push(start);
    while let Some(state) = waiting.pop() {
        let closed: Vec<(StateId, Option<W>)> = first.take().unwrap_or_else(|| {
            let mut closed = subsets[state as usize].iter().map(|&(s, weight)| (s, Some(weight))).collect();
            close(input, empty, &mut closed);
            closed
        });
        let mut ending = W::none();
        let mut reached: BTreeMap<Label, BTreeMap<StateId, W>> = BTreeMap::new();
        for (s, left) in closed {
            let node = &input.states[s as usize];
            let behind = |weight: &W| left.map_or(*weight, |left| left.after(weight));
            if !node.ending.is_none() {
                ending = ending.or(&behind(&node.ending));
            }
            for edge in &node.arcs {
                if empty == Empty::Passed && edge.label == (EPSILON, EPSILON) {
                    continue;
                }
                let weight = behind(&edge.weight);
                let states = reached.entry(edge.label).or_default();
                states.entry(edge.next).and_modify(|known| *known = known.or(&weight)).or_insert(weight);
            }
        }
        let mut arcs = Vec::with_capacity(reached.len());
        for (label, states) in reached {
            let Some(weight) = states.values().copied().reduce(|a, b| a.or(&b)) else { continue };
            let subset = states.into_iter().map(|(s, own)| (s, own.without(&weight))).collect();
            let (next, is_new) = find(subset, &mut out, &mut subsets);
            if is_new {
                waiting.push(next);
            }
            arcs.push(Edge { label, weight, next });
        }
        out.states[state as usize] = Node { ending, arcs };
        if most_states.is_some_and(|most| subsets.len() > most) && !waiting.is_empty() {
            complete = false;
            break;
        }
    }
    Determinized { automaton: out, complete }
}

/// Adds the states that arcs without labels lead to. A weight of `None` is that of the start.
fn close<W: Divisible>(input: &Automaton<W>, empty: Empty, states: &mut Vec<(StateId, Option<W>)>) {
    if empty == Empty::Counts {
        return;
    }
    let mut found: BTreeMap<StateId, Option<W>> = states.drain(..).collect();
    while let Some((s, left)) = found.pop_first() {
        states.push((s, left));
        for edge in input.states[s as usize].arcs.iter().filter(|edge| edge.label == (EPSILON, EPSILON)) {
            let weight = left.map_or(edge.weight, |left| left.after(&edge.weight));
            let known = found.entry(edge.next).or_insert(Some(W::none()));
            *known = known.map(|known| known.or(&weight));
        }
    }
}

impl From<&Fst<HitWeight>> for Automaton<HitWeight> {
    /// An FST without a start becomes a state without arcs.
    fn from(fst: &Fst<HitWeight>) -> Self {
        let Some(start) = fst.start else { return Automaton { start: 0, states: vec![Node::new()] } };
        let edge = |arc: &Arc<HitWeight>| Edge {
            label: (arc.ilabel, arc.olabel),
            weight: arc.weight,
            next: arc.next,
        };
        let node = |state: &State<HitWeight>| Node {
            ending: state.final_weight,
            arcs: state.arcs.iter().map(edge).collect(),
        };
        Automaton { start, states: fst.states.iter().map(node).collect() }
    }
}

impl From<&Automaton<HitWeight>> for Fst<HitWeight> {
    fn from(automaton: &Automaton<HitWeight>) -> Self {
        let arc = |edge: &Edge<HitWeight>| Arc {
            ilabel: edge.label.0,
            olabel: edge.label.1,
            weight: edge.weight,
            next: edge.next,
        };
        let state = |node: &Node<HitWeight>| State {
            final_weight: node.ending,
            arcs: node.arcs.iter().map(arc).collect(),
        };
        Fst { start: Some(automaton.start), states: automaton.states.iter().map(state).collect() }
    }
}

/// Moves weights to the start, then joins states from which the same can be done, but for [`DELTA`]. An error if there are cycles.
/// States that no path uses are removed.
pub fn minimize(fst: &mut Fst<HitWeight>) -> Result<()> {
    kaldi_fst::ops::connect(fst);
    let Some(start) = fst.start else { return Ok(()) };
    let order = topological_order(fst)?;
    let mut to_end = vec![HitWeight::zero(); fst.states.len()];
    for &s in order.iter().rev() {
        let state = fst.state(s);
        let through = state.arcs.iter().map(|arc| arc.weight.times(&to_end[arc.next as usize]));
        to_end[s as usize] = through.fold(state.final_weight, |best, weight| best.plus(&weight));
    }
    let mut classes: FxHashMap<Vec<i64>, StateId> = FxHashMap::default();
    let mut class_of = vec![0; fst.states.len()];
    let mut states: Vec<State<HitWeight>> = Vec::new();
    for &s in order.iter().rev() {
        let mut state = std::mem::take(fst.state_mut(s));
        // The weight of the best way on stays at the start.
        let own = if s == start { HitWeight::one() } else { to_end[s as usize] };
        if !state.final_weight.is_zero() {
            state.final_weight = state.final_weight.without(&own);
        }
        for arc in &mut state.arcs {
            arc.weight = arc.weight.times(&to_end[arc.next as usize]).without(&own);
            arc.next = class_of[arc.next as usize];
        }
        state.arcs.sort_by_key(|arc| (arc.ilabel, arc.olabel, arc.next));
        let mut signature = Vec::with_capacity(6 * state.arcs.len() + 3);
        let mut push = |weight: &HitWeight| {
            signature.extend(
                [weight.cost, weight.begin, weight.end].map(|part| (part / DELTA + 0.5).floor() as i64),
            );
        };
        push(&state.final_weight);
        state.arcs.iter().for_each(|arc| push(&arc.weight));
        for arc in &state.arcs {
            signature.extend([i64::from(arc.ilabel), i64::from(arc.olabel), i64::from(arc.next)]);
        }
        class_of[s as usize] = *classes.entry(signature).or_insert_with(|| {
            states.push(state);
            states.len() as StateId - 1
        });
    }
    *fst = Fst { start: Some(class_of[start as usize]), states };
    Ok(())
}
