//! The sub-matrices of each matrix.

use crate::computation::{Computation, MatrixId, SubmatrixId};

/// Some of a computation's sub-matrices, as they were when this was made.
#[derive(Clone, Debug)]
pub struct SubmatricesByMatrix {
    /// `starts[i] .. starts[i + 1]` are those of matrix i.
    starts: Vec<u32>,
    items: Vec<SubmatrixId>,
}

impl SubmatricesByMatrix {
    /// Those that `wanted` accepts; never the empty one.
    pub fn new(computation: &Computation, wanted: impl Fn(SubmatrixId) -> bool) -> SubmatricesByMatrix {
        let all = (1..computation.submatrices.len()).map(SubmatrixId::from);
        let found: Vec<SubmatrixId> = all.filter(|&s| wanted(s)).collect();
        let mut starts = vec![0; computation.matrices.len() + 2];
        found.iter().for_each(|&s| starts[computation.matrix_of(s).index() + 2] += 1);
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        // `starts[i + 1]` is where the next one of matrix i goes; in the end, where the next matrix begins.
        let mut items = vec![SubmatrixId(0); found.len()];
        for s in found {
            let next = &mut starts[computation.matrix_of(s).index() + 1];
            items[*next as usize] = s;
            *next += 1;
        }
        SubmatricesByMatrix { starts, items }
    }

    /// In ascending order.
    pub fn of(&self, m: MatrixId) -> &[SubmatrixId] {
        &self.items[self.starts[m.index()] as usize..self.starts[m.index() + 1] as usize]
    }
}
