//! Intersection of two acceptors.

use crate::error::{Error, Result};
use crate::fst::{Arc, EPSILON, Fst, StateId};
use crate::ops::connect::connect;
use crate::state_table::{Expanded, try_unfold};

/// An acceptor without empty arcs, the arcs of each state in the order of their labels: the second operand of many
/// compositions.
#[derive(Debug, Clone, PartialEq)]
pub struct SortedAcceptor(Fst);

impl SortedAcceptor {
    pub fn new(mut fst: Fst) -> Result<SortedAcceptor> {
        fst.check_acceptor()?;
        for (s, state) in fst.states.iter_mut().enumerate() {
            state.arcs.sort_by_key(|arc| arc.ilabel);
            if state.arcs.iter().any(|arc| arc.ilabel == EPSILON) {
                return Err(Error::Epsilon { state: s as StateId });
            }
        }
        Ok(SortedAcceptor(fst))
    }

    fn arcs(&self, state: StateId, label: i32) -> &[Arc] {
        let arcs = &self.0.state(state).arcs;
        let first = arcs.partition_point(|arc| arc.ilabel < label);
        let count = arcs[first..].iter().take_while(|arc| arc.ilabel == label).count();
        &arcs[first..first + count]
    }
}

/// The acceptor of the sequences that both accept; costs add up. It is connected, so it may be empty. `first` must have
/// no empty arcs.
pub fn compose(first: &Fst, second: &SortedAcceptor) -> Result<Fst> {
    first.check_acceptor()?;
    let (Some(a), Some(b)) = (first.start, second.0.start) else { return Ok(Fst::default()) };
    let mut out = try_unfold((a, b), |(a, b), out: &mut Expanded<_, f32>| {
        let state = first.state(a);
        for arc in &state.arcs {
            if arc.ilabel == EPSILON {
                return Err(Error::Epsilon { state: a });
            }
            for other in second.arcs(b, arc.ilabel) {
                out.add((arc.ilabel, arc.ilabel), arc.weight + other.weight, (arc.next, other.next));
            }
        }
        Ok(state.final_weight + second.0.state(b).final_weight)
    })?;
    connect(&mut out);
    Ok(out)
}
