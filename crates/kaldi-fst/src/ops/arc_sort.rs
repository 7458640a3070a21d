//! The order of arcs.

use crate::fst::Fst;
use crate::ops::labels::Side;
use crate::ops::reference_order::sort;
use crate::weight::Algebra;

/// Sorts the arcs of each state on one of their labels, those with equal ones on the other.
///
/// Arcs in which both labels are equal have the order that OpenFst gives them with GNU's C++ library. So files are the
/// same byte for byte.
pub fn sort_arcs<W: Algebra>(fst: &mut Fst<W>, on: Side) {
    for state in &mut fst.states {
        match on {
            Side::Input => sort(&mut state.arcs, |arc| (arc.ilabel, arc.olabel)),
            Side::Output => sort(&mut state.arcs, |arc| (arc.olabel, arc.ilabel)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fst::Arc;

    #[test]
    fn sorted_and_complete() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let mut fst = Fst::default();
            fst.add_state();
            let count = rng.usize(0..200);
            for weight in 0..count {
                let (ilabel, olabel) = (rng.i32(0..6), rng.i32(0..6));
                fst.states[0].arcs.push(Arc { ilabel, olabel, weight: weight as f32, next: 0 });
            }
            sort_arcs(&mut fst, Side::Output);
            let arcs = &fst.states[0].arcs;
            assert!(arcs.is_sorted_by_key(|arc| (arc.olabel, arc.ilabel)));
            let mut weights: Vec<f32> = arcs.iter().map(|arc| arc.weight).collect();
            weights.sort_by(f32::total_cmp);
            assert!(weights.into_iter().eq((0..count).map(|weight| weight as f32)));
        }
    }
}
