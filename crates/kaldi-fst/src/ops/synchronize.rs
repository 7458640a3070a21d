//! Shifts input and output labels so that they come together (Mohri, "Edit-distance of weighted automata", 2003).

use crate::error::{Error, Result};
use crate::fst::{EPSILON, Fst, StateId};
use crate::state_table::{Expanded, try_unfold};

/// A state of the result: a state (`None` behind all), and labels that are still to be written.
type Place = (Option<StateId>, Vec<i32>, Vec<i32>);

/// Returns an FST in which an arc without one of both labels has no arc with the other one missing behind it. It is an error if
/// there would be more than `limit` states: input and output drift apart on some cycle.
pub fn synchronize(fst: &Fst, limit: usize) -> Result<Fst> {
    let Some(start) = fst.start else { return Ok(Fst::default()) };
    try_unfold(
        (Some(start), Vec::new(), Vec::new()),
        |(state, input, output): Place, out: &mut Expanded<_, f32>| {
            let data = state.map(|state| fst.state(state));
            for arc in data.iter().flat_map(|data| &data.arcs) {
                let (mut input, mut output) = (with(&input, arc.ilabel), with(&output, arc.olabel));
                let mut labels = (EPSILON, EPSILON);
                if !input.is_empty() && !output.is_empty() {
                    labels = (input.remove(0), output.remove(0));
                }
                out.add(labels, arc.weight, (Some(arc.next), input, output));
            }
            let end = data.map_or(0.0, |data| data.final_weight);
            let mut final_weight = f32::INFINITY;
            if end < f32::INFINITY && input.is_empty() && output.is_empty() {
                final_weight = end;
            } else if end < f32::INFINITY {
                let first = |labels: &[i32]| labels.first().copied().unwrap_or(EPSILON);
                let rest = |labels: &[i32]| labels.get(1..).unwrap_or_default().to_vec();
                out.add((first(&input), first(&output)), end, (None, rest(&input), rest(&output)));
            }
            if out.num_states() > limit { Err(Error::TooManyStates { limit }) } else { Ok(final_weight) }
        },
    )
}

/// Labels with one more; no label adds none.
fn with(labels: &[i32], label: i32) -> Vec<i32> {
    let mut all = labels.to_vec();
    all.extend(Some(label).filter(|&label| label != EPSILON));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fst::Arc;

    #[test]
    fn labels_come_together() {
        // a:- -:x b:y
        let mut fst = Fst { start: Some(0), ..Fst::default() };
        fst.states.resize_with(4, Default::default);
        fst.states[0].arcs = vec![Arc { ilabel: 1, olabel: 0, weight: 0.5, next: 1 }];
        fst.states[1].arcs = vec![Arc { ilabel: 0, olabel: 7, weight: 0.25, next: 2 }];
        fst.states[2].arcs = vec![Arc { ilabel: 2, olabel: 8, weight: 0.0, next: 3 }];
        fst.states[3].final_weight = 1.0;
        let out = synchronize(&fst, 100).unwrap();
        let arcs: Vec<_> =
            out.states.iter().flat_map(|state| &state.arcs).map(|a| (a.ilabel, a.olabel)).collect();
        assert_eq!(arcs, [(0, 0), (1, 7), (2, 8)]);
        fst.states[0].arcs.push(Arc { ilabel: 1, olabel: 0, weight: 0.5, next: 0 });
        assert_eq!(synchronize(&fst, 100), Err(Error::TooManyStates { limit: 100 }));
    }
}
