//! The sub-matrices of each matrix.

use crate::computation::{Computation, MatrixId, SubmatrixId};

/// Some of a computation's sub-matrices, as they were when this was made.
#[derive(Clone, Debug)]
pub struct SubmatricesByMatrix {
    /// The first sub-matrix of each matrix; 0 if it has none.
    first: Vec<SubmatrixId>,
    /// For each sub-matrix the next one of its matrix; 0 if it is the last.
    next: Vec<SubmatrixId>,
}

impl SubmatricesByMatrix {
    /// Lists the sub-matrices that `wanted` accepts; the empty one is never among them.
    pub fn new(computation: &Computation, wanted: impl Fn(SubmatrixId) -> bool) -> SubmatricesByMatrix {
        let count = computation.submatrices.len();
        let mut first = vec![SubmatrixId(0); computation.matrices.len()];
        let mut next = vec![SubmatrixId(0); count];
        for s in (1..count).rev().map(SubmatrixId::from).filter(|&s| wanted(s)) {
            next[s.index()] = std::mem::replace(&mut first[computation.matrix_of(s).index()], s);
        }
        SubmatricesByMatrix { first, next }
    }

    /// The listed sub-matrices of a matrix, in ascending order.
    pub fn of(&self, m: MatrixId) -> impl Iterator<Item = SubmatrixId> + '_ {
        let some = |s: SubmatrixId| (s != SubmatrixId(0)).then_some(s);
        std::iter::successors(some(self.first[m.index()]), move |s| some(self.next[s.index()]))
    }
}
