//! Changes of labels.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::fst::{Arc, EPSILON, Fst};
use crate::weight::Algebra;

/// One of the two labels of arcs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

impl Side {
    pub fn label<W>(self, arc: &Arc<W>) -> i32 {
        match self {
            Side::Input => arc.ilabel,
            Side::Output => arc.olabel,
        }
    }

    pub(crate) fn label_mut<W>(self, arc: &mut Arc<W>) -> &mut i32 {
        match self {
            Side::Input => &mut arc.ilabel,
            Side::Output => &mut arc.olabel,
        }
    }
}

fn arcs<W: Algebra>(fst: &mut Fst<W>) -> impl Iterator<Item = &mut Arc<W>> {
    fst.states.iter_mut().flat_map(|state| &mut state.arcs)
}

/// Makes an acceptor of the strings on one side.
pub fn project<W: Algebra>(fst: &mut Fst<W>, side: Side) {
    arcs(fst).for_each(|arc| (arc.ilabel, arc.olabel) = (side.label(arc), side.label(arc)));
}

/// Exchanges input and output.
pub fn invert<W: Algebra>(fst: &mut Fst<W>) {
    arcs(fst).for_each(|arc| std::mem::swap(&mut arc.ilabel, &mut arc.olabel));
}

/// Replaces labels that have an entry in `pairs`.
pub fn relabel<W: Algebra>(fst: &mut Fst<W>, side: Side, pairs: &FxHashMap<i32, i32>) {
    for label in arcs(fst).map(|arc| side.label_mut(arc)) {
        *label = pairs.get(label).copied().unwrap_or(*label);
    }
}

/// Makes arcs with one of these labels empty on that side.
pub fn remove_labels<W: Algebra>(fst: &mut Fst<W>, side: Side, labels: &FxHashSet<i32>) {
    arcs(fst)
        .map(|arc| side.label_mut(arc))
        .filter(|label| labels.contains(label))
        .for_each(|l| *l = EPSILON);
}

/// Removes arcs with one of these labels, and then the states without a complete path.
pub fn remove_arcs_with_labels<W: Algebra>(fst: &mut Fst<W>, side: Side, labels: &FxHashSet<i32>) {
    for state in &mut fst.states {
        state.arcs.retain(|arc| !labels.contains(&side.label(arc)));
    }
    super::connect(fst);
}

/// Adds a cost to arcs with one of these labels.
pub fn penalize_labels(fst: &mut Fst, side: Side, labels: &FxHashSet<i32>, cost: f32) {
    arcs(fst).filter(|arc| labels.contains(&side.label(arc))).for_each(|arc| arc.weight += cost);
}

/// Adds loops with these pairs of input and output to every state that is final or has an arc with an output. So
/// disambiguation symbols after words pass.
pub fn add_loops<W: Algebra>(fst: &mut Fst<W>, pairs: &[(i32, i32)]) {
    for (s, state) in (0..).zip(&mut fst.states) {
        if state.is_final() || state.arcs.iter().any(|arc| arc.olabel != EPSILON) {
            let arc = |&(ilabel, olabel): &(i32, i32)| Arc { ilabel, olabel, weight: W::one(), next: s };
            state.arcs.extend(pairs.iter().map(arc));
        }
    }
}
