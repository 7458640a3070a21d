//! Best paths, and paths at random.

use kaldi_fst::{Algebra, Arc, EPSILON, Fst, StateId, Weight};

use crate::error::{Error, Result};
use crate::lattice::{AnyLattice, CompactLattice, Lattice};
use crate::order;
use crate::weight::{CompactLatticeWeight, LatticeWeight};

/// Returns the best path of a lattice without cycles, as a lattice; an empty one if no path ends. Among paths with the same cost
/// ([`AnyLattice::PathCost`]) the first one found is taken. As in OpenFst's search, states come in their order if that is
/// topological, else in depth-first order.
pub fn best_path<W: AnyLattice>(lattice: &Fst<W>) -> Fst<W> {
    let Some(start) = lattice.start else { return Fst::default() };
    /// The cost of the best path to a state; its last arc: the state before, and the position there.
    #[derive(Clone, Copy)]
    struct Best<C>(C, Option<(StateId, usize)>);
    let mut best = vec![Best(W::NO_PATH, None); lattice.states.len()];
    best[start as usize].0 = W::NO_ARCS;
    let mut end = Best(W::NO_PATH, None);
    let in_order = || (0..lattice.states.len() as StateId).collect();
    let order = if order::is_sorted(lattice) { None } else { order::depth_first(lattice) };
    let order: Vec<StateId> = order.unwrap_or_else(in_order);
    for s in order {
        let (cost, state) = (best[s as usize].0, lattice.state(s));
        if cost == W::NO_PATH {
            continue;
        }
        for (position, arc) in state.arcs.iter().enumerate() {
            let next = arc.weight.add_to(cost);
            if W::is_better(next, best[arc.next as usize].0) {
                best[arc.next as usize] = Best(next, Some((s, position)));
            }
        }
        let finished = state.final_weight.add_to(cost);
        if W::is_better(finished, end.0) {
            end = Best(finished, Some((s, 0)));
        }
    }
    let Some((last, _)) = end.1 else { return Fst::default() };
    let mut arcs = Vec::new();
    let mut at = last;
    while let Some((before, position)) = best[at as usize].1 {
        arcs.push(&lattice.state(before).arcs[position]);
        at = before;
    }
    chain(arcs.into_iter().rev(), lattice.state(last).final_weight.clone())
}

/// A lattice of the arcs, one after the other.
pub(crate) fn chain<'l, W: Weight>(arcs: impl Iterator<Item = &'l Arc<W>>, final_weight: W) -> Fst<W> {
    let mut out = Fst::default();
    let mut last = out.add_state();
    out.start = Some(last);
    for arc in arcs {
        let next = out.add_state();
        out.state_mut(last).arcs.push(Arc { next, ..arc.clone() });
        last = next;
    }
    out.state_mut(last).final_weight = final_weight;
    out
}

/// The labels and the weight of a lattice with a single path.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    pub ids: Vec<i32>,
    pub words: Vec<i32>,
    pub weight: LatticeWeight,
}

/// Reads the single path of a lattice.
pub fn read_linear(lattice: &Lattice) -> Result<Linear> {
    let mut path = Linear { ids: Vec::new(), words: Vec::new(), weight: LatticeWeight::ONE };
    for arc in linear_arcs(lattice)? {
        path.ids.extend(Some(arc.ilabel).filter(|&id| id != EPSILON));
        path.words.extend(Some(arc.olabel).filter(|&word| word != EPSILON));
        path.weight = path.weight.times(&arc.weight);
    }
    path.weight = path.weight.times(&linear_end(lattice));
    Ok(path)
}

/// The weight of ending a single path.
pub fn linear_end<W: Weight>(lattice: &Fst<W>) -> W {
    let end = lattice.states.iter().find(|state| state.is_final());
    end.map_or_else(W::zero, |state| state.final_weight.clone())
}

/// The arcs of a lattice that has a single path, in order.
pub fn linear_arcs<W: Weight>(lattice: &Fst<W>) -> Result<Vec<&Arc<W>>> {
    let mut at = lattice.start.ok_or(Error::Empty)?;
    let mut arcs = Vec::new();
    loop {
        let state = lattice.state(at);
        match (&state.arcs[..], state.is_final()) {
            ([], true) => return Ok(arcs),
            ([], false) => return Err(Error::NoPath),
            // A path with more arcs than states contains a cycle.
            ([arc], false) if arcs.len() < lattice.states.len() => {
                arcs.push(arc);
                at = arc.next;
            }
            _ => return Err(Error::NotLinear { state: at }),
        }
    }
}

/// The words of the best path of a compact lattice, with the costs and transition-ids of all of it.
pub fn best_linear(lattice: &CompactLattice) -> Result<Linear> {
    let best = best_path(lattice);
    let mut path = Linear { ids: Vec::new(), words: Vec::new(), weight: LatticeWeight::ONE };
    let mut add = |weight: &CompactLatticeWeight| {
        path.ids.extend(&weight.string);
        path.weight = path.weight.times(&weight.weight);
    };
    let arcs = linear_arcs(&best).map_err(|_| Error::NoPath)?;
    arcs.iter().for_each(|arc| add(&arc.weight));
    add(&linear_end(&best));
    path.words = arcs.iter().map(|arc| arc.ilabel).filter(|&word| word != EPSILON).collect();
    Ok(path)
}

