//! Comparing FSTs state by state.

use crate::error::{Error, Result};
use crate::fst::{Arc, Fst, StateId};

fn close(a: f32, b: f32, delta: f32) -> bool {
    a == b || (a - b).abs() <= delta
}

/// True if two FSTs have the same states and arcs under the same numbers and in the same order. Costs may differ by `delta`.
pub fn equal(first: &Fst, second: &Fst, delta: f32) -> bool {
    let same_arc = |(a, b): (&Arc, &Arc)| {
        (a.ilabel, a.olabel, a.next) == (b.ilabel, b.olabel, b.next) && close(a.weight, b.weight, delta)
    };
    first.start == second.start
        && first.states.len() == second.states.len()
        && first.states.iter().zip(&second.states).all(|(a, b)| {
            close(a.final_weight, b.final_weight, delta)
                && a.arcs.len() == b.arcs.len()
                && a.arcs.iter().zip(&b.arcs).all(same_arc)
        })
}

/// True if two FSTs are the same but for the numbers of states and the order of arcs. Costs may differ by `delta`. States that the
/// start does not lead to only have to be equally many.
///
/// It is an error if two arcs of a state have the same labels and, up to `delta`, the same cost, because then the answer would
/// need a search.
pub fn isomorphic(first: &Fst, second: &Fst, delta: f32) -> Result<bool> {
    if first.states.len() != second.states.len() {
        return Ok(false);
    }
    let (Some(a), Some(b)) = (first.start, second.start) else {
        return Ok(first.start.is_none() && second.start.is_none());
    };
    let mut partner: [Vec<Option<StateId>>; 2] =
        [vec![None; first.states.len()], vec![None; second.states.len()]];
    let mut waiting = vec![(a, b)];
    while let Some((a, b)) = waiting.pop() {
        match (partner[0][a as usize], partner[1][b as usize]) {
            (None, None) => (partner[0][a as usize], partner[1][b as usize]) = (Some(b), Some(a)),
            (Some(other), _) if other == b => continue,
            _ => return Ok(false),
        }
        let (state_a, state_b) = (first.state(a), second.state(b));
        if !close(state_a.final_weight, state_b.final_weight, delta)
            || state_a.arcs.len() != state_b.arcs.len()
        {
            return Ok(false);
        }
        let (arcs_a, arcs_b) = (sorted(first, a, delta)?, sorted(second, b, delta)?);
        for (one, other) in arcs_a.iter().zip(&arcs_b) {
            if (one.ilabel, one.olabel) != (other.ilabel, other.olabel)
                || !close(one.weight, other.weight, delta)
            {
                return Ok(false);
            }
            waiting.push((one.next, other.next));
        }
    }
    Ok(true)
}

/// The arcs of a state, ordered by labels and cost.
fn sorted(fst: &Fst, state: StateId, delta: f32) -> Result<Vec<Arc>> {
    let mut arcs = fst.state(state).arcs.clone();
    arcs.sort_by(|a, b| (a.ilabel, a.olabel).cmp(&(b.ilabel, b.olabel)).then(a.weight.total_cmp(&b.weight)));
    let same = |a: &Arc, b: &Arc| {
        (a.ilabel, a.olabel) == (b.ilabel, b.olabel) && close(a.weight, b.weight, delta) && a.next != b.next
    };
    match arcs.windows(2).find(|pair| same(&pair[0], &pair[1])) {
        Some(pair) => Err(Error::Nondeterministic { state, label: pair[0].ilabel }),
        None => Ok(arcs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fst(order: [StateId; 3]) -> Fst {
        let mut fst = Fst { start: Some(order[0]), ..Fst::default() };
        fst.states.resize_with(3, Default::default);
        fst.state_mut(order[0]).arcs = vec![Arc::new(2, 0.5, order[1]), Arc::new(1, 0.25, order[2])];
        fst.state_mut(order[1]).arcs = vec![Arc::new(3, 1.0, order[2])];
        fst.state_mut(order[2]).final_weight = 0.5;
        fst
    }

    #[test]
    fn numbers_of_states() {
        let (a, b) = (fst([0, 1, 2]), fst([2, 0, 1]));
        assert!(equal(&a, &a, 0.0) && !equal(&a, &b, 0.0));
        assert!(isomorphic(&a, &b, 0.0).unwrap());
        let mut c = b.clone();
        c.states[2].arcs[0].weight += 0.1;
        assert!(!isomorphic(&a, &c, 0.01).unwrap() && isomorphic(&a, &c, 0.2).unwrap());
        let mut d = b.clone();
        d.states[2].arcs[0].next = 1;
        assert!(!isomorphic(&a, &d, 0.0).unwrap());
        d.states[2].arcs.push(Arc::new(2, 0.5, 0));
        assert!(isomorphic(&d, &d, 0.0).is_err());
    }
}
