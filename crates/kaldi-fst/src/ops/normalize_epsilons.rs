//! Moves arcs without input behind those with input.

use std::collections::BTreeMap;

use super::order::filtered_order;
use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::state_table::{Expanded, try_unfold};

/// Output strings with their costs.
type Outputs = BTreeMap<Vec<i32>, f32>;
/// A state of the result: a state (`None` behind all), and labels that are still to be written.
type Place = (Option<StateId>, Vec<i32>);

/// Returns an FST in which no arc without input comes before one with input, but for those that write the rest of an output at the end.
/// It is an error if arcs without input form a cycle, or if there would be more than `limit` states.
pub fn normalize_epsilons(fst: &Fst, limit: usize) -> Result<Fst> {
    let Some(start) = fst.start else { return Ok(Fst::default()) };
    let order =
        filtered_order(fst, |arc| arc.ilabel == EPSILON).map_err(|state| Error::EpsilonCycle { state })?;
    let mut ranks = vec![0; order.len()];
    order.iter().enumerate().for_each(|(rank, &state)| ranks[state as usize] = rank);
    let mut ends: Vec<(StateId, i32, f32)> = Vec::new();
    let mut out =
        try_unfold((Some(start), Vec::new()), |(state, pending): Place, out: &mut Expanded<_, f32>| {
            let mut endings = Outputs::new();
            match state {
                None => add(&mut endings, pending.clone(), 0.0),
                Some(state) => {
                    let mut arcs: BTreeMap<(i32, StateId), Outputs> = BTreeMap::new();
                    for (via, outputs) in closure(fst, &ranks, state) {
                        let data = fst.state(via);
                        for (output, cost) in outputs {
                            let written = [&pending[..], &output].concat();
                            if data.is_final() {
                                add(&mut endings, written.clone(), cost + data.final_weight);
                            }
                            for arc in data.arcs.iter().filter(|arc| arc.ilabel != EPSILON) {
                                let mut all = written.clone();
                                all.extend(Some(arc.olabel).filter(|&label| label != EPSILON));
                                let outputs = arcs.entry((arc.ilabel, arc.next)).or_default();
                                add(outputs, all, cost + arc.weight);
                            }
                        }
                    }
                    for ((ilabel, next), outputs) in arcs {
                        for (all, weight) in outputs {
                            let rest = all.get(1..).unwrap_or_default().to_vec();
                            let olabel = all.first().copied().unwrap_or(EPSILON);
                            out.add((ilabel, olabel), weight, (Some(next), rest));
                        }
                    }
                }
            }
            let mut final_weight = f32::INFINITY;
            for (all, cost) in endings {
                match *all {
                    [] => final_weight = cost,
                    [last] => ends.push((out.state(), last, cost)),
                    [first, ..] => out.add((EPSILON, first), cost, (None, all[1..].to_vec())),
                }
            }
            if out.num_states() > limit { Err(Error::TooManyStates { limit }) } else { Ok(final_weight) }
        })?;
    if !ends.is_empty() {
        let end = out.add_state();
        out.state_mut(end).final_weight = 0.0;
        for (s, olabel, weight) in ends {
            out.state_mut(s).arcs.push(Arc { ilabel: EPSILON, olabel, weight, next: end });
        }
    }
    Ok(out)
}

fn add(outputs: &mut Outputs, labels: Vec<i32>, cost: f32) {
    let known = outputs.entry(labels).or_insert(cost);
    *known = known.min(cost);
}

/// The states that are reached without input, with the outputs on the way.
fn closure(fst: &Fst, ranks: &[usize], state: StateId) -> Vec<(StateId, Outputs)> {
    let mut waiting = BTreeMap::from([(ranks[state as usize], (state, Outputs::from([(Vec::new(), 0.0)])))]);
    let mut all = Vec::new();
    while let Some((_, (from, outputs))) = waiting.pop_first() {
        for arc in fst.state(from).arcs.iter().filter(|arc| arc.ilabel == EPSILON) {
            let there = &mut waiting.entry(ranks[arc.next as usize]).or_insert((arc.next, Outputs::new())).1;
            for (output, cost) in &outputs {
                let mut written = output.clone();
                written.extend(Some(arc.olabel).filter(|&label| label != EPSILON));
                add(there, written, cost + arc.weight);
            }
        }
        all.push((from, outputs));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_comes_first() {
        // -:7 -:8 1:9, with an end after -:7, too.
        let mut fst = Fst { start: Some(0), ..Fst::default() };
        fst.states.resize_with(4, Default::default);
        fst.states[0].arcs = vec![Arc { ilabel: 0, olabel: 7, weight: 0.5, next: 1 }];
        fst.states[1].arcs = vec![Arc { ilabel: 0, olabel: 8, weight: 0.25, next: 2 }];
        fst.states[1].final_weight = 4.0;
        fst.states[2].arcs = vec![Arc { ilabel: 1, olabel: 9, weight: 0.0, next: 3 }];
        fst.states[3].final_weight = 1.0;
        let out = normalize_epsilons(&fst, 100).unwrap();
        assert_eq!(out.states[0].arcs[0], Arc { ilabel: 1, olabel: 7, weight: 0.75, next: 1 });
        assert_eq!((out.states[0].arcs[1].olabel, out.states[0].arcs[1].weight), (7, 4.5));
        assert_eq!(out.states[1].arcs[0], Arc { ilabel: 0, olabel: 8, weight: 1.0, next: 2 });
        fst.states[2].arcs.push(Arc { ilabel: 0, olabel: 5, weight: 1.0, next: 0 });
        assert!(matches!(normalize_epsilons(&fst, 100), Err(Error::EpsilonCycle { .. })));
    }
}