/// The `n` best paths, best first; fewer if there are fewer.
pub fn best_paths(lattice: &Lattice, n: usize) -> Result<Vec<Lattice>> {
    use std::cmp::Ordering;
    use std::collections::BinaryHeap;

    let mut sorted;
    let lattice = match order::is_sorted(lattice) {
        true => lattice,
        false => {
            sorted = lattice.clone();
            order::sort(&mut sorted)?;
            &sorted
        }
    };
    let Some(start) = lattice.start else { return Ok(Vec::new()) };
    let rest = costs_to_end(lattice);

    /// Part of a path: its place, and the step that led there. `None`: at the end.
    struct Part {
        cost: f64,
        so_far: f64,
        state: Option<StateId>,
        step: Option<usize>,
        number: usize,
    }
    impl PartialEq for Part {
        fn eq(&self, other: &Part) -> bool {
            self.cmp(other).is_eq()
        }
    }
    impl Eq for Part {}
    impl PartialOrd for Part {
        fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Part {
        /// The greatest is the cheapest; of equals, the first.
        fn cmp(&self, other: &Part) -> Ordering {
            other.cost.total_cmp(&self.cost).then(other.number.cmp(&self.number))
        }
    }

    // Steps: an arc, and the step before.
    let mut steps: Vec<(&Arc<LatticeWeight>, Option<usize>)> = Vec::new();
    let mut heap = BinaryHeap::new();
    let mut number = 0;
    let mut push = |heap: &mut BinaryHeap<Part>, so_far: f64, state: Option<StateId>, step| {
        let cost = so_far + state.map_or(0.0, |s| rest[s as usize]);
        if cost < f64::INFINITY {
            heap.push(Part { cost, so_far, state, step, number });
            number += 1;
        }
    };
    push(&mut heap, 0.0, Some(start), None);
    let mut ends: Vec<Option<usize>> = Vec::new();
    let mut finals = Vec::new();
    while ends.len() < n {
        let Some(part) = heap.pop() else { break };
        let Some(s) = part.state else {
            let last = part.step.map_or(start, |step| steps[step].0.next);
            finals.push(lattice.state(last).final_weight);
            ends.push(part.step);
            continue;
        };
        let state = lattice.state(s);
        if state.is_final() {
            push(&mut heap, part.so_far + state.final_weight.cost(), None, part.step);
        }
        for arc in &state.arcs {
            if rest[arc.next as usize] < f64::INFINITY {
                steps.push((arc, part.step));
                push(&mut heap, part.so_far + arc.weight.cost(), Some(arc.next), Some(steps.len() - 1));
            }
        }
    }
    let path = |(end, final_weight): (Option<usize>, LatticeWeight)| {
        let back = std::iter::successors(end, |&step| steps[step].1).map(|step| steps[step].0);
        let arcs: Vec<_> = back.collect();
        chain(arcs.into_iter().rev(), final_weight)
    };
    Ok(ends.into_iter().zip(finals).map(path).collect())
}

/// Returns the cost of the second best path of a lattice minus that of the best one. `None` if there is only one.
///
/// # Errors
/// The lattice has a cycle or no path.
pub fn confidence(lattice: &Lattice) -> Result<Option<f64>> {
    let costs: Vec<f64> = best_paths(lattice, 2)?
        .iter()
        .map(|path| {
            let arcs = path.states.iter().flat_map(|state| &state.arcs);
            arcs.map(|arc| arc.weight.cost()).sum::<f64>() + linear_end(path).cost()
        })
        .collect();
    match costs[..] {
        [] => Err(Error::NoPath),
        [best, second, ..] => Ok(Some(second - best)),
        [_] => Ok(None),
    }
}

/// The cost of the best way from each state of a sorted lattice to an end.
pub(crate) fn costs_to_end<W: AnyLattice>(lattice: &Fst<W>) -> Vec<f64> {
    let mut costs = vec![f64::INFINITY; lattice.states.len()];
    for (s, state) in lattice.numbered().collect::<Vec<_>>().into_iter().rev() {
        let ways = state.arcs.iter().map(|arc| arc.weight.costs().cost() + costs[arc.next as usize]);
        costs[s as usize] = ways.fold(state.final_weight.costs().cost(), f64::min);
    }
    costs
}

/// Returns a random path on which every choice, including the end, has equal probability. `choose` returns a number
/// below its argument. The lattice must be connected and acyclic.
pub fn random_path(lattice: &Lattice, mut choose: impl FnMut(usize) -> usize) -> Result<Lattice> {
    let mut at = lattice.start.ok_or(Error::Empty)?;
    let mut arcs = Vec::new();
    loop {
        let state = lattice.state(at);
        let choices = state.arcs.len() + usize::from(state.is_final());
        if choices == 0 || arcs.len() > lattice.states.len() {
            return Err(Error::NoPath);
        }
        match state.arcs.get(choose(choices)) {
            Some(arc) => {
                arcs.push(arc);
                at = arc.next;
            }
            None => return Ok(chain(arcs.into_iter(), state.final_weight)),
        }
    }
}
