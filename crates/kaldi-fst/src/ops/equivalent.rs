//! Comparing FSTs.

use rustc_hash::FxHashMap;

use super::push::move_costs;
use super::{connect, distances_to_end};
use crate::error::{Error, Result};
use crate::fst::{EPSILON, Fst, StateId};
use crate::random_paths::{Choice, random_paths};

/// Returns true if two deterministic acceptors accept the same strings at the same costs, up to `delta` an arc.
///
/// Costs are first pushed to the start. Then states are joined as long as they must be equal (Hopcroft and Karp, "A
/// linear algorithm for testing equivalence of finite automata", 1971). It is an error if an FST is not an acceptor,
/// has arcs without label, or has two arcs with one label from a state.
pub fn equivalent(first: &Fst, second: &Fst, delta: f32) -> Result<bool> {
    let mut fsts = [first.clone(), second.clone()];
    let mut totals = [f32::INFINITY; 2];
    for (fst, total) in fsts.iter_mut().zip(&mut totals) {
        check_deterministic(fst)?;
        connect(fst);
        if let Some(start) = fst.start {
            let to_end = distances_to_end(fst)?;
            *total = to_end[start as usize];
            move_costs(fst, &to_end, false);
        }
    }
    let [first, second] = &fsts;
    let (Some(a), Some(b)) = (first.start, second.start) else {
        return Ok(first.start.is_none() && second.start.is_none());
    };
    Ok(close(totals[0], totals[1], delta) && Classes::new(first, second).are_equal(a, b, delta))
}

fn close(a: f32, b: f32, delta: f32) -> bool {
    a == b || (a - b).abs() <= delta
}

fn check_deterministic(fst: &Fst) -> Result<()> {
    fst.check_acceptor()?;
    for (state, data) in fst.numbered() {
        let mut labels: Vec<i32> = data.arcs.iter().map(|arc| arc.ilabel).collect();
        labels.sort_unstable();
        if labels.first() == Some(&EPSILON) {
            return Err(Error::Epsilon { state });
        }
        if let Some(same) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Nondeterministic { state, label: same[0] });
        }
    }
    Ok(())
}

/// Sets of states of both FSTs that must be equal (union-find). The numbers of the second FST's states follow those of
/// the first FST.
struct Classes<'f> {
    fsts: [&'f Fst; 2],
    parents: Vec<StateId>,
}

impl Classes<'_> {
    fn new<'f>(first: &'f Fst, second: &'f Fst) -> Classes<'f> {
        let count = (first.states.len() + second.states.len()) as StateId;
        Classes { fsts: [first, second], parents: (0..count).collect() }
    }

    fn root(&mut self, mut state: StateId) -> StateId {
        while self.parents[state as usize] != state {
            let above = self.parents[self.parents[state as usize] as usize];
            self.parents[state as usize] = above;
            state = above;
        }
        state
    }

    fn are_equal(mut self, a: StateId, b: StateId, delta: f32) -> bool {
        let shift = self.fsts[0].states.len() as StateId;
        let mut waiting = vec![(a, b + shift)];
        while let Some((a, b)) = waiting.pop() {
            let (root_a, root_b) = (self.root(a), self.root(b));
            if root_a == root_b {
                continue;
            }
            self.parents[root_a as usize] = root_b;
            let data = |s: StateId| match s.checked_sub(shift) {
                None => (self.fsts[0].state(s), 0),
                Some(s) => (self.fsts[1].state(s), shift),
            };
            let ((state_a, shift_a), (state_b, shift_b)) = (data(a), data(b));
            if !close(state_a.final_weight, state_b.final_weight, delta)
                || state_a.arcs.len() != state_b.arcs.len()
            {
                return false;
            }
            let by_label: FxHashMap<i32, _> = state_b.arcs.iter().map(|arc| (arc.ilabel, arc)).collect();
            for arc in &state_a.arcs {
                match by_label.get(&arc.ilabel) {
                    Some(other) if close(arc.weight, other.weight, delta) => {
                        waiting.push((arc.next + shift_a, other.next + shift_b));
                    }
                    _ => return false,
                }
            }
        }
        true
    }
}

/// Options of the comparison by random paths.
#[derive(Debug, Clone, Copy)]
pub struct RandomComparison {
    pub paths: usize,
    /// Paths with more arcs are not compared.
    pub longest: usize,
    /// Costs that differ by at most this are equal.
    pub delta: f32,
    pub seed: u64,
}

/// Compares costs on random paths of each FST: in both FSTs, the cheapest path with the same input and output must have
/// the same cost. Returns true if all agree.
///
/// It is an error if an FST has a cycle of negative cost.
pub fn randomly_equivalent(first: &Fst, second: &Fst, options: RandomComparison) -> Result<bool> {
    let mut fsts = [first.clone(), second.clone()];
    for fst in &mut fsts {
        connect(fst);
        distances_to_end(fst)?;
    }
    for i in 0..options.paths {
        let seed = options.seed.wrapping_add(i as u64);
        let path = random_paths(&fsts[i % 2], 1, options.longest, Choice::Uniform, seed);
        if !path.states.iter().any(|state| state.is_final()) {
            if path.states.is_empty() && fsts[1 - i % 2].start.is_some() {
                return Ok(false);
            }
            continue;
        }
        let arcs = || path.states.iter().flat_map(|state| &state.arcs);
        let labels = |label: fn(&crate::Arc) -> i32| -> Vec<i32> {
            arcs().map(label).filter(|&label| label != EPSILON).collect()
        };
        let (input, output) = (labels(|arc| arc.ilabel), labels(|arc| arc.olabel));
        let [a, b] = [&fsts[0], &fsts[1]].map(|fst| cost(fst, &input, &output));
        if !close(a, b, options.delta) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A state, and the numbers of input and output labels before it.
type Place = (StateId, usize, usize);

/// Returns the cost of the cheapest path with this input and output, or infinity without such a path. The FST must not
/// have negative cycles.
fn cost(fst: &Fst, input: &[i32], output: &[i32]) -> f32 {
    let Some(start) = fst.start else { return f32::INFINITY };
    let mut distances: FxHashMap<Place, f32> = FxHashMap::from_iter([((start, 0, 0), 0.0)]);
    let mut queue = std::collections::VecDeque::from([(start, 0, 0)]);
    // Behind a label at this position; `None` if it is another one.
    let behind = |labels: &[i32], at: usize, label: i32| match label {
        EPSILON => Some(at),
        label => (labels.get(at) == Some(&label)).then_some(at + 1),
    };
    while let Some(place @ (s, i, o)) = queue.pop_front() {
        let distance = distances[&place];
        for arc in &fst.state(s).arcs {
            let (Some(i), Some(o)) = (behind(input, i, arc.ilabel), behind(output, o, arc.olabel)) else {
                continue;
            };
            let known = distances.entry((arc.next, i, o)).or_insert(f32::INFINITY);
            // (The tolerance keeps rounding differences from cycling for ever.)
            if distance + arc.weight + 1e-6 < *known {
                *known = distance + arc.weight;
                queue.push_back((arc.next, i, o));
            }
        }
    }
    let ends = fst.numbered().filter(|(_, state)| state.is_final());
    let cost = |(s, state): (StateId, &crate::State)| {
        distances.get(&(s, input.len(), output.len())).map(|distance| distance + state.final_weight)
    };
    ends.filter_map(cost).fold(f32::INFINITY, f32::min)
}
